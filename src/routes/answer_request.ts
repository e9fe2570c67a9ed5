/** What a route does with a request: how it is answered, and refused. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { text } from "node:stream/consumers";
import { DatabaseUnavailable } from "../adapter/failure.ts";
import { redirectAnswer } from "../core/answer.ts";
import { errorPage } from "../core/failure.ts";
import { FastifyAuthError, type FastifyAuthErrorCode, TooManyRequests } from "../errors.ts";
import { type AuthParams, receivedRequest } from "../http/auth_route.ts";
import { originOf } from "../http/origin.ts";
import { acceptsHtml } from "../http/request.ts";
import { prefersJson } from "../http/preferences.ts";
import type { PageError } from "../pages/page_error.ts";
import { eventsOf } from "../telemetry/events.ts";
import { type Mount, requestContext } from "./context.ts";
import { publishFailure, runAction } from "./outcome.ts";
import { replyKind, sendAnswer, sendFailure } from "./reply.ts";
import { sendPage } from "./send_page.ts";
import { type AuthRoute, handlerOf, isOfSignIn } from "./table.ts";

interface RouteRequest {
  readonly route: AuthRoute;
  readonly mount: Mount;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Answers a request that the hooks have let pass. */
export async function answerRequest({ route, mount, request, reply }: RouteRequest): Promise<FastifyReply> {
  const { action, parameters, limited } = route;
  const asked = { ...receivedRequest(request), action, parameters, limited };
  const context = requestContext(request, asked, mount);
  const answer = await runAction(context, handlerOf(route, mount.auth)!);
  return await sendAnswer(reply, answer, context);
}

/**
 * The error handler of a route.
 *
 * @param id The provider, if the path is for that one alone.
 * @throws The error, if the application's error handler is to answer it.
 */
export async function refuseRequest(
  asked: RouteRequest,
  error: Error,
  id: string | undefined,
): Promise<FastifyReply> {
  const { route, mount, request, reply } = asked;
  const provider = id ?? (request.params as AuthParams).provider ?? "";
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

/**
 * Sends a browser a page for an error, unless the application has an error page of its own.
 *
 * @throws The error, if there is no page for it.
 */
export function sendFailedPage(
  { auth, mountPath }: Mount,
  error: Error,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { config } = auth;
  const origin = originOf(request, config.origin);
  if (!(error instanceof FastifyAuthError) || origin === undefined || !wantsPage(request)) throw error;
  const { code, statusCode = 500 } = error;
  const shown = error instanceof DatabaseUnavailable && !error.temporary
    ? "Configuration"
    : PAGE_ERRORS[code];
  if (shown === undefined || config.core.pages?.error) throw error;
  // As Fastify's own error handler.
  request.log[statusCode >= 500 ? "error" : "info"]({ req: request, res: reply, err: error }, error.message);
  const wait = error instanceof TooManyRequests ? error.wait : undefined;
  const page = { kind: "error", error: shown, wait } as const;
  return sendPage(reply.code(statusCode), page, { auth, mountPath, origin });
}

/** Whether a browser navigates, by a link or with a form. */
function wantsPage({ method, headers }: FastifyRequest): boolean {
  const navigates = method === "GET" || method === "POST";
  return navigates && headers["x-auth-return-redirect"] === undefined && acceptsHtml(headers.accept) &&
    !prefersJson(headers.accept);
}

/**
 * Answers a request that is one too many: a script as other failures are sent to it, a browser with a page, that
 * of the application if it has one.
 *
 * @throws {TooManyRequests} For every other client: the application's error handler answers it.
 */
async function sendTooManyRequests(
  { route, mount, request, reply }: RouteRequest,
  error: TooManyRequests,
): Promise<FastifyReply> {
  reply.headers(error.headers);
  if (!isOfSignIn(route, request.method)) return sendFailure(reply, error);
  const received = receivedRequest(request);
  const { action } = route;
  const isBrowser = replyKind(received.headers) === "redirect";
  if (isBrowser && !wantsPage(request)) throw error;
  const { error: errorUrl, signIn } = mount.auth.config.core.pages ?? {};
  // Pages of ours have the status 429, which a redirect to a page of the application cannot have.
  const isOurs = isBrowser && !errorUrl;
  if (isOurs && (signIn || request.method !== "POST")) {
    return await sendFailedPage(mount, error, request, reply);
  }
  const body = received.body ?? (isOurs ? await unreadForm(request) : undefined);
  const context = requestContext(request, { ...received, body, action }, mount);
  context.logger.error(error);
  if (isOurs) {
    // The sign-in page, with the form as it was sent.
    const { tooManyAnswer } = await import("./failed_form.ts");
    return await sendAnswer(reply, await tooManyAnswer(context, error.wait), context);
  }
  const page = errorPage(isBrowser ? "error" : "signIn", { error: error.type }, context);
  return await sendAnswer(reply, { ...redirectAnswer(page), error }, context);
}

/** Bytes: a form of the sign-in page is far smaller. */
const LONGEST_FORM = 10_000;

/** The body of a form that was refused before it was read. */
async function unreadForm({ raw, headers }: FastifyRequest): Promise<unknown> {
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  if (!isForm || raw.readableEnded || !(Number(headers["content-length"]) <= LONGEST_FORM)) return {};
  return Object.fromEntries(new URLSearchParams(await text(raw)));
}
