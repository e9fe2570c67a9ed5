/**
 * Which query parameters core gets, for each action. Core would pass them to its pages as properties, store a
 * `callbackUrl` for every action, and add the query of a sign-in to the authorization request.
 */
import { FastifyAuthError } from "../errors.ts";
import { namedCallbackUrl } from "../http/callback_url.ts";
import { parseQuery } from "../http/request.ts";
import { CODE_ERRORS, errorForCode, isQueryError } from "../pages/page_error.ts";

export interface QueryRoute {
  readonly action: string;
  readonly method: string;
  readonly type?: string | undefined;
  /** The parameters that count, if the route says so. */
  readonly parameters?: readonly string[] | undefined;
}

/** Characters: Node's default limit for the whole head of a request. */
const MAXIMUM_LENGTH = 16_384;

type Filter = (name: string) => boolean;

const only = (...names: string[]): Filter => (name) => names.includes(name);

/** What a guard asks of the sign-in after it (OpenID Connect Core 1.0 section 3.1.2.1). */
export const STEP_UP_PARAMETERS = ["acr_values", "max_age", "prompt"] as const;

const PAGES: Readonly<Record<string, Filter>> = {
  signin: only("callbackUrl", "email", "error", "offer", "ways", ...STEP_UP_PARAMETERS),
  signout: only("callbackUrl", "done"),
  error: only("callbackUrl", "code", "error"),
  "verify-request": only("callbackUrl", "error", "provider", "type"),
};

/**
 * The query of an auth request for core, and its `callbackUrl` as it was sent. If a name comes several times, the last
 * one counts, as in core.
 * @param frontPage In place of a callback URL that is refused.
 */
export function authQuery(query: string, route: QueryRoute, frontPage?: string) {
  // The error page names an error in any case.
  if (query === "" && route.action !== "error") return { query, callbackUrl: undefined };
  if (query.length > MAXIMUM_LENGTH) {
    const problem = `The query has ${query.length} characters; at most ${MAXIMUM_LENGTH} are read.`;
    throw new FastifyAuthError("FST_AUTHJS_QUERY_TOO_LONG", problem);
  }
  const sent = new Map(parseQuery(query));
  const callbackUrl = sent.get("callbackUrl");
  const normalized = namedCallbackUrl(callbackUrl, frontPage);
  const passes = filterOf(route);
  const passed = [...sent].filter(([name]) => name !== "callbackUrl" && passes(name));
  const parameters = new URLSearchParams(passed);
  if (normalized !== undefined && passes("callbackUrl")) parameters.set("callbackUrl", normalized);
  if (route.method === "GET") setError(parameters, route.action);
  return { query: parameters.toString(), callbackUrl };
}

function filterOf({ action, method, type, parameters }: QueryRoute): Filter {
  if (parameters !== undefined) return only(...parameters);
  if (action === "signin" && method === "POST") {
    return type === "oauth" || type === "oidc" ? isAuthorizationParameter : isNotOurs;
  }
  if (action === "callback") {
    // A provider's response (RFC 6749 section 4.1.2) may have further parameters, and `authorize()` sees the query.
    return type === "email" ? only("callbackUrl", "email", "rememberMe", "token") : () => true;
  }
  // Core's script sends every field of its form, which a provider's own `getUserInfo()` may read.
  if (action === "webauthn-options") return isNotOurs;
  const isRead = method === "GET" || action === "signout";
  return isRead && Object.hasOwn(PAGES, action) ? PAGES[action]! : only();
}

/** Core reads the CSRF token from the body alone, and a URL ends up in logs and histories. */
const isNotOurs: Filter = (name) => name !== "callbackUrl" && name !== "csrfToken";

/**
 * Parameters that only the configuration sets: client, response and checks. A request object (RFC 9101) would replace
 * all of them.
 */
const PROTECTED =
  /^(?:client_id|nonce|redirect_uri|registration|request(?:_uri)?|response_(?:mode|type)|state|code_challenge.*)$/;

const PARAMETER_NAME = /^[\w.-]+$/;

/**
 * Whether a browser may add the parameter to its authorization request, such as `login_hint`. Some servers ignore the
 * case of names, and PHP takes `redirect.uri` and `redirect_uri[]` for `redirect_uri`.
 */
function isAuthorizationParameter(name: string): boolean {
  const folded = name.toLowerCase().replace(/[.-]/g, "_");
  return PARAMETER_NAME.test(name) && !PROTECTED.test(folded) && !/^(?:callbackurl|csrftoken)$/.test(folded);
}

/** Replaces an unknown error, since any site can link to a page with one. */
function setError(parameters: URLSearchParams, action: string): void {
  const error = parameters.get("error");
  if (action === "verify-request") {
    if (!CODE_ERRORS.some((each) => each === error)) parameters.delete("error");
  } else if (action === "signin" && !error) parameters.delete("error");
  else if (action === "error" || action === "signin") {
    parameters.set("error", isQueryError(error) ? error : "Default");
  }
  if (action === "error" && errorForCode(error, parameters.get("code")) === undefined) parameters.delete("code");
}
