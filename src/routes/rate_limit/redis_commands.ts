/** Redis for `@fastify/rate-limit`, which knows the client of `ioredis` alone and fails where Redis does. */
import type { NoticeCode } from "../../config/notices.ts";
import type { RateLimitOptions } from "../../types.ts";
import { withDeadline } from "../../utils/deadline.ts";
import type { Log } from "../../utils/log.ts";
import { sendCommand } from "../../utils/redis_client.ts";

/** The commands that it defines, by name. */
export interface RedisCommands {
  defineCommand(name: string, script: { lua: string }): void;
  [command: string]: unknown;
}

type Callback = (error: null, result: readonly [count: number, milliseconds: number]) => void;

/** How long Redis may take for an answer, in milliseconds. */
const DEADLINE_MS = 1_000;

const CODE: NoticeCode = "FST_AUTHJS_WARN_RATE_LIMIT";

/** No event so far. */
const NONE = [0, 0] as const;

/**
 * The part of a client of `ioredis` that is used, over any client. While Redis fails nothing is counted: a
 * user who cannot sign in at all is worse off than one who is not protected by a limit for a while.
 */
export function redisCommands(client: NonNullable<RateLimitOptions["redis"]>, log: Log): RedisCommands {
  let failing = false;
  const tell = (error: unknown) => {
    if (!failing) {
      const { message } = error as Error;
      log.error({ code: CODE }, `Auth.js: Redis fails, so attempts to sign in are not limited: ${message}`);
    }
    failing = true;
    return NONE;
  };
  const works = (result: unknown) => {
    if (failing) log.warn({ code: CODE }, "Auth.js: Redis works again: attempts to sign in are limited.");
    failing = false;
    return result as typeof NONE;
  };
  return {
    defineCommand(name, { lua }) {
      this[name] = (key: string, ...rest: unknown[]) => {
        const reply = rest.pop() as Callback;
        const send = async () => await sendCommand(client, "EVAL", lua, "1", key, ...rest.map(String));
        const answer = withDeadline(send(), DEADLINE_MS, () => new Error("no answer within a second"));
        answer.then(works, tell).then((result) => reply(null, result));
      };
    },
  };
}
