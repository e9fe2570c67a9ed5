/**
 * The types of providers. The providers themselves are modules of their own: `fastify-authjs/providers/<id>`.
 *
 * Installed with `npm install fastify-authjs fastify` (`pnpm add`, `yarn add`, `bun add`), or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify`.
 *
 * @example A provider of your own
 * ```ts
 * import type { OIDCUserConfig, Provider } from "fastify-authjs/providers";
 *
 * interface AcmeProfile {
 *   sub: string;
 *   nick: string;
 * }
 *
 * function Acme(options: OIDCUserConfig<AcmeProfile>): Provider<AcmeProfile & Record<string, unknown>> {
 *   return {
 *     id: "acme",
 *     name: "Acme",
 *     type: "oidc",
 *     issuer: "https://id.acme.example",
 *     profile: ({ sub, nick }) => ({ id: sub, name: nick }),
 *     options,
 *   };
 * }
 * ```
 *
 * @module
 */
export type {
  AccountCallback,
  AppProvider,
  AppProviders,
  AuthorizationEndpointHandler,
  AuthorizationParameters,
  BuiltInProviders,
  BuiltInProviderType,
  CallbackParamsType,
  Client,
  CommonProviderOptions,
  CredentialInput,
  CredentialsConfig,
  CredentialsProviderType,
  EmailConfig,
  EmailProviderType,
  EmailUserConfig,
  EndpointHandler,
  OAuth2Config,
  OAuthCallbackChecks,
  OAuthChecks,
  OAuthConfig,
  OAuthConfigInternal,
  OAuthEndpointType,
  OAuthProviderButtonStyles,
  OAuthProviderType,
  OAuthUserConfig,
  OIDCConfig,
  OIDCConfigInternal,
  OIDCUserConfig,
  OpenIDCallbackChecks,
  ProfileCallback,
  Provider,
  ProviderType,
  RedirectableProviderType,
  TokenEndpointHandler,
  TokenSet,
  UrlParams,
  UserinfoEndpointHandler,
  WebAuthnConfig,
  WebAuthnProviderType,
} from "../src/provider/types.ts";
