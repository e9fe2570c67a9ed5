/** The sessions of users in a database. */
import type { ListedSession, SessionListAdapter } from "../adapter/session_list.ts";
import { toDate } from "../adapter/dates.ts";
import { FastifyAuthError } from "../errors.ts";
import type { KnownSession, KnownSessions } from "./known_session.ts";
import { rowName } from "./name.ts";
import type { SessionSettings } from "./settings.ts";
import { isRowFor } from "./token_use.ts";

/** The sessions in the database of a configuration. */
export function sessionRows(settings: SessionSettings): KnownSessions {
  const { adapter, maxAge } = settings;
  const rowsOf = (user: string) => liveRowsOf(user, settings);
  const end = (token: string) => endRow(token, settings);
  return {
    async owner(token) {
      const found = await adapter!.getSessionAndUser!(token);
      return found === null ? undefined : { user: String(found.user.id), id: nameOf(token) };
    },
    async list(user) {
      return (await rowsOf(user)).map((row) => toKnownSession(row, user, maxAge));
    },
    async end(user, id) {
      const row = (await rowsOf(user)).find(({ sessionToken }) => nameOf(sessionToken) === id);
      if (row !== undefined) await end(row.sessionToken);
      return row !== undefined;
    },
    async endAll(user, except) {
      // Twice: a bearer token may have been made of a session that was listed.
      for (let round = 0; round < 2; round++) {
        const rows = await rowsOf(user);
        await endRows(rows.filter(({ sessionToken }) => nameOf(sessionToken) !== except), settings);
      }
    },
  };
}

/** The rows of a user's sessions that have not expired. */
export async function liveRowsOf(
  user: string,
  settings: SessionSettings,
): Promise<readonly ListedSession[]> {
  return liveRows(await requireList(settings.adapter)(user), user);
}

/** Ends sessions. All are tried, whichever fails. */
export async function endRows(
  rows: readonly ListedSession[],
  settings: SessionSettings,
): Promise<void> {
  const ends = await Promise.allSettled(rows.map(({ sessionToken }) => endRow(sessionToken, settings)));
  const failed = ends.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function endRow(token: string, settings: SessionSettings): Promise<void> {
  settings.live.end(nameOf(token));
  await settings.rows!.deleteSession!(token);
}

function nameOf(token: string): string {
  return rowName(token, isRowFor(token, true));
}

function toKnownSession(row: ListedSession, user: string, maxAge: number): KnownSession {
  const { sessionToken, expires, createdAt, lastSeenAt, userAgent } = row;
  return {
    user,
    id: nameOf(sessionToken),
    expires,
    createdAt: toDate(createdAt),
    // A row says when it was written last, by when it expires.
    lastSeenAt: toDate(lastSeenAt) ?? new Date(expires.valueOf() - maxAge * 1000),
    userAgent: userAgent ?? undefined,
  };
}

type List = SessionListAdapter["listSessionsByUserId"];

function requireList(adapter: SessionSettings["adapter"]): List {
  const { listSessionsByUserId } = adapter as Partial<SessionListAdapter>;
  if (listSessionsByUserId !== undefined) return listSessionsByUserId;
  throw invalid(
    "has no listSessionsByUserId(), without which the sessions of a user are not found. Add it with " +
      "`withSessionList(adapter, (userId) => …)`.",
  );
}

/** The rows that have not expired. */
function liveRows(rows: readonly ListedSession[], user: string): readonly ListedSession[] {
  if (!Array.isArray(rows) || !rows.every(isSession)) {
    throw invalid("must return an array of rows with `sessionToken`, `userId` and `expires`.");
  }
  // A query that forgets its condition would show and end the sessions of all users.
  if (rows.some(({ userId }) => String(userId) !== user)) {
    throw invalid("returned sessions of another user: its query must compare `userId`.");
  }
  return rows.filter(({ expires }) => expires.valueOf() > Date.now());
}

function isSession(row: Partial<ListedSession> | null | undefined): boolean {
  const { sessionToken, userId } = row ?? {};
  return typeof sessionToken === "string" && userId !== undefined && userId !== null;
}

function invalid(problem: string): FastifyAuthError {
  const subject = problem.startsWith("has") ? "The adapter" : "The adapter's listSessionsByUserId()";
  return new FastifyAuthError("FST_AUTHJS_ADAPTER_INVALID", `${subject} ${problem}`);
}
