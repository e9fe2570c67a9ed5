/** What a client may know of a failed request, for the query of a page and for a script, and the answer to it. */
import {
  AccessDenied,
  type AuthError,
  CredentialsSignin,
  EmailSignInError,
  OAuthCallbackError,
  OAuthProfileParseError,
} from "@auth/core/errors";
import { unavailableError } from "../adapter/failure.ts";
import { withQuery } from "../http/callback_url.ts";
import { findUnavailable, unavailableProviderError } from "../provider/provider_error.ts";
import { CallbackFailure } from "../session/read.ts";
import { SessionStoreFailure } from "../store/shared_store.ts";
import { errorChain, toError } from "../utils/error_chain.ts";
import { type Answer, failedAnswer, jsonAnswer, redirectAnswer } from "./answer.ts";
import type { RequestContext } from "./context.ts";

/**
 * The HTTP status of those whose type a client may know (`isClientError` of core 0.41.3, and ours). The level is "info"
 * for everyday mistakes, "warn" if many of them may be an attack or a mistake in the configuration.
 */
export const KNOWN_ERRORS: Readonly<Record<string, { readonly status?: number; readonly level?: "info" | "warn" }>> = {
  AccessDenied: { status: 403, level: "warn" },
  AccountNotLinked: { status: 403, level: "warn" },
  CredentialsSignin: { status: 401, level: "info" },
  EmailAddressRefused: { level: "info" },
  EmailCodeExpired: { status: 401, level: "info" },
  EmailCodeSpent: { status: 401, level: "warn" },
  EmailCodeWrong: { status: 401, level: "info" },
  InvalidCheck: { level: "warn" },
  LogoutTokenRefused: { level: "warn" },
  MissingCSRF: { status: 403, level: "info" },
  OAuthAccountNotLinked: { status: 403, level: "warn" },
  OAuthCallbackError: { status: 401, level: "warn" },
  SessionRequired: { status: 401 },
  SessionTooLarge: { status: 500 },
  TooManyRequests: { level: "info" },
  UnfinishedUserFound: { level: "warn" },
  Verification: { status: 401, level: "warn" },
  WebAuthnVerificationError: { status: 401, level: "warn" },
};

export interface Failure {
  readonly status: number;
  readonly error: string;
  /** Such as the `code` of a `CredentialsSignin`. */
  readonly code?: string;
  readonly message?: string;
  /** When to try again: the value of `Retry-After`. */
  readonly retryAfter?: string;
}

/** An error of the application that says a status, or one of ours that says more. */
interface StatedError extends Error {
  readonly statusCode?: number;
  readonly headers?: object | null;
  readonly type?: string;
  readonly told?: Partial<Failure>;
}

/** What an application may say with the `statusCode` of an error, and its type if it has none of its own. */
const TYPES_BY_STATUS: ReadonlyMap<unknown, string> = new Map([
  [401, CredentialsSignin.type],
  [403, AccessDenied.type],
  [429, "TooManyRequests"],
  [503, "Configuration"],
]);

/** What a client may know of an error. The status is the `statusCode` of an error of the application if it is known. */
export function failureOf(error: StatedError): Failure {
  // The status of a failed callback is for reads, whatever was thrown.
  const own = (errorChain(error) as StatedError[]).find((each) =>
    TYPES_BY_STATUS.has(each.statusCode) && !(each instanceof CallbackFailure)
  );
  const code = [own, error].find((each) => each instanceof CredentialsSignin)?.code;
  // What Fastify, too, adds to the reply.
  const [, wait] = Object.entries(own?.headers ?? {}).find(([name]) => /^retry-after$/i.test(name)) ?? [];
  return {
    ...failureByType(error, own),
    ...(code !== undefined && { code }),
    ...error.told,
    ...(own?.statusCode !== undefined && { status: own.statusCode }),
    ...(/^[\w ,:]+$/.test(String(wait ?? "")) && { retryAfter: String(wait) }),
  };
}

function failureByType(error: StatedError, own: StatedError | undefined): Failure {
  // A mistyped address is a mistake of the client, and a mail service that is down is none.
  if (error instanceof EmailSignInError) {
    return { error: "EmailSignin", status: error.type === "EmailAddressRefused" as string ? 400 : 503 };
  }
  // Core makes an `AccessDenied` of whatever the `signIn` callback throws, also of an error that says a status.
  const isMade = error.type === AccessDenied.type && own !== undefined && own !== error;
  for (const type of [own?.type, isMade ? undefined : error.type]) {
    const { status } = KNOWN_ERRORS[type ?? ""] ?? {};
    if (status !== undefined) return { error: type!, status };
  }
  // The sign-in page has one text for all failures of a callback.
  const isProfile = error instanceof OAuthProfileParseError && own?.statusCode !== 429;
  const type = isProfile ? OAuthCallbackError.type : TYPES_BY_STATUS.get(own?.statusCode);
  return { error: type ?? "Configuration", status: 500 };
}

/**
 * The answer for an error, by core's rules. Unlike in core, what can be put right at the sign-in page leads back to it,
 * and a store that fails or a provider that does not answer is a 503.
 */
export function errorAnswer(thrown: unknown, context: RequestContext): Answer {
  const error = toError(thrown);
  // For a script, so there is no page.
  if (context.action === "session" || context.action === "token") return { error, ...jsonAnswer(null, 400) };
  const failure = errorChain(error).find((each) => each instanceof SessionStoreFailure);
  const unavailable = findUnavailable(error);
  if (failure ?? unavailable) {
    context.logger.error(failure ?? error);
    return failedAnswer(failure ? unavailableError(failure) : unavailableProviderError(unavailable!));
  }
  const { error: type, code, status } = failureOf(error);
  const isOfSignIn = error instanceof OAuthProfileParseError || status === 429 ||
    type === CredentialsSignin.type || type === "TooManyRequests";
  const { kind = "error" } = error as AuthError & { kind?: PageKind };
  const page = errorPage(isOfSignIn ? "signIn" : kind, { error: type, ...(code && { code }) }, context);
  return { error, ...redirectAnswer(page) };
}

type PageKind = "error" | "signIn" | "verifyRequest";

/** The URL of a page that shows an error: the application's own, or core's. */
export function errorPage(kind: PageKind, parameters: Record<string, string>, context: RequestContext): string {
  const { config, mountPath, origin } = context;
  const own = config.core.pages?.[kind];
  const path = kind === "verifyRequest" ? "verify-request" : kind.toLowerCase();
  if (own === undefined) return withQuery(`${origin.href}${mountPath}/${path}`, parameters);
  const page = new URL(own, origin.href);
  for (const [name, value] of Object.entries(parameters)) page.searchParams.set(name, value);
  return page.href;
}
