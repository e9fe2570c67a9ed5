/**
 * The limits on signing in: on the requests of an address, on failed attempts on an account, on mails to a
 * recipient, on tokens of a user, and on how much of it runs at the same time.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { NoticeCode } from "../../config/notices.ts";
import type { Answer } from "../../core/answer.ts";
import type { AskedRequest, AuthInUse, ProviderContext, RequestContext } from "../../core/context.ts";
import { newestAttempt } from "../../routes/callback/attempts.ts";
import { isCallbackOfServer } from "../../routes/table.ts";
import { TooManyRequests } from "../../errors.ts";
import { EVERYONE_TRUSTED, isUntrusted, trustsEveryone, UNTRUSTED, withoutPort } from "./address.ts";
import { hasFailed, sentBy, subjectOf } from "./attempt.ts";
import { loadRateLimit, openCounters } from "./counters.ts";
import type { LimitName, RateLimitSettings } from "./settings.ts";

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

/** A limit, and the key that it counts. */
type CountedKey = readonly [limit: LimitName, key: string];

/** The limits of one configuration. Both throw a {@linkcode TooManyRequests}. */
export interface RateLimits {
  /**
   * Counts a request of its address; one of a server only if it is refused, since any site can have a browser
   * send it. That also goes for callbacks: they count if a sign-in began in the browser.
   */
  admit(asked: AskedRequest): Promise<void>;
  /** Answers a request within the limits. */
  answer(
    context: RequestContext,
    run: () => Promise<Answer>,
    accountName: RateLimitSettings["accountName"],
  ): Promise<Answer>;
}

/**
 * Loads `@fastify/rate-limit`, and opens the limits.
 *
 * @param scope A scope of the plugin.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not installed, or too old.
 */
export async function openLimits(
  scope: FastifyInstance,
  settings: RateLimitSettings,
  auth: AuthInUse,
): Promise<RateLimits> {
  const plugin = await loadRateLimit(settings.plugin);
  const counters = await openCounters(plugin, settings, auth.config.hashSecrets.current, scope.log);
  /** How many attempts run, by address and by account. */
  const running = new Map<string, number>();
  const count = (key: string, change: 1 | -1) => {
    const left = (running.get(key) ?? 0) + change;
    if (left === 0) running.delete(key);
    else running.set(key, left);
  };
  /** The attempts that run, by the browser and what it sent. */
  const attempts = new Map<string, Promise<Answer>>();
  if (trustsEveryone(scope)) {
    auth.once("rate limit without proxy", () => scope.log.warn({ code: CODE }, EVERYONE_TRUSTED));
  }

  function addressOf(request: FastifyRequest): string {
    if (isUntrusted(request)) {
      auth.once("rate limit of a proxy", () => request.log.warn({ code: CODE }, UNTRUSTED));
    }
    return plugin.normalizeIP(withoutPort(request.ip ?? ""));
  }

  async function countOne(...[limit, key]: CountedKey): Promise<void> {
    const count = await counters[limit]?.(key);
    if (count?.isExceeded) throw new TooManyRequests(count.ttlInSeconds);
  }

  /** Refuses if one of them is used up; with the time of the one that starts anew last. */
  async function lookAt(keys: readonly CountedKey[]): Promise<void> {
    const counts = await Promise.all(
      keys.map(([limit, key]) => counters[limit]?.(key, { increment: false })),
    );
    const waits = counts.flatMap((count) => count && count.remaining <= 0 ? [count.ttlInSeconds] : []);
    if (waits.length > 0) throw new TooManyRequests(Math.max(...waits));
  }

  /** Runs an attempt, and counts it if it fails. It is bounded what can start before the first one has failed. */
  async function attempt(
    address: string,
    account: string | undefined,
    run: () => Promise<Answer>,
  ): Promise<Answer> {
    const { concurrentPerAddress, concurrentPerAccount } = settings;
    const failures: CountedKey[] = account === undefined
      ? []
      : [["accountFromAddress", `${account} ${address}`], ["account", account]];
    const bounds = [[address, concurrentPerAddress] as const];
    if (account !== undefined) bounds.push([account, concurrentPerAccount]);
    if (bounds.some(([key, most]) => (running.get(key) ?? 0) >= most)) throw new TooManyRequests(1);
    for (const [key] of bounds) count(key, 1);
    try {
      await lookAt(failures);
      const answer = await run();
      if (hasFailed(answer)) await Promise.all(failures.map(([limit, key]) => counters[limit]?.(key)));
      return answer;
    } finally {
      for (const [key] of bounds) count(key, -1);
    }
  }

  return {
    async admit(asked) {
      const { limited, action, method, request } = asked;
      // A GET of `signin/:provider` only redirects to the page.
      if (limited === undefined || (action === "signin" && method === "GET")) return;
      if (limited === "refusals") return await lookAt([["address", `refused ${addressOf(request)}`]]);
      if (isCallbackOfServer(asked, asked.provider) && !newestAttempt(asked as ProviderContext)) return;
      await countOne("address", `address ${addressOf(request)}`);
    },
    async answer(context, run, accountName) {
      const { limited, request } = context;
      if (limited === "refusals") {
        const answer = await run();
        if (answer.status >= 400) await counters.address?.(`refused ${addressOf(request)}`);
        return answer;
      }
      const subject = await subjectOf(context, accountName);
      if (subject === undefined) return await run();
      const { kind, account } = subject;
      if (kind !== "attempt") {
        if (account !== undefined) await countOne(kind, account);
        return await run();
      }
      // While it runs, the same fields from the same browser are the same attempt: a user clicked twice.
      const address = `address ${addressOf(request)}`;
      const key = `${address} ${sentBy(context)}`;
      const same = attempts.get(key);
      if (same !== undefined) return { ...await same, isReported: true };
      const own = attempt(address, account, run).finally(() => attempts.delete(key));
      attempts.set(key, own);
      return await own;
    },
  };
}
