/**
 * Auth.js for Fastify. `createAuth()` makes one object: its plugin adds every route of Auth.js to an application, and
 * its functions read sessions, guard routes, and sign users in and out.
 *
 * Install it with `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`, which gives the package from JSR
 * the name that the examples import it by, or from npm with `npm install fastify-authjs fastify` (`pnpm add`,
 * `yarn add`, `bun add`). On Deno a server needs `--allow-net`; with Fastify's logger also `--allow-sys=hostname`; and
 * `--allow-env` if settings come from the environment.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { createAuth } from "fastify-authjs";
 * import GitHub from "fastify-authjs/providers/github";
 *
 * // AUTH_SECRET, AUTH_GITHUB_ID and AUTH_GITHUB_SECRET may come from the environment instead.
 * const auth = createAuth({
 *   providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
 *   secret: "a string of 32 characters or more",
 *   origin: "http://localhost:3000",
 * });
 * const app = Fastify();
 * await app.register(auth.plugin, { prefix: "/auth" });
 * app.get("/me", { onRequest: auth.requireSession() }, (request) => auth.getSession(request));
 * ```
 *
 * @module
 */
export { type AuthConfig, customFetch } from "@auth/core";
export { AuthError, CredentialsSignin } from "@auth/core/errors";
export type { LinkedAccount, ListedPasskey } from "./src/features/accounts/types.ts";
export type {
  SignInActionOptions,
  SignInActionResult,
  SignOutActionOptions,
  SignOutActionResult,
} from "./src/actions/actions.ts";
export type { ActionRequest } from "./src/actions/perform.ts";
export type { AuthObject, CreateAuthConfig, InferSession, JsonOf, TenantAuthObject } from "./src/auth_object.ts";
export { createAuth } from "./src/create_auth.ts";
export { AuthActionError, FastifyAuthError, type FastifyAuthErrorCode } from "./src/errors.ts";
export { requireSession, type SessionGuard } from "./src/guard/guard.ts";
export type { RequireSessionOptions, RouteAuth, RouteAuthConfig, RouteAuthOptions } from "./src/guard/guard_options.ts";
export { memoryStore } from "./src/store/memory_store.ts";
export type { UserSession } from "./src/features/sessions/options.ts";
export { FastifyAuth, type FastifyAuthPluginOptions } from "./src/plugin.ts";
export { getSession } from "./src/get_session.ts";
export type {
  Account,
  ConfigForRequest,
  DefaultSession,
  EmailMessage,
  EmailMessageParams,
  FastifyAuthConfig,
  FastifyAuthOptions,
  FastifyAuthPages,
  GetSessionResult,
  GuardedReply,
  GuardedRequest,
  JWT,
  LanguageRequest,
  PageLinks,
  PagePanel,
  PageTexts,
  Profile,
  ProviderLogoutOptions,
  RateLimit,
  RateLimitOptions,
  Session,
  SessionRequest,
  Store,
  User,
  VerificationMailParams,
} from "./src/types.ts";
