/**
 * Auth.js for Fastify: one call adds every route of Auth.js to an application, another reads the session anywhere.
 *
 * Install it with `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`, which gives the package from JSR the
 * name that the examples import it by, or from npm with `npm install fastify-authjs fastify` (`pnpm add`, `yarn add`,
 * `bun add`). On Deno a server needs `--allow-net`, with Fastify's logger `--allow-sys=hostname`, and, where the
 * configuration comes from the environment, `--allow-env`.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
 * import GitHub from "fastify-authjs/providers/github";
 *
 * // AUTH_SECRET, AUTH_GITHUB_ID and AUTH_GITHUB_SECRET may come from the environment instead.
 * const config: FastifyAuthConfig = {
 *   providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
 *   secret: "a string of 32 characters or more",
 *   origin: "http://localhost:3000",
 * };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/me", async (request) => ({ session: await getSession(request, config) }));
 * ```
 *
 * @module
 */
export { type AuthConfig, customFetch } from "@auth/core";
export { AuthError, CredentialsSignin } from "@auth/core/errors";
export type {
  AccountsActions,
  LinkAccountAction,
  LinkAccountOptions,
  LinkAccountResult,
  LinkedAccount,
  UnlinkAccountOptions,
} from "./src/features/accounts/types.ts";
export type {
  AllowGetOptions,
  SignInActionOptions,
  SignInActionResult,
  SignOutActionOptions,
  SignOutActionResult,
} from "./src/actions/actions.ts";
export type { ActionRequest } from "./src/actions/perform.ts";
export { type AccountListAdapter, type ListedAccount, withAccountList } from "./src/adapter/account_list.ts";
export {
  type AccountTokens,
  type AccountUpdateAdapter,
  withAccountUpdate,
} from "./src/features/access_tokens/account_update.ts";
export type {
  AuthObject,
  InferSession,
  SignInAction,
  SignOutAction,
  TenantAuthObject,
} from "./src/auth_object.ts";
export { createAuth } from "./src/create_auth.ts";
export {
  type ActionFailure,
  AuthActionError,
  FastifyAuthError,
  type FastifyAuthErrorCode,
} from "./src/errors.ts";
export type { SessionGuard } from "./src/guard/guard.ts";
export type { RequireSessionOptions } from "./src/guard/guard_options.ts";
export type {
  CreateAuthConfig,
  JsonMembersOf,
  JsonOf,
  SessionCallbackParams,
  SessionOf,
} from "./src/inferred_session.ts";
export { requireSession } from "./src/guard/require_session.ts";
export { type ListedSession, type SessionListAdapter, withSessionList } from "./src/adapter/session_list.ts";
export { memoryStore } from "./src/memory_store.ts";
export type { RevokeSessionsOptions, SessionsActions, UserSession } from "./src/features/sessions/types.ts";
export type { RouteAuth, RouteAuthConfig, RouteAuthOptions } from "./src/guard/route_auth.ts";
export { FastifyAuth, type FastifyAuthPluginOptions } from "./src/plugin.ts";
export { getSession } from "./src/get_session.ts";
export type {
  AccessRefusedEvent,
  AccessTokensActions,
  AccessTokensConfig,
  Account,
  AdapterCallOperation,
  AuthActionOperation,
  AuthEvent,
  AuthEvents,
  BearerConfig,
  ConfigForRequest,
  DefaultSession,
  EmailConfirmConfig,
  EmailMessage,
  EmailMessageParams,
  FastifyAuthConfig,
  FastifyAuthOptions,
  FastifyAuthPages,
  FeatureActions,
  FeatureGuardOptions,
  FeatureOptions,
  FeatureSignOutOptions,
  GetSessionResult,
  GuardedReply,
  GuardedRequest,
  IoRedisClient,
  JWT,
  KernelOptions,
  LanguageRequest,
  LinkEvent,
  NodeRedisClient,
  Operation,
  PageTexts,
  Profile,
  ProviderEndpoint,
  ProviderLogoutConfig,
  ProviderLogoutOptions,
  ProviderRequestOperation,
  RateLimit,
  RateLimitConfig,
  RateLimitOptions,
  RevokeEvent,
  Session,
  SessionReadEvent,
  SessionRequest,
  SessionsConfig,
  SignInEvent,
  SignInFailureEvent,
  SignOutEvent,
  StepUpConfig,
  StepUpGuardOptions,
  Store,
  UnlinkEvent,
  User,
} from "./src/types.ts";
