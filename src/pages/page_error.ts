/** The errors that pages have a text for. */
/** The errors that a query may name: those of core, of its documentation and of ours. */
export const QUERY_ERRORS = [
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

/** An error that a query may name. */
export type QueryError = typeof QUERY_ERRORS[number];

/** An error that a page shows. */
export type PageError = QueryError | "BadRequest" | "NotFound" | "Unavailable";

/** Whether a query may name this error. */
export function isQueryError(error: string | null | undefined): error is QueryError {
  return (QUERY_ERRORS as readonly (string | null | undefined)[]).includes(error);
}
