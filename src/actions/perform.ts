/**
 * An action from a route of the application: its request is checked, an auth route's handler answers, and the reply
 * gets the cookies. An error is thrown.
 */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuthInstance } from "../instance/auth_instance.ts";
import { pathsIn } from "../instance/mount.ts";
import type { Answer } from "../core/answer.ts";
import type { Handler, RequestContext } from "../core/context.ts";
import { failureOf } from "../core/failure.ts";
import { AuthActionError, FastifyAuthError } from "../errors.ts";
import { presentedToken, readSession } from "../instance/read_session.ts";
import type { FastifyAuthConfig, GuardedReply, GuardedRequest, SessionRequest } from "../types.ts";
import { assertObject, invalid } from "../utils/arguments.ts";
import { assertNoLink, assertOwnRequest } from "../http/cross_site.ts";
import { authBody } from "../http/body.ts";
import { requireOrigin } from "../http/origin.ts";
import { isPrefetch } from "../http/request.ts";
import { keepUnstored } from "../http/reply_headers.ts";
import { cookiesAfter } from "../http/set_cookie.ts";
import { publishFailure, runAction } from "../routes/answer_request.ts";
import { requestContext } from "../routes/context.ts";
import { sendAnswer } from "../routes/reply.ts";
import { preparePage } from "../routes/send_page.ts";
import type { SessionRead } from "../session/read.ts";
import { setCookies } from "../session/reply.ts";
import { RequestReads } from "../session/request_reads.ts";

/** The part of a request that the functions read, so that it fits instances of every type. */
export type ActionRequest = SessionRequest & Pick<FastifyRequest, "method"> & {
  readonly server: { readonly server: object };
};

/** The configuration that the application gave, with its instance. */
export interface ActionAuth {
  readonly config: FastifyAuthConfig;
  readonly instance: AuthInstance;
  /**
   * Whether a guard asks. Links of other sites may lead to a guarded page: the user is signed in already, and signs in
   * again with the same provider.
   */
  readonly byGuard?: boolean;
}

interface Action {
  /** What it is, for the message of its error. */
  readonly what: string;
  readonly handle: Handler;
  /** Whether the reply is sent then, as by an auth route. */
  readonly isSent?: boolean;
  /** What a read of the session gives from now on, if the answer says that. */
  readonly read?: (answer: Answer, context: RequestContext) => SessionRead;
  readonly action: string;
  readonly provider?: string | undefined;
  readonly query?: Query | undefined;
  /** The function that was called, if its route must not be reached by links. */
  readonly notForLinks?: string | false;
  /** What the user has entered: an object, or else refused once the request is known to be the user's own. */
  readonly fields: unknown;
  readonly callbackUrl?: string | undefined;
  readonly rememberMe?: boolean | undefined;
}

const LATE =
  "signing in or out, or updating the session, came after the head of the reply had been sent: its cookies " +
  "are lost. Do it, and wait for that, before the head is sent.";

type Query = Readonly<Record<string, string>>;

/** The `authorizationParams` of an action, which may be URLSearchParams. */
export function parametersOf(given: unknown, action: string): Query {
  const parameters = given instanceof URLSearchParams ? Object.fromEntries(given) : given;
  assertObject(parameters, `\`authorizationParams\` of ${action}`);
  return parameters as Query;
}

type Outcome = Readonly<{ context: RequestContext; answer: Answer; read: SessionRead | undefined }>;

/** Puts the cookies on the reply, has later reads of the request see them, and sends the reply if it is to be sent. */
export async function perform(
  auth: ActionAuth,
  request: ActionRequest,
  reply: GuardedReply,
  { what, handle, read: readOf, isSent = false, ...asked }: Action,
): Promise<Outcome> {
  if (typeof Object(reply).header !== "function") throw invalid(what, "it takes the request, and then the reply.");
  const context = await contextOf(auth, request, asked);
  let answer: Answer;
  try {
    answer = await runAction(context, handle);
  } catch (error) {
    // There is no route that would publish it.
    if (context.provider !== undefined) publishFailure(context.publish, error as Error);
    throw error;
  }
  const { error, cookies } = answer;
  const sends = isSent && error === undefined;
  const isLate = cookies.length > 0 && (reply as FastifyReply).raw.headersSent;
  if (isLate) context.logger.warnOnce("late action", LATE, "FST_AUTHJS_WARN_LOST_COOKIE");
  if (cookies.length > 0) setCookies(reply as FastifyReply, cookies);
  if (cookies.length > 0 || sends) keepUnstored(reply as FastifyReply);
  const read = error === undefined ? readOf?.(answer, context) : undefined;
  const carried = cookiesAfter(cookies, context.headers.cookie ?? "");
  if (read !== undefined || cookies.length > 0) RequestReads.of(request).change(auth.config, carried, read);
  if (error !== undefined) throw failed(what, answer);
  if (read !== undefined && "session" in reply) reply.session = read.session;
  // Resolves when it is sent, as a reply does that is awaited.
  if (isSent) await sendAnswer(reply as FastifyReply, { ...answer, cookies: [] }, context);
  return { context, answer, read };
}

async function contextOf(
  { config, instance, byGuard = false }: ActionAuth,
  request: ActionRequest,
  { action, provider, query, fields, callbackUrl, rememberMe, notForLinks = false }: Omit<Action, "what" | "handle">,
): Promise<RequestContext> {
  await instance.requireReady();
  const { config: resolved } = instance;
  if (provider !== undefined && !resolved.providers.has(provider)) {
    throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no such provider.");
  }
  const origin = requireOrigin(request, resolved.origin);
  if (notForLinks !== false) assertNoLink(request, notForLinks);
  if (!byGuard) assertOwnRequest(request, origin.href, resolved.trustedOrigins);
  if (isPrefetch(request.headers)) {
    throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", "This page cannot be fetched in advance.");
  }
  const paths = pathsIn(request.server, instance);
  if (paths === undefined) {
    throw invalid("createAuth()", "register its `plugin` in this application, before the routes that sign in or out.");
  }
  const isChange = action === "session" || action === "signout";
  if (isChange && presentedToken(request, config)?.settings.use === "header") {
    const problem = "A bearer token is neither updated nor signed out: only the session of a cookie is.";
    throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", problem);
  }
  assertObject(fields, "`fields` of signIn()");
  const cookie = RequestReads.of(request).cookies(config);
  const { cookie: _cookie, ...headers } = request.headers;
  // What is undefined is left out: as a text it would be "undefined".
  const given = query && Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
  const parameters = given && new URLSearchParams(authBody(given, action) as Record<string, string>);
  const context = requestContext(request as unknown as FastifyRequest, {
    action,
    // A guard begins sign-ins on routes that any link may lead to.
    limited: provider === undefined || byGuard ? undefined : "requests",
    method: "POST",
    query: String(parameters ?? ""),
    origin,
    headers: cookie === undefined ? headers : { ...headers, cookie },
    id: provider,
    body: {
      ...fields,
      ...(callbackUrl !== undefined && { callbackUrl }),
      ...(rememberMe !== undefined && { rememberMe }),
    },
    fromApplication: true,
  }, { auth: instance, mountPath: paths.mount, readSession: (request) => readSession(request, config) });
  if (parameters !== undefined) assertPassed(parameters, context);
  return context;
}

/** Refuses parameters that the flow decides about, such as `state`: over HTTP they are left out. */
function assertPassed(parameters: URLSearchParams, { query }: RequestContext): void {
  const passed = new URLSearchParams(query);
  const refused = [...parameters.keys()].find((name) => !passed.has(name));
  if (refused === undefined) return;
  throw invalid("`authorizationParams`", `"${refused}" cannot be set here: only the configuration decides about it.`);
}

function failed(what: string, { error, redirect }: Answer): FastifyAuthError {
  const cause = error!;
  if (cause instanceof FastifyAuthError) return cause;
  const { status: statusCode, error: type, code: reason, retryAfter } = failureOf(cause);
  return new AuthActionError(`${what} failed: ${type}.`, {
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

/** Sends the page that offers to sign in again, since a callback failed; `false` if no plugin is registered here. */
export async function sendUnreadableSession(
  auth: AuthInstance,
  request: GuardedRequest,
  reply: GuardedReply,
  { statusCode, ...links }: { statusCode: number; signInUrl: string; callbackUrl: string | undefined },
): Promise<boolean> {
  const paths = pathsIn(request.server, auth);
  if (paths === undefined) return false;
  const place = { auth, mountPath: paths.mount, origin: requireOrigin(request, auth.config.origin) };
  const sent = reply as FastifyReply;
  const page = await preparePage(sent, { kind: "error", error: "SessionUnreadable", ...links }, place);
  await sent.code(statusCode).send(page);
  return true;
}
