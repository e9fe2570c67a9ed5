/**
 * The limits on signing in: on the requests of an address, on failed attempts on an account, on mails to a
 * recipient, on tokens of a user, and on how much of it runs at the same time.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { NoticeCode } from "../../config/notices.ts";
import type { Answer } from "../../core/answer.ts";
import type { AskedRequest, AuthInUse, ProviderContext, RequestContext } from "../../core/context.ts";
import { InFlight } from "../../utils/in_flight.ts";
import { newestAttempt } from "../../routes/callback/attempts.ts";
import { isCallbackOfServer } from "../../routes/table.ts";
import { TooManyRequests } from "../../routes/too_many_requests.ts";
import { EVERYONE_TRUSTED, isUntrusted, trustsEveryone, UNTRUSTED, withoutPort } from "./address.ts";
import { hasFailed, sentBy, subjectOf } from "./attempt.ts";
import { type Counters, loadRateLimit, openCounters } from "./counters.ts";
import type { LimitName, RateLimitSettings } from "./settings.ts";

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

/** A limit, and the key that it counts. */
type CountedKey = readonly [limit: LimitName, key: string];

/** The limits of one configuration. */
export class RateLimits {
  readonly #settings: RateLimitSettings;
  readonly #counters: Counters;
  readonly #addressOf: (request: FastifyRequest) => string;
  readonly #running = new InFlight();
  /** The attempts that run, by the browser and what it sent. */
  readonly #attempts = new Map<string, Promise<Answer>>();

  private constructor(
    settings: RateLimitSettings,
    counters: Counters,
    addressOf: (request: FastifyRequest) => string,
  ) {
    this.#settings = settings;
    this.#counters = counters;
    this.#addressOf = addressOf;
  }

  /**
   * Loads `@fastify/rate-limit` and makes the counters.
   *
   * @param scope A scope of the plugin.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not installed.
   */
  static async open(
    scope: FastifyInstance,
    settings: RateLimitSettings,
    auth: AuthInUse,
  ): Promise<RateLimits> {
    const plugin = await loadRateLimit(settings.plugin);
    const counters = await openCounters(plugin, settings, auth.config.hashSecrets.current, scope.log);
    if (trustsEveryone(scope)) {
      auth.once("rate limit without proxy", () => scope.log.warn({ code: CODE }, EVERYONE_TRUSTED));
    }
    const addressOf = (request: FastifyRequest) => {
      if (isUntrusted(request)) {
        auth.once("rate limit of a proxy", () => request.log.warn({ code: CODE }, UNTRUSTED));
      }
      return plugin.normalizeIP(withoutPort(request.ip ?? ""));
    };
    return new RateLimits(settings, counters, addressOf);
  }

  /**
   * Counts a request of its address; one of a server only if it is refused, since any site can have a browser
   * send it. That also goes for callbacks: they count if a sign-in began in the browser.
   *
   * @throws {TooManyRequests} If there were too many.
   */
  async admit(asked: AskedRequest): Promise<void> {
    const { limited, action, method, request } = asked;
    // A GET of `signin/:provider` only redirects to the page.
    if (limited === undefined || (action === "signin" && method === "GET")) return;
    if (limited === "refusals") {
      return await this.#lookAt([["address", `refused ${this.#addressOf(request)}`]]);
    }
    if (isCallbackOfServer(asked, asked.provider) && !newestAttempt(asked as ProviderContext)) return;
    await this.#countOne("address", `address ${this.#addressOf(request)}`);
  }

  /**
   * Answers a request within the limits.
   *
   * @throws {TooManyRequests} If there were too many attempts, or too many run.
   */
  async answer(
    context: RequestContext,
    run: () => Promise<Answer>,
    accountName: RateLimitSettings["accountName"],
  ): Promise<Answer> {
    const { limited, request } = context;
    if (limited === "refusals") {
      const answer = await run();
      if (answer.status >= 400) await this.#counters.address?.(`refused ${this.#addressOf(request)}`);
      return answer;
    }
    const subject = await subjectOf(context, accountName);
    if (subject === undefined) return await run();
    const { kind, account } = subject;
    if (kind !== "attempt") {
      if (account !== undefined) await this.#countOne(kind, account);
      return await run();
    }
    // While it runs, the same fields from the same browser are the same attempt: a user clicked twice.
    const address = `address ${this.#addressOf(request)}`;
    const key = `${address} ${sentBy(context)}`;
    const same = this.#attempts.get(key);
    if (same !== undefined) return { ...await same, isReported: true };
    const attempt = this.#attempt(address, account, run);
    this.#attempts.set(key, attempt);
    try {
      return await attempt;
    } finally {
      this.#attempts.delete(key);
    }
  }

  /** Runs an attempt, and counts it if it fails. It is bounded what can start before the first one has failed. */
  async #attempt(address: string, account: string | undefined, run: () => Promise<Answer>): Promise<Answer> {
    const { concurrentPerAddress, concurrentPerAccount } = this.#settings;
    const failures: CountedKey[] = account === undefined
      ? []
      : [["accountFromAddress", `${account} ${address}`], ["account", account]];
    const end = this.#running.begin([
      [address, concurrentPerAddress],
      ...(account === undefined ? [] : [[account, concurrentPerAccount] as const]),
    ]);
    if (end === undefined) throw new TooManyRequests(1);
    try {
      await this.#lookAt(failures);
      const answer = await run();
      if (hasFailed(answer)) await Promise.all(failures.map(([limit, key]) => this.#counters[limit]?.(key)));
      return answer;
    } finally {
      end();
    }
  }

  async #countOne(...[limit, key]: CountedKey): Promise<void> {
    const count = await this.#counters[limit]?.(key);
    if (count?.isExceeded) throw new TooManyRequests(count.ttlInSeconds);
  }

  /** @throws {TooManyRequests} If one of them is used up; with the time of the one that starts anew last. */
  async #lookAt(keys: readonly CountedKey[]): Promise<void> {
    const counts = await Promise.all(
      keys.map(([limit, key]) => this.#counters[limit]?.(key, { increment: false })),
    );
    const waits = counts.flatMap((count) => count && count.remaining <= 0 ? [count.ttlInSeconds] : []);
    if (waits.length > 0) throw new TooManyRequests(Math.max(...waits));
  }
}
