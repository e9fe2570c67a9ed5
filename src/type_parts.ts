/**
 * The types that few applications name: the parts of the configuration, and those of the object that `createAuth()`
 * returns.
 *
 * Installed with `npm install fastify-authjs fastify`, or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`.
 *
 * @example
 * ```ts
 * import type { SignOutAction } from "fastify-authjs/types";
 *
 * const away = (...[request, reply]: Parameters<SignOutAction>) => ({ request, reply });
 * console.assert(typeof away === "function");
 * ```
 * @module
 */
export type { AllowGetOptions } from "./actions/actions.ts";
export type { JsonMembersOf, SessionCallbackParams, SessionOf, SignInAction, SignOutAction } from "./auth_object.ts";
export type { ActionFailure } from "./errors.ts";
export type {
  AccessTokenClaims,
  AccessTokensActions,
  AccessTokensConfig,
  AccountsActions,
  ApiAccessActions,
  ApiAccessConfig,
  ApiAccessGuardOptions,
  ApiAccessOptions,
  ApiIssuer,
  BearerConfig,
  EmailConfirmConfig,
  FastifyAuthSession,
  FeatureActions,
  FeatureGuardOptions,
  FeatureOptions,
  FeaturePages,
  FeatureSignOutOptions,
  IssueTokenOptions,
  KernelOptions,
  LastUsedPages,
  LinkAccountAction,
  LinkAccountOptions,
  LinkAccountResult,
  LiveConnectionsActions,
  LiveRequest,
  LiveSocket,
  ProviderLogoutConfig,
  RateLimitConfig,
  RevokeSessionsOptions,
  SessionsActions,
  SessionsConfig,
  StepUpConfig,
  StepUpGuardOptions,
  UnlinkAccountOptions,
} from "./types.ts";
