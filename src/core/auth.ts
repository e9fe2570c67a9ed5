/**
 * The only place that calls core to answer a request.
 *
 * Core is called through its `raw` symbol, so that cookies, redirects and errors come back as data.
 */
import { Auth, type AuthConfig, type raw, skipCSRFCheck } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { LoggerInstance } from "@auth/core/types";
import type { SerializeOptions } from "cookie";
import { namedCookies } from "../config/cookies.ts";
import { hostOf } from "../http/origin.ts";
import { readSessionCookie, type SetCookie } from "../session/cookie.ts";
import { openToken } from "../session/open_token.ts";
import { keepTokens } from "../session/provider_tokens.ts";
import { signInClaims, toSignInCookie } from "../session/sign_in_cookie.ts";
import { claimsOfSignIn, provesUser, recordSignIns, type SignIn } from "../session/sign_in_record.ts";
import { cookieSize, encodeWithin, SessionTooLarge } from "../session/cookie_size.ts";
import { updateOnSignIn } from "../adapter/account_tokens.ts";
import { unavailableError } from "../adapter/failure.ts";
import type { SessionStoreFailure } from "../session/session_records.ts";
import { recordSessions } from "./session_records.ts";
import { answerWithAdapter } from "./adapter_failure.ts";
import { type Answer, toSetCookieLine } from "./answer.ts";
import { addressOf, type RequestContext, withoutCookies } from "./context.ts";
import { hasCsrfToken } from "./csrf.ts";
import { errorAnswer } from "./error_answer.ts";
import { isolateFromCoreGlobals } from "./isolation.ts";
import { toCoreRequest } from "./request.ts";
import { removeOldChunks } from "./session_cookies.ts";
import { sessionNameForCore } from "./session_name.ts";
import { withUserId } from "./user_id.ts";

/** What core gets in place of the settings of the configuration. */
export interface CoreOverrides {
  /** Callbacks in place of those of the application. */
  readonly callbacks?: AuthConfig["callbacks"];
  /** The cookie settings. */
  readonly cookies?: AuthConfig["cookies"];
  /** The functions for tokens. */
  readonly jwt?: AuthConfig["jwt"];
  /** The providers. */
  readonly providers?: AuthConfig["providers"];
  /** Whether the session of the browser is only replaced: core links no account to its user. */
  readonly ignoresSession?: boolean;
  /** Wraps the adapter. */
  readonly wrapAdapter?: (adapter: Adapter) => Adapter;
}

/**
 * Has core answer a request. Never rejects: where core fails, the answer has an `error`.
 */
export async function callCore(context: RequestContext, overrides: CoreOverrides = {}): Promise<Answer> {
  const { adapter } = context.config.core;
  const { wrapAdapter = (adapter) => adapter, ignoresSession } = overrides;
  const { names } = readSessionCookie(context.cookies, context.settings.cookie.name);
  const shown = ignoresSession ? withoutCookies(context, names) : context;
  const answer = adapter
    ? await answerWithAdapter(context, (adapter) => callWith(wrapAdapter(adapter), shown, overrides))
    : await callWith(undefined, shown, overrides);
  return removeOldChunks(answer, context);
}

async function callWith(
  adapter: Adapter | undefined,
  context: RequestContext,
  { callbacks, cookies, jwt, providers }: CoreOverrides,
): Promise<Answer> {
  const log = deferLast(context.logger);
  const flow: Flow = { signIn: undefined, linksAccount: false, turnedAway: false };
  const { core, hashSecrets } = context.config;
  const size = limitSize(jwt ?? core.jwt!, context);
  const recorded = recordSessions(size.jwt, context);
  const named = cookies === undefined
    ? context.settings.cookies
    : namedCookies(cookies, core, context.origin.secure);
  const session = sessionNameForCore(context, named, recorded.jwt);
  // A fresh object each time, because core writes into what it is given.
  const config = isolateFromCoreGlobals({
    ...core,
    // Core hashes with this secret, and encrypts with that of `jwt`.
    secret: hashSecrets.current,
    jwt: { secret: core.secret, ...session.jwt } as AuthConfig["jwt"] & object,
    ...(adapter && { adapter }),
    ...(session.cookies && { cookies: session.cookies }),
    providers: providers ?? providersFor(context),
    ...callbacksFor(context, callbacks, flow),
    ...(mayProceed(context) && { skipCSRFCheck }),
    ...eventsFor(context, adapter, flow),
    basePath: context.mountPath,
    logger: log.logger,
  });
  try {
    const result = await Auth(
      requestFor(context, session.header),
      config as AuthConfig & { raw: typeof raw },
    ) as unknown;
    if (recorded.failure() !== undefined) {
      log.take();
      return unrecorded(recorded.failure()!, context);
    }
    // Core answers with a Response where it refuses a request at once, and for errors that are not its own;
    // the error is then only in its log. It answers with nothing where a passkey is registered without an
    // address.
    if (result instanceof Response || result === undefined) {
      return errorAnswer(log.take() ?? new Error("Auth.js gave no answer"), context);
    }
    if (size.exceeded() !== undefined) {
      // Core treats this as an unreadable token, and its answer would remove the session.
      log.take();
      return errorAnswer(size.exceeded()!, context);
    }
    const answer = toAnswer(result as RawAnswer);
    // Their names and attributes are those of the configuration.
    if (core.cookies) answer.cookies.forEach(toSetCookieLine);
    const logged = log.flush();
    const restored = {
      ...answer,
      cookies: session.restore(answer.cookies),
      ...(logged && { logged }),
      turnedAway: flow.turnedAway,
    };
    return withSignInCookie(restored, flow, context);
  } catch (error) {
    log.take(error);
    if (recorded.failure() !== undefined) return unrecorded(recorded.failure()!, context);
    return errorAnswer(error as Error, context);
  }
}

/** What comes of a sign-in while core answers. */
interface Flow {
  /** The sign-in, if it is recorded beside the session. */
  signIn: SignIn | undefined;
  /** Whether core has linked the account, or the passkey, in this sign-in. */
  linksAccount: boolean;
  /** Whether the `signIn` callback returned a page. */
  turnedAway: boolean;
}

/** The answer, with the cookie that says how the user of a session in a database signed in. */
function withSignInCookie(
  answer: Answer,
  { signIn, linksAccount }: Flow,
  { settings, cookies: header }: RequestContext,
): Answer {
  if (settings.signInCookie === undefined || !signIn?.account) return answer;
  const token = answer.cookies.find(({ name }) => name === settings.cookie.name)?.value;
  if (!token) return answer;
  const held = readSessionCookie(header, settings.cookie.name).token;
  const claims = provesUser(signIn, linksAccount)
    ? claimsOfSignIn(signIn)
    : signInClaims(header, held, settings) ?? {};
  return { ...answer, cookies: [...answer.cookies, toSignInCookie(claims, token, settings)] };
}

/**
 * The providers that core needs for the action. It prepares all that it is given, for each request: for one
 * of eighty that takes more time than the rest of it.
 */
function providersFor({ provider, config }: RequestContext): AuthConfig["providers"] {
  return provider === undefined ? [] : [config.coreProviders.get(provider.id)!];
}

/**
 * Whether core need not look at the CSRF token: the application asks, or it was found right here. Core's own
 * check hashes it on another thread, which takes more time than the rest of many requests. Where core answers
 * with the token, or sets a cookie with a new one, it has to do that itself.
 */
function mayProceed(context: RequestContext): boolean {
  return context.fromApplication || (context.action !== "csrf" && hasCsrfToken(context));
}

/** The answer to a sign-in whose session could not be recorded. */
function unrecorded(failure: SessionStoreFailure, { logger }: RequestContext): Answer {
  logger.error(failure);
  return { status: 503, headers: {}, cookies: [], error: unavailableError(failure) };
}

/** The events, where core gets others than those of the application. */
function eventsFor(
  { config: { core, keepsTokens, recordsSignIns }, settings: { strategy }, trail }: RequestContext,
  adapter: Adapter | undefined,
  flow: Flow,
): Pick<AuthConfig, "events"> {
  let events = trail?.watch(core.events);
  if (keepsTokens && strategy === "database") events = updateOnSignIn(events ?? core.events ?? {}, adapter!);
  if (!recordsSignIns) return events === undefined ? {} : { events };
  const own = events ?? core.events;
  const signIn: NonNullable<typeof own>["signIn"] = (message) => {
    flow.signIn = message;
    return own?.signIn?.(message);
  };
  const linkAccount: NonNullable<typeof own>["linkAccount"] = (message) => {
    flow.linksAccount = true;
    return own?.linkAccount?.(message);
  };
  return { events: { ...own, signIn, linkAccount } };
}

/** The callbacks, where core gets others than those of the application. */
function callbacksFor(
  context: RequestContext,
  overrides: AuthConfig["callbacks"],
  flow: Flow,
): Pick<AuthConfig, "callbacks"> {
  const { config: { core, keepsTokens, recordsSignIns } } = context;
  const given = { ...core.callbacks, ...overrides };
  const own = withUserId(context, given.signIn);
  const signIn = own && watchSignIn(own, flow);
  const jwt = keepsTokens || recordsSignIns ? withOwnClaims(context, given.jwt, flow) : undefined;
  if (overrides === undefined && signIn === undefined && jwt === undefined) return {};
  return { callbacks: { ...given, ...(signIn && { signIn }), ...(jwt && { jwt }) } };
}

type SignInCallback = NonNullable<NonNullable<AuthConfig["callbacks"]>["signIn"]>;

function watchSignIn(own: SignInCallback, flow: Flow): SignInCallback {
  return async (params) => {
    const answer = await own(params);
    flow.turnedAway = typeof answer === "string";
    return answer;
  };
}

type JwtCallback = NonNullable<NonNullable<AuthConfig["callbacks"]>["jwt"]>;

/** The `jwt` callback, which also keeps the tokens of a provider, or how the user signed in. */
function withOwnClaims(
  { config, cookies, settings }: RequestContext,
  own: JwtCallback | undefined,
  flow: Flow,
): JwtCallback {
  const { token } = readSessionCookie(cookies, settings.cookie.name);
  const held = () => openToken(token, settings).then(({ claims }) => claims, () => undefined);
  const jwt = config.recordsSignIns ? recordSignIns(own, () => flow.linksAccount, held) : own;
  return config.keepsTokens ? keepTokens(jwt, held) : jwt!;
}

/** The functions for tokens, which refuse to make a session that is too large for its cookie. */
function limitSize(
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
        warn: (text) => warnOnce("large session", text, "FST_AUTHJS_WARN_SESSION_SIZE"),
      });
    } catch (error) {
      if (error instanceof SessionTooLarge) exceeded = error;
      throw error;
    }
  };
  return { jwt: { ...jwt, encode }, exceeded: () => exceeded };
}

/** What core returns with `raw`. */
interface RawAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly cookies?: readonly { name: string; value: string; options: SerializeOptions }[];
  readonly redirect?: string;
}

function toAnswer({ status = 200, headers = {}, body, cookies = [], redirect }: RawAnswer): Answer {
  const answer = { status, headers: lowerCase(headers), body, cookies: cookies as readonly SetCookie[] };
  return redirect ? { ...answer, redirect } : answer;
}

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

/** The request for core. Its path is made from the parameters of the route, so that the two cannot differ. */
function requestFor(context: RequestContext, cookie: string): Request {
  const { headers, method, body, origin } = context;
  return toCoreRequest({
    url: addressOf(context),
    method,
    headers,
    override: {
      host: hostOf(origin),
      cookie,
      // `sendAnswer()` handles it.
      "x-auth-return-redirect": undefined,
    },
    body,
  });
}

/** A logger that holds the latest error. */
interface DeferredLog {
  readonly logger: LoggerInstance;
  /** Returns the latest error instead of logging it. If it is not `expected`, it is logged. */
  take(expected?: unknown): Error | undefined;
  /** Logs the latest error, and returns it. */
  flush(): Error | undefined;
}

/**
 * Core logs an error before it answers or throws. The last one is why it failed: it becomes the `error` of
 * the answer, which a handler may replace, and is logged when the answer is sent. Core logs some errors twice
 * in a row.
 */
function deferLast(logger: LoggerInstance): DeferredLog {
  let latest: Error | undefined;
  const flush = () => {
    const flushed = latest;
    if (flushed !== undefined) logger.error(flushed);
    latest = undefined;
    return flushed;
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
