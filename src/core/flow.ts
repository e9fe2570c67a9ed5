/**
 * What continues from one request of a browser to the next: the CSRF token and the callback URL, each in its
 * cookie.
 */
import { skipCSRFCheck } from "@auth/core";
import { parseCookie } from "cookie";
import { randomBytes } from "node:crypto";
import { hashToken } from "../config/hash_secrets.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import type { RequestContext } from "./context.ts";
import { csrfCookieOf } from "./csrf.ts";
import { allowedRedirect } from "./redirect.ts";

/** The flow of a request. */
export interface Flow {
  /** `undefined` if the configuration has `skipCSRFCheck`. */
  readonly csrfToken: string | undefined;
  /** Where the flow leads, as the `redirect` callback allows it. */
  readonly callbackUrl: string;
  /** The cookies that the browser does not have yet. */
  readonly cookies: readonly SetCookie[];
}

/**
 * The flow of a request, which begins with it or goes on.
 *
 * @throws What the `redirect` callback throws.
 */
export async function flowOf(context: RequestContext): Promise<Flow> {
  const { config: { core, hashSecrets }, settings: { csrfCookie: { name, options } } } = context;
  const { callbackUrl, cookies } = await callbackUrlOf(context);
  if (core.skipCSRFCheck === skipCSRFCheck) {
    return { csrfToken: undefined, callbackUrl, cookies: [...cookies, removalOf(name, options)] };
  }
  const { token: known } = csrfCookieOf(context);
  if (known !== undefined) return { csrfToken: known, callbackUrl, cookies };
  const csrfToken = randomBytes(32).toString("hex");
  const value = `${csrfToken}|${hashToken(csrfToken, hashSecrets.current)}`;
  return { csrfToken, callbackUrl, cookies: [{ name, value, options }, ...cookies] };
}

/**
 * Where the flow leads.
 *
 * @throws What the `redirect` callback throws.
 */
export async function callbackUrlOf(
  context: RequestContext,
): Promise<Pick<Flow, "callbackUrl" | "cookies">> {
  const { cookies, origin, query, settings: { callbackUrlCookie: { name, options } } } = context;
  const sent = parseCookie(cookies)[name];
  const asked = context.callbackUrl || new URLSearchParams(query).get("callbackUrl") || sent;
  const callbackUrl = asked ? await allowedRedirect(asked, context) : origin.href;
  const isNew = callbackUrl && callbackUrl !== sent;
  return { callbackUrl, cookies: isNew ? [{ name, value: callbackUrl, options }] : [] };
}
