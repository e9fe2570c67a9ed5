/**
 * The limits on signing in: on the requests of an address, on failed attempts on an account, on mails to a recipient,
 * on tokens of a user, and on how much of it runs at the same time.
 */
import { MissingCSRF } from "@auth/core/errors";
import type { EmailConfig } from "@auth/core/providers";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { NoticeCode } from "../../config/notices.ts";
import type { Answer } from "../../core/answer.ts";
import type { AskedRequest, AuthInUse, ProviderContext, RequestContext } from "../../core/context.ts";
import { errorAnswer } from "../../core/failure.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { FastifyAuthError, TooManyRequests } from "../../errors.ts";
import { withoutTyped } from "../../http/redact.ts";
import { isPrefetch } from "../../http/request.ts";
import { newestAttempt } from "../../routes/callback/attempts.ts";
import { codeIn } from "../../routes/callback/email_code.ts";
import { isCallbackOfServer } from "../../routes/table.ts";
import { signedInBy } from "../../session/open.ts";
import { parseJsonObject } from "../../utils/decode.ts";
import { foldName } from "../../utils/fold_name.ts";
import { loadRateLimit, openCounters } from "./counters.ts";
import type { LimitName, RateLimitSettings } from "./options.ts";

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

const UNTRUSTED =
  "Auth.js: a request has X-Forwarded-For, and Fastify's `trustProxy` does not name the peer that sent it. If " +
  "that is your proxy, all users behind it are limited as if they were one: set `trustProxy` to its address (a " +
  "number of hops is not enough), or have it remove the header.";

const EVERYONE_TRUSTED =
  "Auth.js: with `trustProxy: true` of Fastify a client chooses the address that `rateLimit` counts, also behind " +
  "a proxy: it adds to the X-Forwarded-For that the client made up, and the first address counts. Set `trustProxy` " +
  'to the addresses of your proxies, such as "127.0.0.1" or "10.0.0.0/8".';

type CountedKey = readonly [limit: LimitName, key: string];
export type RateLimits = Awaited<ReturnType<typeof openLimits>>;

/**
 * Loads `@fastify/rate-limit`, and opens the limits.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not installed, or too old.
 */
export async function openLimits(scope: FastifyInstance, settings: RateLimitSettings, auth: AuthInUse) {
  const plugin = await loadRateLimit(settings.plugin);
  const counters = await openCounters(plugin, settings, auth.config.hashSecrets.current, scope.log);
  /** How many attempts run, by address and by account. */
  const running = new Map<string, number>();
  /** The attempts that run, by the browser and what it sent. */
  const attempts = new Map<string, Promise<Answer>>();
  if (trustsEveryone(scope)) {
    auth.once("rate limit without proxy", () => scope.log.warn({ code: CODE }, EVERYONE_TRUSTED));
  }

  function addressOf(request: FastifyRequest): string {
    const { headers, ips = [], ip = "" } = request;
    if (ips.length < 2 && (headers["x-forwarded-for"] ?? headers.forwarded) !== undefined) {
      auth.once("rate limit of a proxy", () => request.log.warn({ code: CODE }, UNTRUSTED));
    }
    // Some proxies add the port, which differs with each connection, to X-Forwarded-For.
    const [, ipv4, ipv6] = /^(?:([\d.]+)|\[([^\]]+)\])(?::\d+)?$/.exec(ip) ?? [];
    return plugin.normalizeIP(ipv4 ?? ipv6 ?? ip);
  }

  async function countOne(...[limit, key]: CountedKey): Promise<void> {
    const { isExceeded, ttlInSeconds } = await counters[limit](key);
    if (isExceeded) throw new TooManyRequests(ttlInSeconds);
  }

  /** Refuses if one of them is used up; with the time of the one that starts anew last. */
  async function lookAt(keys: readonly CountedKey[]): Promise<void> {
    const counts = await Promise.all(keys.map(([limit, key]) => counters[limit](key, { increment: false })));
    const waits = counts.filter(({ remaining }) => remaining <= 0).map(({ ttlInSeconds }) => ttlInSeconds);
    if (waits.length > 0) throw new TooManyRequests(Math.max(...waits));
  }

  /** Runs an attempt, and counts it if it fails. It is bounded what can start before the first one has failed. */
  async function attempt(address: string, account: string | undefined, run: () => Promise<Answer>): Promise<Answer> {
    const failures: CountedKey[] = [];
    const bounds: [key: string, most: number][] = [[address, settings.concurrentPerAddress]];
    if (account !== undefined) {
      failures.push(["accountFromAddress", `${account} ${address}`], ["account", account]);
      bounds.push([account, settings.concurrentPerAccount]);
    }
    if (bounds.some(([key, most]) => (running.get(key) ?? 0) >= most)) throw new TooManyRequests(1);
    for (const [key] of bounds) running.set(key, (running.get(key) ?? 0) + 1);
    try {
      await lookAt(failures);
      const answer = await run();
      const { session, error } = answer;
      // Nothing was compared if the token is missing, or the database fails.
      const hasFailed = !session && !(error instanceof MissingCSRF || error instanceof FastifyAuthError);
      if (hasFailed) await Promise.all(failures.map(([limit, key]) => counters[limit](key)));
      return answer;
    } finally {
      for (const [key] of bounds) {
        const left = running.get(key)! - 1;
        if (left === 0) running.delete(key);
        else running.set(key, left);
      }
    }
  }

  return {
    /**
     * Counts a request of its address; one of a server only if it is refused, since any site can have a browser send
     * it. That also goes for callbacks: they count if a sign-in began in the browser.
     */
    async admit(asked: AskedRequest): Promise<void> {
      const { limited, action, method, request } = asked;
      // A GET of `signin/:provider` only redirects to the page.
      if (limited === undefined || (action === "signin" && method === "GET")) return;
      if (limited === "refusals") return await lookAt([["address", `refused ${addressOf(request)}`]]);
      if (isCallbackOfServer(asked, asked.provider) && !newestAttempt(asked as ProviderContext)) return;
      await countOne("address", `address ${addressOf(request)}`);
    },
    async answer(context: RequestContext, run: () => Promise<Answer>, accountName: RateLimitSettings["accountName"]) {
      const { limited, request, origin, method, provider, headers, query, body, fromApplication } = context;
      if (limited === "refusals") {
        const answer = await run();
        if (answer.status >= 400) await counters.address(`refused ${addressOf(request)}`);
        return answer;
      }
      const kind = kindOf(context);
      // Such requests must not use up the mails and tokens of a user.
      if (kind === undefined || (kind !== "attempt" && csrfRefusal(context) !== undefined)) return await run();
      let name: string | undefined;
      try {
        name = await nameOf(kind, context, accountName);
      } catch (error) {
        const cause = withoutTyped(error, body);
        return errorAnswer(new Error("`rateLimit.accountName` failed: the attempt is refused.", { cause }), context);
      }
      const account = name === undefined ? undefined : `${kind} ${provider?.id ?? ""} ${name}`;
      if (kind !== "attempt") {
        if (account !== undefined) await countOne(kind, account);
        return await run();
      }
      // While it runs, the same fields from the same browser are the same attempt: a user clicked twice. Another
      // browser has another CSRF cookie.
      const address = `address ${addressOf(request)}`;
      const browser = [headers.cookie, headers["user-agent"]];
      const key = JSON.stringify([address, origin.href, method, provider?.id, fromApplication, browser, query, body]);
      const same = attempts.get(key);
      if (same !== undefined) return { ...await same, isReported: true };
      const own = attempt(address, account, run).finally(() => attempts.delete(key));
      attempts.set(key, own);
      return await own;
    },
  };
}

/** An attempt may be a guess; a mail costs its recipient; a token may be a row in the database. */
type Kind = "attempt" | "mail" | "token";

/** What a request is counted as besides a request of its address. */
function kindOf(context: RequestContext): Kind | undefined {
  const { limited, action, method, provider: { type } = {}, query, headers } = context;
  if (limited === "tokens") return "token";
  if (action === "signin") return method === "POST" && type === "email" ? "mail" : undefined;
  if (action !== "callback") return undefined;
  if (type === "credentials" || type === "webauthn") return "attempt";
  // Codes of an authorization server are its own to protect, and guesses at mailed ones are counted where they are
  // compared.
  if (type !== "email" || codeIn(context) !== undefined) return undefined;
  const isUsed = method === "POST" || (!isPrefetch(headers) && new URLSearchParams(query).has("token"));
  return isUsed ? "attempt" : undefined;
}

/** The account, recipient or user, in one spelling; `undefined` if it is unknown. */
async function nameOf(kind: Kind, context: RequestContext, accountName: RateLimitSettings["accountName"]) {
  const { provider, body = {}, query, held, settings } = context;
  if (kind === "token") {
    // Nobody is signed in, or the database does not say who.
    return await signedInBy(held.token, settings).then((user) => user?.sub).catch(() => undefined);
  }
  const { id, type } = provider!;
  let name: string | undefined;
  if (kind === "mail") name = recipientOf(context);
  // In JavaScript it may give null, a number or a promise.
  else if (type === "credentials") name = await accountName(body, id) ?? undefined;
  else if (type === "webauthn") name = textOf(parseJsonObject(String(body.data))?.id);
  // Adapters may find a token by itself.
  else name = textOf(body.email) ?? new URLSearchParams(query).get("email") ?? "";
  return name === undefined ? undefined : foldName(String(name));
}

/**
 * The recipient of a mail, as the provider writes it: variants that it takes for one are counted as one, and so are
 * sub-addresses (RFC 5233), such as "ada+news@example.com".
 */
function recipientOf({ body, provider, config }: RequestContext): string | undefined {
  const email = config.coreProviders.get(provider!.id) as EmailConfig | undefined;
  try {
    const address = email?.normalizeIdentifier?.(textOf(body?.email) ?? "");
    return address?.replace(/^([^@+]+)\+[^@]*(?=@)/, "$1");
  } catch {
    // Core refuses it for the same reason.
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** An address for documentation (RFC 5737), which is no proxy, and more of them than there are proxies anywhere. */
const ADDRESS = "203.0.113.1", HOPS = 50;

/**
 * Whether Fastify takes the address that a request says it comes from, whoever sends it: `trustProxy: true`. That
 * option is not in `initialConfig`, so a request shows it, as Fastify makes them.
 */
function trustsEveryone(scope: FastifyInstance): boolean {
  const raw = { headers: { "x-forwarded-for": Array(HOPS).fill(ADDRESS).join() }, socket: { remoteAddress: ADDRESS } };
  const key = Object.getOwnPropertySymbols(scope).find(({ description }) => description === "fastify.Request");
  const { prototype = null } = Reflect.get(scope, key ?? "") ?? {};
  const request: Partial<FastifyRequest> = Object.create(prototype, { raw: { value: raw } });
  return (request.ips ?? []).length > HOPS;
}
