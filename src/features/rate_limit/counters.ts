/** Counters of `@fastify/rate-limit`, in the memory of the process or in Redis. */
import Fastify, { type FastifyPluginCallback } from "fastify";
import { createHmac, hkdfSync } from "node:crypto";
import type { Log, NoticeCode } from "../../config/notices.ts";
import { invalidConfig } from "../../errors.ts";
import { withDeadline } from "../../utils/time.ts";
import { sendCommand } from "../../store/send_command.ts";
import { type LimitName, LIMITS, type RateLimitSettings } from "./options.ts";

type RateLimitPlugin = FastifyPluginCallback<Record<string, unknown>> & {
  /** An address, or the network of an IPv6 address. From 11.2 on. */
  readonly normalizeIP: (address: string) => string;
};

/** What `createRateLimit()` of a scope with the plugin tells of a counter. */
interface Count {
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Until it starts anew. */
  readonly ttlInSeconds: number;
}

/** Counts one more event of a key; without `increment` it only looks. */
type Counter = (key: string, options?: { readonly increment: false }) => Promise<Count>;

/**
 * Loads the plugin. It is an optional peer, so nothing imports it by name: bundlers and Deno would want it for every
 * application.
 * @param plugin That of the application's own import.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not installed, or too old.
 */
export async function loadRateLimit(
  plugin: RateLimitSettings["plugin"],
  load = async (name: string): Promise<{ default: unknown }> => await import(/* webpackIgnore: true */ name),
): Promise<RateLimitPlugin> {
  const failed = (why: string, cause?: unknown) =>
    invalidConfig(
      `\`rateLimit\` needs @fastify/rate-limit 11.2 or later, ${why}. Run ` +
        "`npm install @fastify/rate-limit@^11.2.0` (`pnpm add`, `yarn add`, `bun add`, or " +
        "`deno add npm:@fastify/rate-limit@^11.2.0`). In a bundle, set `rateLimit: { plugin: rateLimit }` " +
        "with your own import of it.",
      { cause },
    );
  const loaded = plugin ?? (await load("@fastify/rate-limit").catch((cause) => {
    throw failed("which cannot be loaded", cause);
  })).default;
  if ((loaded as Partial<RateLimitPlugin>).normalizeIP === undefined) throw failed("and this one is older");
  return loaded as RateLimitPlugin;
}

/** Events that are counted at most in the memory of a process, of each kind: with more, the oldest are forgotten. */
const MOST_IN_MEMORY = 50_000;

/** Makes the counters; one of a limit that is off never refuses. */
export async function openCounters(plugin: RateLimitPlugin, settings: RateLimitSettings, secret: string, log: Log) {
  const { redis, prefix } = settings;
  // So no address or name of a user is in Redis, and without the secret none can be guessed.
  const secretKey = new Uint8Array(hkdfSync("sha256", secret, "", "fastify-authjs rate limit", 32));
  const commands = redis && redisCommands(redis, log);
  // An instance of Fastify of its own, which answers nothing. That of the application may have the plugin already,
  // which then makes no other counters; and one that has started, which a configuration may come after, takes none.
  const host = Fastify();
  const open = async (name: LimitName): Promise<Counter> => {
    const limit = settings[name];
    if (limit === false) return () => Promise.resolve({ isExceeded: false, remaining: Infinity, ttlInSeconds: 0 });
    let count: (request: object, options: object | undefined) => Promise<Count>;
    await host.register(async (scope) => {
      await scope.register(plugin, {
        ...limit,
        global: false,
        cache: MOST_IN_MEMORY,
        keyGenerator: ({ key }: { readonly key: string }) =>
          createHmac("sha256", secretKey).update(key).digest("base64url"),
        ...(commands && { redis: commands, nameSpace: `${prefix}${name}:` }),
      });
      count = (scope as unknown as { createRateLimit(): typeof count }).createRateLimit();
    });
    // What it reads of a request. That of the client may have a `groupId`, of the application's own limits.
    return (key, options) => count({ key, routeOptions: {} }, options);
  };
  const counters: Partial<Record<LimitName, Counter>> = {};
  for (const name of LIMITS) counters[name] = await open(name);
  return counters as Record<LimitName, Counter>;
}

/** How long Redis may take for an answer, in milliseconds. */
const DEADLINE_MS = 1_000;

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

/** A count, and the milliseconds until it starts anew. */
type Reply = readonly [count: number, milliseconds: number];

/**
 * The part of a client of `ioredis` that the plugin uses, over any client. While Redis fails nothing is counted: a user
 * who cannot sign in at all is worse off than one who is not protected by a limit for a while.
 */
function redisCommands(client: NonNullable<RateLimitSettings["redis"]>, log: Log): object {
  let failing = false;
  const send = async (...args: string[]): Promise<Reply> => {
    try {
      const answer = (async () => await sendCommand(client, "EVAL", ...args))();
      const reply = await withDeadline(answer, DEADLINE_MS, () => new Error("no answer within a second"));
      if (failing) log.warn({ code: CODE }, "Auth.js: Redis works again: attempts to sign in are limited.");
      failing = false;
      return reply as Reply;
    } catch (error) {
      const problem = `Redis fails, so attempts to sign in are not limited: ${(error as Error).message}`;
      if (!failing) log.error({ code: CODE }, `Auth.js: ${problem}`);
      failing = true;
      return [0, 0];
    }
  };
  const commands: Record<string, unknown> = {
    defineCommand(name: string, { lua }: { readonly lua: string }) {
      commands[name] = (key: string, ...rest: [...unknown[], (error: null, reply: Reply) => void]) => {
        const done = rest.pop() as (error: null, reply: Reply) => void;
        send(lua, "1", key, ...rest.map(String)).then((reply) => done(null, reply));
      };
    },
  };
  return commands;
}
