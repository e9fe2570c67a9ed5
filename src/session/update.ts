/**
 * `POST <prefix>/session`, by which a browser updates its session: core's work, on the newest token.
 *
 * @module
 */
import type { ResolvedConfig } from "../config/config.ts";
import { callCore, type CoreCall } from "../core.ts";
import { readSessionCookie, sessionTokenIn, withSessionToken } from "./cookie.ts";
import { defaultJwtCallback, sessionSettings } from "./settings.ts";

/**
 * Has core update the session.
 *
 * The token that came may be on its way to be replaced, or be replaced already: core would have the `jwt` callback refresh
 * it a second time. And requests that are on their way with it are led to the update, which they would otherwise undo.
 */
export async function answerUpdate(
  resolved: ResolvedConfig,
  request: Request,
  call: CoreCall,
): Promise<Response> {
  const { cookie: { name }, callbacks, renewals, strategy } = sessionSettings(
    resolved,
    request.url.startsWith("https:"),
  );
  const header = request.headers.get("cookie") ?? "";
  const cookie = readSessionCookie(header, name);
  if (cookie.token === "" || strategy !== "jwt" || callbacks.jwt === defaultJwtCallback) {
    return await callCore(resolved, request, call);
  }
  // Its outcome is in `newest` if it has one; its failure is not ours.
  await renewals.running(renewals.newest(cookie.token))?.catch(() => {});
  const newest = renewals.newest(cookie.token);
  if (newest !== cookie.token) {
    const headers = new Headers(request.headers);
    headers.set("cookie", withSessionToken(header, cookie.names, newest));
    request = new Request(request, { headers });
  }
  const response = await callCore(resolved, request, call);
  const updated = sessionTokenIn(response.headers.getSetCookie(), name);
  if (updated !== "") {
    renewals.remember(cookie.token, updated);
    renewals.remember(newest, updated);
  }
  return response;
}
