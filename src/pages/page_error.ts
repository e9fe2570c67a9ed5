/** The errors that a query may name: those of core, of its documentation and of ours. */
const QUERY_ERRORS = [
  "AccessDenied",
  "AccountNotLinked",
  "Callback",
  "Configuration",
  "CredentialsSignin",
  "Default",
  "EmailCreateAccount",
  "EmailSignin",
  "MissingCSRF",
  "OAuthAccountNotLinked",
  "OAuthCallbackError",
  "OAuthCreateAccount",
  "OAuthSignin",
  "SessionRequired",
  "SessionTooLarge",
  "Signin",
  "TooManyRequests",
  "Verification",
  "WebAuthnVerificationError",
] as const;

type QueryError = typeof QUERY_ERRORS[number];

export type PageError =
  | QueryError
  | "BadRequest"
  | "NotFound"
  | "SessionUnreadable"
  | "SignInExpired"
  | "Unavailable";

/** Why a sign-in failed that core says nothing more of than "Configuration": the `code` of a query. */
export type FailureCode = "provider_failed" | "sign_in_expired";

const SHOWN_FOR_CODE: Readonly<Record<FailureCode, PageError>> = {
  // Processes of an earlier version lead here with it, while this one replaces them.
  provider_failed: "Unavailable",
  sign_in_expired: "SignInExpired",
};

/** The error that is shown for a query, if its `code` says more than its `error`. */
export function errorForCode(error: string | null, code: string | null): PageError | undefined {
  if (error !== "Configuration" || code === null || !Object.hasOwn(SHOWN_FOR_CODE, code)) return undefined;
  return SHOWN_FOR_CODE[code as FailureCode];
}

/** Why a code did not sign in: the page that takes codes says so. */
export const CODE_ERRORS = ["EmailCodeExpired", "EmailCodeSpent", "EmailCodeWrong"] as const;
export type CodeError = typeof CODE_ERRORS[number];

export function isQueryError(error: string | null | undefined): error is QueryError {
  return (QUERY_ERRORS as readonly (string | null | undefined)[]).includes(error);
}
