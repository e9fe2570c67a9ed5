/** An adapter whose table has sessions of others as well. */
import type { Adapter } from "@auth/core/adapters";
import { wrapMethods } from "./bind.ts";
import type { SessionListAdapter } from "./session_list.ts";

/**
 * The adapter, which neither finds nor changes the sessions of others.
 *
 * @param isOwn Whether a session token is of a session that it may find.
 */
export function ownSessions(adapter: Adapter, isOwn: (token: string) => boolean): Adapter {
  return wrapMethods<SessionListAdapter>(adapter, {
    getSessionAndUser: (get) => async (token) => isOwn(token) ? await get(token) : null,
    updateSession: (update) => async (session) => isOwn(session.sessionToken) ? await update(session) : null,
    deleteSession: (remove) => async (token) => await (isOwn(token) ? remove(token) : null) as null,
    listSessionsByUserId: (list) => async (userId) => {
      const rows = await list(userId);
      // Anything else is said by who asks for them.
      if (!Array.isArray(rows)) return rows;
      return rows.filter((row) => typeof row?.sessionToken !== "string" || isOwn(row.sessionToken));
    },
  });
}
