/**
 * The only place that calls core to answer a request.
 *
 * Core is called through its `raw` symbol, so that cookies, redirects and errors come back as data.
 *
 * @module
 */
import { Auth, type AuthConfig, type raw } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { LoggerInstance } from "@auth/core/types";
import type { SerializeOptions } from "cookie";
import { toWebRequest } from "../http/request.ts";
import { readSessionCookie } from "../session/cookie.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "../session/cookie_size.ts";
import { answerWithAdapter } from "./adapter_failure.ts";
import { type Answer, type SetCookie, toSetCookieLine } from "./answer.ts";
import { addressOf, type RequestContext } from "./context.ts";
import { errorAnswer } from "./error_answer.ts";
import { isolateFromCoreGlobals } from "./isolation.ts";
import { hashSecrets } from "./secrets.ts";
import { withoutLeftovers } from "./session_cookies.ts";
import { sessionNameForCore } from "./session_name.ts";

/** What a handler gives core instead of the configuration's own. */
export interface CoreOverrides {
  /** The cookie settings. */
  readonly cookies?: AuthConfig["cookies"];
  /** The functions for tokens. */
  readonly jwt?: AuthConfig["jwt"];
  /** The providers. */
  readonly providers?: AuthConfig["providers"];
  /** Makes of the adapter what core is to see of it. */
  readonly viewOf?: (adapter: Adapter) => Adapter;
}

/**
 * Has core answer a request. Never rejects: why core failed is the answer's `error`.
 *
 * @param context The request.
 * @param overrides What core is given instead of the configuration's own.
 */
export async function callCore(context: RequestContext, overrides: CoreOverrides = {}): Promise<Answer> {
  const { adapter } = context.config.core;
  const { viewOf = (adapter) => adapter } = overrides;
  const answer = adapter
    ? await answerWithAdapter(context, (adapter) => callWith(viewOf(adapter), context, overrides))
    : await callWith(undefined, context, overrides);
  return withoutLeftovers(answer, context);
}

async function callWith(
  adapter: Adapter | undefined,
  context: RequestContext,
  { cookies, jwt, providers }: CoreOverrides,
): Promise<Answer> {
  const log = deferLast(context.logger);
  const { core } = context.config;
  const size = watchSize(jwt ?? core.jwt!, context);
  const session = sessionNameForCore(context, cookies ?? core.cookies, size.jwt);
  // A fresh object each time, because core writes into what it is given.
  const config = isolateFromCoreGlobals({
    ...core,
    // What core does with its secret itself is hashing; encrypted are tokens and cookies.
    secret: hashSecrets(core.secret).current,
    jwt: { secret: core.secret, ...session.jwt } as AuthConfig["jwt"] & object,
    ...(adapter && { adapter }),
    ...(session.cookies && { cookies: session.cookies }),
    ...(providers && { providers }),
    basePath: context.mountPath,
    logger: log.logger,
  });
  try {
    const result = await Auth(
      toCoreRequest(context, session.header),
      config as AuthConfig & { raw: typeof raw },
    ) as unknown;
    // Core answers with a Response where it refuses a request before it begins, and for errors that are not its own:
    // the error itself is only in its log. It answers with nothing where a passkey is registered without an address.
    if (result instanceof Response || result === undefined) {
      return errorAnswer(log.take() ?? noAnswer(), context);
    }
    if (size.exceeded() !== undefined) {
      // Core takes it for a token that cannot be read, and would remove the session that is to be updated.
      log.take();
      return errorAnswer(size.exceeded()!, context);
    }
    const answer = toAnswer(result as RawAnswer);
    log.flush();
    return { ...answer, cookies: session.restore(answer.cookies) };
  } catch (error) {
    log.take(error);
    return errorAnswer(error as Error, context);
  }
}

/** Has core refuse a session that is too large for its cookie, and an update that makes it so. */
function watchSize(
  jwt: NonNullable<AuthConfig["jwt"]>,
  { settings, action, cookies, warnOnce }: RequestContext,
) {
  const { cookie, cookieLimit } = settings;
  const held = action === "session" ? readSessionCookie(cookies, cookie.name).token : "";
  const limit = Math.max(cookieLimit, cookieSize(cookie.name, held));
  let exceeded: SessionTooLarge | undefined;
  const encode: typeof jwt.encode = async (params) => {
    if (params.salt !== cookie.name) return await jwt.encode!(params);
    try {
      return await encodeWithin(jwt as Required<typeof jwt>, params, {
        limit,
        warn: (text) => warnOnce("large session", text),
      });
    } catch (error) {
      if (error instanceof SessionTooLarge) exceeded = error;
      throw error;
    }
  };
  return { jwt: { ...jwt, encode }, exceeded: () => exceeded };
}

/** What core answers with `raw`. */
interface RawAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly cookies?: readonly { name: string; value: string; options: SerializeOptions }[];
  readonly redirect?: string;
}

/** @throws {TypeError} where a cookie cannot be set: a mistake in `cookies` of the configuration. */
function toAnswer({ status = 200, headers = {}, body, cookies = [], redirect }: RawAnswer): Answer {
  for (const cookie of cookies) toSetCookieLine(cookie);
  const answer = { status, headers: lowerCase(headers), body, cookies: cookies as readonly SetCookie[] };
  return redirect ? { ...answer, redirect } : answer;
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function noAnswer(): Error {
  return new Error("Auth.js gave no answer");
}

/** The request as core sees it: the path from the route's own parameters, so that the two cannot differ. */
function toCoreRequest(context: RequestContext, cookie: string): Request {
  const { headers, method, body, origin } = context;
  return toWebRequest({
    url: addressOf(context),
    method,
    headers,
    override: {
      host: new URL(origin.href).host,
      cookie,
      // How the answer is written is not for core to decide.
      "x-auth-return-redirect": undefined,
    },
    body,
  });
}

/** A logger that keeps the latest error back. */
interface DeferredLog {
  readonly logger: LoggerInstance;
  /** The latest error, which is then not logged. Another one than `expected` is logged. */
  take(expected?: unknown): Error | undefined;
  /** Logs the latest error. */
  flush(): void;
}

/**
 * Core logs an error before it answers or throws. The last one is why it failed: it belongs to the answer, and is logged
 * when the answer is sent, unless a handler knows better what it means. Some errors core logs twice in a row.
 */
function deferLast(logger: LoggerInstance): DeferredLog {
  let latest: Error | undefined;
  const flush = () => {
    if (latest !== undefined) logger.error(latest);
    latest = undefined;
  };
  const error = (next: Error) => {
    if (next !== latest) flush();
    latest = next;
  };
  const take = (expected: unknown = latest) => {
    if (latest !== expected) flush();
    const taken = latest;
    latest = undefined;
    return taken;
  };
  return { logger: { ...logger, error }, take, flush };
}
