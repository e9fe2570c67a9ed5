/** The sessions that were read for a request, and the cookies that this changes. */
import type { FastifyReply } from "fastify";
import { FastifyAuthError } from "../errors.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { type SessionCookieUpdate, withSessionToken } from "./cookie.ts";
import { knownRead, ownReadOf, REFRESHES_ITSELF } from "./own_read.ts";
import { type OwnRead, type SessionRead, SIGNED_OUT } from "./read.ts";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";

/**
 * The property of requests that keeps their reads: a decorator in the plugin's scopes. A request outside of
 * them gets it with its first read, since `getSession()` also works there, and decorators can only be
 * declared before the application has started.
 */
export const READS: unique symbol = Symbol("fastify-authjs.reads");

/**
 * For how long a request's read holds, in milliseconds. Hooks and handlers follow one another at once, but a
 * WebSocket or a stream of events is one request for hours, and its session may have ended.
 */
const READ_VALID_MS = 10_000;

/** The latest read of a configuration. */
interface Latest {
  readonly config: FastifyAuthConfig;
  /** The same, for functions of the application that it calls. */
  own?: OwnRead;
  /** When it began. */
  at: number;
  /** What it gave, or will give. */
  result: Promise<SessionRead>;
  /** The Cookie header, if this request has signed in or out, or has got another session token. */
  cookies?: string;
  /** What is to be replaced in it first. */
  replaced?: SessionRead["replaced"];
  /** How often it has signed in or out or has updated the session. */
  changes: number;
}

/** A read that changed something. */
type Update = SessionRead & {
  readonly update: SessionCookieUpdate;
  readonly of: Latest;
  /** How often the request had changed the session when it was read. */
  readonly changes: number;
};

/** Cookies to set. */
export interface CookieChange {
  readonly update: SessionCookieUpdate;
  /** Whether they replace those that the request has set before the read. */
  readonly replaces: boolean;
}

const NONE: readonly Update[] = Object.freeze([]);
const NO_CHANGES: readonly CookieChange[] = Object.freeze([]);
const NOT_SIGNED_IN = Promise.resolve(SIGNED_OUT);

/** A read that is asked for. */
export interface AskedRead {
  /** Where the read is to be found while it is under way. */
  readonly of: { own?: OwnRead };
  /** Whether the request has read before: its reply may have left since. */
  readonly again: boolean;
  /** The Cookie header, if it is not that of the request any more. */
  readonly cookies: string | undefined;
}

/** Reads a session. Never rejects. */
type Read = (asked: AskedRead) => Promise<SessionRead>;

/** What was read for one request, and what its reply is to carry. */
export class RequestReads {
  /** Of each configuration: mostly of one. */
  readonly #latest: Latest[] = [];
  /** How many reads are under way. */
  #underWay = 0;
  /** The reads that changed something, one for each session cookie: the later of two counts. */
  #updates: readonly Update[] = NONE;
  readonly #headers: SessionRequest["headers"];
  /** Whether Fastify has sent the reply, with the cookies of the reads before that. */
  isSent = false;
  /** Whether a reply whose handler writes the head is going to carry the cookies. */
  isCarried = false;
  /** The reply; none for a request that was made from another. */
  #reply: FastifyReply | undefined;
  /** Is called after a read that changed something. */
  #onUpdate: (() => void) | undefined;

  constructor({ headers }: SessionRequest) {
    this.#headers = headers;
  }

  /**
   * Those of a request. One that was made from it with other headers (`Object.create(request, …)`) may have
   * another user, so it has its own; it has no reply that could carry cookies.
   */
  static of(request: SessionRequest): RequestReads {
    const holder = request as { [READS]?: RequestReads };
    const known = holder[READS];
    if (known !== undefined && known.#headers === request.headers) return known;
    const reads = new RequestReads(request);
    reads.isSent = known !== undefined;
    return holder[READS] = reads;
  }

  /** @param onUpdate Is called after a read that changed something, also one before. */
  replyWith(reply: FastifyReply, onUpdate: () => void): void {
    this.#reply = reply;
    this.#onUpdate = onUpdate;
    if (this.#updates.length > 0) onUpdate();
  }

  /** One read for each configuration, however many hooks and handlers ask. */
  once(config: FastifyAuthConfig, read: Read): Promise<SessionRead> {
    const before = this.#latestOf(config);
    const latest = before ?? this.#add(config);
    // The one that asks may be a function of the application which the read calls.
    const own = this.#underWay === 0 || latest.own === undefined ? undefined : ownReadOf(latest.own);
    if (own !== undefined) return Promise.resolve(knownRead(own));
    if (monotonicNow() - latest.at < READ_VALID_MS) return latest.result;
    return this.#start(latest, read, before !== undefined);
  }

  /** Reads once more, with other results than a read that may have been before: later ones see them, too. */
  async anew(config: FastifyAuthConfig, read: Read): Promise<SessionRead> {
    const latest = this.#latestOf(config) ?? this.#add(config);
    if (latest.own !== undefined && ownReadOf(latest.own) !== undefined) {
      throw new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", REFRESHES_ITSELF);
    }
    return await this.#start(latest, read, false);
  }

  #start(latest: Latest, read: Read, again: boolean): Promise<SessionRead> {
    latest.at = monotonicNow();
    return latest.result = this.#read(latest, read, again);
  }

  async #read(latest: Latest, read: Read, again: boolean): Promise<SessionRead> {
    const { changes } = latest;
    this.#underWay++;
    try {
      const found = await read({ of: latest, again, cookies: this.#cookiesOf(latest) });
      if (found.update !== undefined) this.#note(latest, found as Update, changes);
      return found;
    } finally {
      this.#underWay--;
    }
  }

  #add(config: FastifyAuthConfig): Latest {
    const latest: Latest = { config, at: -Infinity, result: NOT_SIGNED_IN, changes: 0 };
    this.#latest.push(latest);
    return latest;
  }

  #latestOf(config: FastifyAuthConfig): Latest | undefined {
    for (const latest of this.#latest) if (latest.config === config) return latest;
  }

  /** The Cookie header, with what this request has changed so far. */
  cookies(config: FastifyAuthConfig): string | undefined {
    const latest = this.#latestOf(config);
    return (latest && this.#cookiesOf(latest)) ?? this.#headers.cookie;
  }

  /** The same, with the token that a read has given, which the configuration may not remember. */
  #cookiesOf(latest: Latest): string | undefined {
    const { cookies = this.#headers.cookie, replaced } = latest;
    if (replaced === undefined) return latest.cookies;
    latest.replaced = undefined;
    return latest.cookies = withSessionToken(cookies ?? "", replaced.parts, replaced.token);
  }

  /**
   * Has later reads of this request see other cookies: its reply sets them.
   *
   * @param cookies The Cookie header with them.
   * @param known What a read gives from now on, if that is known.
   */
  change(config: FastifyAuthConfig, cookies: string, known: SessionRead | undefined): void {
    const latest = this.#latestOf(config) ?? this.#add(config);
    latest.cookies = cookies;
    latest.replaced = undefined;
    latest.changes++;
    // An earlier read that is still under way is waited for where it was started.
    latest.at = known === undefined ? -Infinity : monotonicNow();
    latest.result = known === undefined ? NOT_SIGNED_IN : Promise.resolve(known);
  }

  /** Takes note of what a read changed. */
  #note(of: Latest, found: Update, changes: number): void {
    const isLate = this.#updates.some((other) => other.of === of && other.changes > changes);
    if (isLate) return;
    if (found.replaced !== undefined && changes === of.changes) of.replaced = found.replaced;
    const others = this.#updates.filter((other) => other.update.name !== found.update.name);
    this.#updates = [...others, { ...found, of, changes }];
    this.#onUpdate?.();
  }

  /** Whether the newest read that changed something gave a session. */
  get givesSession(): boolean {
    return this.#updates.at(-1)?.session != null;
  }

  /** Whether it is too late for cookies. */
  get hasLeft(): boolean {
    return this.isSent || this.#reply?.raw.headersSent === true;
  }

  /** Whether there is something to wait for before cookies can be set. */
  get isPending(): boolean {
    return this.#underWay > 0 || this.#updates.some(({ checkOtherProcesses }) => checkOtherProcesses);
  }

  /**
   * Waits for the reads under way, also for one that no handler awaits: it may have used up a refresh token,
   * and its result must not be lost. Then asks the other processes whether their sessions ended.
   */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#latest.map(({ result }) => result));
    await Promise.allSettled(this.#updates.map(({ checkOtherProcesses }) => checkOtherProcesses?.()));
  }

  /** The cookies to set, of the reads that are done; a session that ended since is not brought back. */
  get changes(): readonly CookieChange[] {
    return this.#updates.length === 0 ? NO_CHANGES : toChanges(this.#updates);
  }

  /** Those for which the other processes need not be asked. */
  get sureChanges(): readonly CookieChange[] {
    return toChanges(this.#updates.filter(({ checkOtherProcesses }) => checkOtherProcesses === undefined));
  }

  /** Whether there are cookies for which the other processes have to be asked. */
  get hasUnsureChanges(): boolean {
    return this.#updates.some(({ checkOtherProcesses }) => checkOtherProcesses !== undefined);
  }
}

function toChanges(updates: readonly Update[]): readonly CookieChange[] {
  const current = updates.filter(({ isOutdated }) => !isOutdated?.());
  return current.map(({ update, newestUpdate, of, changes }) => ({
    update: newestUpdate?.() ?? update,
    replaces: changes > 0 && changes === of.changes,
  }));
}
