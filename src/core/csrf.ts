/** The CSRF token: its cookie while secrets are rotated, and what is wrong where core misses it. */
import { skipCSRFCheck } from "@auth/core";
import { MissingCSRF } from "@auth/core/errors";
import { parseCookie, stringifyCookie } from "cookie";
import { cookieSettings } from "../config/cookies.ts";
import type { RequestContext } from "./context.ts";
import { type HashSecrets, hashToken } from "../config/hash_secrets.ts";

/**
 * The Cookie header, with a CSRF cookie of an older secret replaced by one of the current secret: a form that
 * was opened before the secret was rotated can still be sent.
 */
export function withKnownCsrfCookie(header: string, name: string, { current, others }: HashSecrets): string {
  if (others.length === 0 || !header.includes(name)) return header;
  const [token = "", hash] = parseCookie(header)[name]?.split("|") ?? [];
  // Compared as in core: timing could only show a client the hash of its own token.
  if (hash === undefined || hash === hashToken(token, current)) return header;
  if (!others.some((secret) => hash === hashToken(token, secret))) return header;
  const pairs = header.split(";").map((pair) => pair.trim());
  const rest = pairs.filter((pair) => pair.split("=")[0]!.trim() !== name);
  return [...rest, stringifyCookie({ [name]: `${token}|${hashToken(token, current)}` })].join("; ");
}

/** What is wrong with a CSRF token. */
export type CsrfProblem =
  | "csrf_token_missing"
  | "csrf_cookie_missing"
  | "csrf_cookie_invalid"
  | "csrf_token_mismatch";

const MESSAGES: Readonly<Record<CsrfProblem, string>> = {
  csrf_token_missing:
    "The body has no `csrfToken`. Get one from GET <prefix>/csrf, and send it in the body of the POST",
  csrf_cookie_missing:
    "The body has a `csrfToken`, but the request has no CSRF cookie. Send the cookies that GET <prefix>/csrf " +
    'has set: `fetch` needs `credentials: "include"` on another origin, and a secure cookie needs https',
  csrf_cookie_invalid:
    "The CSRF cookie is not of this application: it was changed, or made with a secret that this process does " +
    "not have. Get a new token from GET <prefix>/csrf",
  csrf_token_mismatch:
    "The `csrfToken` of the body is not that of the CSRF cookie, which a later page may have replaced. Get the " +
    "token from GET <prefix>/csrf right before the POST",
};

/** The request has no CSRF token, or one that is not accepted. */
export class CsrfRefused extends MissingCSRF {
  static override readonly type = MissingCSRF.type;
  /** What to change. The message has a link of core as well. */
  readonly explanation: string;

  constructor(readonly problem: CsrfProblem) {
    super(MESSAGES[problem]);
    this.explanation = `${MESSAGES[problem]}.`;
  }
}

/**
 * Whether the request has the CSRF cookie and, if it is a POST, its token in the body, as core checks it.
 * Then core would set no other cookie.
 */
export function hasCsrfToken(context: RequestContext): boolean {
  return csrfProblem(context) === undefined;
}

/**
 * The error for a request whose CSRF token is missing or is not accepted, unless none is needed: the
 * application asks, or the configuration has `skipCSRFCheck`.
 */
export function csrfError(context: RequestContext): MissingCSRF | undefined {
  if (context.fromApplication || context.config.core.skipCSRFCheck === skipCSRFCheck) return undefined;
  const problem = csrfProblem(context);
  return problem && new CsrfRefused(problem);
}

/** The token in the CSRF cookie of the request; `undefined` where it has none, or one that is not ours. */
export function csrfTokenOf(context: RequestContext): string | undefined {
  return tokenIn(csrfCookieOf(context), context);
}

function csrfProblem(context: RequestContext): CsrfProblem | undefined {
  const { method, body } = context;
  if (method === "POST" && !body?.csrfToken) return "csrf_token_missing";
  const cookie = csrfCookieOf(context);
  if (cookie.hash === undefined) return "csrf_cookie_missing";
  const token = tokenIn(cookie, context);
  if (token === undefined) return "csrf_cookie_invalid";
  return method === "POST" && body?.csrfToken !== token ? "csrf_token_mismatch" : undefined;
}

/** The CSRF cookie: a token, and its hash. */
interface CsrfCookie {
  readonly token: string;
  readonly hash: string | undefined;
}

function csrfCookieOf({ config: { core }, cookies, origin }: RequestContext): CsrfCookie {
  const { name } = cookieSettings("csrfToken", core, origin.secure);
  const [token = "", hash] = parseCookie(cookies)[name]?.split("|") ?? [];
  return { token, hash };
}

function tokenIn({ token, hash }: CsrfCookie, { config }: RequestContext): string | undefined {
  return hash !== undefined && hash === hashToken(token, config.hashSecrets.current) ? token : undefined;
}
