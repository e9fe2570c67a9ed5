/** The context of an auth request. */
import type { FastifyRequest } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { AuthLogger } from "../config/notices.ts";
import type { ResolvedConfig } from "../config/resolve.ts";
import type { Hooks } from "../features/feature.ts";
import type { AuthBody } from "../http/body.ts";
import type { PublicOrigin } from "../http/origin.ts";
import { cookiesAfter, removalOf, type SetCookie } from "../http/set_cookie.ts";
import type { Assets } from "../pages/assets.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import { possibleParts, readSessionCookie, type SessionCookie } from "../session/cookie.ts";
import type { SessionRead } from "../session/read.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { SharedStore } from "../store/shared_store.ts";
import type { Publish } from "../telemetry/events.ts";
import type { Answer } from "./answer.ts";

export type Handler = (context: RequestContext) => Promise<Answer>;

/** What limits count of a route: its requests, those that are refused, or also the tokens that it issues. */
export type Limited = "requests" | "refusals" | "tokens";

/** A configuration, and what outlives the requests to it. */
export interface AuthInUse {
  readonly config: ResolvedConfig;
  readonly hooks: readonly Hooks[];
  settings(secure?: boolean): SessionSettings;
  /** The store, or else one of this process: what is counted or used once needs one. */
  readonly anyStore: SharedStore;
  assets(): Promise<Assets>;
  once(what: string, tell: () => void): void;
}

/** A request whose body is not parsed yet. */
export interface AskedRequest {
  /** As Fastify has it: the rest is normalised, but for the headers. */
  readonly request: FastifyRequest;
  readonly auth: AuthInUse;
  readonly config: ResolvedConfig;
  readonly settings: SessionSettings;
  readonly origin: PublicOrigin;
  readonly action: string;
  readonly provider: ProviderSummary | undefined;
  readonly method: string;
  readonly limited: Limited | undefined;
  readonly cookies: string;
}

export interface RequestContext extends AskedRequest {
  readonly method: "GET" | "POST";
  /** As users see it, percent-encoded, without a trailing slash. */
  readonly mountPath: string;
  readonly headers: IncomingHttpHeaders;
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
}

export type ProviderContext = RequestContext & { readonly provider: ProviderSummary };

type Address = Pick<RequestContext, "action" | "mountPath" | "origin" | "provider" | "query">;

export function addressOf({ origin, mountPath, action, provider, query }: Address): string {
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

/** The request as if nobody were signed in. */
export function withoutSession<Context extends RequestContext>(context: Context): Context {
  const cookies = cookiesAfter(context.held.names.map((name) => removalOf(name, {})), context.cookies);
  return { ...context, cookies, held: { token: "", names: [] } };
}
