/**
 * Records of sessions in a JWT (`revocable`): they can be listed, and ended from elsewhere. A claim names the
 * session in each of its tokens, so that one which a refresh makes meanwhile has ended, too.
 */
import type { JWT } from "@auth/core/jwt";
import type { KnownSession, KnownSessions, NamedSession, SessionKey, SessionUse } from "../../session/hooks.ts";
import type { LiveSessions } from "../../session/live_sessions.ts";
import { isEphemeral } from "../../session/name.ts";
import type { SharedStore } from "../../session/shared_store.ts";

export const CLAIM = "sessionRecord";

/** How old `lastSeenAt` may get, in milliseconds: a read writes to the store no more often. */
const SEEN_EVERY_MS = 5 * 60_000;

/** Characters of a `User-Agent` that are kept: browsers send any. */
const USER_AGENT_LENGTH = 256;

/** What names the session of a token, by the user who signed in, whatever becomes of `sub` later. */
interface RecordClaim extends SessionKey {
  /** When the user signed in, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Which end of all sessions of the user it began after; `undefined` in claims of earlier builds. */
  readonly generation?: string;
}

interface RecordSettings {
  readonly store: SharedStore;
  readonly live: LiveSessions;
  readonly tenant: string | undefined;
  /** Seconds until a session ends that is not used. */
  readonly maxAge: number;
  /** The same for those that end with the browser. */
  readonly ephemeralMaxAge: number;
  /** Milliseconds for which a token of a session may be valid. */
  readonly keepFor: number;
}

/** What is kept of a session, in JSON. Times are in milliseconds since 1970. */
interface SessionRecord extends Pick<RecordClaim, "createdAt" | "generation"> {
  readonly lastSeenAt: number;
  readonly expires: number;
  readonly userAgent?: string | undefined;
}

/** What the store knows of a session. */
interface SessionState {
  readonly hasEnded: boolean;
  readonly record: SessionRecord | undefined;
}

/** That the sessions of a user have ended but those of a generation, and but one. No clocks are compared. */
interface Epoch {
  readonly generation?: string;
  /** What earlier builds wrote in its place, in milliseconds since 1970: what began before has ended. */
  readonly before?: number;
  readonly except?: string | undefined;
}

/** The records of one configuration. Each method throws a `SessionStoreFailure` if the store fails. */
export class SessionRecords implements KnownSessions {
  readonly #settings: RecordSettings;

  constructor(settings: RecordSettings) {
    this.#settings = settings;
  }

  /** The claims of a new session. Without a user there is none to list it for, and they stay as they are. */
  async begin(claims: JWT, name: string): Promise<JWT> {
    const { [CLAIM]: _other, ...token } = claims;
    const { sub: user } = token;
    if (typeof user !== "string" || user === "") return token;
    const { store } = this.#settings;
    const [epoch] = await store.call("get", [store.key("epoch", user)]);
    const { generation = "" } = parse<Epoch>(epoch) ?? {};
    const claim: RecordClaim = { id: name, user, createdAt: Date.now(), generation };
    return { ...token, [CLAIM]: claim };
  }

  /** Stores the record of a session. */
  async put(claims: JWT, userAgent: string | undefined): Promise<void> {
    const claim = ownClaim(claims);
    if (claim === undefined) return;
    const { id, user, ...began } = claim;
    const { store, keepFor, ...ages } = this.#settings;
    const maxAge = isEphemeral(id) ? ages.ephemeralMaxAge : ages.maxAge;
    const record: SessionRecord = {
      ...began,
      lastSeenAt: Date.now(),
      expires: Date.now() + maxAge * 1000,
      userAgent: userAgent?.slice(0, USER_AGENT_LENGTH),
    };
    await store.call("set", store.key("record", user, id), JSON.stringify(record), maxAge * 1000);
    await store.call("add", store.key("sessions", user), id, keepFor);
  }

  /**
   * Whether a session was ended: one look-up.
   *
   * @param use A request that uses the session, which the record remembers; `report` is told if that fails.
   */
  async hasEnded(session: NamedSession, use?: SessionUse): Promise<boolean> {
    const claim = claimOf(session);
    if (claim === undefined) return false;
    const { hasEnded, record } = await this.#stateOf(claim);
    const { lastSeenAt = 0, userAgent = use?.userAgent } = record ?? {};
    if (!hasEnded && use !== undefined && !(Date.now() - lastSeenAt < SEEN_EVERY_MS)) {
      await this.put(session.claims, userAgent).catch(use.report);
    }
    return hasEnded;
  }

  async list(user: string): Promise<KnownSession[]> {
    const { store } = this.#settings;
    const ids = await store.call("members", store.key("sessions", user));
    const states = await this.#statesOf(ids.map((id) => ({ user, id })));
    return states.flatMap(({ hasEnded, record }, index) => {
      if (hasEnded || record === undefined) return [];
      const { createdAt, lastSeenAt, expires, userAgent } = record;
      return [{
        user,
        id: ids[index]!,
        expires: new Date(expires),
        createdAt: new Date(createdAt),
        lastSeenAt: new Date(lastSeenAt),
        userAgent,
      }];
    });
  }

  async end(session: SessionKey): Promise<boolean> {
    const { user, id } = session;
    const { store, live, keepFor } = this.#settings;
    const { hasEnded, record } = await this.#stateOf(session);
    await store.call("set", store.key("ended", user, id), "1", keepFor);
    await store.call("remove", store.key("sessions", user), id);
    live.tell(id);
    return record !== undefined && !hasEnded;
  }

  /** Ends all sessions of a user but one, tokens that are not listed too. */
  async endAll(user: string, except: string | undefined): Promise<void> {
    const { store, live, keepFor } = this.#settings;
    const key = store.key("sessions", user);
    const ids = await store.call("members", key);
    // One that ended must not come back.
    const kept = (await this.list(user)).find(({ id }) => id === except)?.id;
    const epoch: Epoch = { generation: crypto.randomUUID(), except: kept };
    await store.call("set", store.key("epoch", user), JSON.stringify(epoch), keepFor);
    const ended = ids.filter((id) => id !== kept);
    await Promise.all(ended.map((id) => store.call("remove", key, id)));
    for (const id of ended) live.tell(id);
  }

  async #stateOf(session: SessionKey & Partial<RecordClaim>): Promise<SessionState> {
    return (await this.#statesOf([session]))[0]!;
  }

  /** What the store knows of sessions, with one call: when each began its claim says, or else the record. */
  async #statesOf(sessions: readonly (SessionKey & Partial<RecordClaim>)[]): Promise<SessionState[]> {
    const { store, tenant } = this.#settings;
    const space = tenant === undefined ? "" : `${encodeURIComponent(tenant)}:`;
    const keys = sessions.flatMap(({ user, id }) => [
      store.key("ended", user, id),
      store.key("epoch", user),
      store.key("record", user, id),
      // What earlier builds wrote, which may run beside this one.
      `sessions:${space}${user}#end:${id}`,
      `sessions:${space}${user}#epoch`,
    ]);
    const values = keys.length === 0 ? [] : await store.call("get", keys);
    return sessions.map((session, index) => {
      const [ended, epoch, text, endedEarlier, epochEarlier] = values.slice(5 * index);
      const record = parse<SessionRecord>(text);
      const { createdAt = Infinity, generation = "" } = { ...record, ...session };
      const isOver = ({ generation: current, before = 0, except }: Epoch = { generation }) =>
        session.id !== except && (current === undefined ? createdAt <= before : generation !== current);
      const hasEnded = Boolean(ended ?? endedEarlier) || isOver(parse(epoch)) ||
        isOver(parse(epochEarlier?.slice(epochEarlier.indexOf(":") + 1)));
      return { hasEnded, record };
    });
  }
}

function parse<T>(text: string | null | undefined): T | undefined {
  return text ? JSON.parse(text) as T : undefined;
}

export function ownClaim(claims: JWT): RecordClaim | undefined {
  const claim = claims[CLAIM] as RecordClaim | undefined;
  return typeof claim?.user === "string" ? claim : undefined;
}

/** The claim, or what stands in for it in a token from before `revocable` was set. */
export function claimOf({ claims, name }: NamedSession): RecordClaim | undefined {
  const { sub, iat } = claims;
  const isNamed = typeof sub === "string" && sub !== "" && typeof iat === "number";
  return ownClaim(claims) ?? (isNamed ? { id: name, user: sub, createdAt: iat * 1000 } : undefined);
}
