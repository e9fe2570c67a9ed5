/**
 * A new session for each sign-in, where sessions are rows.
 *
 * Core leaves the row of the session that the browser had, or keeps using it where the same user signs in
 * again. An attacker who knows that session token could go on using it; users sign in again to end just
 * that.
 */
import type { Adapter, AdapterSession } from "@auth/core/adapters";

/** The session to replace, and how to make the new one. */
export interface ReplacementSettings {
  /** The session token that the browser sent. */
  readonly token: string;
  /** Makes the new session token. */
  readonly generate: () => string;
  /** Seconds until the new session ends. */
  readonly maxAge: number;
}

/** The replacement of a session during one sign-in. */
export interface SessionReplacement {
  /** The adapter for core during this sign-in. */
  readonly adapter: Adapter;
  /**
   * Ends the old session once the browser has a new one.
   *
   * @param token The session token in core's answer; `undefined` where the sign-in failed, and nothing
   * changes.
   */
  finish(token: string | undefined): Promise<void>;
}

/**
 * Starts a replacement: core sees the session that the browser has, so that it links accounts to its user,
 * but under a new token.
 */
export function replaceSession(
  adapter: Adapter,
  { token, generate, maxAge }: ReplacementSettings,
): SessionReplacement {
  const expires = new Date(Date.now() + maxAge * 1000);
  /** `undefined` until it was looked up. */
  let old: AdapterSession | undefined | null;
  let successor: AdapterSession | undefined;

  return {
    adapter: {
      ...adapter,
      async getSessionAndUser(sessionToken) {
        const found = await adapter.getSessionAndUser!(sessionToken);
        if (sessionToken !== token) return found;
        old = found?.session ?? null;
        // Core does not check the expiry here.
        if (!found || found.session.expires.valueOf() <= Date.now()) return null;
        successor = { sessionToken: generate(), userId: found.session.userId, expires };
        return { user: found.user, session: successor };
      },
      async deleteSession(sessionToken) {
        // The old session is deleted in `finish`, when the new one exists.
        if (sessionToken !== token) await adapter.deleteSession!(sessionToken);
      },
    },
    async finish(current) {
      if (!current || current === token) return;
      if (current === successor?.sessionToken) await adapter.createSession!(successor);
      // After a sign-in with credentials core has not looked up the old session.
      if (old === undefined) old = (await adapter.getSessionAndUser!(token))?.session ?? null;
      if (old !== null) await adapter.deleteSession!(token);
    },
  };
}
