/**
 * A new session for each sign-in, where sessions are rows of a database.
 *
 * Core leaves the row of the session that the browser had, or goes on using it where the same user signs in again. A
 * token that somebody else knows would then outlive the sign-in, which is what people sign in again to end.
 *
 * @module
 */
import type { Adapter, AdapterSession } from "@auth/core/adapters";

/** How the new session is made. */
export interface ReplacementSettings {
  /** The token the browser came with. */
  readonly token: string;
  /** Makes the token of the new one. */
  readonly generate: () => string;
  /** Seconds a session lasts. */
  readonly maxAge: number;
}

/** A sign-in that is going on. */
export interface SessionReplacement {
  /** What core is to work with until it has answered. */
  readonly adapter: Adapter;
  /**
   * Ends the old session once the browser has another.
   *
   * @param token The session token of core's answer; without one the sign-in failed and nothing changes.
   */
  finish(token: string | undefined): Promise<void>;
}

/**
 * Begins a renewal: core gets to see the session the browser has, so that accounts are linked to the user it belongs
 * to, but under a new token.
 *
 * @param adapter The adapter to work with.
 * @param settings The old session and how a new one is made.
 */
export function replaceSession(
  adapter: Adapter,
  { token, generate, maxAge }: ReplacementSettings,
): SessionReplacement {
  const expires = new Date(Date.now() + maxAge * 1000);
  let old: AdapterSession | undefined | null;
  let successor: AdapterSession | undefined;

  return {
    adapter: {
      ...adapter,
      async getSessionAndUser(asked) {
        const found = await adapter.getSessionAndUser!(asked);
        if (asked !== token) return found;
        old = found?.session ?? null;
        // Core does not look at this here: an expired session vouches for nobody.
        if (!found || found.session.expires.valueOf() <= Date.now()) return null;
        successor = { sessionToken: generate(), userId: found.session.userId, expires };
        return { user: found.user, session: successor };
      },
      async deleteSession(asked) {
        // Not before the new one exists.
        if (asked !== token) await adapter.deleteSession!(asked);
      },
    },
    async finish(current) {
      if (!current || current === token) return;
      if (current === successor?.sessionToken) await adapter.createSession!(successor);
      // After a password core does not look for the session the browser had.
      if (old === undefined) old = (await adapter.getSessionAndUser!(token))?.session ?? null;
      if (old !== null) await adapter.deleteSession!(token);
    },
  };
}
