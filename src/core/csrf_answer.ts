/**
 * The answer with the CSRF token, as core gives it: the token in the body, and the cookies that it and the
 * callback URL are kept in. Core would hash the token on another thread, and prepare what no token needs.
 */
import { skipCSRFCheck } from "@auth/core";
import { parseCookie } from "cookie";
import { randomBytes } from "node:crypto";
import { cookieSettings } from "../config/cookies.ts";
import { hashToken } from "../config/hash_secrets.ts";
import type { SetCookie } from "../session/cookie.ts";
import { type Answer, jsonAnswer } from "./answer.ts";
import { callCore } from "./auth.ts";
import type { RequestContext } from "./context.ts";
import { csrfTokenOf } from "./csrf.ts";
import { errorAnswer } from "./error_answer.ts";
import { allowedRedirect } from "./redirect.ts";

/** Against caches that do not know `Cache-Control`. */
const HEADERS = { "cache-control": "private, no-cache, no-store", expires: "0", pragma: "no-cache" };

/** Answers a GET with the token that the browser has, or with a new one. */
export async function csrfAnswer(context: RequestContext): Promise<Answer> {
  const { core } = context.config;
  if (core.skipCSRFCheck === skipCSRFCheck) return await callCore({ ...context, action: "csrf" });
  const known = csrfTokenOf(context);
  const csrfToken = known ?? randomBytes(32).toString("hex");
  const cookies = known === undefined ? [toCookie(csrfToken, context)] : [];
  try {
    const { status, headers, body } = jsonAnswer({ csrfToken });
    return {
      status,
      headers: { ...headers, ...HEADERS },
      body,
      cookies: [...cookies, ...await callbackCookie(context)],
    };
  } catch (error) {
    return errorAnswer(error as Error, context);
  }
}

function toCookie(token: string, { config: { core, hashSecrets }, origin }: RequestContext): SetCookie {
  const { name, options } = cookieSettings("csrfToken", core, origin.secure);
  return { name, value: `${token}|${hashToken(token, hashSecrets.current)}`, options };
}

/**
 * The cookie with the callback URL that the configuration allows, unless the browser has it.
 *
 * @throws What the `redirect` callback throws.
 */
async function callbackCookie(context: RequestContext): Promise<SetCookie[]> {
  const { config: { core }, cookies, origin, query } = context;
  const { name, options } = cookieSettings("callbackUrl", core, origin.secure);
  const sent = parseCookie(cookies)[name];
  const asked = new URLSearchParams(query).get("callbackUrl") || sent;
  const value = asked ? await allowedRedirect(asked, context) : origin.href;
  return value && value !== sent ? [{ name, value, options }] : [];
}
