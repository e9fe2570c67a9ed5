/** The interface of features: what one is made of, and what it adds to requests, sessions and guards. */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { IncomingHttpHeaders } from "node:http";
import type { CookieDefinition } from "../config/cookies.ts";
import type { Facts, Mistake } from "../config/mistakes.ts";
import type { AuthLogger, NoticeCode } from "../config/notices.ts";
import type { Rule } from "../config/rules.ts";
import type { Answer } from "../core/answer.ts";
import type { AskedRequest, AuthInUse, Handler, ProviderContext, RequestContext } from "../core/context.ts";
import type { FastifyAuthError, FastifyAuthErrorCode } from "../errors.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { SignInPage } from "../pages/types.ts";
import type { AuthRoute } from "../routes/table.ts";
import type { KnownSessions } from "./known_session.ts";
import type { LiveSessions } from "../session/live_sessions.ts";
import type { SignedIn } from "../session/open.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { SharedStore } from "../store/shared_store.ts";
import type { FastifyAuthConfig, GuardedReply, GuardedRequest, JWT } from "../types.ts";
import type { FeatureGuardOptions, FeatureOptions, FeaturePages, FeatureSignOutOptions } from "./mod.ts";

/** A feature in the list: enough to know which configurations use it. It is loaded with the first one. */
export interface ListedFeature {
  /** Its options of the configuration. It is used if one of them is neither `false` nor missing. */
  readonly options?: readonly (keyof FeatureOptions)[];
  /** Its options in `pages`, which are true or false. */
  readonly pages?: readonly (keyof FeaturePages)[];
  /** Whether a configuration uses it, if options do not say that. */
  readonly isUsed?: (facts: Facts) => boolean;
  /** What it adds to guards. Their options are checked before anything is loaded. */
  readonly guard?: ListedGuard;
  /** What is recommended to configurations, whether they use it or not. */
  readonly advice?: readonly Mistake<NoticeCode>[];
  /** None if it has actions alone. */
  readonly load?: () => Promise<Feature>;
  /** What it adds to the object of `createAuth()`, whether a configuration uses it or not. */
  readonly actions?: ListedActions;
  /** What is wrong with an option of a function that needs the feature, by the configuration. */
  readonly lacking?: (options: FeatureSignOutOptions, config: FastifyAuthConfig) => string | false;
}

/** Functions that take what acts, and then their own arguments. */
type Actions = Readonly<Record<string, (auth: never, ...given: never[]) => unknown>>;

/** The functions of a feature, which are loaded with the first call, and the names of those that take a request. */
export interface ListedActions {
  readonly load: () => Promise<Actions>;
  readonly ofRequest?: readonly string[];
  readonly ofConfiguration?: readonly string[];
}

export interface Setup extends Facts {
  readonly store: SharedStore | undefined;
  readonly live: LiveSessions;
  /** What features keep for the next configuration of the tenant, by name. */
  readonly memory: Map<string, unknown>;
}

export interface GuardSecurity {
  /** Whether a session does not count. */
  readonly isAlone: boolean;
  readonly name: string;
  readonly scheme: { readonly type: string; readonly scheme: string; readonly description: string };
  readonly scopes: readonly string[];
}

/** What a feature adds to guards, besides {@linkcode Hooks.onGuard}. */
export interface ListedGuard {
  readonly rules: Readonly<Record<string, Rule>>;
  /** What is wrong with options that are valid each. */
  readonly together?: (options: FeatureGuardOptions) => string | false;
  /** How requests may pass besides with a session, for a document of the routes. */
  readonly security?: (options: FeatureGuardOptions) => GuardSecurity | undefined;
  /** What is wrong with them if the configuration does not use the feature. */
  readonly unused: string;
  /** The code of the 401 that a guard with them may answer with, besides that of a request without a session. */
  readonly code?: FastifyAuthErrorCode;
}

export interface Feature {
  readonly rules?: { readonly [Name in keyof FeatureOptions]?: Rule };
  /** What stops the boot; the first one is said. */
  readonly problems?: readonly Mistake<FastifyAuthErrorCode>[];
  readonly warnings?: readonly Mistake<NoticeCode>[];
  /** Its routes, with the handlers that {@linkcode Hooks.handlers} has. */
  readonly routes?: readonly AuthRoute[];
  /** Throws what stops the boot. */
  configure(setup: Setup): Hooks;
}

/** Lets core end a sign-in that links an account to the user who is signed in. */
export type FinishLink = (
  call: { readonly wrapAdapter: (adapter: Adapter) => Adapter; readonly signedIn: SignedIn | undefined },
) => Promise<Answer>;

/** What a feature adds to a configuration. */
export interface Hooks extends SessionHooks {
  readonly handlers?: Readonly<Record<string, Handler>>;
  /** The configuration is mounted: with the application, or with its first request. */
  onMount?(scope: FastifyInstance, auth: AuthInUse): Promise<void>;
  /** A request to an auth route, whose body is not parsed yet, or an action of the application. Throws to refuse it. */
  onAuthRequest?(asked: AskedRequest): Promise<void>;
  /** Whether a POST to an auth route may come from any site: its answer checks what it is. */
  takesForms?(asked: Pick<AskedRequest, "action" | "provider" | "request">): boolean;
  /** Whether requests to routes that are `limited` may get a 429. */
  readonly limits?: boolean;
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
  /** Sends a browser to sign in; resolves with whether the reply was sent. Throws if that would not help. */
  signIn(reply: GuardedReply): Promise<boolean>;
}

export interface NamedSession {
  readonly claims: JWT;
  readonly name: string;
}

export type SignInParams = Parameters<NonNullable<NonNullable<AuthConfig["callbacks"]>["jwt"]>>[0];

export interface SessionSignIn {
  readonly params: SignInParams;
  readonly held: JWT | undefined;
  /** Whether the account, or the passkey, was linked in this sign-in. */
  readonly linksAccount: boolean;
  /** Whether it was linked to the user of the session of the browser: then that session goes on. */
  readonly goesOn: boolean;
  readonly logger: Pick<AuthLogger, "error" | "warnOnce">;
}

interface SignInWithRow extends SessionSignIn {
  /** The token of the row, and that of the session which the browser had. */
  readonly token: string;
  readonly heldToken: string;
  readonly cookies: string;
  readonly claims?: JWT | undefined;
  readonly settings: RowSettings;
  readonly adapter: Adapter;
}

/** What the cookies beside that of the session are made with. */
export type RowSettings = Pick<SessionSettings, "jwt" | "besideCookie">;

export interface SessionUse {
  readonly userAgent: string | undefined;
  /** Is told of what fails and changes nothing. */
  readonly report: (error: Error) => void;
}

export interface SessionHooks {
  /** The bearer token of a request, which counts in place of the cookie; empty for what cannot be a token. */
  findToken?(headers: IncomingHttpHeaders): string | undefined;
  /** Whether claims of sessions are refreshed. Reads and processes take turns then. */
  readonly refreshes?: boolean;
  /** Claims that stay on the server: a session never has them. */
  readonly hiddenClaims?: readonly string[];
  /** Claims of a session that its next token has, whatever the `jwt` callback returns. */
  keptClaims?(session: NamedSession, isDue: boolean): JWT;
  /** A session begins, by a sign-in or as that of a token for a header: adds claims to its token, or refuses it. */
  onBegin?(claims: JWT, name: string): Promise<JWT>;
  onSignIn?(claims: JWT, signIn: SessionSignIn): JWT;
  /** A token was sealed. What it throws refuses a sign-in, also one of a session that goes on; else it is logged. */
  onSealed?(session: NamedSession, isNew: boolean, userAgent?: string): Promise<void>;
  /** A user has signed in to a row. Gives cookies to set beside that of the session. */
  onRow?(signIn: SignInWithRow): Promise<readonly SetCookie[]>;
  /** Those cookies, which a sign-out removes. */
  readonly rowCookies?: readonly CookieDefinition[];
  /** Whether a session has ended elsewhere; throws if that is not known. */
  hasEnded?(session: NamedSession, use: SessionUse | undefined): Promise<boolean>;
  onEnd?(session: NamedSession): Promise<void>;
  readonly known?: KnownSessions;
  /** What the token of a row ends with, besides the random part, for a user who signs in. */
  rowTag?(signIn: SessionSignIn): string;
  /** The same end for another token of the session. */
  tagOfRow?(token: string): string;
}
