/** The routes of the plugin, with their methods and handlers. */
import type { ResolvedConfig } from "../config/resolve.ts";
import type { Answer } from "../core/answer.ts";
import type { AuthAction, ProviderContext, RequestContext } from "../core/context.ts";
import { csrfAnswer } from "../core/csrf_answer.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import { isOpenIdProvider } from "../config/provider_sign_out.ts";
import { handleBackchannelLogout } from "./backchannel_logout.ts";
import { handleCallback } from "./callback/callback.ts";
import { handleErrorPage, handleVerifyRequestPage } from "./pages.ts";
import { handleSignedOut } from "./provider_sign_out.ts";
import { handleProviders } from "./providers.ts";
import { handleSession, handleSessionUpdate } from "./session.ts";
import { handleSignIn } from "./signin.ts";
import { handleSignOut } from "./signout.ts";
import { handleToken } from "./token.ts";
import { handleWebAuthnOptions } from "./webauthn_options.ts";

type Method = "GET" | "POST";

/** One route below the mount path. */
export interface AuthRoute {
  /** The first segment of its path. */
  readonly action: AuthAction;
  /** The methods it is served for. */
  readonly methods: readonly Method[];
  /** Whether a provider id follows the action. */
  readonly provider: boolean;
  /** Whether a configuration has it; without this, each does. */
  readonly isServed?: (config: ResolvedConfig) => boolean;
  /** Which providers have it; without this, each does. */
  readonly isServedFor?: (provider: ProviderSummary) => boolean;
  /** Answers a request. */
  readonly handle: (context: RequestContext) => Promise<Answer>;
}

/** Every route, under any prefix. */
export const AUTH_ROUTES: readonly AuthRoute[] = [
  route("signin", ["GET", "POST"], handleSignIn),
  routeOfProvider("signin", ["GET", "POST"], handleSignIn),
  routeOfProvider("callback", ["GET", "POST"], handleCallback),
  route("signout", ["GET", "POST"], (context) => handleSignOut(context)),
  {
    ...route("signed-out", ["GET"], handleSignedOut),
    isServed: ({ providerSignOut }) => providerSignOut !== undefined,
  },
  route(
    "session",
    ["GET", "POST"],
    (context) => context.method === "GET" ? handleSession(context) : handleSessionUpdate(context),
  ),
  route("csrf", ["GET"], csrfAnswer),
  route("providers", ["GET"], handleProviders),
  route("error", ["GET"], handleErrorPage),
  route("verify-request", ["GET"], handleVerifyRequestPage),
  { ...route("token", ["POST"], handleToken), isServed: ({ bearer }) => bearer !== undefined },
  routeOfProvider("webauthn-options", ["GET"], handleWebAuthnOptions),
  {
    ...routeOfProvider("backchannel-logout", ["POST"], handleBackchannelLogout),
    isServed: ({ logoutTokens }) => logoutTokens !== undefined,
    isServedFor: isOpenIdProvider,
  },
];

function route(
  action: AuthAction,
  methods: readonly Method[],
  handle: (context: RequestContext) => Promise<Answer>,
): AuthRoute {
  return { action, methods, provider: false, handle: (context) => handle(context) };
}

function routeOfProvider(
  action: AuthAction,
  methods: readonly Method[],
  handle: (context: ProviderContext) => Promise<Answer>,
): AuthRoute {
  return { action, methods, provider: true, handle: (context) => handle(context as ProviderContext) };
}

/** The methods of a route for one provider: passwords and authenticators' responses must not be in a URL. */
export function methodsFor(route: AuthRoute, provider: ProviderSummary): readonly Method[] {
  const posted = provider.type === "credentials" || provider.type === "webauthn";
  return route.action === "callback" && posted ? ["POST"] : route.methods;
}

/**
 * Whether the provider's site may POST here (`response_mode=form_post`): core checks the `state` of such
 * requests, and a logout token is signed.
 */
export function isPostedByProvider({ action }: AuthRoute, provider: ProviderSummary | undefined): boolean {
  if (action === "backchannel-logout") return true;
  return action === "callback" && (provider?.type === "oauth" || provider?.type === "oidc");
}

/** Whether `rateLimit` counts only refused requests of a route: a provider may send many logout tokens at once. */
export function isLimitedWhenRefused({ action }: AuthRoute): boolean {
  return action === "backchannel-logout";
}

/** Whether requests to a route can be part of a sign-in. */
export function isOfSignIn(route: AuthRoute, method: string): boolean {
  return isLimited(route, method) && route.action !== "backchannel-logout" &&
    route.action !== "webauthn-options";
}

/** Whether `rateLimit` counts the requests of a route: those with something to guess. A GET of `signin/:provider` only redirects to the page. */
export function isLimited({ action, provider }: AuthRoute, method: string): boolean {
  return provider && !(action === "signin" && method === "GET");
}
