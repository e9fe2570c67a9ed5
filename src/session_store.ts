/** A store of session records in this process. */
import type { SessionEpoch, SessionRecord, SessionStore } from "./types.ts";

/** What is kept of one user. */
interface UserSessions {
  readonly records: Map<string, SessionRecord>;
  /** The ids of sessions that ended. */
  readonly ended: Set<string>;
  epoch?: SessionEpoch;
  /** When it can be forgotten, in milliseconds since 1970. */
  until: number;
}

/**
 * Makes a store for `sessionStore` that keeps everything in this process: for tests, and for an application
 * with one process. With a restart it forgets which sessions were ended, and these are valid again until they
 * expire.
 *
 * @returns The value for `sessionStore`.
 *
 * @example
 * ```ts
 * import { type FastifyAuthConfig, memorySessionStore } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = {
 *   providers: [],
 *   secret: "a string of 32 characters or more",
 *   sessionStore: memorySessionStore(),
 * };
 * console.assert((await config.sessionStore!.list("ada")).records.length === 0);
 * ```
 */
export function memorySessionStore(): SessionStore {
  const users = new Map<string, UserSessions>();
  const read = (user: string) => users.get(user);
  /** In the order in which they were written last. */
  const write = (user: string, milliseconds: number): UserSessions => {
    const now = Date.now();
    for (const [id, { until }] of users) {
      if (until > now) break;
      users.delete(id);
    }
    const sessions = users.get(user) ?? { records: new Map(), ended: new Set(), until: 0 };
    sessions.until = Math.max(sessions.until, now + milliseconds);
    for (const [id, { expires }] of sessions.records) if (expires <= now) sessions.records.delete(id);
    users.delete(user);
    users.set(user, sessions);
    return sessions;
  };
  return {
    get(user, id) {
      const { records, ended, epoch } = read(user) ?? {};
      const record = records?.get(id);
      return Promise.resolve({
        ended: ended?.has(id) ?? false,
        ...(record && { record }),
        ...(epoch && { epoch }),
      });
    },
    list(user) {
      const { records = new Map<string, SessionRecord>(), epoch } = read(user) ?? {};
      return Promise.resolve({ records: [...records.values()], ...(epoch && { epoch }) });
    },
    put(user, record, milliseconds) {
      const { records, ended } = write(user, milliseconds);
      if (!ended.has(record.id)) records.set(record.id, record);
      return Promise.resolve();
    },
    end(user, id, milliseconds) {
      const { records, ended } = write(user, milliseconds);
      records.delete(id);
      ended.add(id);
      return Promise.resolve();
    },
    endAll(user, epoch, milliseconds) {
      const sessions = write(user, milliseconds);
      sessions.epoch = epoch;
      for (const id of sessions.records.keys()) if (id !== epoch.except) sessions.records.delete(id);
      return Promise.resolve();
    },
  };
}
