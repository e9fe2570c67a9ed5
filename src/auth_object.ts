/** The types of `createAuth()`: of its configuration, of the object that it returns, and of the session. */
import type { AdapterUser } from "@auth/core/adapters";
import type { Awaitable } from "@auth/core/types";
import type { FastifyPluginAsync } from "fastify";
import type { AllowGetOptions, SignInActionOptions, SignInActionResult } from "./actions/actions.ts";
import type { SignOutActionOptions, SignOutActionResult } from "./actions/actions.ts";
import type { ActionRequest } from "./actions/perform.ts";
import type { FeatureActions } from "./features/mod.ts";
import type { SessionGuard } from "./guard/guard.ts";
import type { RequireSessionOptions } from "./guard/guard_options.ts";
import type { FastifyAuthPluginOptions } from "./plugin.ts";
import type { DefaultSession, FastifyAuthConfig, GuardedReply, JWT, Session, SessionRequest, User } from "./types.ts";

/** What {@linkcode createAuth} returns; functions can be taken out of it (`const { getSession } = auth`). */
export interface AuthObject<OwnSession = Session & { user: User }> extends FeatureActions {
  /** The configuration, for functions that take one. */
  readonly config: FastifyAuthConfig;
  /** The plugin that adds the auth routes, for `register` with the mount path as `prefix`. */
  readonly plugin: FastifyPluginAsync<FastifyAuthPluginOptions>;
  /**
   * The session of a request, or `null` if there is none.
   * @param request The request, in any hook or handler.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if the argument is no request, or its route has
   * `config.auth` and the plugin is not registered; nothing else.
   */
  readonly getSession: (request: SessionRequest) => Promise<OwnSession | null>;
  /**
   * Makes a hook that lets only signed-in users pass: see `requireSession()` of the package.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if an option is invalid.
   */
  readonly requireSession: (options?: RequireSessionOptions<OwnSession>) => SessionGuard;
  /** Signs in from a route of the application: see {@linkcode SignInAction}. */
  readonly signIn: SignInAction;
  /** Signs out from a route of the application: see {@linkcode SignOutAction}. */
  readonly signOut: SignOutAction;
  /**
   * Updates the session, as a POST to `<mount path>/session` does: `callbacks.jwt` (or with a database
   * `callbacks.session`) is called with `trigger: "update"` and the data. If it fails the session stays as it was.
   * @param request The request of the route. A page of another origin must not have sent it.
   * @param reply The reply, which gets the new session cookie. It is not sent.
   * @param data What the callback gets, as JSON delivers it: dates are texts, and functions are gone.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401) if there is no session, or the `jwt` callback
   * returned `null`; `FST_AUTHJS_CROSS_SITE` (403); `FST_AUTHJS_SESSION_TOO_LARGE` (413); `FST_AUTHJS_CONFIG_INVALID`
   * (500) for data that JSON cannot hold; `FST_AUTHJS_UNAVAILABLE` (503) if the adapter failed;
   * {@linkcode AuthActionError} if a callback threw.
   */
  readonly updateSession: (
    request: ActionRequest,
    reply: GuardedReply,
    data?: unknown,
    options?: AllowGetOptions,
  ) => Promise<OwnSession>;
  /**
   * The claims of the session token, as the `jwt` callback left them. They are for the server: with `refreshTokens`
   * they have the tokens of providers.
   * @param request The request, in any hook or handler.
   * @returns The claims; `null` if there is no session, and with the strategy "database".
   */
  readonly getToken: (request: SessionRequest) => Promise<JWT | null>;
}

/**
 * Signs in from a route of the application: with credentials at once, with a provider by a redirect to it, with an
 * e-mail address by a mail. There is no CSRF token: a request that a page of another origin sent is refused.
 */
export interface SignInAction {
  /**
   * Signs in, and leaves the reply to the route: it gets only the cookies.
   * @param provider The id of the provider; without one the user goes to the sign-in page.
   * @throws {AuthActionError} If the sign-in is refused or fails, such as with a wrong password (401).
   * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403), `FST_AUTHJS_NOT_FOUND` (404) if there is no such
   * provider, `FST_AUTHJS_TOO_MANY_REQUESTS` (429) above a `rateLimit`, `FST_AUTHJS_UNAVAILABLE` (503),
   * `FST_AUTHJS_BODY_INVALID` (400) for fields that are not text, and for an unknown option.
   */
  (
    request: ActionRequest,
    reply: GuardedReply,
    provider: string | undefined,
    options: SignInActionOptions & { redirect: false },
  ): Promise<SignInActionResult>;
  /** Signs in, and sends the reply: a redirect, or `{ url }` to a script that asks for JSON. Return the result. */
  (request: ActionRequest, reply: GuardedReply, provider?: string, options?: SignInActionOptions): Promise<void>;
}

/** Signs out from a route of the application. A request that a page of another origin sent is refused. */
export interface SignOutAction {
  /**
   * Signs out, and leaves the reply to the route: it gets only the cookies.
   * @throws {FastifyAuthError} `FST_AUTHJS_CROSS_SITE` (403); `FST_AUTHJS_UNAVAILABLE` (503) if the adapter failed,
   * with the session cookie removed.
   */
  (
    request: ActionRequest,
    reply: GuardedReply,
    options: SignOutActionOptions & { redirect: false },
  ): Promise<SignOutActionResult>;
  /** Signs out, and sends the reply: a redirect, or `{ url }` to a script that asks for JSON. Return the result. */
  (request: ActionRequest, reply: GuardedReply, options?: SignOutActionOptions): Promise<void>;
}

/**
 * What {@linkcode createAuth} returns for a function: the members of an {@linkcode AuthObject}, each with the
 * configuration of its request. They reject with a {@linkcode FastifyAuthError} if there is none (404), if the function
 * failed (503) and if the configuration cannot be used (500). An error of the function that has a `statusCode` is
 * passed on as it is. Only `getSession()` then resolves with `null`.
 */
export interface TenantAuthObject<OwnSession = Session & { user: User }>
  extends Omit<AuthObject<OwnSession>, "config" | "revokeSession" | "revokeSessions"> {
  /**
   * The object of one configuration, for what has no request: `auth.forConfig(config).revokeSessions(userId)`.
   * @param config One that the function returns.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it has no `tenant`.
   */
  readonly forConfig: (config: FastifyAuthConfig) => AuthObject<OwnSession>;
}

/** The session of an object of {@linkcode createAuth}: `InferSession<typeof auth>`. */
export type InferSession<Auth> = Auth extends Pick<AuthObject<infer OwnSession>, "getSession"> ? OwnSession : never;

/** What `callbacks.session` is called with. */
export interface SessionCallbackParams {
  /** The session that Auth.js makes: the name, the address and the picture of the user, and when it ends. */
  session: Session & { user: User };
  /** The claims of the session token. Only with the strategy "jwt". */
  token: JWT;
  /** The user's row. Only with the strategy "database". */
  user: AdapterUser;
  /** The data of an update, unchecked: over HTTP anything that the browser sends. */
  newSession: unknown;
  /** `"update"` if the session is updated. */
  trigger?: "update";
}

/** A {@linkcode FastifyAuthConfig} in which the type of the session is what `callbacks.session` returns. */
export interface CreateAuthConfig<Returned extends DefaultSession = Session>
  extends Omit<FastifyAuthConfig, "callbacks"> {
  /** The callbacks of Auth.js. */
  callbacks?: Omit<NonNullable<FastifyAuthConfig["callbacks"]>, "session"> & {
    /** Makes the session from the claims of the token or from the rows of the database. */
    session?(params: SessionCallbackParams): Awaitable<Returned>;
  };
}

/** What `callbacks.session` returns, as it arrives over HTTP; `Session` if that says no more than core's types do. */
export type SessionOf<Returned extends DefaultSession> = [DefaultSession] extends [Returned] ? Session & { user: User }
  : JsonOf<Returned & { user: NonNullable<Returned["user"]> }>;

/** A value as JSON delivers it: dates are strings, functions are gone, and `toJSON()` counts if there is one. */
export type JsonOf<Value> = 0 extends 1 & Value ? Value
  : Value extends { toJSON(...args: never[]): infer Own } ? JsonMembersOf<Own>
  : JsonMembersOf<Value>;

/** What JSON delivers of a value without asking for its `toJSON()`. */
export type JsonMembersOf<Value> = 0 extends 1 & Value ? Value
  : Value extends string | number | boolean | null | undefined ? Value
  : Value extends readonly unknown[] ? { [Index in keyof Value]: JsonOf<Value[Index]> }
  : Value extends object ? {
      [Key in keyof Value as Value[Key] extends ((...args: never[]) => unknown) | symbol ? never : Key]: JsonOf<
        Value[Key]
      >;
    }
  : Value;
