/** Reads the session of a request. */
import { FastifyAuthError } from "./errors.ts";
import { assertSessionArguments } from "./utils/arguments.ts";
import { readSession } from "./instance/read_session.ts";
import { Tenants } from "./instance/tenants.ts";
import type { ConfigForRequest, FastifyAuthConfig, GetSessionResult, Session, SessionRequest } from "./types.ts";

/**
 * The session of a request by the configuration that a function chooses, or `null` if there is none.
 * @param req The Fastify request, in any hook or handler.
 * @param choose The same function that was given to `FastifyAuth`.
 * @returns The session, or `null`: also if there is no configuration for the request, which the log says.
 */
export function getSession(req: SessionRequest, choose: ConfigForRequest): GetSessionResult;
/**
 * The session of a request, or `null` if there is none.
 *
 * An invalid configuration, an unreadable session token, a failing adapter and a failing callback are logged, and the
 * result is `null`.
 * @param req The Fastify request, in any hook or handler.
 * @param config The same object that was given to `FastifyAuth`.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if the arguments are not a request and a configuration;
 * nothing else.
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
export function getSession(req: SessionRequest, config: FastifyAuthConfig): GetSessionResult;
export async function getSession(
  req: SessionRequest,
  config: FastifyAuthConfig | ConfigForRequest,
): Promise<Session | null> {
  assertSessionArguments(req, config);
  const own = typeof config === "function" ? await chosenFor(req, config) : config;
  return own === undefined ? null : (await readSession(req, own)).session;
}

/** The configuration that a function chooses. If there is none, the log says so. */
async function chosenFor(request: SessionRequest, choose: ConfigForRequest): Promise<FastifyAuthConfig | undefined> {
  try {
    return await Tenants.of(choose).configOf(request);
  } catch (error) {
    // That there is none, and what is wrong with one, was said once.
    const isSaid = error instanceof FastifyAuthError && error.code !== "FST_AUTHJS_UNAVAILABLE";
    if (!isSaid) request.log.error(error, "No session is read: there is no configuration for the request.");
  }
}
