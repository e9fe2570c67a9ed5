/**
 * Signing in and out and updating the session from routes of the application: what the auth routes do,
 * without a request to them.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuthInstance } from "../instance/auth_instance.ts";
import { type Answer, cookiesAfter, toSetCookieLine } from "../core/answer.ts";
import type { AuthAction, ProviderContext, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { AuthActionError, FastifyAuthError } from "../errors.ts";
import { readSession } from "../instance/read_session.ts";
import type { FastifyAuthConfig, GuardedReply, Session, SessionRequest } from "../types.ts";
import { invalid } from "../instance/arguments.ts";
import { bearerToken } from "../http/bearer.ts";
import { assertOwnRequest } from "../http/cross_site.ts";
import { requireOrigin } from "../http/origin.ts";
import { isPrefetch } from "../http/prefetch.ts";
import { keepUnstored } from "../http/private_reply.ts";
import { handleCallback } from "../routes/callback/callback.ts";
import { keepCallbackUrl } from "../routes/callback_cookie.ts";
import { observeAction } from "../routes/observed_action.ts";
import { publishAnswer, publishFailure } from "../routes/outcome.ts";
import { requestContext } from "../routes/context.ts";
import { sendAnswer } from "../routes/reply.ts";
import { handleSessionUpdate } from "../routes/session.ts";
import { givenSession } from "../routes/session_change.ts";
import { handleSignIn } from "../routes/signin.ts";
import { handleSignOut } from "../routes/signout.ts";
import { type SessionRead, SIGNED_OUT, toSession } from "../session/read.ts";
import { changeCookies, currentCookies } from "../session/write_back.ts";

/** The part of a request that the functions read, so that it fits instances of every type. */
export type ActionRequest = SessionRequest & Pick<FastifyRequest, "method"> & {
  /** The instance of the route. */
  readonly server: { readonly server: object };
};

/** Options of a sign-out. */
export interface SignOutActionOptions {
  /**
   * Where the user goes afterwards: a path or a URL, which the `redirect` callback has to allow.
   *
   * @default that of the callback-url cookie, else the public origin
   */
  callbackUrl?: string;
  /**
   * Whether the reply is sent: a redirect, or `{ url }` to a script that asks for JSON. With `false` the
   * reply gets only its cookies, and the route sends it.
   *
   * @default true
   */
  redirect?: boolean;
  /**
   * Whether the browser also goes to the OpenID Provider, where its session ends, too, and comes back to the
   * callback URL. Needs `providerSignOut` in the configuration.
   *
   * @default what `providerSignOut` says
   */
  providerSignOut?: boolean;
}

/** Options of a sign-in. */
export interface SignInActionOptions extends Pick<SignOutActionOptions, "callbackUrl" | "redirect"> {
  /**
   * What the user has entered: the `email` for a sign-in link, the credentials for `authorize()`. A body as
   * Fastify parsed it can be given as it is. Values are strings, numbers or booleans.
   */
  fields?: unknown;
  /**
   * Parameters that are added to the authorization request of an OAuth provider:
   * `{ login_hint: "ada@example.com" }`.
   */
  authorizationParams?: Readonly<Record<string, string>>;
}

/** What a sign-out gives with `redirect: false`. */
export interface SignOutActionResult {
  /** Where the user goes: a path or a URL. */
  readonly url: string;
}

/** What a sign-in gives with `redirect: false`. */
export interface SignInActionResult {
  /** Where the user goes: a provider, the page that says that a link was mailed, or the callback URL. */
  readonly url: string;
  /**
   * Whether the user is signed in now. A sign-in at a provider or by e-mail has only begun, and the `signIn`
   * callback may have named a page instead.
   */
  readonly signedIn: boolean;
}

/** The configuration that the application gave, with its instance. */
export interface ActionAuth {
  readonly config: FastifyAuthConfig;
  readonly instance: AuthInstance;
}

/** Begins a sign-in, or signs in with credentials. */
export async function signIn(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  provider: string | undefined,
  options: SignInActionOptions,
): Promise<SignInActionResult | void> {
  const { authorizationParams = {}, callbackUrl } = options;
  // The body of a request without one is undefined or null.
  const fields = options.fields ?? {};
  const type = provider === undefined ? undefined : await typeOf(provider, auth);
  if (typeof fields !== "object") throw invalid("signIn()", "`fields` must be an object.");
  const posted = type === "credentials" || type === "webauthn";
  const outcome = await perform(auth, request, reply, {
    action: posted ? "callback" : "signin",
    provider,
    query: authorizationParams,
    body: callbackUrl === undefined ? fields : { ...fields, callbackUrl },
    handle: (context) =>
      withinLimits(
        auth,
        context,
        request,
        () => posted ? handleCallback(context as ProviderContext) : handleSignIn(context),
      ),
  });
  requireSuccess("Signing in", outcome);
  if (options.redirect !== false) return await send(auth, outcome, reply);
  const { answer, context } = outcome;
  return { url: urlOf(outcome), signedIn: givenSession(answer, context) !== "" };
}

/** Counts a sign-in as a request to the auth routes is counted. */
export async function withinLimits(
  { instance }: ActionAuth,
  context: RequestContext,
  request: ActionRequest,
  run: () => Promise<Answer>,
): Promise<Answer> {
  const limits = context.provider === undefined ? undefined : await instance.limits();
  const asked = request as unknown as FastifyRequest;
  try {
    await limits?.countRequest(asked);
    return limits === undefined ? await run() : await limits.answer(context, asked, run);
  } catch (error) {
    publishFailure(context.trail, error as Error);
    throw error;
  }
}

/**
 * Begins a sign-in with an OAuth provider for a guard, and sends the redirect. Links of other sites may lead
 * to a guarded page: the user is signed in already, and signs in again with the same provider.
 */
export async function beginSignIn(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  provider: string,
  { authorizationParams, callbackUrl }: Pick<SignInActionOptions, "authorizationParams" | "callbackUrl">,
): Promise<void> {
  const outcome = await perform(auth, request, reply, {
    action: "signin",
    provider,
    query: authorizationParams,
    body: callbackUrl === undefined ? {} : { callbackUrl },
    handle: handleSignIn,
    isLinked: true,
  });
  requireSuccess("Signing in", outcome);
  await send(auth, outcome, reply);
}

/** Signs out. */
export async function signOut(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  { callbackUrl, redirect, providerSignOut }: SignOutActionOptions,
): Promise<SignOutActionResult | void> {
  if (providerSignOut === true && auth.instance.config.providerSignOut === undefined) {
    throw invalid(
      "signOut()",
      "`providerSignOut: true` needs `providerSignOut` in the configuration, which keeps with which provider the user " +
        "signed in. With `{ byDefault: false }` other sign-outs stay local.",
    );
  }
  const outcome = await perform(auth, request, reply, {
    action: "signout",
    body: callbackUrl === undefined ? {} : { callbackUrl },
    handle: (context) => handleSignOut(context, providerSignOut),
    read: () => SIGNED_OUT,
  });
  requireSuccess("Signing out", outcome);
  return redirect === false ? { url: urlOf(outcome) } : await send(auth, outcome, reply);
}

/** Updates the session. */
export async function updateSession(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  data: unknown,
): Promise<Session> {
  const outcome = await perform(auth, request, reply, {
    action: "session",
    body: data === undefined ? {} : { data },
    handle: handleSessionUpdate,
    read: ({ body }, { logger, settings }) => ({
      session: toSession(body, { logger: () => logger, settings }),
    }),
  });
  requireSuccess("Updating the session", outcome);
  const { session = null } = outcome.read ?? {};
  if (session !== null) return session;
  throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "There is no session to update. Sign in first.");
}

/** What is to be done. */
interface Action {
  readonly action: AuthAction;
  readonly provider?: string | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  /** Whether links of other sites may ask for it. */
  readonly isLinked?: boolean;
  readonly body: object;
  readonly handle: (context: RequestContext) => Promise<Answer>;
  /** What a read of the session gives from now on, where the answer says that. */
  readonly read?: (answer: Answer, context: RequestContext) => SessionRead;
}

/** What was done. */
interface Outcome {
  readonly context: RequestContext;
  readonly answer: Answer;
  /** What a read of the session gives from now on, where that is known. */
  readonly read: SessionRead | undefined;
}

/** Does it, puts the cookies on the reply, and has later reads of the request see them. */
export async function perform(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  { handle, read: readOf, ...asked }: Action,
): Promise<Outcome> {
  const context = await contextOf(auth, request, asked);
  const answer = await observeAction(
    context,
    (request as unknown as FastifyRequest).id,
    async () => await keepCallbackUrl(await handle(context), context),
  );
  publishAnswer(answer, context, false);
  setCookies(reply as FastifyReply, answer);
  const { error, logged } = answer;
  if (error !== undefined && error !== logged && !(error instanceof FastifyAuthError)) {
    context.logger.error(error);
  }
  const read = error === undefined ? readOf?.(answer, context) : undefined;
  if (read !== undefined || answer.cookies.length > 0) {
    changeCookies(request, auth.config, cookiesAfter(answer, context.headers.cookie ?? ""), read);
  }
  if (read !== undefined && "session" in reply) reply.session = read.session;
  return { context, answer, read };
}

async function contextOf(
  { config, instance }: ActionAuth,
  request: ActionRequest,
  { action, provider, query = {}, body, isLinked = false }: Omit<Action, "handle" | "read">,
): Promise<RequestContext> {
  const problem = await instance.problem();
  if (problem !== undefined) throw problem;
  const { config: resolved } = instance;
  const origin = requireOrigin(request, resolved.origin);
  if (!isLinked) assertOwnRequest(request, origin.href, resolved.trustedOrigins);
  if (isPrefetch(request.headers)) {
    throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", "This page cannot be fetched in advance.");
  }
  const [paths] = instance.mountsIn(request.server.server);
  if (paths === undefined) {
    throw invalid(
      "createAuth()",
      "register its `plugin` in this application, before the routes that sign in or out.",
    );
  }
  const isBearer = resolved.bearer !== undefined && bearerToken(request.headers.authorization) !== undefined;
  if (isBearer && (action === "session" || action === "signout")) {
    throw new FastifyAuthError(
      "FST_AUTHJS_UNAUTHENTICATED",
      "A bearer token is neither updated nor signed out: only the session of a cookie is.",
    );
  }
  const cookie = currentCookies(request, config);
  const { cookie: _cookie, ...headers } = request.headers;
  const parameters = new URLSearchParams(query);
  const context = requestContext(request as unknown as FastifyRequest, {
    action,
    method: "POST",
    url: `/?${parameters}`,
    origin,
    headers: cookie === undefined ? headers : { ...headers, cookie },
    params: provider === undefined ? {} : { provider },
    body,
    fromApplication: true,
  }, {
    config: resolved,
    paths,
    settings: (secure) => instance.settings(secure),
    readSession: (request) => readSession(request, config),
    once: (what, tell) => instance.once(what, tell),
  });
  assertPassed(parameters, context);
  return context;
}

/** Refuses parameters that the flow decides about, such as `state`: over HTTP they are left out. */
function assertPassed(parameters: URLSearchParams, { query }: RequestContext): void {
  const passed = new URLSearchParams(query);
  const refused = [...parameters.keys()].find((name) => !passed.has(name));
  if (refused === undefined) return;
  throw invalid(
    "signIn()",
    `\`authorizationParams\` cannot have "${refused}": only the configuration decides about it.`,
  );
}

async function typeOf(id: string, { instance }: ActionAuth): Promise<string> {
  const problem = await instance.problem();
  if (problem !== undefined) throw problem;
  const provider = instance.config.providers.get(id);
  if (provider === undefined) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such provider.");
  }
  return provider.type;
}

/** Adds the cookies of the answer to the reply, in place of those that an earlier action has set. */
function setCookies(reply: FastifyReply, { cookies }: Answer): void {
  if (cookies.length === 0) return;
  const names = new Set(cookies.map(({ name }) => name));
  const lines = [reply.getHeader("set-cookie") ?? []].flat().map(String);
  reply.removeHeader("set-cookie");
  const kept = lines.filter((line) => !names.has(line.slice(0, line.indexOf("="))));
  for (const line of [...kept, ...cookies.map(toSetCookieLine)]) reply.header("set-cookie", line);
  keepUnstored(reply);
}

/**
 * @throws {FastifyAuthError} What went wrong: an {@linkcode AuthActionError} where it is an error of Auth.js.
 */
export function requireSuccess(what: string, { answer: { error: cause, redirect } }: Outcome): void {
  if (cause === undefined) return;
  if (cause instanceof FastifyAuthError) throw cause;
  const { status: statusCode, error: type, code: reason, retryAfter } = failureOf(cause);
  throw new AuthActionError(`${what} failed: ${type}.`, {
    type,
    statusCode,
    ...(reason !== undefined && { reason }),
    ...(redirect !== undefined && { url: redirect }),
    ...(retryAfter !== undefined && { retryAfter }),
  }, { cause });
}

export function urlOf({ answer: { redirect, body }, context }: Outcome): string {
  const { url } = (body ?? {}) as { url?: unknown };
  return redirect ?? (typeof url === "string" ? url : context.origin.href);
}

/** Sends the reply, as an auth route does. Resolves when it is sent, as a reply does that is awaited. */
export async function send(
  { instance }: ActionAuth,
  { answer, context }: Outcome,
  reply: GuardedReply,
): Promise<void> {
  keepUnstored(reply as FastifyReply);
  await sendAnswer(reply as FastifyReply, { ...answer, cookies: [] }, context, {
    settings: instance.config.pages,
    assets: () => instance.assets(),
    mountPath: context.mountPath,
    origin: context.origin,
  });
}
