/** The CSRF token of a request, and what is wrong if it has none. */
import { skipCSRFCheck } from "@auth/core";
import { MissingCSRF } from "@auth/core/errors";
import { parseCookie } from "cookie";
import type { RequestContext } from "./context.ts";
import { hashToken } from "../config/hash_secrets.ts";

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
 * The error for a POST whose CSRF token is missing or is not accepted, unless none is needed: the
 * application asks, or the configuration has `skipCSRFCheck`.
 */
export function csrfError(context: RequestContext): MissingCSRF | undefined {
  if (context.fromApplication || context.config.core.skipCSRFCheck === skipCSRFCheck) return undefined;
  const { csrfToken } = context.body ?? {};
  if (!csrfToken) return new CsrfRefused("csrf_token_missing");
  const { isSent, token } = csrfCookieOf(context);
  if (token === undefined) return new CsrfRefused(isSent ? "csrf_cookie_invalid" : "csrf_cookie_missing");
  return csrfToken === token ? undefined : new CsrfRefused("csrf_token_mismatch");
}

/** The CSRF cookie of a request. */
interface CsrfCookie {
  readonly isSent: boolean;
  /** `undefined` unless it was made with one of the secrets: a form that is open while they are rotated can be sent. */
  readonly token: string | undefined;
}

/** The CSRF cookie of the request: a token, and its hash. */
export function csrfCookieOf({ config, cookies, settings }: RequestContext): CsrfCookie {
  const { current, others } = config.hashSecrets;
  const [token = "", hash] = parseCookie(cookies)[settings.csrfCookie.name]?.split("|") ?? [];
  if (hash === undefined) return { isSent: false, token: undefined };
  // Compared as in core: timing could only show a client the hash of its own token.
  const isOurs = hash === hashToken(token, current) ||
    others.some((secret) => hash === hashToken(token, secret));
  return { isSent: true, token: isOurs ? token : undefined };
}
