/**
 * Finds sessions in a JWT by the session at the OpenID Provider that they were made from, so that the
 * provider can end them (`backchannelLogout`).
 *
 * They are kept in the `sessionStore`, under keys in place of the id of a user. A read makes no further
 * look-up: to end a session, its record is ended.
 */
import { AccessDenied } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { type KnownSession, namedBy } from "./known_session.ts";
import { type EndedAtProvider, keysOfSession, keysToEnd, providerSessionOf } from "./provider_session.ts";
import type { SessionRecords } from "./session_records.ts";

/** For how long a sign-in may be under way that the provider has ended the session of, in milliseconds. */
const SIGN_IN_MS = 15 * 60_000;

/** Beside the keys of sessions: when the provider ended them. */
const endKey = (key: string) => `provider-end:${key}`;
const sessionsKey = (key: string) => `provider:${key}`;

/** The keys under which a record is also kept. */
export function indexKeysOf(claims: JWT): string[] {
  const session = providerSessionOf(claims);
  return session === undefined ? [] : keysOfSession(session).map(sessionsKey);
}

/**
 * Refuses a sign-in whose session the provider has ended in the meantime. Call it once the record is stored:
 * of two that run at the same time, one sees the other.
 *
 * @throws {AccessDenied}
 * @throws {SessionStoreFailure}
 */
export async function assertNotEndedAtProvider(claims: JWT, records: SessionRecords): Promise<void> {
  const session = providerSessionOf(claims);
  if (session === undefined) return;
  for (const key of keysOfSession(session)) {
    const { epoch } = await records.call("get", (store) => store.get(endKey(key), ""));
    // A sign-in in the second of the end may be a new one.
    if (epoch !== undefined && (session.iat ?? Infinity) * 1000 < epoch.before) {
      throw new AccessDenied(`"${session.provider}" has just ended the session that this sign-in is of.`);
    }
  }
}

/** Ends the sessions that a provider names. Resolves with those that had not ended. */
export async function endIndexed(
  ended: EndedAtProvider,
  records: SessionRecords,
): Promise<Pick<KnownSession, "user" | "id">[]> {
  const before = ended.iat * 1000;
  const found = new Map<string, Pick<KnownSession, "user" | "id">>();
  for (const key of keysToEnd(ended)) {
    await records.call("endAll", (store) => store.endAll(endKey(key), { before }, SIGN_IN_MS));
    const { records: indexed } = await records.call("list", (store) => store.list(sessionsKey(key)));
    for (const { id, createdAt } of indexed) {
      const named = namedBy(id);
      // The token may come late: sessions that began since are of a later sign-in.
      if (named !== undefined && createdAt <= before) found.set(id, named);
    }
  }
  const open: Pick<KnownSession, "user" | "id">[] = [];
  for (const session of found.values()) {
    if (await records.endKnown(session)) open.push(session);
  }
  return open;
}
