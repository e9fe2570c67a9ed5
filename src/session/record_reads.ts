/** What reads and requests to routes of the plugin do with the records of sessions (`revocable`). */
import type { LoggerInstance } from "@auth/core/types";
import { openToken } from "./open.ts";
import type { SessionStoreFailure } from "./shared_store.ts";
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
