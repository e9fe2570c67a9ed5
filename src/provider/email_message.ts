/**
 * The mails of core's e-mail providers, with texts of our own. Core's are in English, and name only the host.
 *
 * A function of the application that sends its own mails stays as it is.
 */
import type { EmailConfig, Provider } from "@auth/core/providers";
import type { Languages } from "../pages/language.ts";
import type { EmailMessage, FastifyAuthOptions, LanguageRequest, VerificationMailParams } from "../types.ts";
import { CODE_SECONDS } from "./mailed_code.ts";
import { MAIL_SERVICES, type MailService } from "./mail_services.ts";
import { factoryIdOf } from "./settings.ts";
import { loadSmtp, sendOverSmtp, SMTP, type SmtpParts } from "./smtp.ts";

export interface MailSettings {
  readonly languages: Languages;
  readonly siteName: string | undefined;
  readonly write: FastifyAuthOptions["emailMessage"];
  readonly warn: (message: string) => void;
}

/** The sender in core's factories, an address at the site of Auth.js. */
const CORE_SENDER = "Auth.js <no-reply@authjs.dev>";

type Send = EmailConfig["sendVerificationRequest"];
type SendParams = Parameters<Send>[0];

/** The provider, which sends our mail where core's factory would send its own. */
export function writeEmails(provider: Provider, settings: MailSettings): Provider {
  const given = provider as EmailConfig & { readonly [SMTP]?: SmtpParts };
  const service = given.type === "email" ? serviceOf(factoryIdOf(given), given[SMTP]) : undefined;
  if (service === undefined) return provider;
  let isTold = false;
  const send: Send = async (params) => {
    if (!await service.isOwn(given.sendVerificationRequest)) {
      return await given.sendVerificationRequest(params);
    }
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

function serviceOf(id: string, parts: SmtpParts | undefined): MailService | undefined {
  return parts !== undefined || id === "nodemailer" || id === "email" ? smtp(parts) : MAIL_SERVICES[id];
}

function smtp(known: SmtpParts | undefined): MailService {
  let loading = known && Promise.resolve<SmtpParts | undefined>(known);
  const load = () => loading ??= loadSmtp();
  return {
    async isOwn(send) {
      const parts = await load();
      return parts !== undefined && (send === parts.send || String(send) === String(parts.send));
    },
    send: async (message, params) => await sendOverSmtp((await load())!, message, params),
  };
}

async function messageFor(
  params: SendParams,
  { languages, siteName, write }: MailSettings,
): Promise<EmailMessage> {
  const { identifier, url, expires, theme, request } = params;
  const mailed = params as VerificationMailParams & { readonly code: string };
  const site = siteName ?? new URL(url).host;
  const language = await languages.choose(toLanguageRequest(request));
  const codeSeconds = Math.min(CODE_SECONDS, (expires.valueOf() - Date.now()) / 1000);
  const { signInMail } = await import("../pages/mail.ts");
  const device = deviceOf(request.headers.get("user-agent") ?? "");
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
  return write === undefined ? written.message : await write(written);
}

function toLanguageRequest({ headers, url }: Request): LanguageRequest {
  const { pathname, search } = new URL(url);
  return { headers: Object.fromEntries(headers), url: pathname + search };
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

/** The browser and the system that a `User-Agent` header names, as far as they are of these lists. */
function deviceOf(userAgent: string): string[] {
  return [BROWSERS, SYSTEMS].flatMap((names) =>
    names.find(([, pattern]) => pattern.test(userAgent))?.slice(0, 1) as string[] ?? []
  );
}
