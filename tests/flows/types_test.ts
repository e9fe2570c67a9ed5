/**
 * The records of the contract's section 2, table by table and row by row, compared with the exported types: the same
 * type, the same optionality, the same `readonly`. The comparison is made by the type checker; a row that differs is
 * named in its error.
 */
import type { AuthConfig } from "@auth/core";
import type * as core from "@auth/core/providers";
import type { Account as CoreAccount, Awaitable } from "@auth/core/types";
import type { FastifyContextConfig, FastifyInstance, FastifyPluginAsync, FastifyRequest } from "fastify";
import type {
  Account,
  DefaultSession,
  FastifyAuth,
  FastifyAuthConfig,
  getSession,
  GetSessionResult,
  Profile,
  RouteAuthConfig,
  Session,
  User,
} from "fastify-authjs";
import type {
  AccountCallback,
  AppProvider,
  AppProviders,
  AuthorizationEndpointHandler,
  AuthorizationParameters,
  BuiltInProviders,
  BuiltInProviderType,
  CallbackParamsType,
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
  UserinfoEndpointHandler,
  WebAuthnConfig,
  WebAuthnProviderType,
} from "fastify-authjs/providers";
import type Credentials from "fastify-authjs/providers/credentials";
import type Email from "fastify-authjs/providers/email";
import type { AuthorizationDetails, Client } from "oauth4webapi";

declare module "fastify" {
  interface FastifyContextConfig extends RouteAuthConfig {}
}

/**
 * Whether two types are one and the same, `any` and modifiers included. Before TypeScript 6 the comparison of functions
 * does not tell `b?: string` from `b?: string | undefined`; assignability does.
 */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2)
  ? [A, B] extends [B, A] ? true : false
  : false;

/** The rows of a table that a type does not have, or has otherwise. */
type Differing<Actual, Table> = {
  [Row in keyof Table]-?: Row extends keyof Actual
    ? Same<Pick<Actual, Row>, Pick<Table, Row>> extends true ? never : Row
    : Row;
}[keyof Table];

/** The fields of a type that its table does not have. */
type Further<Actual, Table> = Exclude<keyof Actual, keyof Table>;

type Assignable<From, To> = [From] extends [To] ? true : false;

/** Fails to compile, naming them, if there are any. */
function none<_Differing extends never>(): void {}

function holds<_Statement extends true>(): void {}

/** A provider's profile, to put into the generic types. */
interface AcmeProfile {
  sub: string;
}

Deno.test("the comparison itself sees a wrong type, a wrong optionality, a wrong modifier and any", () => {
  interface Actual {
    a: string;
    b?: string;
    readonly c: string;
  }
  none<Differing<Actual, { a: string; b?: string; readonly c: string }>>();
  // @ts-expect-error another type
  none<Differing<Actual, { a: number }>>();
  // @ts-expect-error a wider type
  none<Differing<Actual, { a: string | null }>>();
  // @ts-expect-error any
  // deno-lint-ignore no-explicit-any -- the point
  none<Differing<Actual, { a: any }>>();
  // @ts-expect-error optional in the table
  none<Differing<Actual, { a?: string }>>();
  // @ts-expect-error required in the table
  none<Differing<Actual, { b: string }>>();
  // @ts-expect-error undefined as a value is not the same as optional
  none<Differing<Actual, { b?: string | undefined }>>();
  // @ts-expect-error writable in the table
  none<Differing<Actual, { c: string }>>();
  // @ts-expect-error missing
  none<Differing<Actual, { d: string }>>();
  // @ts-expect-error a field too many
  none<Further<Actual, { a: string; b?: string }>>();
  // @ts-expect-error not the same
  holds<Same<string, "a">>();
  // @ts-expect-error not assignable
  holds<Assignable<string, "a">>();
});

Deno.test("2.1 Session and DefaultSession", () => {
  interface Table {
    expires: string;
    user?: User;
  }
  none<Differing<Session, Table>>();
  none<Further<Session, Table>>();
  none<Differing<DefaultSession, Table>>();
  none<Further<DefaultSession, Table>>();
  holds<Assignable<Session, DefaultSession>>();
});

Deno.test("2.2 User", () => {
  interface Table {
    id?: string;
    name?: null | string;
    email?: null | string;
    image?: null | string;
  }
  none<Differing<User, Table>>();
  none<Further<User, Table>>();
});

Deno.test("2.3 Account", () => {
  interface Table {
    provider: string;
    providerAccountId: string;
    type: ProviderType;
    userId?: string;
    readonly access_token?: string;
    readonly refresh_token?: string;
    readonly id_token?: string;
    readonly scope?: string;
    readonly token_type?: Lowercase<string>;
    readonly expires_in?: number;
    expires_at?: number;
    readonly authorization_details?: AuthorizationDetails[];
  }
  none<Differing<Account, Table>>();
  // What core hands to callbacks and adapters is an account
  holds<Assignable<CoreAccount, Account>>();
});

Deno.test("2.4 Profile", () => {
  interface Table {
    id?: null | string;
    sub?: null | string;
    name?: null | string;
    given_name?: null | string;
    family_name?: null | string;
    middle_name?: null | string;
    nickname?: null | string;
    preferred_username?: null | string;
    profile?: null | string;
    // deno-lint-ignore no-explicit-any -- the contract's type
    picture?: any;
    website?: null | string;
    email?: null | string;
    email_verified?: null | boolean;
    gender?: null | string;
    birthdate?: null | string;
    zoneinfo?: null | string;
    locale?: null | string;
    phone_number?: null | string;
    updated_at?: null | string | number | Date;
  }
  interface Address {
    country?: null | string;
    formatted?: null | string;
    locality?: null | string;
    postal_code?: null | string;
    region?: null | string;
    street_address?: null | string;
  }
  none<Differing<Profile, Table>>();
  type ProfileAddress = NonNullable<Profile["address"]>;
  none<Differing<ProfileAddress, Address>>();
  none<Further<ProfileAddress, Address>>();
  none<Differing<Profile, { address?: null | ProfileAddress }>>();
  holds<Same<Profile["any other claim"], unknown>>();
});

Deno.test("2.5 ProviderType and the types of ids", () => {
  holds<Same<WebAuthnProviderType, "passkey" | "webauthn">>();
  holds<Same<ProviderType, "oidc" | "oauth" | "email" | "credentials" | WebAuthnProviderType>>();
  holds<Same<RedirectableProviderType, "email" | "credentials">>();
  holds<Same<CredentialsProviderType, "credentials">>();
  holds<Same<EmailProviderType, "email">>();
  holds<Same<BuiltInProviderType, RedirectableProviderType | OAuthProviderType | WebAuthnProviderType>>();
  holds<Assignable<"github" | "google" | "passkey" | "webauthn" | "nodemailer", OAuthProviderType>>();
  holds<Assignable<core.OAuthProviderId, OAuthProviderType>>();
  // @ts-expect-error the set is closed
  holds<Assignable<string, OAuthProviderType>>();
});

Deno.test("2.5 the options shared by all provider types", () => {
  interface Table {
    id: string;
    name: string;
    type: ProviderType;
  }
  none<Differing<CommonProviderOptions, Table>>();
  none<Further<CommonProviderOptions, Table>>();
  holds<Assignable<core.CommonProviderOptions, CommonProviderOptions>>();
});

Deno.test("2.5 AppProvider", () => {
  interface Table extends CommonProviderOptions {
    callbackUrl: string;
    signinUrl: string;
  }
  none<Differing<AppProvider, Table>>();
  none<Further<AppProvider, Table>>();
});

interface OAuthRows {
  id: string;
  name: string;
  authorization?: string | AuthorizationEndpointHandler;
  token?: string | TokenEndpointHandler;
  userinfo?: string | UserinfoEndpointHandler;
  wellKnown?: string;
  issuer?: string;
  // deno-lint-ignore no-explicit-any -- the contract's type
  jwks_endpoint: any;
  clientId?: string;
  clientSecret?: string;
  profile?: ProfileCallback<AcmeProfile>;
  account?: AccountCallback;
  allowDangerousEmailAccountLinking?: boolean;
  redirectProxyUrl?: string;
  client?: Partial<Client>;
  style?: OAuthProviderButtonStyles;
}

Deno.test("2.5 OAuth2Config", () => {
  interface Table extends OAuthRows {
    type: "oauth";
    checks?: Array<"none" | "state" | "pkce">;
  }
  none<Differing<OAuth2Config<AcmeProfile>, Table>>();
  holds<Assignable<OAuth2Config<AcmeProfile>, core.OAuth2Config<AcmeProfile>>>();
});

Deno.test("2.5 OIDCConfig", () => {
  interface Table extends OAuthRows {
    type: "oidc";
    checks?: Array<"none" | "state" | "nonce" | "pkce">;
    idToken?: boolean;
  }
  none<Differing<OIDCConfig<AcmeProfile>, Table>>();
  holds<Same<Exclude<keyof OIDCConfig<AcmeProfile>, keyof OAuth2Config<AcmeProfile>>, "idToken">>();
  holds<Same<Exclude<keyof OAuth2Config<AcmeProfile>, keyof OIDCConfig<AcmeProfile>>, never>>();
  holds<Assignable<OIDCConfig<AcmeProfile>, core.OIDCConfig<AcmeProfile>>>();
});

Deno.test("2.5 OAuthProviderButtonStyles", () => {
  interface Table {
    brandColor?: string;
    logo?: string;
    text?: string;
    bg?: string;
  }
  none<Differing<OAuthProviderButtonStyles, Table>>();
  none<Further<OAuthProviderButtonStyles, Table>>();
});

Deno.test("2.5 the configuration types that are core's own", () => {
  holds<Same<CredentialInput, core.CredentialInput>>();
  holds<Same<CredentialsConfig, core.CredentialsConfig>>();
  holds<Same<CredentialsProviderType, core.CredentialsProviderId>>();
  holds<Same<EmailConfig, core.EmailConfig>>();
  holds<Same<EmailProviderType, core.EmailProviderType>>();
  holds<Same<EmailUserConfig, core.EmailUserConfig>>();
});

Deno.test("2.5 OAuthConfig, OAuthUserConfig, OIDCUserConfig and OIDCConfigInternal", () => {
  holds<Same<OAuthConfig<AcmeProfile>, OIDCConfig<AcmeProfile> | OAuth2Config<AcmeProfile>>>();
  holds<Same<OAuthUserConfig<AcmeProfile>, Omit<Partial<OAuthConfig<AcmeProfile>>, "options" | "type">>>();
  holds<Same<OIDCUserConfig<AcmeProfile>, Omit<Partial<OIDCConfig<AcmeProfile>>, "options" | "type">>>();
  // Nothing has to be given
  holds<Assignable<Record<never, never>, OAuthUserConfig<AcmeProfile>>>();
  holds<Assignable<Record<never, never>, OIDCUserConfig<AcmeProfile>>>();
  // What an application gives to core's factories
  holds<Assignable<OAuthUserConfig<AcmeProfile>, core.OAuthUserConfig<AcmeProfile>>>();
  holds<Assignable<OIDCUserConfig<AcmeProfile>, core.OIDCUserConfig<AcmeProfile>>>();
  holds<
    Same<
      OIDCConfigInternal<AcmeProfile>,
      OAuthConfigInternal<AcmeProfile> & {
        checks: OIDCConfig<AcmeProfile>["checks"];
        idToken: OIDCConfig<AcmeProfile>["idToken"];
      }
    >
  >();
});

Deno.test("2.5 the endpoint handlers and callbacks", () => {
  holds<Same<OAuthEndpointType, "authorization" | "token" | "userinfo">>();
  holds<Same<OAuthChecks, OpenIDCallbackChecks | OAuthCallbackChecks>>();
  holds<Same<AuthorizationEndpointHandler, EndpointHandler<AuthorizationParameters>>>();

  type Requested<Handler extends { request?: (context: never) => unknown }> = Required<Handler>["request"];
  none<Differing<TokenEndpointHandler, { params?: Record<string, unknown> }>>();
  none<
    Differing<
      Parameters<Requested<TokenEndpointHandler>>[0],
      { checks: OAuthChecks; params: CallbackParamsType }
    >
  >();
  holds<Same<ReturnType<Requested<TokenEndpointHandler>>, Awaitable<{ tokens: TokenSet }> | void>>();
  none<Differing<UserinfoEndpointHandler, { params?: Record<string, unknown> }>>();
  none<Differing<Parameters<Requested<UserinfoEndpointHandler>>[0], { tokens: TokenSet }>>();
  holds<Same<ReturnType<Requested<UserinfoEndpointHandler>>, Awaitable<Profile> | void>>();

  holds<Same<AccountCallback, (tokens: TokenSet) => TokenSet | undefined | void>>();
  holds<Same<ProfileCallback<AcmeProfile>, (profile: AcmeProfile, tokens: TokenSet) => Awaitable<User>>>();
});

Deno.test("2.5 Provider takes every configuration, and functions that return one", () => {
  type Configuration =
    | OIDCConfig<Profile>
    | OAuth2Config<Profile>
    | EmailConfig
    | CredentialsConfig
    | WebAuthnConfig;
  holds<Assignable<Configuration, Provider<Profile>>>();
  holds<Assignable<Configuration & { options?: Record<string, unknown> }, Provider<Profile>>>();
  holds<Assignable<() => OIDCConfig<Profile>, Provider<Profile>>>();
  holds<Assignable<() => OAuth2Config<Profile>, Provider<Profile>>>();
  holds<Assignable<() => EmailConfig, Provider<Profile>>>();
  holds<Assignable<() => CredentialsConfig, Provider<Profile>>>();
  holds<Assignable<() => WebAuthnConfig, Provider<Profile>>>();
  holds<Same<Provider<Profile>, core.Provider<Profile>>>();
  // @ts-expect-error no such kind of provider
  holds<Assignable<{ id: string; name: string; type: "saml" }, Provider>>();
});

Deno.test("2.5 AppProviders and BuiltInProviders", () => {
  holds<Same<AppProviders, Array<Provider | ReturnType<BuiltInProviders[keyof BuiltInProviders]>>>>();
  holds<Assignable<AppProviders, FastifyAuthConfig["providers"]>>();
  holds<Assignable<FastifyAuthConfig["providers"], AppProviders>>();

  // deno-lint-ignore no-explicit-any -- the contract's factories are of any profile
  type OAuthFactory = (config: Partial<OAuthConfig<any>>) => OAuthConfig<any>;
  type WebAuthnFactory = (config: Partial<WebAuthnConfig>) => WebAuthnConfig;
  holds<Same<keyof BuiltInProviders, OAuthProviderType | "credentials" | "email" | WebAuthnProviderType>>();
  holds<Assignable<BuiltInProviders, Record<OAuthProviderType, OAuthFactory>>>();
  holds<Same<BuiltInProviders["github"], OAuthFactory>>();
  holds<Same<BuiltInProviders[CredentialsProviderType], typeof Credentials>>();
  holds<Same<BuiltInProviders[EmailProviderType], typeof Email>>();
  holds<Assignable<BuiltInProviders, Record<WebAuthnProviderType, WebAuthnFactory>>>();
});

Deno.test("2.5 FastifyAuthConfig is core's configuration without raw; the plugin's additions are optional", () => {
  type CoreConfig = Omit<AuthConfig, "raw">;
  type Extended = "pages" | "session";
  none<Differing<Omit<FastifyAuthConfig, Extended>, Omit<CoreConfig, Extended>>>();
  none<Differing<FastifyAuthConfig["session"] & object, CoreConfig["session"] & object>>();
  type FurtherOfSession = Further<FastifyAuthConfig["session"] & object, CoreConfig["session"] & object>;
  holds<Same<FurtherOfSession, "ephemeralMaxAge">>();
  none<Differing<FastifyAuthConfig["pages"] & object, CoreConfig["pages"] & object>>();
  type FurtherPages = Further<FastifyAuthConfig["pages"] & object, CoreConfig["pages"] & object>;
  holds<
    Same<
      FurtherPages,
      | "confirmEmail"
      | "darkLogo"
      | "favicon"
      | "language"
      | "languageMenu"
      | "lastUsed"
      | "links"
      | "panel"
      | "passkeyOffer"
      | "siteName"
      | "style"
      | "texts"
      | "themeColor"
    >
  >();
  holds<Assignable<CoreConfig, FastifyAuthConfig>>();
  holds<Assignable<FastifyAuthConfig, CoreConfig>>();
  // @ts-expect-error raw is core's way to return an internal response: none here
  holds<Assignable<"raw", keyof FastifyAuthConfig>>();
});

Deno.test("2.5 GetSessionResult", () => {
  holds<Same<GetSessionResult, Promise<Session | null>>>();
});

Deno.test("4.1 and 4.3 the plugin factory and getSession()", () => {
  holds<Same<Parameters<typeof FastifyAuth>, [config: FastifyAuthConfig]>>();
  holds<Assignable<ReturnType<typeof FastifyAuth>, FastifyPluginAsync>>();
  holds<Assignable<[FastifyRequest, FastifyAuthConfig], Parameters<typeof getSession>>>();
  holds<Same<ReturnType<typeof getSession>, GetSessionResult>>();
});

Deno.test("the config of a route has the types that an application declares in two lines", () => {
  holds<Assignable<FastifyContextConfig, RouteAuthConfig>>();
  const declare = (app: FastifyInstance) => {
    app.get("/", { config: { auth: true } }, () => "");
    app.get(
      "/",
      { config: { auth: { roles: ["a"], authorize: ({ user }) => user?.name === "ada" } } },
      () => "",
    );
    // @ts-expect-error a role is a string
    app.get("/", { config: { auth: { roles: 1 } } }, () => "");
  };
  holds<Assignable<typeof declare, (app: FastifyInstance) => void>>();
});
