/** The sessions of a user in a database, which no adapter of Auth.js lists by itself. */
import type { Adapter, AdapterSession } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";
import { FastifyAuthError } from "../errors.ts";
import { withMethods } from "./bind.ts";

/** The row of a session, with what else the table may have. */
export interface ListedSession extends AdapterSession {
  /** When the user signed in. */
  readonly createdAt?: Date | null;
  /** When the session was last used. */
  readonly lastSeenAt?: Date | null;
  /** The `User-Agent` header of the browser. */
  readonly userAgent?: string | null;
}

/** An adapter that lists the sessions of a user. */
export interface SessionListAdapter extends Adapter {
  /** The rows of the sessions that belong to the user with this id, in any order. */
  listSessionsByUserId(userId: string): Awaitable<ListedSession[]>;
}

/**
 * Adds the method to an adapter that `listSessions()` and `revokeSessions()` need: a query for the sessions
 * of a user.
 *
 * @param adapter An adapter of Auth.js; it is not changed.
 * @param list Finds the rows whose `userId` is the given one. They need `sessionToken`, `userId` and
 * `expires`; `createdAt`, `lastSeenAt` and `userAgent` are taken from tables that have them.
 * @returns The value for `adapter`.
 *
 * @example
 * ```ts
 * import type { Adapter } from "@auth/core/adapters";
 * import { withSessionList } from "fastify-authjs/adapters";
 *
 * const adapter: Adapter = {}; // such as DrizzleAdapter(db)
 * const listing = withSessionList(adapter, async (userId) => {
 *   // With Drizzle: return await db.select().from(sessions).where(eq(sessions.userId, userId));
 *   return [{ sessionToken: "token", userId, expires: new Date() }];
 * });
 * const [session] = await listing.listSessionsByUserId("1");
 * console.assert(session?.userId === "1");
 * ```
 */
export function withSessionList<A extends Adapter>(
  adapter: A,
  list: SessionListAdapter["listSessionsByUserId"],
): A & SessionListAdapter {
  return withMethods(adapter, { listSessionsByUserId: list });
}

/** The rows of a user's sessions that have not expired. */
export async function liveRows(
  user: string,
  adapter: Adapter | undefined,
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

function isSession(row: Partial<ListedSession> | null | undefined): boolean {
  return typeof row?.sessionToken === "string" && row.userId !== undefined && row.userId !== null;
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_ADAPTER_INVALID", problem);
}
