/** The sessions that were read for a request, and the cookies that this changes. */
import type { FastifyReply } from "fastify";
import { FastifyAuthError } from "../errors.ts";
import { monotonicNow } from "../utils/monotonic.ts";
import { cookiesAfter } from "../http/set_cookie.ts";
import type { SessionCookieUpdate } from "./cookie.ts";
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
  /** When it began; `undefined` until there was one. */
  at?: number;
  /** What it gave, or will give. */
  result: Promise<SessionRead>;
  /** The Cookie header, if this request has signed in or out, or has got another session token. */
  cookies?: string;
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

/** Reads the session of a request. Never rejects. */
type Read = (request: SessionRequest, config: FastifyAuthConfig, asked: AskedRead) => Promise<SessionRead>;

/** What was read for one request, and what its reply is to carry. */
export class RequestReads {
  /** Of each configuration: mostly of one. */
  readonly #latest: Latest[] = [];
  /** How many reads are under way. */
  underWay = 0;
  /** The reads that changed something, one for each session cookie: the later of two counts. */
  updates: readonly Update[] = NONE;
  readonly #request: SessionRequest;
  readonly #headers: SessionRequest["headers"];
  /** Whether Fastify has sent the reply, with the cookies of the reads before that. */
  isSent = false;
  /** Whether a reply whose handler writes the head is going to carry the cookies. */
  isCarried = false;
  /** The reply; none for a request that was made from another. */
  reply: FastifyReply | undefined;
  /** Is called after a read that changed something. */
  onUpdate: ((reads: RequestReads) => void) | undefined;

  constructor(request: SessionRequest) {
    this.#request = request;
    this.#headers = request.headers;
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

  /** One read for each configuration, however many hooks and handlers ask. */
  once(config: FastifyAuthConfig, read: Read): Promise<SessionRead> {
    const latest = this.#latestOf(config);
    // The one that asks may be a function of the application which the read calls.
    const own = this.underWay === 0 || latest.own === undefined ? undefined : ownReadOf(latest.own);
    if (own !== undefined) return Promise.resolve(knownRead(own));
    const { at } = latest;
    if (at !== undefined && monotonicNow() - at < READ_VALID_MS) return latest.result;
    return latest.result = this.#read(latest, read, at !== undefined);
  }

  /** Reads once more, with other results than a read that may have been before: later ones see them, too. */
  async anew(config: FastifyAuthConfig, read: Read): Promise<SessionRead> {
    const latest = this.#latestOf(config);
    if (latest.own !== undefined && ownReadOf(latest.own) !== undefined) {
      throw new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", REFRESHES_ITSELF);
    }
    return await (latest.result = this.#read(latest, read, false));
  }

  async #read(latest: Latest, read: Read, again: boolean): Promise<SessionRead> {
    const { config, cookies, changes } = latest;
    latest.at = monotonicNow();
    this.underWay++;
    try {
      const found = await read(this.#request, config, { of: latest, again, cookies });
      if (found.update !== undefined) this.#note(latest, found as Update, changes);
      return found;
    } finally {
      this.underWay--;
    }
  }

  #latestOf(config: FastifyAuthConfig): Latest {
    for (const latest of this.#latest) if (latest.config === config) return latest;
    const latest: Latest = { config, result: NOT_SIGNED_IN, changes: 0 };
    this.#latest.push(latest);
    return latest;
  }

  /** The Cookie header, with what this request has changed so far. */
  cookies(config: FastifyAuthConfig): string | undefined {
    return this.#latestOf(config).cookies ?? this.#headers.cookie;
  }

  /**
   * Gives later reads of this request other cookies: its reply sets them.
   *
   * @param cookies The Cookie header with them.
   * @param known What a read gives from now on, if that is known.
   */
  change(config: FastifyAuthConfig, cookies: string, known: SessionRead | undefined): void {
    const latest = this.#latestOf(config);
    latest.cookies = cookies;
    latest.changes++;
    // An earlier read that is still under way is waited for where it was started.
    latest.at = known === undefined ? -Infinity : monotonicNow();
    latest.result = known === undefined ? NOT_SIGNED_IN : Promise.resolve(known);
  }

  /** Takes note of what a read changed. */
  #note(of: Latest, found: Update, changes: number): void {
    const isLate = this.updates.some((other) => other.of === of && other.changes > changes);
    if (isLate) return;
    if (changes === of.changes && found.update.cookies.some(({ value }) => value !== "")) {
      // The configuration may not remember that the token was replaced.
      of.cookies = cookiesAfter(found.update.cookies, of.cookies ?? this.#headers.cookie ?? "");
    }
    const others = this.updates.filter((other) => other.update.name !== found.update.name);
    this.updates = [...others, { ...found, of, changes }];
    this.onUpdate?.(this);
  }

  /** Whether the newest read that changed something gave a session. */
  get givesSession(): boolean {
    return this.updates.at(-1)?.session != null;
  }

  /** Whether it is too late for cookies. */
  get hasLeft(): boolean {
    return this.isSent || this.reply?.raw.headersSent === true;
  }

  /**
   * Waits for the reads under way, also for one that no handler awaits: it may have used up a refresh token,
   * and its result must not be lost. Then asks the other processes whether their sessions ended.
   */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#latest.map(({ result }) => result));
    await Promise.allSettled(this.updates.map(({ checkOtherProcesses }) => checkOtherProcesses?.()));
  }

  /** The cookies to set, of the reads that are done; a session that ended since is not brought back. */
  get changes(): readonly CookieChange[] {
    return toChanges(this.updates);
  }

  /** Those for which the other processes need not be asked. */
  get sureChanges(): readonly CookieChange[] {
    return toChanges(this.updates.filter(({ checkOtherProcesses }) => checkOtherProcesses === undefined));
  }

  /** Whether there are cookies for which the other processes have to be asked. */
  get hasUnsureChanges(): boolean {
    return this.updates.some(({ checkOtherProcesses }) => checkOtherProcesses !== undefined);
  }
}

function toChanges(updates: readonly Update[]): readonly CookieChange[] {
  const current = updates.filter(({ isOutdated }) => !isOutdated?.());
  return current.map(({ update, newestUpdate, of, changes }) => ({
    update: newestUpdate?.() ?? update,
    replaces: changes > 0 && changes === of.changes,
  }));
}
