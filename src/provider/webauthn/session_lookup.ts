/** How core looks up the session for the options of a WebAuthn ceremony. */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";

/** What core looks up the session with. */
export interface SessionLookup {
  readonly jwt: NonNullable<AuthConfig["jwt"]>;
  readonly wrapAdapter: (adapter: Adapter) => Adapter;
  /** Whether the user is signed in and has no e-mail address. */
  hasNoAddress(): boolean;
}

/**
 * Makes an invalid session none: core fails on a session token that it cannot read, and does not check
 * whether a row has expired.
 */
export function sessionLookup(jwt: AuthConfig["jwt"]): SessionLookup {
  let address: unknown = "";
  return {
    jwt: {
      ...jwt,
      async decode(params) {
        const claims = await Promise.resolve(params).then((each) => jwt!.decode!(each)).catch(() => null);
        if (claims?.sub) address = claims.email;
        return claims;
      },
    },
    wrapAdapter: (adapter) => ({
      ...adapter,
      async getSessionAndUser(sessionToken) {
        const found = await adapter.getSessionAndUser!(sessionToken);
        if (!found || new Date(found.session.expires).valueOf() <= Date.now()) return null;
        address = found.user.email;
        return found;
      },
    }),
    hasNoAddress: () => typeof address !== "string",
  };
}
