/** The `sessionStore` option. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthOptions, SessionStore } from "../types.ts";

const METHODS = ["get", "list", "put", "end", "endAll"] as const satisfies readonly (keyof SessionStore)[];

/**
 * The store of a configuration.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a store that lacks a method.
 */
export function requireSessionStore(store: FastifyAuthOptions["sessionStore"]): SessionStore | undefined {
  if (store === undefined) return undefined;
  const missing = METHODS.filter((name) => typeof store?.[name] !== "function");
  if (missing.length === 0) return store;
  throw invalid(
    `lacks ${
      missing.map((name) => `${name}()`).join(", ")
    }: use memorySessionStore(), or redisSessionStore() of ` +
      '"fastify-authjs/redis", or an object with these methods.',
  );
}

/** Why a store cannot be used: sessions in a database are listed and ended there. */
export function sessionStoreProblem({ adapter, session }: AuthConfig): FastifyAuthError | undefined {
  const strategy = session?.strategy ?? (adapter ? "database" : "jwt");
  if (strategy === "jwt") return undefined;
  return invalid(
    "is for sessions in a JWT: remove it, and use withSessionList() for the adapter, or set " +
      '`session: { strategy: "jwt" }`.',
  );
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `\`sessionStore\` ${problem}`);
}
