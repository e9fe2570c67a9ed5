/**
 * Who asks for the options of a WebAuthn ceremony, as core finds out.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";

/** What core is given to look with, and what it saw. */
export interface SessionLookup {
  readonly jwt: NonNullable<AuthConfig["jwt"]>;
  readonly wrapAdapter: (adapter: Adapter) => Adapter;
  /** Whether somebody is signed in of whom no e-mail address is known. */
  hasNoAddress(): boolean;
}

/**
 * Has a session that is not valid be none. Core would fail over a token that it cannot read, and takes an expired row
 * for a session.
 */
export function sessionLookup(jwt: AuthConfig["jwt"]): SessionLookup {
  let address: unknown = "";
  return {
    jwt: {
      ...jwt,
      async decode(params) {
        const token = await Promise.resolve(params).then((each) => jwt!.decode!(each)).catch(() => null);
        if (token?.sub) address = token.email;
        return token;
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
