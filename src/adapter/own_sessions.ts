/** An adapter whose table has sessions of others as well. */
import type { Adapter } from "@auth/core/adapters";
import type { SessionListAdapter } from "./session_list.ts";

/**
 * The adapter, which neither finds nor changes the sessions of others.
 *
 * @param isOwn Whether a session token is of a session that it may find.
 */
export function ownSessions(adapter: Adapter, isOwn: (token: string) => boolean): Adapter {
  const { getSessionAndUser, updateSession, deleteSession } = adapter;
  const { listSessionsByUserId } = adapter as Partial<SessionListAdapter>;
  const own: Partial<SessionListAdapter> = {
    ...(getSessionAndUser && {
      getSessionAndUser: async (token) => isOwn(token) ? await getSessionAndUser(token) : null,
    }),
    ...(updateSession && {
      updateSession: async (session) => isOwn(session.sessionToken) ? await updateSession(session) : null,
    }),
    ...(deleteSession && {
      deleteSession: async (token) => await (isOwn(token) ? deleteSession(token) : null) as null,
    }),
    ...(listSessionsByUserId && {
      async listSessionsByUserId(userId) {
        const rows = await listSessionsByUserId(userId);
        // Anything else is said by who asks for them.
        if (!Array.isArray(rows)) return rows;
        return rows.filter((row) => typeof row?.sessionToken !== "string" || isOwn(row.sessionToken));
      },
    }),
  };
  return { ...adapter, ...own };
}
