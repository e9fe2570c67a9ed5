/**
 * The limits on signing in: on the requests of an address, on failed attempts on an account, on mails to a
 * recipient, on tokens of a user, and on how much of it runs at the same time.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { createHmac, hkdfSync } from "node:crypto";
import type { LimitName, RateLimitSettings } from "../../config/rate_limit.ts";
import type { NoticeCode } from "../../config/notices.ts";
import type { Answer } from "../../core/answer.ts";
import type { RequestContext } from "../../core/context.ts";
import { hashSecrets } from "../../config/hash_secrets.ts";
import { type AttemptRequest, newestAttempt } from "../callback/attempts.ts";
import { InFlight } from "../../utils/in_flight.ts";
import { EVERYONE_TRUSTED, isUntrusted, trustsEveryone, UNTRUSTED, withoutPort } from "./address.ts";
import { hasFailed, sentBy, subjectOf } from "./attempt.ts";
import { type Counter, loadRateLimit, openCounter } from "./counters.ts";
import { redisCommands } from "./redis_commands.ts";
import { TooManyRequests } from "./too_many_requests.ts";

/** What the limits need of a configuration. */
export interface RateLimitParts {
  /** The secrets; keys depend on the first one. */
  readonly secret: string | readonly string[] | undefined;
  /** Runs `tell` once for each `what`. */
  readonly once: (what: string, tell: () => void) => void;
}

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

/** A counter, and what it counts. */
type CountedKey = readonly [counter: Counter, key: string];

/** The limits of one configuration. */
export class RateLimits {
  readonly #running: InFlight;
  /** Those that run, by the browser and what it sent. */
  readonly #attempts: Map<string, Promise<Answer>>;

  private constructor(
    private readonly settings: RateLimitSettings,
    private readonly counters: Readonly<Partial<Record<LimitName, Counter>>>,
    private readonly addressOf: (request: FastifyRequest) => string,
    private readonly digest: (text: string) => string,
  ) {
    this.#running = new InFlight();
    this.#attempts = new Map();
  }

  /**
   * Loads `@fastify/rate-limit` and makes the counters.
   *
   * @param scope A scope of the plugin.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` where it is not installed.
   */
  static async open(
    scope: FastifyInstance,
    settings: RateLimitSettings,
    { secret, once }: RateLimitParts,
  ): Promise<RateLimits> {
    const loaded = await loadRateLimit(settings.plugin);
    const { redis, prefix } = settings;
    const store = { commands: redis && redisCommands(redis, scope.log), prefix };
    const counters: Partial<Record<LimitName, Counter>> = {};
    for (const [name, limit] of Object.entries(settings.limits)) {
      counters[name as LimitName] = await openCounter(scope, loaded, name, limit, store);
    }
    if (trustsEveryone(scope)) {
      once("rate limit without proxy", () => scope.log.warn({ code: CODE }, EVERYONE_TRUSTED));
    }
    const addressOf = (request: FastifyRequest) => {
      if (isUntrusted(request)) {
        once("rate limit of a proxy", () => request.log.warn({ code: CODE }, UNTRUSTED));
      }
      return loaded.normalizeIP(withoutPort(request.ip ?? ""));
    };
    return new RateLimits(settings, counters, addressOf, digestWith(hashSecrets(secret).current));
  }

  /**
   * Counts a request of an address.
   *
   * @param callback The callback of an authorization server. Any site can have a browser request one: it counts
   * only if a sign-in began there.
   * @throws {TooManyRequests} When there were too many.
   */
  async countRequest(request: FastifyRequest, callback?: AttemptRequest): Promise<void> {
    const { address } = this.counters;
    if (address === undefined || (callback !== undefined && newestAttempt(callback) === undefined)) return;
    await countOne(address, this.digest(`address ${this.addressOf(request)}`));
  }

  /**
   * Looks whether a request of an address is allowed of which only refused ones count.
   *
   * @throws {TooManyRequests} When there were too many.
   */
  async lookAtRefusals(request: FastifyRequest): Promise<void> {
    const { address } = this.counters;
    if (address !== undefined) await lookAt([[address, this.#refusalsOf(request)]]);
  }

  /** Counts a refused request of an address. */
  async countRefusal(request: FastifyRequest): Promise<void> {
    await this.counters.address?.count(this.#refusalsOf(request));
  }

  /** They are counted by themselves: any site can have a browser send them. */
  #refusalsOf(request: FastifyRequest): string {
    return this.digest(`refused ${this.addressOf(request)}`);
  }

  /**
   * Answers a request within the limits.
   *
   * @throws {TooManyRequests} When there were too many attempts, or too many run.
   */
  async answer(
    context: RequestContext,
    request: FastifyRequest,
    run: () => Promise<Answer>,
  ): Promise<Answer> {
    const subject = await subjectOf(context);
    if (subject === undefined) return await run();
    const { kind } = subject;
    const account = subject.account === undefined
      ? undefined
      : this.digest(`${kind} ${context.provider?.id ?? ""} ${subject.account}`);
    if (kind === "attempt") return await this.#share(context, request, account, run);
    const counter = this.counters[kind];
    if (account !== undefined && counter !== undefined) await countOne(counter, account);
    return await run();
  }

  /**
   * Runs an attempt. While it runs, the same fields from the same browser are the same attempt: a user clicked
   * twice.
   */
  async #share(
    context: RequestContext,
    request: FastifyRequest,
    account: string | undefined,
    run: () => Promise<Answer>,
  ): Promise<Answer> {
    const key = this.digest(`attempt ${this.addressOf(request)} ${sentBy(context)}`);
    const same = this.#attempts.get(key);
    if (same !== undefined) return { ...await same, isShared: true };
    const attempt = this.#attempt(request, account, run);
    this.#attempts.set(key, attempt);
    try {
      return await attempt;
    } finally {
      this.#attempts.delete(key);
    }
  }

  /**
   * Runs an attempt, and counts it where it fails. It is bounded what can start before the first one has
   * failed.
   */
  async #attempt(
    request: FastifyRequest,
    account: string | undefined,
    run: () => Promise<Answer>,
  ): Promise<Answer> {
    const { concurrentPerAddress, concurrentPerAccount } = this.settings;
    const address = this.digest(`address ${this.addressOf(request)}`);
    const end = this.#running.begin([
      [address, concurrentPerAddress],
      ...(account === undefined ? [] : [[account, concurrentPerAccount] as const]),
    ]);
    if (end === undefined) throw new TooManyRequests(1);
    try {
      const failures = account === undefined ? [] : this.#failuresOf(account, address);
      await lookAt(failures);
      const answer = await run();
      if (hasFailed(answer)) await Promise.all(failures.map(([counter, key]) => counter.count(key)));
      return answer;
    } finally {
      end();
    }
  }

  /** The counters of failed attempts on an account. */
  #failuresOf(account: string, address: string): readonly CountedKey[] {
    const { accountFromAddress, account: fromAnywhere } = this.counters;
    return [
      ...(accountFromAddress ? [[accountFromAddress, this.digest(`${account} ${address}`)] as const] : []),
      ...(fromAnywhere ? [[fromAnywhere, account] as const] : []),
    ];
  }
}

async function countOne(counter: Counter, key: string): Promise<void> {
  const { isExceeded, ttlInSeconds } = await counter.count(key);
  if (isExceeded) throw new TooManyRequests(ttlInSeconds);
}

/** @throws {TooManyRequests} Where one of them is used up; with the time of the one that starts anew last. */
async function lookAt(keys: readonly CountedKey[]): Promise<void> {
  const counts = await Promise.all(keys.map(([counter, key]) => counter.look(key)));
  const waits = counts.filter(({ remaining }) => remaining <= 0).map(({ ttlInSeconds }) => ttlInSeconds);
  if (waits.length > 0) throw new TooManyRequests(Math.max(...waits));
}

/**
 * Keys are digests, so that no address or name of a user is in Redis; without the secret they cannot be
 * guessed.
 */
function digestWith(secret: string): (text: string) => string {
  const key = new Uint8Array(hkdfSync("sha256", secret, "", "fastify-authjs rate limit", 32));
  return (text) => createHmac("sha256", key).update(text).digest("base64url");
}
