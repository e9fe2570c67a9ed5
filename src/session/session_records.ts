/**
 * Records of the sessions whose tokens are JWTs (`sessionStore`): they can be listed, and ended from
 * elsewhere.
 *
 * A claim of the token names the session. It stays the same in every token that the session has, so that one
 * which a refresh makes while the session is ended has ended, too.
 */
import type { JWT } from "@auth/core/jwt";
import type { OtherProcesses } from "../config/other_processes.ts";
import { FastifyAuthError } from "../errors.ts";
import { redactError } from "../http/redact_error.ts";
import type { SessionRecord, SessionState, SessionStore } from "../types.ts";
import { withDeadline } from "../utils/deadline.ts";
import { type KnownSession, sessionIdOf } from "./known_session.ts";
import { providerSessionOf } from "./provider_session.ts";

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
}

/** A call of the session store failed (503). */
export class SessionStoreFailure extends FastifyAuthError {
  /** @param method The method of the store. */
  constructor(method: string, cause: unknown) {
    super("FST_AUTHJS_UNAVAILABLE", `The session store's ${method}() failed.`, {
      cause: redactError(cause, []),
    });
  }
}

/** How records are kept. */
export interface RecordSettings {
  readonly store: SessionStore;
  /** Milliseconds that a call may take; 0 for no limit. */
  readonly timeout: number;
  /** Seconds until a session ends that is not used. */
  readonly maxAge: number;
  /** Milliseconds for which a token of a session may be valid. */
  readonly keepFor: number;
  /** Is shown the records, which then name the process that wrote them. */
  readonly otherProcesses: OtherProcesses | undefined;
  /** Further keys that sessions with these claims are listed under. */
  readonly indexKeysOf: (claims: JWT) => readonly string[];
}

/** The records of one configuration. */
export class SessionRecords {
  readonly #settings: RecordSettings;

  constructor(settings: RecordSettings) {
    this.#settings = settings;
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
    const { epoch } = await this.#get(user, "");
    // The clock of the process that ended all sessions may be ahead.
    const createdAt = Math.max(Date.now(), (epoch?.before ?? -1) + 1);
    return { ...token, [CLAIM]: { id: name, user, createdAt } };
  }

  /** Stores the record of a session. */
  async put(claims: JWT, userAgent: string | undefined, earlier?: SessionRecord): Promise<void> {
    const claim = claimOf(claims);
    if (claim === undefined) return;
    const { id, user, createdAt } = claim;
    const now = Date.now();
    const { otherProcesses } = this.#settings;
    const agent = earlier?.userAgent ?? userAgent?.slice(0, USER_AGENT_LENGTH);
    const record = {
      id,
      createdAt,
      lastSeenAt: now,
      expires: now + this.#settings.maxAge * 1000,
      ...(agent !== undefined && { userAgent: agent }),
      ...(otherProcesses && { process: otherProcesses.own }),
    };
    await this.#put(keyOfUser(user), record);
    // The clock of the provider says which of its sessions began before it ended them.
    const { iat = now / 1000 } = providerSessionOf(claims) ?? {};
    const indexed = { ...record, id: sessionIdOf({ user, id }), createdAt: iat * 1000 };
    for (const key of this.#settings.indexKeysOf(claims)) await this.#put(key, indexed);
  }

  async #put(key: string, record: SessionRecord): Promise<void> {
    await this.call("put", (store) => store.put(key, record, this.#settings.keepFor));
  }

  /** Whether the session of these claims was ended: one look-up. */
  async hasEnded(claims: JWT): Promise<boolean> {
    return (await this.#find(claims)).ended;
  }

  /** The same for a read, which the record remembers. `report` is told where that fails. */
  async hasEndedNow(
    claims: JWT,
    userAgent: string | undefined,
    report: (error: Error) => void,
  ): Promise<boolean> {
    const { ended, record } = await this.#find(claims);
    if (!ended && !(Date.now() - (record?.lastSeenAt ?? 0) < SEEN_EVERY_MS)) {
      await this.put(claims, userAgent, record).catch(report);
    }
    return ended;
  }

  async #find(claims: JWT): Promise<{ ended: boolean; record?: SessionRecord | undefined }> {
    const claim = claimOf(claims) ?? claimBefore(claims);
    if (claim === undefined) return { ended: false };
    const state = await this.#get(claim.user, claim.id);
    this.#settings.otherProcesses?.lookAt(state.record);
    return { ended: hasEnded(claim, state), record: state.record };
  }

  /** The sessions of a user. */
  async list(user: string): Promise<KnownSession[]> {
    const { epoch, records } = await this.call(
      "list",
      async (store) => required(await store.list(keyOfUser(user))),
    );
    const live = records.filter((record) => record.expires > Date.now() && !hasEnded(record, { epoch }));
    return live.map(({ id, expires, createdAt, lastSeenAt, userAgent }) => ({
      user,
      id,
      expires: new Date(expires),
      createdAt: new Date(createdAt),
      lastSeenAt: new Date(lastSeenAt),
      userAgent,
    }));
  }

  /** Ends the session of these claims. */
  async endClaimed(claims: JWT): Promise<void> {
    const claim = claimOf(claims);
    if (claim !== undefined) await this.#end(claim.user, claim.id);
  }

  /** Ends a session. Resolves with whether there was one. */
  async end(user: string, id: string): Promise<boolean> {
    const state = await this.#get(user, id);
    if (state.record === undefined || hasEnded(state.record, state)) return false;
    await this.#end(user, id);
    return true;
  }

  /**
   * Ends a session, also one whose record is lost. Resolves with whether it is known that it had not ended.
   */
  async endKnown({ user, id }: Pick<KnownSession, "user" | "id">): Promise<boolean> {
    const state = await this.#get(user, id);
    await this.#end(user, id);
    return state.record !== undefined && !hasEnded(state.record, state);
  }

  async #end(user: string, id: string): Promise<void> {
    await this.call("end", (store) => store.end(keyOfUser(user), id, this.#settings.keepFor));
  }

  /** Ends the sessions of a user that began before now, but for one. */
  async endAll(user: string, except: string | undefined): Promise<void> {
    const state = await this.#get(user, except ?? "");
    // One that ended must not come back.
    const kept = state.record !== undefined && !hasEnded(state.record, state) ? except : undefined;
    const epoch = {
      before: Math.max(Date.now(), state.epoch?.before ?? 0),
      ...(kept !== undefined && { except: kept }),
    };
    await this.call("endAll", (store) => store.endAll(keyOfUser(user), epoch, this.#settings.keepFor));
  }

  #get(user: string, id: string): Promise<SessionState> {
    return this.call("get", async (store) => required(await store.get(keyOfUser(user), id)));
  }

  /**
   * Calls the store.
   *
   * @throws {SessionStoreFailure}
   */
  async call<T>(method: keyof SessionStore, call: (store: SessionStore) => Promise<T>): Promise<T> {
    const { store, timeout } = this.#settings;
    try {
      const onTimeout = () => new Error(`It took over ${timeout} ms.`);
      return await withDeadline((async () => await call(store))(), timeout, onTimeout);
    } catch (error) {
      throw new SessionStoreFailure(method, error);
    }
  }
}

/** What else the plugin keeps in the place of users begins so: `provider_index.ts`, and used logout tokens. */
const OWN_KEY = /^(?:provider(?:-end|-token)?|user):/;

/** Under which key a store has the sessions of a user. No id of a user is a key of the plugin. */
function keyOfUser(user: string): string {
  return OWN_KEY.test(user) ? `user:${user}` : user;
}

/** A store of the application's own may return nothing: then it is not known whether a session has ended. */
function required<T>(answer: T): T & object {
  if (typeof answer === "object" && answer !== null) return answer;
  throw new TypeError("It returned no object.");
}

function hasEnded({ id, createdAt }: Pick<RecordClaim, "id" | "createdAt">, state: SessionState): boolean {
  const { ended = false, epoch } = state;
  return ended || (epoch !== undefined && createdAt <= epoch.before && id !== epoch.except);
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
 * What stands in for the claim in a token from before `sessionStore` was set: all sessions of its user can be
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

/** The claim for the next token of a session from before `sessionStore` was set. */
export function adoptingClaim(claims: JWT, name: string): RecordClaim | undefined {
  const before = claimBefore(claims);
  return before && { ...before, id: name };
}
