/**
 * Sessions that are rows of a database end with their row, which a sign-out, the next sign-in or a read that
 * finds it expired deletes.
 */
import type { Adapter } from "@auth/core/adapters";
import type { TokenFamilies } from "./token_families.ts";

/**
 * The adapter, with the sessions whose rows are deleted remembered as ended.
 *
 * A read that began before may still prolong its session. Adapters that write the whole row would bring it
 * back, so it is not prolonged any more, and deleted once more where that was on its way already.
 */
export function endWithRows(adapter: Adapter, families: TokenFamilies): Adapter {
  const { createSession, deleteSession, updateSession } = adapter;
  return {
    ...adapter,
    ...(createSession && {
      createSession(session) {
        families.begin(session.sessionToken);
        return createSession(session);
      },
    }),
    ...(deleteSession && {
      deleteSession(token) {
        families.end(token);
        return deleteSession(token);
      },
    }),
    ...(updateSession && {
      async updateSession(session) {
        const { sessionToken } = session;
        if (families.endings(sessionToken) > 0) return null;
        const updated = await updateSession(session);
        if (families.endings(sessionToken) === 0) return updated;
        // Most adapters find nothing to delete, and some call that an error.
        await (async () => await deleteSession?.(sessionToken))().catch(() => {});
        return null;
      },
    }),
  };
}
