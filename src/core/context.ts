/** The context of an auth request. */
import type { CookieDefinition } from "../config/cookies.ts";
import type { Log, NoticeCode } from "../config/notices.ts";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { FastifyAuthError } from "../errors.ts";
import type { FeatureGuardOptions, FeatureSignOutOptions } from "../features/mod.ts";
import type { JsonSchema } from "../errors.ts";
import type { AuthBody } from "../http/body.ts";
import type { PublicOrigin } from "../http/origin.ts";
import { removalOf, type SetCookie } from "../http/set_cookie.ts";
import type { Assets } from "../pages/assets.ts";
import type { SignInPage } from "../pages/types.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import { possibleParts, readSessionCookie, type SessionCookie } from "../session/cookie.ts";
import type { SignedIn } from "../session/open.ts";
import type { SessionHooks } from "../session/hooks.ts";
import type { SharedStore } from "../session/shared_store.ts";
import type { AuthLogger, SessionRead } from "../session/read.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { Publish } from "../telemetry/events.ts";
import type { FastifyAuthConfig, GuardedReply, GuardedRequest } from "../types.ts";
import type { Answer } from "./answer.ts";

export type Handler = (context: RequestContext) => Promise<Answer>;

/** Has core end a sign-in that links an account to the user who is signed in. */
export type FinishLink = (
  call: { readonly wrapAdapter: (adapter: Adapter) => Adapter; readonly signedIn: SignedIn | undefined },
) => Promise<Answer>;

/** What limits count of a route: its requests, those that are refused, or also the tokens that it issues. */
export type Limited = "requests" | "refusals" | "tokens";

/** What a feature adds to a configuration. */
export interface Hooks extends SessionHooks {
  readonly handlers?: Readonly<Record<string, Handler>>;
  /** The configuration is mounted: with the application, or with its first request. */
  onMount?(scope: FastifyInstance, auth: AuthInUse): Promise<void>;
  /** A request to an auth route, whose body is not parsed yet, or an action of the application. Throws to refuse it. */
  onAuthRequest?(asked: AskedRequest): Promise<void>;
  /** Whether a POST to an auth route may come from any site: its answer checks what it is. */
  takesForms?(asked: Pick<AskedRequest, "action" | "provider" | "request">): boolean;
  readonly refusals?: Readonly<Record<number, JsonSchema>>;
  /** Answers a request to an auth route, or an action of the application, mostly by `answer`. */
  onAnswer?(context: RequestContext, answer: () => Promise<Answer>): Promise<Answer>;
  onSignInPage?(context: RequestContext): Pick<SignInPage, "lastUsed">;
  readonly cookies?: readonly CookieDefinition[];
  /** A user signs out, and the session has not ended yet. Gives what becomes of the answer once it has. */
  onSignOut?(
    context: RequestContext,
    asked: FeatureSignOutOptions | undefined,
  ): Promise<((answer: Answer) => Promise<Answer>) | undefined>;
  /** A sign-in comes back that links an account to a user. */
  onLink?(context: ProviderContext, userId: string, finish: FinishLink): Promise<Answer>;
  /** What the table of the boot says, such as what to register at a provider. */
  report?(base: string): readonly (readonly [name: string, value: string])[];
  /**
   * Whether a request passes a guard with options of features without a session: gives `true`, or a challenge for the
   * 401 of clients that have none. Throws to refuse it.
   */
  onAccess?(guarded: Guarded, reply: GuardedReply): Promise<true | string | undefined>;
  /** Why a signed-in user does not pass a guard with options of features. */
  onGuard?(guarded: Guarded): Promise<GuardRefusal | undefined>;
}

export interface Guarded {
  readonly request: GuardedRequest;
  readonly auth: AuthInUse;
  readonly config: FastifyAuthConfig;
  readonly options: FeatureGuardOptions;
}

export interface GuardRefusal {
  readonly error: FastifyAuthError;
  /** What their challenge has after the scheme. */
  readonly challenge: string;
  /** Has a browser sign in; resolves with whether the reply was sent. Throws if that would not help. */
  signIn(reply: GuardedReply): Promise<boolean>;
}

/** A configuration, and what outlives the requests to it. */
export interface AuthInUse {
  readonly config: ResolvedConfig;
  readonly hooks: readonly Hooks[];
  settings(secure: boolean): SessionSettings;
  /** The store, or else one of this process: what is counted or used once needs one. */
  readonly anyStore: SharedStore;
  assets(): Promise<Assets>;
  once(what: string, tell: () => void): void;
}

export interface RequestContext {
  /** As Fastify has it: the rest is normalised, but for the headers. */
  readonly request: FastifyRequest;
  readonly auth: AuthInUse;
  readonly config: ResolvedConfig;
  readonly settings: SessionSettings;
  /** As users see it, percent-encoded, without a trailing slash. */
  readonly mountPath: string;
  readonly origin: PublicOrigin;
  readonly action: string;
  readonly provider: ProviderSummary | undefined;
  readonly method: "GET" | "POST";
  readonly limited: Limited | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly cookies: string;
  readonly held: SessionCookie;
  readonly query: string;
  readonly body: AuthBody | undefined;
  readonly callbackUrl: string | undefined;
  /** Whether the session of a sign-in goes on when the browser is closed; `undefined`: as the one that it replaces. */
  readonly rememberMe: boolean | undefined;
  /** Whether a route of the application asks. Its headers were checked, so there is no CSRF token. */
  readonly fromApplication: boolean;
  /** Publishes what comes of the request; `undefined` if nothing listens. */
  readonly publish: Publish | undefined;
  /** Reads the session of the request, once however often it is called. */
  readonly readSession: () => Promise<SessionRead>;
  readonly logger: AuthLogger;
  readonly log: Log;
  readonly warnOnce: (what: string, message: string, code: NoticeCode) => void;
}

export type AskedRequest =
  & Pick<
    RequestContext,
    "auth" | "request" | "config" | "settings" | "origin" | "action" | "provider" | "limited" | "cookies"
  >
  & { readonly method: string };

export type ProviderContext = RequestContext & { readonly provider: ProviderSummary };

export function addressOf({ origin, mountPath, action, provider, query }: RequestContext): string {
  const path = provider === undefined ? action : `${action}/${provider.id}`;
  return `${origin.href}${mountPath}/${path}${query && `?${query}`}`;
}

/** The cookies of a session that the browser may hold: also some that it has not sent. */
export function sessionParts({ action, method, provider, headers, settings }: RequestContext): readonly string[] {
  const { cookie: { name, options }, longestToken } = settings;
  const { names } = readSessionCookie(headers.cookie, name);
  const sameSite = String(options.sameSite).toLowerCase();
  // With a form from another site the browser sends only cookies with `SameSite=None`, and after a link or
  // redirect from another site none with `SameSite=Strict`.
  const isWithheld = action === "callback" &&
    (sameSite === "strict" || sameSite === "true" || (method === "POST" && provider?.formPost === true));
  return isWithheld ? [...possibleParts(name, longestToken), ...names] : names;
}

export function sessionRemovals(context: RequestContext): SetCookie[] {
  return sessionParts(context).map((name) => removalOf(name, context.settings.cookie.options));
}

export function withoutCookies<Context extends RequestContext>(
  context: Context,
  names: readonly string[],
): Context {
  const pairs = context.cookies.split(";").filter((pair) => !names.includes(pair.split("=")[0]!.trim()));
  const cookies = pairs.join(";").trim();
  return { ...context, cookies, held: readSessionCookie(cookies, context.settings.cookie.name) };
}
