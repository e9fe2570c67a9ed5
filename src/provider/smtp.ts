/**
 * Mails over SMTP, with nodemailer.
 *
 * Nodemailer is an optional peer, so nothing here imports it by name: bundlers and Deno would want it for every
 * application.
 */
import type { EmailConfig } from "@auth/core/providers";
import { AUTOMATIC, type MailService } from "./mail_services.ts";

export interface SmtpParts {
  readonly createTransport: (server: unknown) => {
    sendMail(mail: object): Promise<{ rejected?: unknown[]; pending?: unknown[] }>;
  };
  readonly send: EmailConfig["sendVerificationRequest"];
}

/** Where {@linkcode withSmtp} keeps the parts. Copies of a provider have it, too. */
export const SMTP: unique symbol = Symbol.for("fastify-authjs.smtp") as never;

/** The provider of core, with what its mails can be sent by. */
export function withSmtp(provider: EmailConfig, createTransport: unknown): EmailConfig {
  return Object.assign(provider, { [SMTP]: { createTransport, send: provider.sendVerificationRequest } });
}

/** @param known The parts; without them the provider was imported from core itself. */
export function smtpService(known: SmtpParts | undefined): MailService {
  let loading = known && Promise.resolve<SmtpParts | undefined>(known);
  const load = () => loading ??= loadSmtp();
  return {
    async isOwn(send) {
      const parts = await load();
      return parts !== undefined && (send === parts.send || String(send) === String(parts.send));
    },
    async send(message, { identifier, provider: { server, from } }) {
      const transport = (await load())!.createTransport(server);
      const { rejected, pending } = await transport.sendMail({ to: identifier, from, headers: AUTOMATIC, ...message });
      const failed = [...rejected ?? [], ...pending ?? []].filter(Boolean);
      if (failed.length > 0) throw new Error("The SMTP server refused the recipient");
    },
  };
}

/** @returns `undefined` if they cannot be loaded, as in a bundle. */
async function loadSmtp(): Promise<SmtpParts | undefined> {
  const load = async (name: string) => await import(/* webpackIgnore: true */ name);
  try {
    const { createTransport } = await load("nodemailer");
    const { default: factory } = await load("@auth/core/providers/nodemailer");
    return { createTransport, send: factory({ server: "-" }).sendVerificationRequest };
  } catch {
    // deno-coverage-ignore-start The packages are there if this is no bundle
    return undefined;
  }
  // deno-coverage-ignore-stop
}
