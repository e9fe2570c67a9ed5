/**
 * Reading the session of a request.
 *
 * @module
 */
import type { FastifyRequest } from "fastify";
import { callbackCookieName, normalizeCallbackCookie } from "./callback_url.ts";
import type { ResolvedConfig } from "./config.ts";
import { callCore } from "./core.ts";
import { toCoreLogger } from "./logger.ts";
import { originOf } from "./origin.ts";
import { toWebRequest } from "./request.ts";
import type { FastifyAuthConfig, GetSessionResult, Session } from "./types.ts";
import { usableConfig } from "./usable_config.ts";

/**
 * The session of a request, or `null` when there is none.
 *
 * It never throws: a configuration that cannot be used, a token that cannot be read or a database that is down
 * mean that nobody is signed in, and are logged.
 *
 * @param req The Fastify request, in any hook or handler.
 * @param config The same object that was given to `FastifyAuth`.
 * @returns The session, or `null`.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { type FastifyAuthConfig, getSession } from "fastify-authjs";
 *
 * const config: FastifyAuthConfig = { providers: [], secret: "x".repeat(32), trustHost: true };
 * const app = Fastify();
 * app.get("/me", async (request) => ({ session: await getSession(request, config) }));
 *
 * const response = await app.inject("/me");
 * console.assert(response.body === '{"session":null}');
 * ```
 */
export async function getSession(req: FastifyRequest, config: FastifyAuthConfig): GetSessionResult {
  const resolved = await usableConfig(config, req.log);
  return resolved === undefined ? null : await readThroughCore(req, resolved);
}

async function readThroughCore(request: FastifyRequest, resolved: ResolvedConfig): Promise<Session | null> {
  const origin = originOf(request, resolved.origin);
  const { cookie } = request.headers;
  if (origin === undefined || !cookie) return null;
  const { logger, debug } = resolved.core;
  const own = normalizeCallbackCookie(cookie, callbackCookieName(origin.secure, resolved.core));
  const web = toWebRequest({ url: `${origin.href}/auth/session`, method: "GET", headers: { cookie: own } });
  const response = await callCore(resolved, web, {
    basePath: "/auth",
    logger: toCoreLogger(request.log, logger, debug),
  });
  return response.ok ? toSession(await response.text()) : null;
}

/** Only a well-formed session counts as one; a session callback can return anything. */
function toSession(json: string): Session | null {
  const value: unknown = json === "" ? null : JSON.parse(json);
  if (typeof value !== "object" || value === null) return null;
  const { user, expires } = value as Partial<Session>;
  return typeof user === "object" && user !== null && typeof expires === "string" ? value as Session : null;
}
