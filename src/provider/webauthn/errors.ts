/**
 * Why somebody with an authenticator does not come in.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import {
  AccessDenied,
  AdapterError,
  AuthError,
  InvalidCheck,
  WebAuthnVerificationError,
} from "@auth/core/errors";

/** What a browser sends may be in the message, and as long as a body may be. */
const MAXIMUM_LENGTH = 300;

/** The client's doing: nobody needs to mend the server for it. */
export class PasskeyRefused extends WebAuthnVerificationError {
  constructor(reason: string) {
    super(reason.length > MAXIMUM_LENGTH ? `${reason.slice(0, MAXIMUM_LENGTH)}…` : reason);
  }
}

/** The application's `signIn` callback sends this person to a page instead of in. */
export class SignInRedirect extends AccessDenied {
  constructor(readonly url: string) {
    super("The signIn callback answered with a page.");
  }
}

/**
 * What an error of core's means where it concerns what the client sent. Core says "Configuration" of most of them, and
 * means by that a page of status 500: of a passkey that was removed, for instance, which browsers go on to offer.
 */
export function refusalIn(error: Error): PasskeyRefused | undefined {
  const cause = (error.cause as { err?: unknown } | undefined)?.err;
  if (error instanceof AdapterError) return cause instanceof PasskeyRefused ? cause : undefined;
  const refused = error.constructor === AuthError || error instanceof InvalidCheck ||
    error instanceof WebAuthnVerificationError;
  if (!refused) return undefined;
  return new PasskeyRefused(
    cause instanceof Error ? cause.message : error.message.replace(/\.? ?Read more at .*$/, ""),
  );
}

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/**
 * The callbacks, with one that keeps people out by answering with a page. Core looks at that answer for every kind of
 * provider but this one, and lets them in.
 */
export function redirectFromSignIn(callbacks: Callbacks): Callbacks {
  const { signIn } = callbacks;
  if (!signIn) return callbacks;
  return {
    ...callbacks,
    async signIn(params) {
      const answer = await signIn(params);
      // Of either id the type is this one, whatever core's own types say.
      const type: string | undefined = params.account?.type;
      if (typeof answer === "string" && answer !== "" && type === "webauthn") {
        throw new SignInRedirect(answer);
      }
      return answer;
    },
  };
}
