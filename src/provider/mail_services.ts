/**
 * How core's e-mail providers send a mail over HTTP: the requests of core 0.41.3, with a given message.
 *
 * Loops is not among them: its mails are written in its own templates.
 */
import type { EmailConfig } from "@auth/core/providers";
import { Buffer } from "node:buffer";
import type { EmailMessage } from "../types.ts";

export type SendParams = Parameters<EmailConfig["sendVerificationRequest"]>[0];

export interface MailService {
  /** Whether a function is that of core's factory, and not of the application. */
  isOwn(send: EmailConfig["sendVerificationRequest"]): Promise<boolean>;
  send(message: EmailMessage, params: SendParams): Promise<void>;
}

/** No program answers such a mail, as with "out of office" (RFC 3834 section 5). */
export const AUTOMATIC = { "Auto-Submitted": "auto-generated" } as const;

export const MAIL_SERVICES: Readonly<Record<string, MailService>> = {
  forwardemail: overHttp(() => import("@auth/core/providers/forwardemail"), (message, { to, from, apiKey }) => ({
    url: "https://api.forwardemail.net/v1/emails",
    headers: { authorization: basic(`${apiKey}:`) },
    body: { from, to, headers: AUTOMATIC, ...message },
  })),
  mailgun: overHttp(
    () => import("@auth/core/providers/mailgun"),
    (message, { to, from = "", apiKey, name, region }) => {
      const domain = from.split("@")[1];
      if (!domain) throw new Error("`from` of the provider has no domain, which Mailgun needs");
      const form = new FormData();
      const header = { "h:Auto-Submitted": AUTOMATIC["Auto-Submitted"] };
      const fields = { from: `${name} <${from}>`, to, ...message, ...header };
      for (const [field, value] of Object.entries(fields)) form.append(field, value);
      return {
        url: `https://api.${region === "EU" ? "eu." : ""}mailgun.net/v3/${domain}/messages`,
        headers: { authorization: basic(`api:${apiKey}`) },
        body: form,
      };
    },
  ),
  postmark: overHttp(() => import("@auth/core/providers/postmark"), (message, { to, from, apiKey }) => {
    if (!apiKey) throw new TypeError("The provider has no `apiKey`");
    return {
      url: "https://api.postmarkapp.com/email",
      headers: { accept: "application/json", "x-postmark-server-token": apiKey },
      body: {
        From: from,
        To: to,
        Subject: message.subject,
        TextBody: message.text,
        HtmlBody: message.html,
        MessageStream: "outbound",
        Headers: Object.entries(AUTOMATIC).map(([Name, Value]) => ({ Name, Value })),
      },
    };
  }),
  resend: overHttp(() => import("@auth/core/providers/resend"), (message, { to, from, apiKey }) => ({
    url: "https://api.resend.com/emails",
    headers: { authorization: `Bearer ${apiKey}` },
    body: { from, to, headers: AUTOMATIC, ...message },
  })),
  sendgrid: overHttp(
    () => import("@auth/core/providers/sendgrid"),
    ({ subject, text, html }, { to, from, apiKey }) => ({
      url: "https://api.sendgrid.com/v3/mail/send",
      headers: { authorization: `Bearer ${apiKey}` },
      body: {
        personalizations: [{ to: [{ email: to }] }],
        from: { email: from },
        subject,
        headers: AUTOMATIC,
        content: [{ type: "text/plain", value: text }, { type: "text/html", value: html }],
      },
    }),
  ),
};

type Envelope = Pick<EmailConfig, "from" | "apiKey" | "name"> & { readonly to: string; readonly region?: string };

/** A service, by core's factory for it and the request that sends a mail. */
function overHttp(
  factory: () => Promise<{ readonly default: (config: never) => unknown }>,
  request: (
    message: EmailMessage,
    envelope: Envelope,
  ) => { url: string; headers: Record<string, string>; body: object },
): MailService {
  return {
    // Each call of the factory makes a function of its own, so they are compared by their source: a spread
    // (`{ ...Resend({}), sendVerificationRequest }`) leaves no other trace of whose it is.
    async isOwn(send) {
      const { default: make } = await factory();
      const { sendVerificationRequest } = make({} as never) as EmailConfig;
      return String(send) === String(sendVerificationRequest);
    },
    async send(message, { identifier: to, provider }) {
      const { url, headers, body } = request(message, { ...provider, to });
      const content = body instanceof FormData
        ? { headers, body }
        : { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) };
      const response = await fetch(url, { method: "POST", ...content });
      if (!response.ok) throw new Error(`${provider.name} answered ${response.status}: ${await response.text()}`);
      await response.body?.cancel();
    },
  };
}

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString("base64")}`;
}
