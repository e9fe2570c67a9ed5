/** Errors of a WebAuthn sign-in. */
import { AccessDenied, AdapterError, AuthError, InvalidCheck, WebAuthnVerificationError } from "@auth/core/errors";

/** The message may contain what the browser sent, which may be as long as a body. */
const MAXIMUM_LENGTH = 300;

/** The client sent something wrong; the server is not at fault. */
export class PasskeyRefused extends WebAuthnVerificationError {
  constructor(reason: string, readonly told?: { readonly code: "unknown_passkey" }) {
    super(reason.length > MAXIMUM_LENGTH ? `${reason.slice(0, MAXIMUM_LENGTH)}…` : reason);
  }
}

/** The challenge of the ceremony is none of this browser, has ended or is used up. */
export class PasskeyExpired extends PasskeyRefused {}

/** The `signIn` callback returned a URL, which core ignores for WebAuthn alone: the user is redirected there. */
export class SignInRedirect extends AccessDenied {
  constructor(readonly url: string) {
    super("The signIn callback answered with a page.");
  }
}

/** Core's messages for a passkey that is in no database (0.41.3). The account may be another provider's. */
const UNKNOWN_TO_ALL = /^WebAuthn authenticator not found/;
const UNKNOWN = /^WebAuthn (?:authenticator|account) not found/;

/** The refusal in an error of core's, which would answer most with its "Configuration" page and status 500. */
export function refusalIn(error: Error, isOnlyProvider: boolean): PasskeyRefused | undefined {
  const cause = (error.cause as { err?: unknown } | undefined)?.err;
  if (error instanceof AdapterError) return cause instanceof PasskeyRefused ? cause : undefined;
  const refused = error.constructor === AuthError || error instanceof InvalidCheck ||
    error instanceof WebAuthnVerificationError;
  if (!refused) return undefined;
  const isUnknown = isOnlyProvider ? UNKNOWN : UNKNOWN_TO_ALL;
  return new PasskeyRefused(
    cause instanceof Error ? cause.message : error.message.replace(/\.? ?Read more at \S*$/, ""),
    isUnknown.test(error.message) ? { code: "unknown_passkey" } : undefined,
  );
}
