/** The sessions of users in a database. */
import type { ListedSession, SessionListAdapter } from "../adapter/session_list.ts";
import { toDate } from "../adapter/dates.ts";
import { FastifyAuthError } from "../errors.ts";
import type { KnownSession, SessionKey } from "./known_session.ts";
import { rowName } from "./name.ts";
import type { SessionSettings } from "./settings.ts";
import { isRowFor } from "./token_use.ts";

/** The sessions in the database of a configuration. */
export class SessionRows {
  readonly #settings: SessionSettings;

  constructor(settings: SessionSettings) {
    this.#settings = settings;
  }

  /** The sessions of a user, in any order. */
  async list(user: string): Promise<KnownSession[]> {
    const { maxAge } = this.#settings;
    return (await this.liveRows(user)).map((row) => ({
      user,
      id: nameOf(row),
      expires: row.expires,
      createdAt: toDate(row.createdAt),
      // A row says when it was written last, by when it expires.
      lastSeenAt: toDate(row.lastSeenAt) ?? new Date(row.expires.valueOf() - maxAge * 1000),
      userAgent: row.userAgent ?? undefined,
    }));
  }

  /** Ends a session. Resolves with whether there was one. */
  async end({ user, id }: SessionKey): Promise<boolean> {
    const row = (await this.liveRows(user)).find((each) => nameOf(each) === id);
    if (row !== undefined) await this.endRows([row]);
    return row !== undefined;
  }

  /** Ends all sessions of a user but one. */
  async endAll(user: string, except: string | undefined): Promise<void> {
    // Twice: a bearer token may have been made of a session that was listed.
    for (let round = 0; round < 2; round++) {
      await this.endRows((await this.liveRows(user)).filter((row) => nameOf(row) !== except));
    }
  }

  /** Ends sessions. All are tried, whichever fails. */
  async endRows(rows: readonly ListedSession[]): Promise<void> {
    const { live, rows: adapter } = this.#settings;
    const ends = await Promise.allSettled(rows.map(async (row) => {
      live.end(nameOf(row));
      await adapter!.deleteSession!(row.sessionToken);
    }));
    const failed = ends.find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  /** The rows of a user's sessions that have not expired. */
  async liveRows(user: string): Promise<readonly ListedSession[]> {
    const { listSessionsByUserId } = this.#settings.adapter as Partial<SessionListAdapter>;
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
}

const LIST = "The adapter's listSessionsByUserId()";

function nameOf({ sessionToken }: ListedSession): string {
  return rowName(sessionToken, isRowFor(sessionToken, "header") ? "header" : "cookie");
}

function isSession(row: Partial<ListedSession> | null | undefined): boolean {
  return typeof row?.sessionToken === "string" && row.userId !== undefined && row.userId !== null;
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_ADAPTER_INVALID", problem);
}
