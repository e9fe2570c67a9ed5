/** How a request is answered, by a route or for the application, and how a route refuses one. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { text } from "node:stream/consumers";
import { DatabaseUnavailable } from "../adapter/failure.ts";
import { type Answer, redirectAnswer } from "../core/answer.ts";
import type { Handler, RequestContext } from "../core/context.ts";
import { errorPage, failureOf } from "../core/failure.ts";
import { allowedRedirect } from "../core/flow.ts";
import { FastifyAuthError, type FastifyAuthErrorCode, TooManyRequests } from "../errors.ts";
import { receivedRequest } from "../http/auth_route.ts";
import { originOf } from "../http/origin.ts";
import { acceptsHtml, prefersJson } from "../http/request.ts";
import type { PageError } from "../pages/page_error.ts";
import { eventsOf, type Publish } from "../telemetry/events.ts";
import { authActions, errorTypeOf } from "../telemetry/operations.ts";
import type { AuthActionOperation } from "../types.ts";
import { askHooks } from "./admission.ts";
import { type Mount, requestContext } from "./context.ts";
import { keepForm, tooManyAnswer } from "./failed_form.ts";
import { replyKind, sendAnswer, sendFailure } from "./reply.ts";
import { preparePage } from "./send_page.ts";
import { type AuthRoute, handlerOf, isOfSignIn } from "./table.ts";

type RouteRequest = Readonly<{ route: AuthRoute; mount: Mount; request: FastifyRequest; reply: FastifyReply }>;

export async function answerRequest({ route, mount, request, reply }: RouteRequest): Promise<FastifyReply> {
  const { action, parameters, limited } = route;
  const asked = { action, parameters, limited, ...receivedRequest(request) };
  const context = requestContext(request, asked, mount);
  return await sendAnswer(reply, await runAction(context, handlerOf(route, mount.auth)!), context);
}

export async function runAction(context: RequestContext, handle: Handler): Promise<Answer> {
  const { action, method, provider, fromApplication, publish, auth: { hooks } } = context;
  // The first feature is the outermost.
  const inner = hooks.reduceRight<Handler>(
    (inner, { onAnswer }) => onAnswer ? (context) => onAnswer(context, () => inner(context)) : inner,
    handle,
  );
  // A route has asked them before it parsed the body.
  const ofApplication = async () => {
    await askHooks(context);
    return await inner(context);
  };
  const answered = fromApplication ? ofApplication : () => inner(context);
  const answer = authActions.isObserved ? await observe(context, answered) : await answered();
  const { error, redirect, events = {}, isReported } = answer;
  if (error === undefined) {
    for (const event of isReported ? [] : Object.entries(events)) publish?.(...event as [never, never]);
    return answer;
  }
  // An error of this package that leads to no page is thrown on a route, and published then. The application gets every
  // one of them.
  const isThrown = error instanceof FastifyAuthError && (fromApplication || redirect === undefined);
  const isSignIn = isOfSignIn({ action, provider: provider !== undefined }, method);
  if (!isReported && !isThrown) context.logger.error(error);
  if (!isReported && isSignIn && (fromApplication || !isThrown)) publishFailure(publish, error);
  return await keepCallbackUrl(await keepForm(answer, context), context);
}

/**
 * The answer, with the callback URL in the address of the sign-in page: core leaves it out, so that the next attempt,
 * with the right password, would end on the front page.
 */
async function keepCallbackUrl(answer: Answer, context: RequestContext): Promise<Answer> {
  const { provider, callbackUrl, origin } = context;
  const { redirect } = answer;
  if (redirect === undefined || provider === undefined || callbackUrl === undefined) return answer;
  const page = new URL(redirect, origin.href);
  if (page.pathname !== new URL(errorPage("signIn", {}, context)).pathname) return answer;
  // Core has called the `redirect` callback with the same arguments, and logged what it threw.
  const url = await allowedRedirect(callbackUrl, context).catch(() => undefined);
  if (!url) return answer;
  page.searchParams.set("callbackUrl", url);
  return { ...answer, redirect: page.href };
}

export function publishFailure(publish: Publish | undefined, error: Error): void {
  if (publish === undefined) return;
  const { status, code } = failureOf(error);
  const said = error instanceof FastifyAuthError
    ? { status: error.statusCode ?? status, code: undefined }
    : { status, code };
  publish("fastify-authjs:sign-in-failure", { reason: errorTypeOf(error), ...said });
}

function observe(context: RequestContext, answer: () => Promise<Answer>): Promise<Answer> {
  const { request, action, method, provider, mountPath, fromApplication } = context;
  // A GET of signing in or out only shows a page, and a POST to the session updates it.
  const isPage = (action === "signin" || action === "signout") && method === "GET";
  const name = action === "session" && method === "POST" ? "update" : action;
  const message = {
    action: isPage ? `${action}-page` : name,
    ...(provider && { provider: provider.id, providerType: provider.type }),
    requestId: request.id,
    mountPath,
    fromApplication,
  };
  return authActions.trace(message, answer, {
    end: ({ error, events: { "fastify-authjs:sign-in-failure": refusal } = {} }) => {
      if (error !== undefined) return failed(error);
      return refusal === undefined ? {} : { errorType: refusal.reason, status: refusal.status };
    },
    failure: (error) => failed(error as Error),
  });
}

function failed(error: Error): Pick<AuthActionOperation, "errorType" | "status"> {
  const { statusCode: status = failureOf(error).status } = error as { statusCode?: number };
  return { errorType: errorTypeOf(error), status };
}

/**
 * The error handler of a route. Throws what the application's own is to answer.
 * @param id The provider, if the path is for that one alone.
 */
export async function refuseRequest(asked: RouteRequest, error: Error, id: string | undefined): Promise<FastifyReply> {
  const { route, mount, request, reply } = asked;
  const provider = id ?? (request.params as { provider?: string }).provider ?? "";
  if (isOfSignIn(route, request.method) && mount.auth.config.providers.has(provider)) {
    publishFailure(eventsOf(request, { mountPath: mount.mountPath, provider }), error);
  }
  if (route.refuse !== undefined) return await route.refuse(reply, error);
  return error instanceof TooManyRequests
    ? await sendTooManyRequests(asked, error)
    : await sendFailedPage(mount, error, request, reply);
}

/** The errors that a user may run into. The others are for developers, such as of a form on another site. */
const PAGE_ERRORS: Partial<Record<FastifyAuthErrorCode, PageError>> = {
  FST_AUTHJS_CONFIG_INVALID: "Configuration",
  FST_AUTHJS_METHOD_NOT_ALLOWED: "BadRequest",
  FST_AUTHJS_NOT_FOUND: "NotFound",
  FST_AUTHJS_TOO_MANY_REQUESTS: "TooManyRequests",
  FST_AUTHJS_UNAVAILABLE: "Unavailable",
};

/** Sends a browser a page for an error. Throws it if there is none, or the application has an error page of its own. */
export async function sendFailedPage(mount: Mount, error: Error, request: FastifyRequest, reply: FastifyReply) {
  const { auth, auth: { config }, mountPath } = mount;
  const origin = originOf(request, config.origin);
  if (!(error instanceof FastifyAuthError) || origin === undefined || !await wantsPage(request)) throw error;
  const { code, statusCode = 500 } = error;
  const isLasting = error instanceof DatabaseUnavailable && ["refused", "failed"].includes(error.kind);
  const shown = isLasting ? "Configuration" : PAGE_ERRORS[code];
  if (shown === undefined || config.core.pages?.error) throw error;
  // As Fastify's own error handler.
  request.log[statusCode >= 500 ? "error" : "info"]({ req: request, res: reply, err: error }, error.message);
  const wait = error instanceof TooManyRequests ? error.wait : undefined;
  const page = { kind: "error", error: shown, wait } as const;
  return reply.code(statusCode).send(await preparePage(reply, page, { auth, mountPath, origin }));
}

async function wantsPage({ method, headers }: FastifyRequest): Promise<boolean> {
  const navigates = method === "GET" || method === "POST";
  return navigates && headers["x-auth-return-redirect"] === undefined && acceptsHtml(headers.accept) &&
    !await prefersJson(headers.accept);
}

/**
 * Answers a script as other failures are sent to it, a browser with a page, that of the application if it has one. The
 * application's error handler answers every other client.
 */
async function sendTooManyRequests(asked: RouteRequest, error: TooManyRequests): Promise<FastifyReply> {
  const { route, mount, request, reply } = asked;
  reply.headers(error.headers);
  if (!isOfSignIn(route, request.method)) return sendFailure(reply, error);
  const received = receivedRequest(request);
  const isBrowser = await replyKind(received.headers) === "redirect";
  if (isBrowser && !await wantsPage(request)) throw error;
  const { error: errorUrl, signIn } = mount.auth.config.core.pages ?? {};
  // Pages of ours have the status 429, which a redirect to a page of the application cannot have.
  const isOurs = isBrowser && !errorUrl;
  if (isOurs && (signIn || request.method !== "POST")) return await sendFailedPage(mount, error, request, reply);
  const body = received.body ?? (isOurs ? await unreadForm(request) : undefined);
  const context = requestContext(request, { ...received, body, action: route.action }, mount);
  context.logger.error(error);
  if (isOurs) return await sendAnswer(reply, await tooManyAnswer(context, error.wait), context);
  const page = errorPage(isBrowser ? "error" : "signIn", { error: error.type }, context);
  return await sendAnswer(reply, { ...redirectAnswer(page), error }, context);
}

/** Bytes: a form of the sign-in page is far smaller. */
const LONGEST_FORM = 10_000;

async function unreadForm({ raw, headers }: FastifyRequest): Promise<unknown> {
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  if (!isForm || raw.readableEnded || !(Number(headers["content-length"]) <= LONGEST_FORM)) return {};
  // A client that breaks off gets no answer, and is no error of ours.
  return Object.fromEntries(new URLSearchParams(await text(raw).catch(() => "")));
}
