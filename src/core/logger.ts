/** Core's logger on top of Fastify's. Mistakes of a client are not logged as errors, and no secret is logged. */
import { JWTSessionError } from "@auth/core/errors";
import type { LoggerInstance } from "@auth/core/types";
import { redactUrl } from "../http/redact.ts";
import { wrapError } from "../session/read.ts";
import { reasonIn, toError } from "../utils/error_chain.ts";
import type { AuthLogger, Log } from "../config/notices.ts";
import { type ProviderError, providerErrorOf } from "../provider/provider_error.ts";
import type { AuthInUse } from "./context.ts";
import { KNOWN_ERRORS } from "./failure.ts";

interface ErrorSummary extends Partial<ProviderError> {
  type: string;
  message: string;
  code?: string;
  stack?: string;
  provider?: string;
  cause?: ErrorSummary;
}

/** Metadata are never logged: they contain codes, tokens and passwords. */
export function toCoreLogger(log: Log, auth: Pick<AuthInUse, "config" | "once">): AuthLogger {
  const { logger, debug } = auth.config.core;
  const own = logger && methodsOf(logger, log);
  // What `logError()` would of core's error, without making it: any client can cause this at will.
  const refuse = ({ name: type, message }: Error) => {
    const authjs = { type: "JWTSessionError", message: "", cause: { type, message } };
    log.info({ authjs }, "Auth.js: JWTSessionError");
  };
  return {
    error: own?.error ?? ((error: Error) => logError(log, error)),
    refusal: own?.error ? (reason: Error) => own.error!(wrapError(JWTSessionError, reason)) : refuse,
    // Core warns about the configuration with every request; here that is done once, at boot.
    warn: own?.warn ?? (() => {}),
    debug: debug ? own?.debug ?? ((message: string) => log.debug({}, `Auth.js: ${message}`)) : () => {},
    warnOnce: (what, message, code) => auth.once(what, () => log.warn({ code }, `Auth.js: ${message}`)),
  } as AuthLogger;
}

/** The application's logger. A rejection of it does not end the process. */
function methodsOf(logger: Partial<LoggerInstance>, log: Log) {
  const methodOf = (name: "debug" | "error" | "warn") => {
    const tell = logger[name] as ((...told: unknown[]) => unknown) | undefined;
    return tell && ((...told: unknown[]) => {
      Promise.resolve(tell.apply(logger, told)).catch((cause) => {
        if (told[0] instanceof Error) logError(log, told[0]);
        logError(log, new Error(`\`logger.${name}\` failed`, { cause }));
      });
    });
  };
  return { error: methodOf("error"), warn: methodOf("warn"), debug: methodOf("debug") };
}

export function logError(log: Log, error: Error): void {
  const errors = withCauses(toError(error));
  const answer = providerErrorOf(errors);
  const level = levelOf(errors, answer);
  // Not under `err`, whose serializer expects an Error. To format a stack costs more than to refuse a request.
  const [outer, ...causes] = errors.map((each) => summarize(each, level === "error"));
  const message = messageOf({ ...outer!, ...answer }, causes.find(({ code }) => code !== undefined)?.message);
  // A refused token or a provider's answer says enough.
  const isExplained = level === "error" || (level === "warn" && outer!.message === "" && !answer);
  const why = isExplained ? reasonOf(causes) : "";
  const isNew = why !== "" && !message.includes(why.replace(/\.$/, ""));
  let cause: ErrorSummary | undefined;
  for (const each of causes.reverse()) cause = { ...each, ...(cause && { cause }) };
  log[level](
    { authjs: { ...outer, ...(cause && { cause }), ...answer } },
    `Auth.js: ${message}${isNew ? `: ${why}` : ""}`,
  );
}

/** The message of an error of ours among the causes, else of the innermost one. */
function reasonOf(causes: readonly ErrorSummary[]): string {
  const said = causes.filter(({ message }) => message !== "");
  return said.find(({ code }) => code !== undefined)?.message ?? reasonIn(said.at(-1)?.message ?? "");
}

/** @param ours The message of an error of ours among the causes. */
function messageOf({ type, message, provider, status, error, error_description }: ErrorSummary, ours?: string): string {
  const answer = error ?? status;
  // The message of our own errors says more than the provider's answer; core's is always the same.
  if (answer === undefined || (message && type !== "OAuthCallbackError")) return message || type;
  // A status alone does not say of which request, and of 200 not what is wrong.
  if (error === undefined && ours !== undefined) return ours;
  return `"${provider}" answered ${answer}${error_description ? `: ${error_description}` : ""}`;
}

/** The user declined at the provider (RFC 6749 section 4.1.2.1; Apple and LinkedIn; LinkedIn). */
const DECLINED: ReadonlySet<unknown> = new Set(["access_denied", "user_cancelled_authorize", "user_cancelled_login"]);

function levelOf([error, cause]: readonly Error[], answer: Partial<ProviderError> | undefined) {
  const { type = error!.name } = error as { type?: string };
  if (DECLINED.has(answer?.error) && type !== "InvalidCheck") return "info";
  const { level = answer ? "warn" : undefined } = KNOWN_ERRORS[type] ?? {};
  if (level !== undefined) return level;
  // The token that a browser sent expired, is malformed or has another secret.
  const isOfToken = (type === "JWTSessionError" || type === "SignOutError") && cause !== undefined &&
    (/^(?:JWE|JWT|JOSE)\w*$/.test(cause.name) ||
      /^(?:no matching decryption secret|Invalid JWT)$/.test(cause.message));
  return isOfToken ? "info" : "error";
}

/** Other properties of an error may be responses, token sets or credentials. */
function summarize(error: Error, withStack: boolean): ErrorSummary {
  const { type = error.name, code } = error as { type?: string; code?: unknown };
  const { provider } = (error.cause ?? {}) as { provider?: unknown };
  return {
    type,
    message: withoutQueries(error.message.replace(/\.? ?Read more at \S*$/, "")),
    ...(withStack && error.stack !== undefined && { stack: withoutQueries(error.stack) }),
    ...(typeof code === "string" && code.startsWith("FST_AUTHJS_") && { code }),
    ...(typeof provider === "string" && { provider }),
  };
}

/** Deno writes the address of a request into its error, and some providers get an access token in one. */
function withoutQueries(text: string): string {
  return text.replace(/https?:\/\/[^\s"'<>()]+/gi, (address) => address.includes("?") ? redactUrl(address) : address);
}

/** The error and its causes. Auth.js wraps what it caught as `cause.err`; others use `cause` itself. */
function withCauses(error: Error): Error[] {
  const errors: Error[] = [];
  for (let next: unknown = error; next instanceof Error && errors.length < 5;) {
    errors.push(next);
    const { cause } = next;
    next = cause instanceof Error ? cause : (cause as { err?: unknown } | undefined)?.err;
  }
  return errors;
}
