/**
 * Core's logger in terms of Fastify's: what a client got wrong is not an error of ours, and nothing secret is
 * written.
 *
 * @module
 */
import type { LoggerInstance } from "@auth/core/types";
import { errorAnswerOf, type ProviderErrorAnswer } from "./oauth/error_answer.ts";

/** The part of Fastify's logger that is used here. */
export interface Log {
  /** A fault of the application, its database or a provider. */
  error(details: object, message: string): void;
  /** Something to look at. */
  warn(details: object, message: string): void;
  /** A client's mistake. */
  info(details: object, message: string): void;
  /** What happens, for the curious. */
  debug(details: object, message: string): void;
}

interface ErrorSummary extends Partial<ProviderErrorAnswer> {
  type: string;
  message: string;
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
): LoggerInstance {
  return {
    error: own?.error ?? ((error: Error) => logError(log, error)),
    // What core warns of concerns the configuration: said once, at boot.
    warn: own?.warn ?? (() => {}),
    debug: debug ? own?.debug ?? ((message: string) => log.debug({}, `Auth.js: ${message}`)) : () => {},
  } as LoggerInstance;
}

/** Logs one error of core's, at the level it deserves. */
export function logError(log: Log, error: Error): void {
  // Under a key of its own: a serializer for `err` expects an Error and would drop what is here.
  const answer = errorAnswerOf(withCauses(error));
  const summary = { ...summarize(error), ...answer };
  const level = levelOf(error, summary, answer);
  if (level !== "error") withoutStacks(summary);
  log[level]({ authjs: summary }, `Auth.js: ${messageOf(summary)}`);
}

function messageOf({ type, message, provider, status, error, error_description }: ErrorSummary): string {
  const answer = error ?? status;
  // A message of its own says more than what the provider answered; that of core is always the same.
  if (answer === undefined || (message && type !== "OAuthCallbackError")) return message || type;
  return `"${provider}" answered ${answer}${error_description ? `: ${error_description}` : ""}`;
}

function levelOf(
  error: Error,
  { type, cause }: ErrorSummary,
  answer: Partial<ProviderErrorAnswer> | undefined,
): "error" | "warn" | "info" {
  // A person who says no at the provider.
  if (answer?.error === "access_denied" && type !== "InvalidCheck") return "info";
  if (INFORMATIVE.has(type)) return "info";
  if (NOTEWORTHY.has(type) || answer) return "warn";
  const inner = causeOf(error);
  const refused = type === "JWTSessionError" && cause !== undefined &&
    (REFUSED_TOKEN.test(inner?.name ?? "") ||
      /^(?:no matching decryption secret|Invalid JWT)$/.test(cause.message));
  return refused ? "info" : "error";
}

/**
 * Only the type, message and stack of an error and its causes: what hangs on them besides (responses, token
 * sets, credentials) stays out of the log.
 */
function summarize(error: Error, depth = 0): ErrorSummary {
  const { type = error.name } = error as { type?: string };
  const summary: ErrorSummary = { type, message: error.message.replace(/\.? ?Read more at .*$/, "") };
  if (error.stack !== undefined) summary.stack = error.stack;
  const { provider } = (error.cause ?? {}) as { provider?: unknown };
  if (typeof provider === "string") summary.provider = provider;
  const cause = causeOf(error);
  if (cause !== undefined && depth < 4) summary.cause = summarize(cause, depth + 1);
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

function withoutStacks(summary: ErrorSummary): void {
  for (let next: ErrorSummary | undefined = summary; next !== undefined; next = next.cause) delete next.stack;
}
