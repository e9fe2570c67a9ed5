/** What a route does with a request: how it is answered, and refused. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { receivedRequest } from "../http/auth_route.ts";
import { type Mount, requestContext } from "./context.ts";
import { sendFailedPage } from "./failed_page.ts";
import { publishRefusal, runAction } from "./outcome.ts";
import { sendAnswer } from "./reply.ts";
import { type AuthRoute, handlerOf } from "./table.ts";
import { sendTooManyRequests, TooManyRequests } from "./too_many_requests.ts";

/** A request to a route. */
export interface RouteRequest {
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
  const answer = await runAction(context, request.id, handlerOf(route, mount.auth)!);
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
