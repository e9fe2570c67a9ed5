/** The mails of core's e-mail providers, with texts of our own: core's are in English, and name only the host. */
import type { EmailConfig, Provider } from "@auth/core/providers";
import { randomInt } from "node:crypto";
import type { Languages } from "../pages/language.ts";
import type { EmailMessage, FastifyAuthOptions, VerificationMailParams } from "../types.ts";
import { MAIL_SERVICES, type SendParams } from "./mail_services.ts";
import { factoryIdOf } from "./settings.ts";
import { SMTP, type SmtpParts, smtpService } from "./smtp.ts";

/** How long a code works, in seconds, unless its link ends before. */
export const CODE_SECONDS = 600;

export function newCode(): string {
  return String(randomInt(1_000_000)).padStart(6, "0");
}

export interface MailSettings {
  readonly languages: Languages;
  readonly siteName: string | undefined;
  readonly write: FastifyAuthOptions["emailMessage"];
  readonly warn: (message: string) => void;
}

/** The sender in core's factories, an address at the site of Auth.js. */
const CORE_SENDER = "Auth.js <no-reply@authjs.dev>";

/** The provider, which sends our mail in place of that of core's factory. One of the application stays. */
export function writeEmails(provider: Provider, settings: MailSettings): Provider {
  const given = provider as EmailConfig & { readonly [SMTP]?: SmtpParts };
  if (given.type !== "email") return provider;
  const id = factoryIdOf(given), parts = given[SMTP];
  const isSmtp = parts !== undefined || id === "nodemailer" || id === "email";
  const service = isSmtp ? smtpService(parts) : MAIL_SERVICES[id];
  if (service === undefined) return provider;
  let isTold = false;
  const send = async (params: SendParams) => {
    if (!await service.isOwn(given.sendVerificationRequest)) return await given.sendVerificationRequest(params);
    if (given.from === CORE_SENDER && !isTold) {
      isTold = true;
      settings.warn(
        `The provider "${given.id}" has no \`from\`, so its mails are from ${CORE_SENDER}, which mail ` +
          "services refuse or take for spam. Set `from` to an address of yours.",
      );
    }
    await service.send(await messageFor(params, settings), params);
  };
  return { ...given, sendVerificationRequest: send };
}

async function messageFor(params: SendParams, { languages, siteName, write }: MailSettings): Promise<EmailMessage> {
  const { identifier, url, expires, theme, request } = params;
  const mailed = params as VerificationMailParams & { readonly code: string };
  const site = siteName ?? new URL(url).host;
  const { pathname, search } = new URL(request.url);
  const language = await languages.choose({ headers: Object.fromEntries(request.headers), url: pathname + search });
  const codeSeconds = Math.min(CODE_SECONDS, (expires.valueOf() - Date.now()) / 1000);
  const { signInMail } = await import("../pages/mail.ts");
  const userAgent = request.headers.get("user-agent") ?? "";
  const device = [BROWSERS, SYSTEMS].flatMap((names) => names.find(([, each]) => each.test(userAgent))?.[0] ?? []);
  // What is not read has no code, and the browser is not asked for one.
  const written = {
    ...{ identifier, url, expires, site, language: language.tag },
    get code() {
      return mailed.code;
    },
    get message() {
      return signInMail({ url, code: mailed.code, codeSeconds, expires, site, language, device, theme });
    },
  };
  if (write === undefined) return written.message;
  const message = await write(written);
  if ([message?.text, message?.html].some(Boolean)) return message;
  throw new TypeError("`emailMessage` returned no text and no HTML: return the mail, as in `{ subject, text, html }`");
}

type Names = readonly (readonly [name: string, pattern: RegExp])[];

/** The first one counts: most browsers also say that they are Chrome or Safari. */
const BROWSERS: Names = [
  ["Edge", /\bEdg(?:e|A|iOS)?\//],
  ["Opera", /\bOPR\//],
  ["Samsung Internet", /\bSamsungBrowser\//],
  ["Firefox", /\b(?:Firefox|FxiOS)\//],
  ["Chrome", /(?:Chrome|CriOS)\//],
  ["Safari", /\bVersion\/[\d.]+ .*\bSafari\//],
];

/** iPhones also say that they are like macOS, Android that it is Linux. */
const SYSTEMS: Names = [
  ["Windows", /\bWindows\b/],
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["macOS", /\bMacintosh\b/],
  ["Android", /\bAndroid\b/],
  ["ChromeOS", /\bCrOS\b/],
  ["Linux", /\bLinux\b/],
];
