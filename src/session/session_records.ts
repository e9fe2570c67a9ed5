/**
 * Records of the sessions whose tokens are JWTs (`revocable`): they can be listed, and ended from
 * elsewhere.
 *
 * A claim of the token names the session. It stays the same in every token that the session has, so that one
 * which a refresh makes while the session is ended has ended, too.
 */
import type { JWT } from "@auth/core/jwt";
import { FastifyAuthError } from "../errors.ts";
import { redactError } from "../http/redact_error.ts";
import type { Store } from "../types.ts";
import { withDeadline } from "../utils/deadline.ts";
import { type KnownSession, sessionIdOf } from "./known_session.ts";

/** The claim. */
const CLAIM = "sessionRecord";

/** How old `lastSeenAt` may get, in milliseconds: a read writes to the store no more often. */
const SEEN_EVERY_MS = 5 * 60_000;

/** Browsers send any; more than this is of no use to users. */
const USER_AGENT_LENGTH = 256;

/** What names the session of a token. */
export interface RecordClaim {
  readonly id: string;
  /** The id of the user, whatever becomes of `sub` later. */
  readonly user: string;
  /** When the user signed in, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Which end of all sessions of the user it began after; `undefined` for a session of an earlier version. */
  readonly generation?: string;
}

/** A call of the store failed (503). */
export class SessionStoreFailure extends FastifyAuthError {
  /** @param method The method of the store. */
  constructor(method: string, cause: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", `The store's ${method}() failed.`, { cause: redactError(cause, []) });
  }
}

/** How records are kept. */
export interface RecordSettings {
  readonly store: Store;
  /** Milliseconds that a call may take; 0 for no limit. */
  readonly timeout: number;
  /** The tenant, whose users are others. */
  readonly tenant: string | undefined;
  /** Seconds until a session ends that is not used. */
  readonly maxAge: number;
  /** Milliseconds for which a token of a session may be valid. */
  readonly keepFor: number;
  /** The sessions at a provider that a session with these claims is of, and as which member. */
  readonly indexOf: (claims: JWT, session: string) => readonly (readonly [key: string, member: string])[];
}

/** What is kept: of a user and their sessions, and of a provider. */
type StoredThing = "ended" | "epoch" | "record" | "sessions" | "provider" | "provider-end" | "provider-token";

/** What is kept of a session, in JSON. Times are in milliseconds since 1970. */
interface SessionRecord {
  readonly generation?: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  readonly expires: number;
  readonly userAgent?: string;
}

/** That all sessions of a user have ended but those of a later generation, and but one. */
interface Epoch {
  readonly generation?: string;
  /** In milliseconds since 1970: what earlier versions compare. */
  readonly before: number;
  readonly except?: string;
}

/** What the store knows of a session. */
interface SessionState {
  readonly ended: boolean;
  readonly epoch: Epoch | undefined;
  readonly record: SessionRecord | undefined;
}

/** The records of one configuration. */
export class SessionRecords {
  readonly #settings: RecordSettings;
  readonly #space: string;

  constructor(settings: RecordSettings) {
    this.#settings = settings;
    this.#space = settings.tenant === undefined ? "" : `${encodeURIComponent(settings.tenant)}:`;
  }

  /**
   * The claims of a new session. Without a user there is none to list it for, and they stay as they are.
   *
   * @param name The name of the session.
   */
  async begin(claims: JWT, name: string): Promise<JWT> {
    const { [CLAIM]: _other, ...token } = claims;
    const { sub: user } = token;
    if (typeof user !== "string" || user === "") return token;
    const { epoch } = await this.#stateOf({ user, id: name });
    const generation = epoch?.generation ?? "";
    return { ...token, [CLAIM]: { id: name, user, createdAt: Date.now(), generation } };
  }

  /** Stores the record of a session. */
  async put(claims: JWT, userAgent: string | undefined, earlier?: SessionRecord): Promise<void> {
    const claim = claimOf(claims);
    if (claim === undefined) return;
    const { id, user, createdAt, generation } = claim;
    const now = Date.now();
    const agent = earlier?.userAgent ?? userAgent?.slice(0, USER_AGENT_LENGTH);
    const record: SessionRecord = {
      ...(generation !== undefined && { generation }),
      createdAt,
      lastSeenAt: now,
      expires: now + this.#settings.maxAge * 1000,
      ...(agent !== undefined && { userAgent: agent }),
    };
    await this.set(this.key("record", user, id), JSON.stringify(record), this.#settings.maxAge * 1000);
    await this.add(this.key("sessions", user), id);
    const indexed = this.#settings.indexOf(claims, sessionIdOf({ user, id }));
    for (const [key, member] of indexed) await this.add(this.key("provider", key), member);
  }

  /** Whether the session of these claims was ended: one look-up. */
  async hasEnded(claims: JWT): Promise<boolean> {
    const claim = claimOf(claims) ?? claimBefore(claims);
    return claim !== undefined && hasEnded(claim, await this.#stateOf(claim));
  }

  /** The same for a read, which the record remembers. `report` is told if that fails. */
  async hasEndedNow(
    claims: JWT,
    userAgent: string | undefined,
    report: (error: Error) => void,
  ): Promise<boolean> {
    const claim = claimOf(claims) ?? claimBefore(claims);
    if (claim === undefined) return false;
    const state = await this.#stateOf(claim);
    if (hasEnded(claim, state)) return true;
    const { record } = state;
    if (!(Date.now() - (record?.lastSeenAt ?? 0) < SEEN_EVERY_MS)) {
      await this.put(claims, userAgent, record).catch(report);
    }
    return false;
  }

  /** The sessions of a user. */
  async list(user: string): Promise<KnownSession[]> {
    const ids = await this.members(this.key("sessions", user));
    const keys = ids.flatMap((id) => [this.key("ended", user, id), this.key("record", user, id)]);
    const [last, ...found] = await this.get([this.key("epoch", user), ...keys]);
    const epoch = parse<Epoch>(last);
    return ids.flatMap((id, index) => {
      const [ended, text] = found.slice(2 * index, 2 * index + 2);
      const record = parse<SessionRecord>(text);
      if (record === undefined) return [];
      const { generation, createdAt, lastSeenAt, expires, userAgent } = record;
      if (hasEnded({ id, generation }, { ended: ended !== undefined, epoch })) return [];
      return [{
        user,
        id,
        expires: new Date(expires),
        createdAt: new Date(createdAt),
        lastSeenAt: new Date(lastSeenAt),
        userAgent,
      }];
    });
  }

  /** Ends the session of these claims. */
  async endClaimed(claims: JWT): Promise<void> {
    const claim = claimOf(claims);
    if (claim !== undefined) await this.#end(claim.user, claim.id);
  }

  /** Ends a session. Resolves with whether it is known that it had not ended. */
  async end(user: string, id: string): Promise<boolean> {
    const keys = [this.key("ended", user, id), this.key("record", user, id)];
    const [ended, record] = await this.get(keys);
    if (ended === undefined) await this.#end(user, id);
    return ended === undefined && record !== undefined;
  }

  async #end(user: string, id: string): Promise<void> {
    await this.set(this.key("ended", user, id), "1");
    await this.#forget(user, [id]);
  }

  /** Takes sessions out of the list. */
  async #forget(user: string, ids: readonly string[]): Promise<void> {
    const key = this.key("sessions", user);
    await Promise.all(ids.map((id) => this.#call("remove", (store) => store.remove(key, id))));
  }

  /** Ends the sessions of a user that have begun, but for one. */
  async endAll(user: string, except: string | undefined): Promise<void> {
    const ids = await this.members(this.key("sessions", user));
    // One that ended must not come back.
    const isLive = except !== undefined && (await this.list(user)).some(({ id }) => id === except);
    const kept = isLive ? except : undefined;
    const epoch: Epoch = {
      generation: crypto.randomUUID(),
      before: Date.now(),
      ...(kept !== undefined && { except: kept }),
    };
    await this.set(this.key("epoch", user), JSON.stringify(epoch));
    await this.#forget(user, ids.filter((id) => id !== kept));
  }

  async #stateOf({ user, id, createdAt }: RecordClaim | NewClaim): Promise<SessionState> {
    const keys = [
      this.key("ended", user, id),
      this.key("epoch", user),
      this.key("record", user, id),
      // What earlier builds wrote, which may run beside this one; no session that begins is in it.
      ...(createdAt === undefined ? [] : [this.#fieldOf(user, `end:${id}`), this.#fieldOf(user, "epoch")]),
    ];
    const [ended, epoch, record, endedBefore, epochBefore] = await this.get(keys);
    const earlier = parse<Epoch>(epochBefore?.slice(epochBefore.indexOf(":") + 1));
    const isBefore = earlier !== undefined && createdAt! <= earlier.before && id !== earlier.except;
    return {
      ended: ended !== undefined || endedBefore !== undefined || isBefore,
      epoch: parse<Epoch>(epoch),
      record: parse<SessionRecord>(record),
    };
  }

  /**
   * A key of the store, in which the tenant and the name are encoded: no two things have the same.
   *
   * @param name The id of the user, or what names something that is of none.
   */
  key(what: StoredThing, name: string, id?: string): string {
    const key = `${what}:${this.#space}${encodeURIComponent(name)}`;
    return id === undefined ? key : `${key}:${id}`;
  }

  #fieldOf(user: string, field: string): string {
    return `sessions:${this.#space}${user}#${field}`;
  }

  /** The values of keys. */
  async get(keys: readonly string[]): Promise<readonly (string | undefined)[]> {
    const values = await this.#call("get", async (store) => requireList(await store.get(keys)));
    return keys.map((_key, index) => values[index] ?? undefined);
  }

  /** @param milliseconds For how long it is kept. */
  async set(key: string, value: string, milliseconds: number = this.#settings.keepFor): Promise<void> {
    await this.#call("set", (store) => store.set(key, value, milliseconds));
  }

  /** The members of a set. */
  async members(key: string): Promise<readonly string[]> {
    return await this.#call("members", async (store) => requireList(await store.members(key)) as string[]);
  }

  /** Adds a member to a set. */
  async add(key: string, member: string): Promise<void> {
    await this.#call("add", (store) => store.add(key, member, this.#settings.keepFor));
  }

  /** @throws {SessionStoreFailure} */
  async #call<T>(method: keyof Store, call: (store: Store) => Promise<T>): Promise<T> {
    const { store, timeout } = this.#settings;
    try {
      const onTimeout = () => new Error(`It took over ${timeout} ms.`);
      return await withDeadline((async () => await call(store))(), timeout, onTimeout);
    } catch (error) {
      throw new SessionStoreFailure(method, error);
    }
  }
}

/** A session that begins. */
type NewClaim = Pick<RecordClaim, "user" | "id"> & { readonly createdAt?: number };

/** A store of the application's own may return nothing: then it is not known whether a session has ended. */
function requireList<T>(answer: readonly T[]): readonly T[] {
  if (Array.isArray(answer)) return answer;
  throw new TypeError("It returned no array.");
}

function parse<T>(text: string | undefined): T | undefined {
  return text ? JSON.parse(text) as T : undefined;
}

/** No clocks are compared: those of two processes differ. */
function hasEnded(
  { id, generation = "" }: { readonly id: string; readonly generation?: string | undefined },
  { ended, epoch }: Pick<SessionState, "ended" | "epoch">,
): boolean {
  return ended || (epoch !== undefined && generation !== epoch.generation && id !== epoch.except);
}

/** The claim, where the token has it. */
export function claimOf(claims: JWT): RecordClaim | undefined {
  const claim = claims[CLAIM] as Partial<RecordClaim> | undefined;
  return typeof claim === "object" && claim !== null && typeof claim.id === "string" &&
      typeof claim.user === "string" && typeof claim.createdAt === "number"
    ? claim as RecordClaim
    : undefined;
}

/**
 * What stands in for the claim in a token from before `revocable` was set: all sessions of its user can be
 * ended.
 */
export function claimBefore({ sub, iat }: JWT): RecordClaim | undefined {
  return typeof sub === "string" && sub !== "" && typeof iat === "number"
    ? { id: "", user: sub, createdAt: iat * 1000 }
    : undefined;
}

/**
 * The claims of the next token of a session, which a `jwt` callback may have made anew.
 *
 * @param claim That of the token before.
 */
export function withClaim(claims: JWT, claim: RecordClaim | undefined): JWT {
  if (claim === undefined || claims[CLAIM] === claim) return claims;
  return { ...claims, [CLAIM]: claim };
}

/** The claim for the next token of a session of an earlier version, or from before `revocable` was set. */
export function adoptingClaim(claims: JWT, name: string): RecordClaim | undefined {
  const before = claimOf(claims) ?? claimBefore(claims);
  return before && { generation: "", ...before, id: name };
}
