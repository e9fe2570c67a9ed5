/**
 * The features, in the order in which their hooks are called, and their options. Only this list names them, but for
 * `telemetry/`: it is an entry point of its own, which listens to what the kernel publishes on channels of Node.
 */
import type { AccessTokensActions, AccessTokensConfig } from "./access_tokens/options.ts";
import type { AccountsActions } from "./accounts/types.ts";
import { GUARD as ACCESS_GUARD } from "./api_access/guard_options.ts";
import type { ApiAccessActions, ApiAccessConfig, ApiAccessGuardOptions } from "./api_access/options.ts";
import type { BearerConfig } from "./bearer/mod.ts";
import type { EmailConfirmConfig } from "./email_confirm/mod.ts";
import type { ListedFeature } from "./feature.ts";
import type { LastUsedPages } from "./last_used/mod.ts";
import type { LiveConnectionsActions } from "./live_connections/on_session_end.ts";
import type { ProviderLogoutConfig } from "./provider_logout/options.ts";
import type { RateLimitConfig } from "./rate_limit/options.ts";
import type { SessionsActions, SessionsConfig } from "./sessions/options.ts";
import { GUARD, type StepUpConfig, type StepUpGuardOptions } from "./step_up/guard_options.ts";

export type * from "./access_tokens/options.ts";
export type * from "./accounts/types.ts";
export type * from "./api_access/options.ts";
export type { BearerConfig } from "./bearer/mod.ts";
export type { EmailConfirmConfig } from "./email_confirm/mod.ts";
export type { LastUsedPages } from "./last_used/mod.ts";
export type { LiveConnectionsActions, LiveRequest, LiveSocket } from "./live_connections/on_session_end.ts";
export type * from "./provider_logout/options.ts";
export type * from "./rate_limit/options.ts";
export type * from "./sessions/options.ts";
export type { StepUpConfig, StepUpGuardOptions } from "./step_up/guard_options.ts";

/** The options of the features. */
export interface FeatureOptions
  extends
    AccessTokensConfig,
    ApiAccessConfig,
    BearerConfig,
    EmailConfirmConfig,
    ProviderLogoutConfig,
    RateLimitConfig,
    SessionsConfig,
    StepUpConfig {}

/** What the features add to `pages`. */
export interface FeaturePages extends LastUsedPages {}

/** What the features add to the options of guards. */
export interface FeatureGuardOptions extends ApiAccessGuardOptions, StepUpGuardOptions {}

/** What the features add to the options of `auth.signOut()`. */
export type { ProviderLogoutAction as FeatureSignOutOptions } from "./provider_logout/options.ts";

/** What the features add to the object of `createAuth()`. */
export interface FeatureActions
  extends AccessTokensActions, AccountsActions, ApiAccessActions, LiveConnectionsActions, SessionsActions {}

export const FEATURES: readonly ListedFeature[] = [
  {
    options: ["refreshTokens"],
    load: async () => (await import("./access_tokens/mod.ts")).accessTokens,
    actions: { load: () => import("./access_tokens/get_access_token.ts"), ofRequest: ["getAccessToken"] },
  },
  {
    options: ["emailConfirm"],
    isUsed: ({ config: { emailConfirm }, providers }) =>
      emailConfirm === undefined ? providers.some(({ type }) => type === "email") : emailConfirm !== false,
    load: async () => (await import("./email_confirm/mod.ts")).emailConfirm,
  },
  {
    // Within the confirmation of mailed links, so that it counts only those that are used.
    options: ["rateLimit"],
    advice: [[
      "FST_AUTHJS_WARN_RATE_LIMIT",
      ({ config: { rateLimit }, production }) =>
        rateLimit === undefined && production &&
        "Attempts to sign in are not limited. Set `rateLimit: true` (npm install @fastify/rate-limit), or " +
          "`rateLimit: false` if something else limits them.",
    ]],
    load: async () => (await import("./rate_limit/mod.ts")).rateLimit,
  },
  {
    isUsed: ({ core: { providers } }) => providers.some((each) => "initiateLogin" in each),
    load: async () => (await import("./initiate_login/mod.ts")).initiateLogin,
  },
  {
    // Accounts are linked in a database.
    isUsed: ({ config: { adapter } }) => adapter !== undefined,
    load: async () => (await import("./accounts/mod.ts")).accounts,
    actions: {
      load: () => import("./accounts/actions.ts"),
      ofRequest: ["linkAccount", "unlinkAccount", "listAccounts"],
    },
  },
  {
    actions: {
      load: () => import("./accounts/passkeys.ts"),
      ofRequest: ["listPasskeys", "renamePasskey", "removePasskey"],
    },
  },
  {
    pages: ["lastUsed"],
    isUsed: ({ config: { pages }, providers }) =>
      providers.length > 1 && pages?.signIn === undefined && pages?.lastUsed !== false,
    load: async () => (await import("./last_used/mod.ts")).lastUsed,
  },
  {
    options: ["apiAccess"],
    guard: ACCESS_GUARD,
    load: async () => (await import("./api_access/mod.ts")).apiAccess,
    actions: { load: () => import("./api_access/issue.ts"), ofRequest: ["getClaims", "issueToken"] },
  },
  { options: ["bearer"], load: async () => (await import("./bearer/mod.ts")).bearer },
  { options: ["stepUp"], guard: GUARD, load: async () => (await import("./step_up/mod.ts")).stepUp },
  {
    options: ["revocable"],
    load: async () => (await import("./sessions/mod.ts")).sessions,
    actions: {
      load: () => import("./sessions/actions.ts"),
      ofRequest: ["listSessions"],
      ofConfiguration: ["revokeSession", "revokeSessions"],
    },
  },
  { actions: { load: () => import("./live_connections/on_session_end.ts"), ofRequest: ["onSessionEnd"] } },
  {
    options: ["providerLogout"],
    load: async () => (await import("./provider_logout/mod.ts")).providerLogout,
    lacking: ({ providerLogout }, { providerLogout: configured = false }) =>
      providerLogout === true && (configured === false || Object(configured).signOut === false) &&
      "`providerLogout: true` needs `providerLogout` in the configuration, without `signOut: false`: it keeps with " +
        "which provider the user signed in. With `{ byDefault: false }` other sign-outs stay local.",
  },
];

/** Describes routes in the documents that an application has by this decorator. */
export const DOCUMENTS = {
  decorator: "swagger",
  ofAuthRoutes: async () => (await import("./openapi/auth_routes.ts")).authOperation,
  ofGuards: async () => (await import("./openapi/guarded_routes.ts")).describeGuards,
};
