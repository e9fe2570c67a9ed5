/** What a client may know of a failed request: for the query of a page, and for a script. */
import {
  AccessDenied,
  CredentialsSignin,
  EmailSignInError,
  InvalidCheck,
  OAuthCallbackError,
  OAuthProfileParseError,
} from "@auth/core/errors";
import type { FailureCode } from "../pages/page_error.ts";
import { errorChain } from "../utils/error_chain.ts";
import { CallbackFailure } from "../session/callback_failure.ts";
import { SessionTooLarge } from "../session/cookie_size.ts";
import { CsrfRefused } from "./csrf.ts";

/** What a client may know of an error. */
export interface Failure {
  /** The HTTP status for a client that asks for one. */
  readonly status: number;
  /** The type of the error. */
  readonly error: string;
  /**
   * What is the matter in detail: the `code` of a `CredentialsSignin`, what is wrong with a CSRF token, or why
   * a sign-in failed that core says nothing more of than "Configuration".
   */
  readonly code?: string;
  /** For developers. */
  readonly message?: string;
  /** When to try again: the value of `Retry-After`. */
  readonly retryAfter?: string;
}

/**
 * The errors whose type a client may know (`isClientError` of core 0.41.3, which is not in its types), with
 * their status.
 */
const CLIENT_ERRORS: Readonly<Record<string, number>> = {
  AccessDenied: 403,
  AccountNotLinked: 403,
  CredentialsSignin: 401,
  MissingCSRF: 403,
  OAuthAccountNotLinked: 403,
  OAuthCallbackError: 401,
  Verification: 401,
  WebAuthnVerificationError: 401,
  // Ours.
  [SessionTooLarge.type]: 500,
  SessionRequired: 401,
};

/**
 * The callback is of no sign-in under way in this browser: it took too long, for example. To core that is a
 * mistake in the configuration.
 */
export class SignInExpired extends InvalidCheck {
  static override readonly type = InvalidCheck.type;
}

/** What an application may say with the `statusCode` of an error that it throws. */
const STATUS_CODES: ReadonlySet<unknown> = new Set([401, 403, 429, 503]);

/** The errors for those statuses, where the application's error has no type of its own. */
const TYPES_BY_STATUS: Readonly<Record<number, string>> = {
  401: CredentialsSignin.type,
  403: AccessDenied.type,
  429: "TooManyRequests",
};

/** The errors that the sign-in page shows, whatever page is for the error that core made of them. */
const SHOWN_AT_SIGN_IN: ReadonlySet<string> = new Set([CredentialsSignin.type, "TooManyRequests"]);

/** Whether the sign-in page shows an error, whatever `kind` core gives it: it can be put right there. */
export function isShownAtSignIn({ error, status }: Failure): boolean {
  return status === 429 || SHOWN_AT_SIGN_IN.has(error);
}

/**
 * What a client may know of an error; of most errors only that the server has the reason in its log.
 *
 * The status is that of `statusCode`, as Fastify reads it, where an error of the application or a cause of it
 * has one of 401, 403, 429 and 503.
 */
export function failureOf(error: Error): Failure {
  const own = statedIn(error);
  const status = own?.statusCode;
  const retryAfter = retryAfterOf(own?.headers);
  return {
    ...failureByType(error, own),
    ...(status !== undefined && { status }),
    ...(retryAfter !== undefined && { retryAfter }),
    ...codeOf(own instanceof CredentialsSignin ? own : error),
  };
}

/** An error that says a status. */
interface StatedError {
  readonly statusCode: number;
  readonly headers?: unknown;
  readonly type?: unknown;
}

/** The first of an error and its causes that says a status. */
function statedIn(error: Error): StatedError | undefined {
  for (const each of errorChain(error) as Iterable<{ statusCode?: unknown }>) {
    // Its status is for reads, whatever was thrown.
    if (each instanceof CallbackFailure) continue;
    if (STATUS_CODES.has(each.statusCode)) return each as StatedError;
  }
}

function failureByType(error: Error, own: StatedError | undefined): Failure {
  // A mistyped address is a mistake of the client, and a mail service that is down is none.
  if (error instanceof EmailSignInError) {
    return { error: "EmailSignin", status: error.type === "EmailAddressRefused" as string ? 400 : 503 };
  }
  const { type } = clientErrorOf(error, own) ?? {};
  if (type !== undefined) return { error: type, status: CLIENT_ERRORS[type]! };
  // The sign-in page has one text for all failures of a callback.
  const isProfile = error instanceof OAuthProfileParseError && own?.statusCode !== 429;
  const known = isProfile ? OAuthCallbackError.type : TYPES_BY_STATUS[own?.statusCode ?? 0];
  if (known !== undefined) return { error: known, status: 500 };
  const expired: FailureCode = "sign_in_expired";
  return error instanceof SignInExpired
    ? { error: "Configuration", status: 401, code: expired }
    : { error: "Configuration", status: 500 };
}

/**
 * The error whose type a client may know: that of the application, which core may have wrapped. Core makes an
 * `AccessDenied` of whatever the `signIn` callback throws, also of an error that says another status.
 */
function clientErrorOf(error: Error, own: StatedError | undefined): { readonly type: string } | undefined {
  const known = (each: unknown) => Object.hasOwn(CLIENT_ERRORS, String((each as { type?: unknown }).type));
  if (own !== undefined && known(own)) return own as { type: string };
  const { type } = error as Error & { type: string };
  const isMade = type === AccessDenied.type && own !== undefined && (own as unknown) !== error;
  return known(error) && !isMade ? { type } : undefined;
}

function codeOf(error: object): Pick<Failure, "code" | "message"> {
  if (error instanceof CredentialsSignin) return { code: error.code };
  const { code, message } = error as Error & { code?: unknown };
  if (code === "FST_AUTHJS_TOO_MANY_REQUESTS") return { code, message };
  return error instanceof CsrfRefused ? { code: error.problem, message: error.explanation } : {};
}

/** `headers` of an error is what Fastify, too, adds to the reply. */
function retryAfterOf(headers: unknown): string | undefined {
  if (typeof headers !== "object" || headers === null) return undefined;
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === "retry-after") ?? [];
  return /^[\w ,:]+$/.test(String(value)) ? String(value) : undefined;
}
