/** The sessions that were read for a request, and the cookies that its reply is to carry. */
import type { FastifyReply } from "fastify";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";
import { monotonicNow } from "../utils/time.ts";
import { cookiesAfter } from "../http/set_cookie.ts";
import { knownRead, ownReadOf } from "./own_read.ts";
import { type CookieUpdate, type ReadContext, type SessionRead, SIGNED_OUT } from "./read.ts";

/** The decorator of requests that keeps their reads. A request outside of the plugin's scopes gets it late. */
export const READS: unique symbol = Symbol("fastify-authjs.reads");

/**
 * For how long a request's read holds, in milliseconds. Hooks and handlers follow one another at once, but a
 * WebSocket or a stream of events is one request for hours, and its session may have ended.
 */
const READ_VALID_MS = 10_000;

/** The latest read of a configuration; another takes its place once the request signs in or out, or updates it. */
export interface LatestRead {
  readonly config: FastifyAuthConfig;
  /** The Cookie header, if it is not that of the request any more. */
  cookies: string | undefined;
  result: Promise<SessionRead>;
  /** When it began; -Infinity if there was none. */
  at: number;
  /** Whether it is of what the request itself has changed. */
  readonly isOfChange: boolean;
  /** The read itself, for functions of the application that it calls. */
  context: ReadContext | undefined;
}

/** A read that changed something. */
export interface Update extends CookieUpdate {
  readonly of: LatestRead;
  readonly givesSession: boolean;
}

const NOT_SIGNED_IN = Promise.resolve(SIGNED_OUT);

/** Reads the session of a request, and tells it of the end. Never rejects. */
type Read = (reads: RequestReads, latest: LatestRead) => Promise<SessionRead>;

export class RequestReads {
  readonly request: SessionRequest;
  readonly #headers: SessionRequest["headers"];
  readonly #latest: LatestRead[] = [];
  underWay = 0;
  /** The reads that changed something, one for each session cookie: the later of two counts. */
  updates: readonly Update[] = [];
  /** Whether Fastify has sent the reply, with the cookies of the reads before that. */
  isSent = false;
  /** Whether it is known that the reply may carry cookies. */
  isCarrier = false;
  /** The names of the session cookies that it carries. */
  readonly carried: string[] = [];
  /** The reply; none for a request that was made from another. */
  reply: FastifyReply | undefined;

  constructor(request: SessionRequest) {
    this.request = request;
    this.#headers = request.headers;
  }

  /**
   * Those of a request. One that was made from it with other headers (`Object.create(request, …)`) may have
   * another user, so it has its own; it has no reply that could carry cookies.
   */
  static of(request: SessionRequest): RequestReads {
    const holder = request as SessionRequest & { [READS]?: RequestReads };
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
    const own = latest.context && ownReadOf(latest.context);
    if (own !== undefined) return Promise.resolve(knownRead(own));
    if (monotonicNow() - latest.at >= READ_VALID_MS) latest.result = read(this, latest);
    return latest.result;
  }

  /** Has the session read once more when it is asked for. */
  forget(config: FastifyAuthConfig): void {
    this.#latestOf(config).at = -Infinity;
  }

  #latestOf(config: FastifyAuthConfig): LatestRead {
    for (const latest of this.#latest) if (latest.config === config) return latest;
    const latest: LatestRead = {
      config,
      cookies: undefined,
      result: NOT_SIGNED_IN,
      at: -Infinity,
      isOfChange: false,
      context: undefined,
    };
    this.#latest.push(latest);
    return latest;
  }

  /** The Cookie header, with what this request has changed so far. */
  cookies(config: FastifyAuthConfig): string | undefined {
    return this.#latestOf(config).cookies ?? this.#headers.cookie;
  }

  /**
   * Gives later reads of this request another Cookie header, since its reply sets cookies.
   *
   * @param known What a read gives from now on, if that is known.
   */
  change(config: FastifyAuthConfig, cookies: string, known: SessionRead | undefined): void {
    const index = this.#latest.indexOf(this.#latestOf(config));
    const at = known === undefined ? -Infinity : monotonicNow();
    const result = Promise.resolve(known ?? SIGNED_OUT);
    this.#latest[index] = { config, cookies, result, at, isOfChange: true, context: undefined };
  }

  /**
   * A read is done. What it changed is left aside if it began before a later change of the request.
   *
   * @returns Whether the reply is to carry something of it.
   */
  done(of: LatestRead, { update, session }: SessionRead): boolean {
    this.underWay--;
    if (update === undefined) return false;
    const before = this.updates.find(({ name }) => name === update.name);
    if (before?.of.config === of.config && before.of !== of && !this.#latest.includes(of)) return false;
    const cookies = update.cookies();
    if (cookies.some(({ value }) => value !== "")) {
      // The configuration may not remember that the token was replaced.
      of.cookies = cookiesAfter(cookies, of.cookies ?? this.#headers.cookie ?? "");
    }
    const noted = { ...update, of, givesSession: session !== null };
    this.updates = [...this.updates.filter((other) => other !== before), noted];
    return true;
  }

  /** Whether the newest read that changed something gave a session. */
  get givesSession(): boolean {
    return this.updates.at(-1)?.givesSession === true;
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
    for (const { result } of this.#latest) await result;
    for (const { checkOtherProcesses } of this.updates) await checkOtherProcesses?.().catch(() => {});
  }

  /** Those whose cookies are to be set; a session that ended since is not brought back. */
  get current(): readonly Update[] {
    return this.updates.filter(({ isOutdated }) => !isOutdated());
  }

  /** Whether the cookies replace those that the request has set before the read. */
  replaces({ of }: Update): boolean {
    return of.isOfChange && this.#latest.includes(of);
  }
}
