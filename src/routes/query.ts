/**
 * Which parameters of a query reach core, for each action. Core spreads them over the properties of its pages, stores
 * `callbackUrl` whatever the action is, and hands the query of a sign-in to the provider.
 *
 * @module
 */
import type { AuthAction } from "../core/context.ts";
import { FastifyAuthError } from "../errors.ts";
import { normalizeCallbackUrl } from "../http/callback_url.ts";
import { parseQuery } from "../http/query.ts";

/** What of a request decides about its query. */
export interface QueryRoute {
  readonly action: AuthAction;
  /** `GET` or `POST`. */
  readonly method: string;
  /** The type of the provider, where the route names one. */
  readonly type?: string | undefined;
}

/** The query of an auth request. */
export interface AuthQuery {
  /** What core gets, without a `?`. Every name is in it once. */
  readonly query: string;
  /** The normalised `callbackUrl` of a sign-in, for the body: in the query core would hand it on to the provider. */
  readonly callbackUrl: string | undefined;
}

/** Characters. Node's own limit for the whole head of a request is the same, unless an application raises it. */
const MAXIMUM_LENGTH = 16_384;

/** Whether a parameter passes. */
type Filter = (name: string) => boolean;

const only = (...names: string[]): Filter => (name) => names.includes(name);
const any: Filter = () => true;

const PAGES: Readonly<Record<string, Filter>> = {
  signin: only("callbackUrl", "email", "error"),
  signout: only("callbackUrl"),
  error: only("callbackUrl", "error"),
  "verify-request": only("callbackUrl", "provider", "type"),
};

/**
 * The query of an auth request as core may see it. Where a name comes several times, the last one counts, as in core.
 *
 * @param query The query as it came, without its `?`.
 * @param route The action, the method and the type of the provider.
 * @throws {FastifyAuthError} `FST_AUTHJS_QUERY_TOO_LONG` (414) from 16,385 characters.
 */
export function authQuery(query: string, route: QueryRoute): AuthQuery {
  if (query.length > MAXIMUM_LENGTH) {
    throw new FastifyAuthError(
      "FST_AUTHJS_QUERY_TOO_LONG",
      `The query has ${query.length} characters; at most ${MAXIMUM_LENGTH} are read.`,
    );
  }
  const sent = new Map(parseQuery(query));
  const callbackUrl = normalizeCallbackUrl(sent.get("callbackUrl"));
  const passes = filterOf(route);
  const parameters = new URLSearchParams();
  for (const [name, value] of sent) {
    if (name !== "callbackUrl" && passes(name)) parameters.set(name, value);
  }
  if (callbackUrl !== undefined && passes("callbackUrl")) parameters.set("callbackUrl", callbackUrl);
  if (route.method === "GET") setError(parameters, route.action);
  return { query: parameters.toString(), callbackUrl: isSignIn(route) ? callbackUrl : undefined };
}

function filterOf(route: QueryRoute): Filter {
  const { action, method, type } = route;
  if (isSignIn(route)) return type === "oauth" || type === "oidc" ? isAuthorizationParameter : isNotOurs;
  switch (action) {
    case "callback":
      // A provider's response (RFC 6749 section 4.1.2) may have further parameters, and `authorize()` sees the query.
      return type === "email" ? only("callbackUrl", "email", "token") : any;
    case "webauthn-options":
      // Core's script sends every field of its form, which a provider's own `getUserInfo()` may read.
      return isNotOurs;
    case "signout":
      return PAGES.signout!;
    default:
      return method === "GET" && Object.hasOwn(PAGES, action) ? PAGES[action]! : only();
  }
}

function isSignIn({ action, method }: QueryRoute): boolean {
  return action === "signin" && method === "POST";
}

/** Core reads the CSRF token from the body alone; in an address it would only be seen by others. */
const isNotOurs: Filter = (name) => name !== "callbackUrl" && name !== "csrfToken";

/**
 * Decided by the configuration alone: who asks whom for what, and where the answer goes. A request object (RFC 9101) would
 * replace all of them.
 */
const PROTECTED: ReadonlySet<string> = new Set([
  "client_id",
  "nonce",
  "redirect_uri",
  "registration",
  "request",
  "request_uri",
  "response_mode",
  "response_type",
  "state",
  "callbackurl",
  "csrftoken",
]);

/** The syntax of a parameter's name in RFC 6749 section 8.2. */
const PARAMETER_NAME = /^[\w.-]+$/;

/**
 * Whether a browser may add the parameter to its authorization request, such as `login_hint`, `prompt` or `scope`.
 *
 * Some servers ignore the case of names, and PHP takes `redirect.uri` and `redirect_uri[]` for `redirect_uri`.
 */
function isAuthorizationParameter(name: string): boolean {
  const folded = name.toLowerCase().replace(/[.-]/g, "_");
  return PARAMETER_NAME.test(name) && !PROTECTED.has(folded) && !folded.startsWith("code_challenge");
}

/** What core, its documentation and we name; the pages have a text for some of them, and one for all others. */
const ERRORS: ReadonlySet<string> = new Set([
  "AccessDenied",
  "AccountNotLinked",
  "Callback",
  "Configuration",
  "CredentialsSignin",
  "Default",
  "EmailCreateAccount",
  "EmailSignin",
  "MissingCSRF",
  "OAuthAccountNotLinked",
  "OAuthCallbackError",
  "OAuthCreateAccount",
  "OAuthSignin",
  "SessionRequired",
  "SessionTooLarge",
  "Signin",
  "Verification",
  "WebAuthnVerificationError",
]);

/**
 * Anybody can link to a page with an error of their own: core looks it up among the properties of an object, and hands it
 * on to an own error page as it is, or the text "undefined" where there is none.
 */
function setError(parameters: URLSearchParams, action: string): void {
  const error = parameters.get("error");
  if (action === "signin" && error === "") parameters.delete("error");
  else if (action === "error" || (action === "signin" && error !== null)) {
    parameters.set("error", error !== null && ERRORS.has(error) ? error : "Default");
  }
}
