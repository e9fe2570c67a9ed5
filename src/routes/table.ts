/** The routes of the plugin, with their methods and handlers. */
import type { Answer } from "../core/answer.ts";
import type { AuthInUse, Handler, Limited, ProviderContext } from "../core/context.ts";
import type { FastifyReply } from "fastify";
import type { ProviderSummary } from "../provider/summary.ts";
import { later } from "../utils/later.ts";

type Method = "GET" | "POST";

export interface AuthRoute {
  /** The first segment of its path. */
  readonly action: string;
  readonly methods: readonly Method[];
  readonly provider: boolean;
  readonly isServedFor?: (provider: ProviderSummary) => boolean;
  /** The parameters of its query that count; of a feature without this none. */
  readonly parameters?: readonly string[];
  /** Whether servers send it, of any site. */
  readonly fromServers?: boolean;
  readonly limited?: Limited;
  /** Sends an error that came before the handler, in the form of the route. */
  readonly refuse?: (reply: FastifyReply, error: Error) => Promise<FastifyReply>;
  /** Answers it; those of a feature are answered by the hooks of the configuration. */
  readonly handle?: Handler;
}

export function handlerOf({ action, handle }: AuthRoute, { hooks }: AuthInUse): Handler | undefined {
  return handle ?? hooks.map(({ handlers }) => handlers?.[action]).find((each) => each !== undefined);
}

const signIn = later(async () => (await import("./signin.ts")).handleSignIn);
const callback = later(async () => (await import("./callback/callback.ts")).handleCallback);
const webAuthnOptions = later(async () => (await import("./webauthn.ts")).handleWebAuthnOptions);

/** Every route, under any prefix. A handler is loaded with the first request for it. */
export const AUTH_ROUTES: readonly AuthRoute[] = [
  route("signin", ["GET", "POST"], signIn),
  routeOfProvider("signin", ["GET", "POST"], signIn),
  routeOfProvider("callback", ["GET", "POST"], callback),
  route("signout", ["GET", "POST"], later(async () => (await import("./signout.ts")).handleSignOut)),
  route("session", ["GET", "POST"], later(async () => (await import("./session_update.ts")).handleSession)),
  route("csrf", ["GET"], later(async () => (await import("./pages.ts")).csrfAnswer)),
  route("providers", ["GET"], later(async () => (await import("./pages.ts")).handleProviders)),
  route("error", ["GET"], later(async () => (await import("./pages.ts")).handleErrorPage)),
  route("verify-request", ["GET"], later(async () => (await import("./pages.ts")).handleVerifyRequestPage)),
  { ...routeOfProvider("webauthn-options", ["GET"], webAuthnOptions), isServedFor: ({ type }) => type === "webauthn" },
];

function route(action: string, methods: readonly Method[], handle: Handler): AuthRoute {
  return { action, methods, provider: false, handle };
}

type ProviderHandler = (context: ProviderContext) => Promise<Answer>;

function routeOfProvider(action: string, methods: readonly Method[], handle: ProviderHandler): AuthRoute {
  return { action, methods, provider: true, limited: "requests", handle: handle as Handler };
}

/** Passwords and authenticators' responses must not be in a URL. */
export function methodsFor(route: AuthRoute, provider: ProviderSummary): readonly Method[] {
  const posted = provider.type === "credentials" || provider.type === "webauthn";
  return route.action === "callback" && posted ? ["POST"] : route.methods;
}

/**
 * Whether an authorization server leads browsers here, also with a POST (`response_mode=form_post`): a check cookie
 * says whether the sign-in began in this browser.
 */
export function isCallbackOfServer({ action }: Pick<AuthRoute, "action">, provider?: ProviderSummary): boolean {
  return action === "callback" && provider?.isOAuth === true;
}

export function isOfSignIn({ action, provider }: Pick<AuthRoute, "action" | "provider">, method: string): boolean {
  return provider && (action === "callback" || (action === "signin" && method === "POST"));
}
