/** The page for a browser whose session cannot be read, since a callback failed: it offers to sign in again. */
import type { FastifyReply } from "fastify";
import type { GuardedReply, GuardedRequest } from "../types.ts";
import { requireOrigin } from "../http/origin.ts";
import { sendPage } from "../routes/send_page.ts";
import type { ActionAuth } from "./perform.ts";
import { pathsIn } from "../instance/mount.ts";

/** Where the page leads. */
export interface UnreadableSession {
  readonly statusCode: number;
  readonly signInUrl: string;
  /** The page that was asked for. */
  readonly callbackUrl: string | undefined;
}

/**
 * Sends the page.
 *
 * @returns Whether it was sent: not if the plugin is not registered in this application.
 */
export async function sendUnreadableSession(
  { instance }: Pick<ActionAuth, "instance">,
  request: GuardedRequest,
  reply: GuardedReply,
  { statusCode, ...links }: UnreadableSession,
): Promise<boolean> {
  const paths = pathsIn(request.server, instance);
  if (paths === undefined) return false;
  const origin = requireOrigin(request, instance.config.origin);
  const place = { auth: instance, mountPath: paths.mount, origin };
  const page = { kind: "error", error: "SessionUnreadable", ...links } as const;
  await sendPage((reply as FastifyReply).code(statusCode), page, place);
  return true;
}
