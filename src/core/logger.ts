/**
 * Core's logger in terms of Fastify's: what a client got wrong is not an error of ours, and nothing secret is
 * written.
 *
 * @module
 */
import { JWTSessionError } from "@auth/core/errors";
import type { LoggerInstance } from "@auth/core/types";
import type { AuthLogger } from "../session/read.ts";
import type { Log } from "../utils/log.ts";
import { type ProviderError, providerErrorOf } from "../provider/provider_error.ts";

interface ErrorSummary extends Partial<ProviderError> {
  type: string;
  message: string;
  /** Of our own errors. */
  code?: string;
  stack?: string;
  provider?: string;
  cause?: ErrorSummary;
}

/** Expected of any client on a bad day; a sign-in form mistyped is not worth more than a line. */
const INFORMATIVE = new Set([
  "CredentialsSignin",
  "EmailAddressRefused",
  "MissingCSRF",
]);

/** Refusals that a person may want to see piling up. */
const NOTEWORTHY = new Set([
  "AccessDenied",
  "AccountNotLinked",
  "InvalidCallbackUrl",
  "InvalidCheck",
  "InvalidProvider",
  "OAuthAccountNotLinked",
  "OAuthCallbackError",
  "UnknownAction",
  "Verification",
  "WebAuthnVerificationError",
]);

/** A token that expired, was cut or was made with another secret; a callback that throws is none of these. */
const REFUSED_TOKEN = /^(?:JWE|JWT|JOSE)\w*$/;

/**
 * Makes the logger core is given for one request, or for none at boot.
 *
 * @param log Fastify's logger, `request.log` where there is a request.
 * @param own The methods of the caller's own `logger`; each replaces ours, as with core.
 * @param debug The caller's `debug`. Metadata is left out even then: it holds codes, tokens and passwords.
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
    // What core warns of concerns the configuration: said once, at boot.
    warn: own?.warn ?? (() => {}),
    debug: debug ? own?.debug ?? ((message: string) => log.debug({}, `Auth.js: ${message}`)) : () => {},
  } as AuthLogger;
}

/** Logs one error of core's, at the level it deserves. */
export function logError(log: Log, error: Error): void {
  const answer = providerErrorOf(withCauses(error));
  const level = levelOf(error, answer);
  // Under a key of its own: a serializer for `err` expects an Error and would drop what is here. Writing out a stack costs
  // more than the rest of a refused request, so only errors of ours have one.
  const summary = { ...summarize(error, level === "error"), ...answer };
  log[level]({ authjs: summary }, `Auth.js: ${messageOf(summary)}`);
}

/** As {@linkcode logError} would log a `JWTSessionError`, which is not made. */
function logRefusal(log: Log, { name, message }: Error): void {
  const cause: ErrorSummary = { type: name, message };
  log.info({ authjs: { type: "JWTSessionError", message: "", cause } }, "Auth.js: JWTSessionError");
}

function messageOf({ type, message, provider, status, error, error_description }: ErrorSummary): string {
  const answer = error ?? status;
  // A message of its own says more than what the provider answered; that of core is always the same.
  if (answer === undefined || (message && type !== "OAuthCallbackError")) return message || type;
  return `"${provider}" answered ${answer}${error_description ? `: ${error_description}` : ""}`;
}

/** Errors about the token that a browser sent. */
const OF_TOKENS = new Set(["JWTSessionError", "SignOutError"]);

function levelOf(error: Error, answer: Partial<ProviderError> | undefined): "error" | "warn" | "info" {
  const { type = error.name } = error as { type?: string };
  // A person who says no at the provider.
  if (answer?.error === "access_denied" && type !== "InvalidCheck") return "info";
  if (INFORMATIVE.has(type)) return "info";
  if (NOTEWORTHY.has(type) || answer) return "warn";
  const cause = causeOf(error);
  const refused = OF_TOKENS.has(type) && cause !== undefined &&
    (REFUSED_TOKEN.test(cause.name) ||
      /^(?:no matching decryption secret|Invalid JWT)$/.test(cause.message));
  return refused ? "info" : "error";
}

/**
 * Only the type, message and stack of an error and its causes: what hangs on them besides (responses, token
 * sets, credentials) stays out of the log.
 */
function summarize(error: Error, withStack: boolean, depth = 0): ErrorSummary {
  const { type = error.name } = error as { type?: string };
  const summary: ErrorSummary = { type, message: error.message.replace(/\.? ?Read more at .*$/, "") };
  if (withStack && error.stack !== undefined) summary.stack = error.stack;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && code.startsWith("FST_AUTHJS_")) summary.code = code;
  const { provider } = (error.cause ?? {}) as { provider?: unknown };
  if (typeof provider === "string") summary.provider = provider;
  const cause = causeOf(error);
  if (cause !== undefined && depth < 4) summary.cause = summarize(cause, withStack, depth + 1);
  return summary;
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
