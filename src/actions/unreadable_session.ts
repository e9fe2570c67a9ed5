/** The page for a browser whose session cannot be read, since a callback failed: it offers to sign in again. */
import type { FastifyReply } from "fastify";
import { requireOrigin } from "../http/origin.ts";
import type { AuthInstance } from "../instance/auth_instance.ts";
import { pathsIn } from "../instance/mount.ts";
import { sendPage } from "../routes/send_page.ts";
import type { GuardedReply, GuardedRequest } from "../types.ts";

interface UnreadableSession {
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
  auth: AuthInstance,
  request: GuardedRequest,
  reply: GuardedReply,
  { statusCode, ...links }: UnreadableSession,
): Promise<boolean> {
  const paths = pathsIn(request.server, auth);
  if (paths === undefined) return false;
  const place = { auth, mountPath: paths.mount, origin: requireOrigin(request, auth.config.origin) };
  const page = { kind: "error", error: "SessionUnreadable", ...links } as const;
  await sendPage((reply as FastifyReply).code(statusCode), page, place);
  return true;
}
