/** What continues from one request of a browser to the next, each in its cookie: CSRF token and callback URL. */
import { skipCSRFCheck } from "@auth/core";
import { MissingCSRF } from "@auth/core/errors";
import { parseCookie } from "cookie";
import { randomBytes } from "node:crypto";
import { hashToken } from "../config/hash_secrets.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import type { Answer } from "./answer.ts";
import type { RequestContext } from "./context.ts";
import { errorAnswer, type Failure } from "./failure.ts";

export interface Flow {
  /** `undefined` if the configuration has `skipCSRFCheck`. */
  readonly csrfToken: string | undefined;
  /** Where the flow leads, as the `redirect` callback allows it. */
  readonly callbackUrl: string;
  readonly cookies: readonly SetCookie[];
}

/** The flow that a request begins or goes on with. Throws what the `redirect` callback throws. */
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

export async function callbackUrlOf(context: RequestContext): Promise<Omit<Flow, "csrfToken">> {
  const { cookies, origin, query, settings: { callbackUrlCookie: { name, options } } } = context;
  const sent = parseCookie(cookies)[name];
  const asked = context.callbackUrl || new URLSearchParams(query).get("callbackUrl") || sent;
  const callbackUrl = asked ? await allowedRedirect(asked, context) : origin.href;
  const isNew = callbackUrl && callbackUrl !== sent;
  return { callbackUrl, cookies: isNew ? [{ name, value: callbackUrl, options }] : [] };
}

/** The result of the `redirect` callback; without one, as in core, a URL of the public origin. */
export async function allowedRedirect(url: string, { origin, config }: RequestContext): Promise<string> {
  const baseUrl = origin.href;
  const { redirect } = config.core.callbacks ?? {};
  if (redirect) return await redirect({ url, baseUrl });
  if (url.startsWith("/")) return `${baseUrl}${url}`;
  return URL.canParse(url) && new URL(url).origin === baseUrl ? url : baseUrl;
}

const CSRF_PROBLEMS = {
  csrf_token_missing:
    "The body has no `csrfToken`. Get one from GET <mount path>/csrf, and send it in the body of the POST",
  csrf_cookie_missing:
    "The body has a `csrfToken`, but the request has no CSRF cookie. Send the cookies that GET <mount path>/csrf " +
    'has set: `fetch` needs `credentials: "include"` on another origin, and a secure cookie needs https',
  csrf_cookie_invalid:
    "The CSRF cookie is not of this application: it was changed, or made with a secret that this process does " +
    "not have. Get a new token from GET <mount path>/csrf",
  csrf_token_mismatch:
    "The `csrfToken` of the body is not that of the CSRF cookie, which a later page may have replaced. Get the " +
    "token from GET <mount path>/csrf right before the POST",
} as const;

/** The answer to a POST whose CSRF token is not accepted, unless the application asks or none is checked. */
export function csrfRefusal(context: RequestContext): Answer | undefined {
  if (context.fromApplication || context.config.core.skipCSRFCheck === skipCSRFCheck) return undefined;
  const { csrfToken } = context.body ?? {};
  const { isSent, token } = csrfCookieOf(context);
  if (csrfToken && csrfToken === token) return undefined;
  const ofCookie = isSent ? "csrf_cookie_invalid" : "csrf_cookie_missing";
  const ofBody = csrfToken ? "csrf_token_mismatch" : "csrf_token_missing";
  const code = csrfToken && token === undefined ? ofCookie : ofBody;
  const told: Partial<Failure> = { code, message: `${CSRF_PROBLEMS[code]}.` };
  return errorAnswer(Object.assign(new MissingCSRF(CSRF_PROBLEMS[code]), { told }), context);
}

/** The CSRF cookie: a token, if it was made with one of the secrets, which may be rotated while a form is open. */
function csrfCookieOf({ config, cookies, settings }: RequestContext): { isSent: boolean; token?: string } {
  const { current, others } = config.hashSecrets;
  const [token = "", hash] = parseCookie(cookies)[settings.csrfCookie.name]?.split("|") ?? [];
  // Compared as in core: timing could only show a client the hash of its own token.
  const isOurs = hash !== undefined &&
    (hash === hashToken(token, current) || others.some((secret) => hash === hashToken(token, secret)));
  return { isSent: hash !== undefined, ...(isOurs && { token }) };
}
