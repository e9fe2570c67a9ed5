/** What reads and requests to routes of the plugin do with the records of sessions (`revocable`). */
import type { LoggerInstance } from "@auth/core/types";
import type { KnownSessions } from "./known_session.ts";
import { openToken } from "./open.ts";
import { claimBefore, claimOf, type SessionStoreFailure } from "./session_records.ts";
import type { SessionSettings } from "./settings.ts";

/**
 * Ends the session of a token in the store. What fails is logged.
 *
 * @returns The failure.
 */
export async function endRecord(
  token: string,
  { settings, logger }: {
    readonly settings: SessionSettings;
    readonly logger: () => Pick<LoggerInstance, "error">;
  },
): Promise<SessionStoreFailure | undefined> {
  const { records } = settings;
  const opened = records && await openToken(token, settings).catch(() => undefined);
  if (opened === undefined) return undefined;
  try {
    await records!.endClaimed(opened.claims);
  } catch (error) {
    logger().error(error as SessionStoreFailure);
    return error as SessionStoreFailure;
  }
}

/** The sessions in the store of a configuration, by the settings for the scheme of the request. */
export function sessionsInStore(settings: SessionSettings): KnownSessions {
  const records = settings.records!;
  return {
    async owner(token) {
      const { name, claims } = await openToken(token, settings);
      const newest = settings.live.newest(name, token);
      const current = newest === token ? claims : (await openToken(newest, settings)).claims;
      return claimOf(current) ?? claimBefore(current);
    },
    list: (user) => records.list(user),
    end: (user, id) => records.end(user, id),
    endAll: (user, except) => records.endAll(user, except),
  };
}
