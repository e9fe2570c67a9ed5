/** The `revocable` option. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions } from "../types.ts";

/** Why sessions cannot be revocable: those in a database are listed and ended there. */
export function revocableProblem(
  { revocable, store }: FastifyAuthOptions,
  { adapter, session }: AuthConfig,
): FastifyAuthError | undefined {
  if (revocable !== true) return undefined;
  const strategy = session?.strategy ?? (adapter ? "database" : "jwt");
  if (strategy === "database") {
    return invalid(
      "is for sessions in a JWT: remove it, and use withSessionList() for the adapter, or set " +
        '`session: { strategy: "jwt" }`.',
    );
  }
  return store ? undefined : invalid(
    'needs a `store`, which knows the sessions: set redisStore() of "fastify-authjs/redis", or memoryStore() for one ' +
      "process.",
  );
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `\`revocable\` ${problem}`);
}
