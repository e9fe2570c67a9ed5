/** E-mail providers for core, with corrected settings, and errors that tell a wrong address from a failed service. */
import { EmailSignInError } from "@auth/core/errors";
import type { EmailConfig, Provider } from "@auth/core/providers";
import { randomUUID } from "node:crypto";
import { type Environment, factoryIdOf, variableOf } from "./settings.ts";
import { invalidProvider } from "../errors.ts";
import { redactError } from "../http/redact.ts";
import type { VerificationMailParams } from "../types.ts";
import { lazyPattern } from "../utils/later.ts";
import type { SendParams } from "./mail_services.ts";

/** The user typed no e-mail address; the message does not repeat the input. */
class EmailAddressRefused extends EmailSignInError {
  static override readonly type = "EmailAddressRefused";
}

class EmailNotSent extends EmailSignInError {
  static override readonly type = "EmailNotSent";
}

/** Corrects the settings and wraps the functions of an e-mail provider; any other provider stays as it is. */
export function prepareEmailProvider(provider: Provider, env: Environment): Provider {
  const given = provider as EmailConfig;
  if (given.type !== "email") return provider;
  requireLifetime(given);
  return {
    ...given,
    ...correctedSettings(given, env),
    normalizeIdentifier: wrapNormalizer(given),
    sendVerificationRequest: wrapSender(given),
    generateVerificationToken: given.generateVerificationToken ? wrapGenerator(given) : newToken,
  };
}

/** Core would read it with each sign-in, after the mail was sent. A date can be 1e11 seconds after 1970. */
function requireLifetime({ id, ...provider }: EmailConfig): void {
  const maxAge: unknown = provider.maxAge ?? undefined;
  if (maxAge === undefined || (typeof maxAge === "number" && maxAge >= 1 && maxAge <= 1e11)) return;
  const given = typeof maxAge === "number" ? maxAge : JSON.stringify(maxAge) ?? `a ${typeof maxAge}`;
  throw invalidProvider(
    `The \`maxAge\` of the provider "${id}" is ${given}: write for how many seconds a sign-in link works, 1 or ` +
      "more, such as 15 * 60, or leave it out for 24 hours.",
  );
}

/** As core makes one, of 244 random bits. `randomUUID()` keeps bytes for its next calls, unlike `randomBytes()`. */
const newToken = () => `${randomUUID()}${randomUUID()}`.replaceAll("-", "");

/** Core would mail a link with any value in it. Without a result it makes a token itself. */
function wrapGenerator(provider: EmailConfig): () => Promise<string> {
  return async () => {
    // Called as a method, as core does.
    const token: unknown = await provider.generateVerificationToken!() ?? undefined;
    if (typeof token === "number" && Number.isFinite(token)) return String(token);
    if (token === undefined || (typeof token === "string" && token !== "")) return token as string;
    const returned = token === "" ? "an empty text" : `a value of the type ${typeof token}`;
    throw new TypeError(
      `generateVerificationToken() of the provider "${provider.id}" returned ${returned}, so the link would not ` +
        "work, and no mail was sent: return a text that cannot be guessed, or a promise of one.",
    );
  };
}

/** Settings without which some of core's providers do not work as documented. */
function correctedSettings(provider: EmailConfig, env: Environment): Partial<EmailConfig> {
  const { apiKey, from } = provider;
  const service = factoryIdOf(provider);
  const fromEnv = env[variableOf(service, "KEY")];
  const isBare = service === "mailgun" || service === "sendgrid";
  return {
    // Loops has an empty key by default, for which core ignores the environment.
    ...(!apiKey && fromEnv && { apiKey: fromEnv }),
    // These two send `from` as an address alone, in which a display name is invalid.
    ...(from && isBare && { from: from.replace(/^.*<(.*)>\s*$/s, "$1") }),
  };
}

function wrapNormalizer({ id, normalizeIdentifier }: EmailConfig): (identifier: string) => string {
  return (identifier) => {
    if (!identifier) throw new EmailAddressRefused("There is no e-mail address in the request");
    let address: unknown;
    try {
      address = normalizeIdentifier ? normalizeIdentifier(identifier) : normalizeAddress(identifier) ?? "";
    } catch (error) {
      throw new EmailAddressRefused("That is no e-mail address", { cause: redactError(error, identifier) });
    }
    if (address === "") throw new EmailAddressRefused("That is no e-mail address");
    if (typeof address === "string") return address;
    const returned = address instanceof Promise ? "a promise" : typeof address;
    // A rejection that nothing waits for would end the process.
    if (address instanceof Promise) address.catch(() => {});
    // Core would mail to "undefined", or to "[object Promise]".
    throw new TypeError(
      `normalizeIdentifier() of the provider "${id}" returned ${returned}: it is not awaited, and has to return the ` +
        "address as a text, or to throw an error. What takes longer is for `callbacks.signIn`.",
    );
  };
}

function wrapSender(provider: EmailConfig): EmailConfig["sendVerificationRequest"] {
  const send = async (params: SendParams) => {
    try {
      // Called as a method: a sender may use `this`.
      await provider.sendVerificationRequest(params);
    } catch (error) {
      const { identifier, token, url, code } = params as VerificationMailParams;
      const { apiKey, server } = provider;
      // In the HTML of a mail the parameters of the link are apart from each other.
      const parameters = new URL(url).search.slice(1).split("&");
      const cause = redactError(error, [identifier, token, url, parameters, code, apiKey, server]);
      throw new EmailNotSent("The sign-in link could not be mailed", { cause });
    }
  };
  return (params) => {
    const sent = send(params);
    // Core awaits it later: until then a rejection would count as unhandled and end the process.
    sent.catch(() => {});
    return sent;
  };
}

/** RFC 5321 section 4.5.3.1. */
const MAXIMUM_LENGTH = 254;

/** Characters as they are typed: to sort the marks of a letter takes the square of their number. */
const LONGEST_TYPED = 1_000;

/** Characters of an unquoted local part (RFC 5322 section 3.2.3, RFC 6531 section 3.3). */
const localPart = lazyPattern(String.raw`^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~.-]{1,64}$`, "u");

/** Labels of a host name, in any script. */
const domainName = lazyPattern(String.raw`^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*$`, "u");

/**
 * The form in which an address is stored, compared and mailed to.
 *
 * As in core, look-alikes of "@" and "," are replaced first, and what follows a comma in the domain is dropped.
 * Stricter than core, it has to be one mailbox: a comma before the "@" makes two recipients, and a key-value store may
 * cut its keys at "?" or "/".
 * @returns `undefined` if it is no address.
 */
export function normalizeAddress(typed: string): string | undefined {
  if (typed.length > LONGEST_TYPED) return undefined;
  const parts = typed.normalize("NFKC").toLowerCase().trim().split("@");
  const [local = "", domain = ""] = parts;
  const host = domain.split(",")[0]!;
  if (parts.length !== 2 || !localPart().test(local) || !domainName().test(host)) return undefined;
  const address = `${local}@${host}`;
  return address.length > MAXIMUM_LENGTH ? undefined : address;
}
