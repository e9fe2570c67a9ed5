/**
 * The provider types of the contract; `fastify-authjs/providers` exports them. The endpoint handlers and the internal
 * OAuth configuration, which are `any` in core's declarations, are written out: these types are assignable to core's.
 */
import type { EmailConfig, EmailProviderType } from "@auth/core/providers";
import type { OAuth2Config as CoreOAuth2Config, OAuthEndpointType, Provider } from "@auth/core/providers";
import type { NodemailerUserConfig } from "@auth/core/providers/nodemailer";
import type { WebAuthnConfig } from "@auth/core/providers/webauthn";
import type { Profile as DefaultProfile, TokenSet } from "@auth/core/types";
import type { Client } from "oauth4webapi";
import type { OAuthProviderType } from "./oauth_type.ts";

export type { AccountCallback, CredentialInput, CredentialsConfig, EmailUserConfig } from "@auth/core/providers";
export type { OAuthProviderButtonStyles, ProfileCallback } from "@auth/core/providers";
export type { Client, EmailConfig, EmailProviderType, OAuthEndpointType, OAuthProviderType, Provider, TokenSet };
export type { WebAuthnConfig };

/** The ids of the two WebAuthn providers. Both give a configuration whose `type` is `"webauthn"`. */
export type WebAuthnProviderType = "passkey" | "webauthn";

/** Id of the credentials provider. */
export type CredentialsProviderType = "credentials";

/** Every provider is one of these. */
export type ProviderType = "oidc" | "oauth" | "email" | "credentials" | WebAuthnProviderType;

/** Providers whose sign-in may answer without leaving the page. */
export type RedirectableProviderType = "email" | "credentials";

/** The ids of all built-in providers. */
export type BuiltInProviderType = RedirectableProviderType | OAuthProviderType | WebAuthnProviderType;

/** Shared by all provider types. */
export interface CommonProviderOptions {
  /** Identifies the provider in `providers`, and in its URLs. */
  id: string;
  /** Shown on the button of the default sign-in page: "Sign in with <name>". */
  name: string;
  /** What kind of provider it is. */
  type: ProviderType;
}

/** A configured provider, with its URLs. */
export interface AppProvider extends CommonProviderOptions {
  /** Where the provider redirects the user to after the sign-in. */
  callbackUrl: string;
  /** Where a sign-in with it starts. */
  signinUrl: string;
}

/** Query parameters of an endpoint. */
export type UrlParams = Record<string, unknown>;

/** Query parameters of the authorization endpoint (RFC 6749 section 4.1.1, OpenID Connect Core section 3.1.2.1). */
export interface AuthorizationParameters extends UrlParams {
  /** Space-separated scopes. */
  scope?: string;
  /** `code`, unless the provider wants another flow. */
  response_type?: string;
  /** How the parameters come back: `query` or `form_post`. */
  response_mode?: string;
  /** Whether to ask again: `none`, `login`, `consent`, `select_account`. */
  prompt?: string;
}

/** Parameters that came with the request to the callback. */
export type CallbackParamsType = Record<string, string | undefined>;

/** What an OAuth callback is checked against. */
export interface OAuthCallbackChecks {
  /** The `state` that was sent. */
  state?: string;
  /** The PKCE code verifier. */
  code_verifier?: string;
  /** The response type that was asked for. */
  response_type?: string;
}

/** What an OpenID Connect callback is checked against. */
export interface OpenIDCallbackChecks extends OAuthCallbackChecks {
  /** The `nonce` that was sent. */
  nonce?: string;
  /** The oldest sign-in at the provider that is accepted, in seconds. */
  max_age?: number;
}

/** What a callback is checked against. */
export type OAuthChecks = OpenIDCallbackChecks | OAuthCallbackChecks;

/** An OAuth endpoint in detail, if its URL alone does not do. */
export interface EndpointHandler<Params extends UrlParams, Context = unknown, Result = unknown> {
  /** The endpoint, query parameters included or in `params`. */
  url?: string;
  /** Query parameters, put before those of `url`. */
  params?: Params;
  /** Makes the whole request, for a provider that departs from the standard. Core calls it for `userinfo`. */
  request?: (
    context: Context & {
      provider: OAuthConfigInternal<DefaultProfile> & { signinUrl: string; callbackUrl: string };
    },
  ) => Result | PromiseLike<Result> | void;
  /** Corrects a response of the token endpoint that departs from the standard. */
  conform?: (response: Response) => Response | undefined | PromiseLike<Response | undefined>;
  /** Key that the client authenticates with at the token endpoint (`private_key_jwt`). */
  clientPrivateKey?: CryptoKey | { key: CryptoKey; kid?: string };
}

/** The authorization endpoint in detail. */
export type AuthorizationEndpointHandler = EndpointHandler<AuthorizationParameters>;

/** The token endpoint in detail. */
export type TokenEndpointHandler = EndpointHandler<
  UrlParams,
  { checks: OAuthChecks; params: CallbackParamsType },
  { tokens: TokenSet }
>;

/** The userinfo endpoint in detail. */
export type UserinfoEndpointHandler = EndpointHandler<UrlParams, { tokens: TokenSet }, DefaultProfile>;

/** Configuration of an OAuth 2.0 provider. */
export interface OAuth2Config<Profile> extends
  Omit<
    CoreOAuth2Config<Profile>,
    OAuthEndpointType | "client" | "id" | "jwks_endpoint" | "name" | "options" | "redirectProxyUrl" | "type"
  >,
  CommonProviderOptions {
  /** OAuth 2.0. */
  type: "oauth";
  /** Where a sign-in redirects the user to. */
  authorization?: string | AuthorizationEndpointHandler;
  /** Where a code is exchanged for tokens. */
  token?: string | TokenEndpointHandler;
  /** Where the user's data come from. */
  userinfo?: string | UserinfoEndpointHandler;
  /**
   * The address of the discovery document, which may stand in for `authorization`, `token` and `userinfo`. The document
   * has to name the `issuer`.
   * @default `<issuer>/.well-known/openid-configuration`
   */
  wellKnown?: string;
  /**
   * The issuer, from which the address of the discovery document follows without `wellKnown`. An `iss` in the
   * provider's answer (RFC 9207) has to be the same to the letter.
   */
  issuer?: string;
  /**
   * Where the provider publishes its keys; `undefined` if discovery says it. ID and logout tokens are verified with
   * them. The contract requires the field, core leaves it optional.
   */
  // deno-lint-ignore no-explicit-any -- the contract's type
  jwks_endpoint: any;
  /**
   * Whether the provider, or a site that it shows links for, may begin sign-ins (OpenID Connect Core 1.0 section 4): by
   * a link or a form to `<mount path>/signin/<id>` with its `iss`, and with `target_link_uri` and `login_hint` if they
   * are known. Needs `issuer`.
   * @default false
   */
  initiateLogin?: boolean;
  /** Overrides for oauth4webapi's client, such as `token_endpoint_auth_method`. */
  client?: Partial<Client>;
  /** A stable URL that takes the callbacks for deployments whose own URL changes; adds `state` to the checks. */
  redirectProxyUrl?: string;
  /** What the application gave to the provider's factory; core merges it over the rest. */
  options?: OAuthUserConfig<Profile>;
}

/** Configuration of an OpenID Connect provider. */
export interface OIDCConfig<Profile> extends Omit<OAuth2Config<Profile>, "type" | "checks"> {
  /** OpenID Connect. */
  type: "oidc";
  /** How the callback is protected. */
  checks?: Array<"none" | "state" | "nonce" | "pkce">;
  /**
   * Where the user's claims come from. `true`: the ID token alone. `false`: the userinfo endpoint alone; an ID token
   * must still be returned.
   * @default the ID token, and the userinfo endpoint as well if the ID token has no `name`, `nickname`,
   * `preferred_username`, `picture` or `email` although the scope `profile` or `email` was granted
   */
  idToken?: boolean;
}

/** Configuration of an OAuth 2.0 or OpenID Connect provider. */
export type OAuthConfig<Profile> = OIDCConfig<Profile> | OAuth2Config<Profile>;

/** What an application gives to the factory of an OAuth 2.0 or OpenID Connect provider. */
export type OAuthUserConfig<Profile> = Omit<Partial<OAuthConfig<Profile>>, "options" | "type">;

/** What an application gives to the factory of an OpenID Connect provider. */
export type OIDCUserConfig<Profile> = Omit<Partial<OIDCConfig<Profile>>, "options" | "type">;

/** An OAuth configuration as core works with it: endpoints are URLs, defaults are filled in. */
export type OAuthConfigInternal<Profile> =
  & Omit<OAuthConfig<Profile>, OAuthEndpointType>
  & {
    authorization?: { url: URL };
    token?: { url: URL } & Pick<TokenEndpointHandler, "request" | "conform" | "clientPrivateKey">;
    userinfo?: { url: URL } & Pick<UserinfoEndpointHandler, "request">;
  }
  & Pick<Required<OAuthConfig<Profile>>, "clientId" | "checks" | "profile" | "account">;

/** An OpenID Connect configuration as core works with it. */
export type OIDCConfigInternal<Profile> = OAuthConfigInternal<Profile> & {
  checks: OIDCConfig<Profile>["checks"];
  idToken: OIDCConfig<Profile>["idToken"];
};

/** The built-in providers' factories by id. */
export type BuiltInProviders =
  // deno-lint-ignore no-explicit-any -- each provider has a profile of its own
  & Record<OAuthProviderType, (config: Partial<OAuthConfig<any>>) => OAuthConfig<any>>
  & Record<CredentialsProviderType, typeof import("@auth/core/providers/credentials").default>
  & Record<EmailProviderType, (options: NodemailerUserConfig) => EmailConfig>
  & Record<WebAuthnProviderType, (config: Partial<WebAuthnConfig>) => WebAuthnConfig>;

/** What an application may list in `providers`. */
export type AppProviders = Array<Provider | ReturnType<BuiltInProviders[keyof BuiltInProviders]>>;
