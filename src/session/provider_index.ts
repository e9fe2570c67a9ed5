/**
 * Finds sessions in a JWT by the session at the OpenID Provider that they were made from, so that the
 * provider can end them (`backchannelLogout`).
 *
 * They are in sets of the `store`, by the session at the provider. A read makes no further look-up: to end a
 * session, its record is ended.
 */
import { AccessDenied } from "@auth/core/errors";
import type { JWT } from "@auth/core/jwt";
import { type KnownSession, namedBy } from "./known_session.ts";
import { type EndedAtProvider, keysOfSession, keysToEnd, providerSessionOf } from "./provider_session.ts";
import type { SessionRecords } from "./session_records.ts";

/** For how long a sign-in may be under way that the provider has ended the session of, in milliseconds. */
const SIGN_IN_MS = 15 * 60_000;

/**
 * The sets that a session is in, each with the time of its ID token: that says which sessions of the provider began
 * before it ended them, by the provider's clock.
 */
export function indexOf(claims: JWT, session: string): readonly (readonly [key: string, member: string])[] {
  const provider = providerSessionOf(claims);
  if (provider === undefined) return [];
  return keysOfSession(provider).map((key) => [key, `${provider.iat ?? 0}:${session}`]);
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
    const [end] = await records.get([records.key("provider-end", key)]);
    // A sign-in in the second of the end may be a new one.
    if (end !== undefined && (session.iat ?? Infinity) < Number(end)) {
      throw new AccessDenied(`"${session.provider}" has just ended the session that this sign-in is of.`);
    }
  }
}

/** Ends the sessions that a provider names. Resolves with those that had not ended. */
export async function endIndexed(
  ended: EndedAtProvider,
  records: SessionRecords,
): Promise<Pick<KnownSession, "user" | "id">[]> {
  const found = new Map<string, Pick<KnownSession, "user" | "id">>();
  for (const key of keysToEnd(ended)) {
    await records.set(records.key("provider-end", key), `${ended.iat}`, SIGN_IN_MS);
    for (const member of await records.members(records.key("provider", key))) {
      const [, iat, id = ""] = /^(\d+):([^]*)$/.exec(member) ?? [];
      const named = namedBy(id);
      // The token may come late: sessions that began since are of a later sign-in.
      if (named !== undefined && Number(iat) <= ended.iat) found.set(id, named);
    }
  }
  const open: Pick<KnownSession, "user" | "id">[] = [];
  for (const session of found.values()) {
    if (await records.end(session.user, session.id)) open.push(session);
  }
  return open;
}
