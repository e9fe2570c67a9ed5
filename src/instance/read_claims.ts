/** Reads the claims of the session token of a request. */
import { openToken } from "../session/open.ts";
import { cloneClaims } from "../session/renew.ts";
import type { FastifyAuthConfig, JWT, SessionRequest } from "../types.ts";
import { presentedToken, readSession } from "./read_session.ts";

/** The claims, or null if there is no session or it is in a database. */
export async function readClaims(request: SessionRequest, config: FastifyAuthConfig): Promise<JWT | null> {
  const { session, claims } = await readSession(request, config);
  if (session === null) return null;
  // Callers may write to them, and requests with the same token share them.
  if (claims !== undefined) return cloneClaims(claims);
  const { cookie, settings } = presentedToken(request, config)!;
  if (settings.strategy !== "jwt") return null;
  // Another request may have replaced it.
  return (await openToken(settings.live.newest(cookie.token), settings)).claims;
}
