/** The answer to a request that is one too many. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { text } from "node:stream/consumers";
import { redirectAnswer } from "../core/answer.ts";
import { errorPage } from "../core/failure.ts";
import { FastifyAuthError } from "../errors.ts";
import { receivedRequest } from "../http/auth_route.ts";
import { type Mount, requestContext } from "./context.ts";
import { sendFailedPage, wantsPage } from "./failed_page.ts";
import { replyKind, sendAnswer, sendFailure } from "./reply.ts";
import { type AuthRoute, isOfSignIn } from "./table.ts";

/** There were more attempts than a limit allows. */
export class TooManyRequests extends FastifyAuthError {
  /** The type for clients and for the log. */
  readonly type = "TooManyRequests";
  readonly told = { code: this.code, message: this.message };
  /** After how many seconds the next attempt is allowed. */
  readonly wait: number;
  /** Fastify adds them to the reply. */
  readonly headers: { readonly "retry-after": string };

  constructor(seconds: number) {
    const wait = Math.max(1, Math.ceil(seconds));
    const unit = wait === 1 ? "second" : "seconds";
    super("FST_AUTHJS_TOO_MANY_REQUESTS", `Too many requests. Try again in ${wait} ${unit}.`);
    this.wait = wait;
    this.headers = { "retry-after": String(wait) };
  }
}

/**
 * Sends the answer: to a script as other failures are sent to it; to a browser a page, that of the application
 * if it has one.
 *
 * @throws {TooManyRequests} For every other client: the application's error handler answers it.
 */
export async function sendTooManyRequests(
  mount: Mount,
  route: AuthRoute,
  error: TooManyRequests,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  reply.headers(error.headers);
  if (!isOfSignIn(route, request.method)) return sendFailure(reply, error);
  const received = receivedRequest(request);
  const kind = replyKind(received.headers);
  if (kind === "redirect") {
    if (!wantsPage(request)) throw error;
    // With the status 429, which a redirect to a page of the application cannot have.
    const own = mount.auth.config.core.pages;
    if (!own?.error && (own?.signIn || request.method !== "POST")) {
      return await sendFailedPage(mount, error, request, reply);
    }
    if (!own?.error) return await sendForm(mount, route, error, request, reply);
  }
  const context = requestContext(request, { ...received, action: route.action }, mount);
  const page = errorPage(kind === "redirect" ? "error" : "signIn", { error: error.type }, context);
  context.logger.error(error);
  return await sendAnswer(reply, { ...redirectAnswer(page), error }, context);
}

/** Sends the sign-in page, with the form as it was sent. */
async function sendForm(
  mount: Mount,
  route: AuthRoute,
  error: TooManyRequests,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tooManyAnswer } = await import("./failed_form.ts");
  const received = receivedRequest(request);
  const body = received.body ?? await unreadForm(request);
  const context = requestContext(request, { ...received, body, action: route.action }, mount);
  context.logger.error(error);
  return await sendAnswer(reply, await tooManyAnswer(context, error.wait), context);
}

/** Bytes: a form of the sign-in page is far smaller. */
const LONGEST_FORM = 10_000;

/** The body of a form that was refused before it was read. */
async function unreadForm({ raw, headers }: FastifyRequest): Promise<unknown> {
  const isForm = headers["content-type"]?.startsWith("application/x-www-form-urlencoded");
  if (!isForm || raw.readableEnded || !(Number(headers["content-length"]) <= LONGEST_FORM)) return {};
  return Object.fromEntries(new URLSearchParams(await text(raw)));
}
