/**
 * Core's logger on top of Fastify's. Mistakes of a client are not logged as errors, and no secret is logged.
 */
import { JWTSessionError } from "@auth/core/errors";
import type { LoggerInstance } from "@auth/core/types";
import { redactUrl } from "../http/redact.ts";
import type { AuthLogger } from "../session/read.ts";
import { reasonIn } from "../utils/error_chain.ts";
import type { Log } from "../utils/log.ts";
import { type ProviderError, providerErrorOf } from "../provider/provider_error.ts";

interface ErrorSummary extends Partial<ProviderError> {
  type: string;
  message: string;
  /** The code of a `FastifyAuthError`. */
  code?: string;
  stack?: string;
  provider?: string;
  cause?: ErrorSummary;
}

/** Errors logged as "info": everyday mistakes, such as a wrong password. */
const INFORMATIVE = new Set([
  "CredentialsSignin",
  "EmailAddressRefused",
  "MissingCSRF",
  "TooManyRequests",
]);

/** Errors logged as "warn": many of them may be an attack or a mistake in the configuration. */
const NOTEWORTHY = new Set([
  "AccessDenied",
  "AccountNotLinked",
  "InvalidCallbackUrl",
  "InvalidCheck",
  "InvalidProvider",
  "LogoutTokenRefused",
  "OAuthAccountNotLinked",
  "OAuthCallbackError",
  "UnfinishedUserFound",
  "UnknownAction",
  "Verification",
  "WebAuthnVerificationError",
]);

/** Names of the errors about a token that expired, is malformed or has another secret. */
const REFUSED_TOKEN = /^(?:JWE|JWT|JOSE)\w*$/;

/**
 * Makes the logger for core.
 *
 * @param log Fastify's logger: that of the request, or at boot that of the application.
 * @param own The configured `logger`; each of its methods replaces ours, as in core.
 * @param debug The configured `debug`. Metadata are never logged: they contain codes, tokens and passwords.
 */
export function toCoreLogger(
  log: Log,
  own: Partial<LoggerInstance> | undefined,
  debug: boolean | undefined,
): AuthLogger {
  return {
    error: own?.error ?? ((error: Error) => logError(log, error)),
    refusal: own?.error
      ? (reason: Error) => own.error!(new JWTSessionError(reason as unknown as string))
      : (reason: Error) => logRefusal(log, reason),
    // Core warns about the configuration with every request; here that is done once, at boot.
    warn: own?.warn ?? (() => {}),
    debug: debug ? own?.debug ?? ((message: string) => log.debug({}, `Auth.js: ${message}`)) : () => {},
  } as AuthLogger;
}

/** Logs an error at its level. */
export function logError(log: Log, error: Error): void {
  const answer = providerErrorOf(withCauses(error));
  const level = levelOf(error, answer);
  // Not under `err`, whose serializer expects an Error. Formatting a stack costs more than the rest of a
  // refused request, so only the level "error" has one.
  const summary = { ...summarize(error, level === "error"), ...answer };
  // A refused token or a provider's answer says enough.
  const explained = level === "error" || (level === "warn" && summary.message === "" && answer === undefined);
  log[level]({ authjs: summary }, `Auth.js: ${messageOf(summary)}${explained ? causeIn(summary) : ""}`);
}

/** Logs what {@linkcode logError} would for a `JWTSessionError`, without making that error. */
function logRefusal(log: Log, { name, message }: Error): void {
  const cause: ErrorSummary = { type: name, message };
  log.info({ authjs: { type: "JWTSessionError", message: "", cause } }, "Auth.js: JWTSessionError");
}

/** Why, where the message does not say it: an error of ours among the causes, else the innermost one. */
function causeIn(summary: ErrorSummary): string {
  const shown = messageOf(summary);
  const causes: ErrorSummary[] = [];
  for (let { cause } = summary; cause !== undefined; cause = cause.cause) {
    if (cause.message !== "") causes.push(cause);
  }
  const why = causes.find(({ code }) => code !== undefined)?.message ??
    reasonIn(causes.at(-1)?.message ?? "");
  return why === "" || shown.includes(why.replace(/\.$/, "")) ? "" : `: ${why}`;
}

function messageOf({ type, message, provider, status, error, error_description }: ErrorSummary): string {
  const answer = error ?? status;
  // The message of our own errors says more than the provider's answer; core's is always the same.
  if (answer === undefined || (message && type !== "OAuthCallbackError")) return message || type;
  return `"${provider}" answered ${answer}${error_description ? `: ${error_description}` : ""}`;
}

/** Errors about the session token that a browser sent. */
const OF_TOKENS = new Set(["JWTSessionError", "SignOutError"]);

/** The user declined at the provider (RFC 6749 section 4.1.2.1; Apple and LinkedIn; LinkedIn). */
const DECLINED: ReadonlySet<unknown> = new Set([
  "access_denied",
  "user_cancelled_authorize",
  "user_cancelled_login",
]);

function levelOf(error: Error, answer: Partial<ProviderError> | undefined): "error" | "warn" | "info" {
  const { type = error.name } = error as { type?: string };
  if (DECLINED.has(answer?.error) && type !== "InvalidCheck") return "info";
  if (INFORMATIVE.has(type)) return "info";
  if (NOTEWORTHY.has(type) || answer) return "warn";
  const cause = causeOf(error);
  const refused = OF_TOKENS.has(type) && cause !== undefined &&
    (REFUSED_TOKEN.test(cause.name) ||
      /^(?:no matching decryption secret|Invalid JWT)$/.test(cause.message));
  return refused ? "info" : "error";
}

/**
 * Only the type, message and stack of an error and its causes. Other properties may be responses, token sets
 * or credentials.
 */
function summarize(error: Error, withStack: boolean, depth = 0): ErrorSummary {
  const { type = error.name } = error as { type?: string };
  const message = error.message.replace(/\.? ?Read more at \S*$/, "");
  const summary: ErrorSummary = { type, message: withoutQueries(message) };
  if (withStack && error.stack !== undefined) summary.stack = withoutQueries(error.stack);
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && code.startsWith("FST_AUTHJS_")) summary.code = code;
  const { provider } = (error.cause ?? {}) as { provider?: unknown };
  if (typeof provider === "string") summary.provider = provider;
  const cause = causeOf(error);
  if (cause !== undefined && depth < 4) summary.cause = summarize(cause, withStack, depth + 1);
  return summary;
}

/** Deno writes the address of a request into its error, and some providers get an access token in one. */
function withoutQueries(text: string): string {
  return text.replace(
    /https?:\/\/[^\s"'<>()]+/gi,
    (address) => address.includes("?") ? redactUrl(address) : address,
  );
}

/** Auth.js wraps what it caught as `cause.err`; others use `cause` itself. */
function causeOf(error: Error): Error | undefined {
  const { cause } = error;
  const inner = cause instanceof Error ? cause : (cause as { err?: unknown } | undefined)?.err;
  return inner instanceof Error ? inner : undefined;
}

function withCauses(error: Error): Error[] {
  const errors: Error[] = [];
  for (let next: Error | undefined = error; next && errors.length < 5; next = causeOf(next)) {
    errors.push(next);
  }
  return errors;
}
