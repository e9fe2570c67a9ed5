/** The rows of the sessions of a user. */
import type { ListedSession, SessionListAdapter } from "../adapter/session_list.ts";
import { FastifyAuthError } from "../errors.ts";
import { rowName } from "./name.ts";
import type { SessionSettings } from "./settings.ts";
import { isRowFor } from "./token_use.ts";

/** Ends sessions. All are tried, whichever fails. */
export async function endRows(
  rows: readonly ListedSession[],
  { live, rows: adapter }: SessionSettings,
): Promise<void> {
  const ends = await Promise.allSettled(rows.map(async (row) => {
    live.end(nameOfRow(row));
    await adapter!.deleteSession!(row.sessionToken);
  }));
  const failed = ends.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

/** The rows of a user's sessions that have not expired. */
export async function liveRows(
  user: string,
  { adapter }: SessionSettings,
): Promise<readonly ListedSession[]> {
  const { listSessionsByUserId } = adapter as Partial<SessionListAdapter>;
  if (listSessionsByUserId === undefined) {
    throw invalid(
      "The adapter has no listSessionsByUserId(), without which the sessions of a user are not found. " +
        "Add it with `withSessionList(adapter, (userId) => …)`.",
    );
  }
  const rows = await listSessionsByUserId(user);
  if (!Array.isArray(rows) || !rows.every(isSession)) {
    throw invalid(
      `${LIST} must return an array of rows with \`sessionToken\`, \`userId\` and \`expires\`.`,
    );
  }
  // A query that forgets its condition would show and end the sessions of all users.
  if (rows.some(({ userId }) => String(userId) !== user)) {
    throw invalid(`${LIST} returned sessions of another user: its query must compare \`userId\`.`);
  }
  return rows.filter(({ expires }) => expires.valueOf() > Date.now());
}

const LIST = "The adapter's listSessionsByUserId()";

/** The name of the session of a row. */
export function nameOfRow({ sessionToken }: ListedSession): string {
  return rowName(sessionToken, isRowFor(sessionToken, "header") ? "header" : "cookie");
}

function isSession(row: Partial<ListedSession> | null | undefined): boolean {
  return typeof row?.sessionToken === "string" && row.userId !== undefined && row.userId !== null;
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_ADAPTER_INVALID", problem);
}
