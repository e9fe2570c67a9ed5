/** What a route does with a request: how it is answered, and refused. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestContext } from "../core/context.ts";
import { receivedRequest } from "../http/received.ts";
import { type Mount, requestContext } from "./context.ts";
import { sendFailedPage } from "./failed_page.ts";
import { publishRefusal, runAction } from "./outcome.ts";
import type { RateLimits } from "./rate_limit/rate_limits.ts";
import { sendTooManyRequests, TooManyRequests } from "./rate_limit/too_many_requests.ts";
import { sendAnswer } from "./reply.ts";
import { type AuthRoute, handlerOf } from "./table.ts";

/** The mount of a configuration, and its limits on signing in: `undefined` without `rateLimit`. */
export interface LimitedMount extends Mount {
  readonly limits: RateLimits | undefined;
}

/** A request to a route. */
export interface RouteRequest {
  readonly route: AuthRoute;
  readonly mount: LimitedMount;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Answers a request that the hooks have let pass. */
export async function answerRequest({ route, mount, request, reply }: RouteRequest): Promise<FastifyReply> {
  const { limits } = mount;
  const { action, parameters } = route;
  const context = requestContext(request, { ...receivedRequest(request), action, parameters }, mount);
  const answered = handlerOf(route, mount.auth)!;
  const handle = limits === undefined
    ? answered
    : (context: RequestContext) => limits.answer(context, request, () => answered(context));
  const answer = await runAction(context, request.id, handle);
  if (answer.status >= 400 && route.fromServers) await limits?.countRefusal(request);
  return await sendAnswer(reply, answer, context);
}

/**
 * The error handler of a route.
 *
 * @param id The provider, if the path is for that one alone.
 * @throws The error, if the application's error handler is to answer it.
 */
export async function refuseRequest(
  { route, mount, request, reply }: RouteRequest,
  error: Error,
  id: string | undefined,
): Promise<FastifyReply> {
  publishRefusal(error, route, mount, request, id);
  if (route.refuse !== undefined) return await route.refuse(reply, error);
  return error instanceof TooManyRequests
    ? await sendTooManyRequests(mount, route, error, request, reply)
    : await sendFailedPage(mount, error, request, reply);
}
