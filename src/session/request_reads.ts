/** The sessions that were read for a request, and the cookies that its reply is to carry. */
import type { FastifyReply } from "fastify";
import type { FastifyAuthConfig, SessionRequest } from "../types.ts";
import { monotonicNow } from "../utils/time.ts";
import { cookiesAfter } from "../http/set_cookie.ts";
import { callerOf, knownRead, ownReadOf } from "./own_reads.ts";
import { type CookieUpdate, type ReadContext, type SessionRead, SIGNED_OUT } from "./read.ts";

/** The decorator of requests that keeps their reads. A request outside of the plugin's scopes gets it late. */
export const READS: unique symbol = Symbol("fastify-authjs.reads");

/** Milliseconds for which a read holds: a WebSocket is one request for hours, and its session may end. */
const READ_VALID_MS = 10_000;

/** The latest read of a configuration; another takes its place once the request signs in or out, or updates it. */
export interface LatestRead {
  readonly config: FastifyAuthConfig;
  /** The Cookie header, if it is not that of the request any more. */
  cookies?: string;
  result: Promise<SessionRead>;
  /** When it began; -Infinity if there was none. */
  at: number;
  /** Whether it is of what the request itself has changed. */
  readonly isOfChange: boolean;
  /** The read itself, for functions of the application that it calls. */
  context?: ReadContext;
}

/** Milliseconds after a read when its reply is late. Before that no store is asked: anyone can send broken cookies. */
const LATE_REPLY_MS = 1_000;

const NOT_READ = Promise.resolve(SIGNED_OUT);

export interface Update extends CookieUpdate {
  readonly of: LatestRead;
  readonly givesToken: boolean;
}

export class RequestReads {
  readonly #headers: SessionRequest["headers"];
  readonly #latest = new Map<FastifyAuthConfig, LatestRead>();
  underWay = 0;
  /** The reads that changed something, one for each session cookie: the later of two counts. */
  updates: readonly Update[] = [];
  /** Whether Fastify has sent the reply, with the cookies of the reads before that. */
  isSent = false;
  readonly carried: string[] = [];
  /** The reply; none for a request that was made from another. */
  reply: FastifyReply | undefined;

  constructor(readonly request: SessionRequest) {
    this.#headers = request.headers;
  }

  /** One made from a request (`Object.create()`), with other headers, may have another user, and no reply. */
  static of(request: SessionRequest): RequestReads {
    const holder = request as SessionRequest & { [READS]?: RequestReads };
    const known = holder[READS];
    if (known === undefined) return holder[READS] = new RequestReads(request);
    const { headers } = request;
    if (known.#headers === headers) return known;
    const isMade = known.request !== request;
    // If a hook or a validator has set `request.headers`, each access makes another object.
    const { cookie, authorization } = known.#headers;
    if (!isMade && cookie === headers.cookie && authorization === headers.authorization) return known;
    const reads = holder[READS] = new RequestReads(request);
    reads.isSent = isMade || known.isSent;
    // A hook may set another Cookie header: the reply is the same.
    if (!isMade) reads.reply = known.reply;
    return reads;
  }

  /** One read for each configuration, however many hooks and handlers ask. `read` never rejects. */
  once(
    config: FastifyAuthConfig,
    read: (reads: RequestReads, latest: LatestRead) => Promise<SessionRead>,
  ): Promise<SessionRead> {
    const latest = this.#latestOf(config);
    const result = () => {
      const now = monotonicNow();
      if (now - latest.at < READ_VALID_MS) return latest.result;
      latest.at = now;
      return latest.result = read(this, latest);
    };
    const { context } = latest;
    if (context === undefined || callerOf(context) === undefined) return result();
    // The one that asks may be a function of the application which the read calls.
    return knownRead(context).then((known) => known ?? result());
  }

  forget(config: FastifyAuthConfig): void {
    this.#latestOf(config).at = -Infinity;
  }

  #latestOf(config: FastifyAuthConfig): LatestRead {
    let latest = this.#latest.get(config);
    if (latest === undefined) {
      latest = { config, result: NOT_READ, at: -Infinity, isOfChange: false };
      this.#latest.set(config, latest);
    }
    return latest;
  }

  /** The Cookie header, with what this request has changed so far. */
  cookies(config: FastifyAuthConfig): string | undefined {
    return this.#latestOf(config).cookies ?? this.#headers.cookie;
  }

  /** Gives later reads another Cookie header, since the reply sets cookies, and what they give if it is known. */
  change(config: FastifyAuthConfig, cookies: string, known: SessionRead | undefined): void {
    const at = known === undefined ? -Infinity : monotonicNow();
    this.#latest.set(config, { config, cookies, result: Promise.resolve(known ?? SIGNED_OUT), at, isOfChange: true });
  }

  /** A read is done. Returns whether the reply is to carry something: not if the request has changed more since. */
  done(of: LatestRead, { update }: SessionRead): boolean {
    this.underWay--;
    if (update === undefined) return false;
    const before = this.updates.find(({ name }) => name === update.name);
    // deno-coverage-ignore The request has changed twice while this read was under way
    if (before?.of.config === of.config && before.of !== of && this.#latest.get(of.config) !== of) return false;
    const cookies = update.cookies();
    const givesToken = cookies.some(({ value }) => value !== "");
    if (givesToken) {
      // The configuration may not remember that the token was replaced.
      of.cookies = cookiesAfter(cookies, of.cookies ?? this.#headers.cookie ?? "");
    }
    const noted = { of, givesToken, ...update };
    this.updates = [...this.updates.filter((other) => other !== before), noted];
    return true;
  }

  /** Whether the reply has left. One that opens a WebSocket carries nothing. */
  get hasLeft(): boolean {
    const { raw, request } = this.reply ?? {};
    return this.isSent || raw?.headersSent === true || (request?.raw as { upgrade?: boolean })?.upgrade === true;
  }

  /** Waits also for a read that no handler awaits: it may have used up a refresh token. Then asks other processes. */
  async settled(): Promise<void> {
    // A callback of the read may send the reply, and wait for that.
    for (const { result, context } of this.#latest.values()) {
      if (context === undefined || await ownReadOf(context) === undefined) await result;
    }
    for (const { checkOtherProcesses, givesToken, of } of this.updates) {
      const isLate = monotonicNow() - of.at > LATE_REPLY_MS;
      if (givesToken || isLate) await checkOtherProcesses?.().catch(() => {});
    }
  }

  /** Those whose cookies are to be set; a session that ended since is not brought back. */
  get current(): readonly Update[] {
    return this.updates.filter(({ isOutdated }) => !isOutdated());
  }

  /** Whether the cookies replace those that the request has set before the read. */
  replaces({ of }: Update): boolean {
    return of.isOfChange && this.#latest.get(of.config) === of;
  }
}
