/**
 * The only place that calls core.
 *
 * @module
 */
import { Auth, type AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { LoggerInstance } from "@auth/core/types";
import type { ResolvedConfig } from "./config/config.ts";
import { answerWithDatabase } from "./database/request.ts";
import { restate } from "./email/outcome.ts";
import { FastifyAuthError } from "./errors.ts";

/** What differs from call to call. */
export interface CoreCall {
  /** The mount path, percent-encoded, without a trailing slash. */
  readonly basePath: string;
  /** Where core's messages of this call go. */
  readonly logger: LoggerInstance;
  /** Replaces the configuration's cookie settings. */
  readonly cookies?: AuthConfig["cookies"];
  /** Replaces its functions for tokens. */
  readonly jwt?: AuthConfig["jwt"];
  /** What core is to see of the database. */
  readonly view?: (adapter: Adapter) => Adapter;
}

/**
 * Has core answer a request. It is given a fresh object each time, because it writes into what it is given.
 *
 * @param resolved A configuration without a problem.
 * @param request The request; its path is below `basePath`.
 * @param call The mount path and the logger.
 * @returns Core's answer; 503 where the database failed and its answer would have decided.
 */
export async function callCore(
  resolved: ResolvedConfig,
  request: Request,
  call: CoreCall,
): Promise<Response> {
  const { core } = resolved;
  const { basePath, cookies = core.cookies, jwt = core.jwt, view = (adapter) => adapter } = call;
  const { logger, last } = rememberLast(call.logger);
  const answer = async (adapter = core.adapter) => {
    const replaced = {
      ...(adapter && { adapter: view(adapter) }),
      ...(cookies && { cookies }),
      ...(jwt && { jwt }),
    };
    const config = { ...core, ...replaced, basePath, logger };
    return restate(await Auth(request, shieldFromOthers(config)), last());
  };
  if (!core.adapter) return await answer();
  const action = new URL(request.url).pathname.slice(basePath.length + 1).split("/")[0]!;
  return await answerWithDatabase({ resolved, request, action, logger, answer });
}

/** Remembers what core logged last: where it gives up, that is why. Some errors it logs twice in a row. */
function rememberLast(logger: LoggerInstance): { logger: LoggerInstance; last: () => Error | undefined } {
  let last: Error | undefined;
  const error = (latest: Error) => {
    if (latest !== last) logger.error(latest);
    last = latest;
  };
  return { logger: { ...logger, error }, last: () => last };
}

/**
 * Core remembers for the whole process that some configuration had an e-mail or a WebAuthn provider, and from
 * then on demands an adapter and the experimental flag of every configuration, also of those without such a
 * provider. What each configuration really needs is checked at boot; here core's demands are met by a stand-in
 * while core asserts, which ends when it asks for `raw`.
 */
function shieldFromOthers(config: AuthConfig): AuthConfig {
  const { adapter, session, ...rest } = config;
  let asserting = true;
  return {
    ...rest,
    ...(session && { session: withoutImpliedStrategy(session, adapter) }),
    experimental: { ...config.experimental, enableWebAuthn: true },
    get adapter() {
      return asserting ? STAND_IN_ADAPTER : adapter;
    },
    get raw() {
      asserting = false;
      return undefined;
    },
  } as unknown as AuthConfig;
}

/** "database" is what core infers from an adapter; said aloud it is refused once any instance has credentials. */
function withoutImpliedStrategy(
  session: NonNullable<AuthConfig["session"]>,
  adapter: Adapter | undefined,
): NonNullable<AuthConfig["session"]> {
  if (!adapter || session.strategy !== "database") return session;
  const { strategy: _strategy, ...rest } = session;
  return rest;
}

/** Has every method there is, as far as `in` can tell, and does nothing. */
const STAND_IN_ADAPTER = new Proxy({}, { has: () => true }) as Adapter;

/** Never resolved: no request leaves with it. */
const ASSERTION_ORIGIN = "https://fastify-authjs.invalid";

/**
 * Asks core whether it would serve this configuration at all, which it otherwise says only to the first request.
 *
 * @returns What is wrong, in core's words, or `undefined`.
 */
export async function coreProblem(resolved: ResolvedConfig): Promise<FastifyAuthError | undefined> {
  const errors: Error[] = [];
  const logger: LoggerInstance = { error: (error) => errors.push(error), warn: () => {}, debug: () => {} };
  const { adapter, experimental, ...core } = resolved.core;
  const needsWebAuthn = [...resolved.providers.values()].some(({ type }) => type === "webauthn");
  const config = shieldFromOthers({ ...core, ...(adapter && { adapter }), basePath: "/auth", logger });
  config.experimental = { ...experimental, enableWebAuthn: !needsWebAuthn || !!experimental?.enableWebAuthn };

  await Auth(new Request(`${ASSERTION_ORIGIN}/auth/providers`), config);
  const [error] = errors;
  if (error === undefined) return undefined;
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `Auth.js refuses the configuration: ${error.message}`,
    {
      cause: error,
    },
  );
}
