/** What routes and boot checks read of the configured providers. */
import type { Provider } from "@auth/core/providers";
import { factoryIdOf } from "./settings.ts";
import type { OIDCConfig } from "./types.ts";

/** One configured provider, with the application's `options` applied. */
export interface ProviderSummary {
  /** Its id, the last part of its callback URL. */
  readonly id: string;
  /** The id that its factory gives, by which core names the environment variables. */
  readonly factoryId: string;
  readonly name: string | undefined;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  readonly isOAuth: boolean;
  /** The checks of its callback: those of OAuth and OIDC, `challenge` for WebAuthn, none for the rest. */
  readonly checks: readonly string[];
  readonly server: ProviderServer;
  /** Whether its callback is a cross-site form (`response_mode=form_post`). */
  readonly formPost: boolean;
  /** The deployment that receives its callbacks and forwards them. */
  readonly redirectProxyUrl: string | undefined;
}

export const SERVER_URLS = ["issuer", "wellKnown", "authorization", "token", "userinfo"] as const;

/** The authorization server of a provider, as far as it is configured. */
export type ProviderServer = Readonly<Record<typeof SERVER_URLS[number], string | undefined>>;

/** As core takes them, null is the same as unset. */
type ProviderShape = Partial<Omit<OIDCConfig<unknown>, "type">> & { readonly type?: string };

export function summarizeProviders(providers: readonly Provider[], redirectProxyUrl?: string): ProviderSummary[] {
  return providers.map((given) => {
    const provider = given as unknown as ProviderShape;
    const { id = "", type = "", name, authorization } = provider;
    const isOAuth = type === "oauth" || type === "oidc";
    const formPost = isOAuth && responseMode(authorization) === "form_post";
    const proxy = isOAuth ? provider.redirectProxyUrl ?? redirectProxyUrl : undefined;
    const checks = isOAuth ? [provider.checks ?? ["pkce"]].flat() : type === "webauthn" ? ["challenge"] : [];
    return {
      id,
      factoryId: factoryIdOf(given),
      name,
      type,
      isOAuth,
      // A redirect proxy reads from `state` which deployment a callback is for.
      checks: proxy === undefined || checks.includes("state") ? checks : [...checks, "state"],
      server: Object.fromEntries(SERVER_URLS.map((name) => [name, toUrl(provider[name])])) as ProviderServer,
      formPost,
      // Core cannot forward forms.
      redirectProxyUrl: formPost ? undefined : proxy,
    };
  });
}

function responseMode(authorization: unknown): unknown {
  const url = toUrl(authorization) ?? "";
  const { params } = Object(authorization) as { params?: { response_mode?: unknown } };
  return params?.response_mode ?? (URL.canParse(url) ? new URL(url).searchParams.get("response_mode") : undefined);
}

function toUrl(endpoint: unknown): string | undefined {
  const url = typeof endpoint === "string" ? endpoint : (Object(endpoint) as { url?: unknown }).url;
  return typeof url === "string" ? url : undefined;
}

/** Whether a provider can end sessions of its users: one of OpenID Connect that has an issuer. */
export function isOpenIdProvider({ type, server }: ProviderSummary): boolean {
  return type === "oidc" && server.issuer !== undefined;
}

/** Whether core asks the issuer for its endpoints. Otherwise it is only compared, and may be any text. */
export function isDiscovered({ authorization, token, userinfo }: ProviderServer): boolean {
  const isSet = (url: string | undefined) => url !== undefined && !/^https:\/\/authjs\.dev\b/.test(url);
  return !isSet(authorization) || !(isSet(token) || isSet(userinfo));
}

/** The address of an issuer's document (OpenID Connect Discovery 1.0, section 4.1). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}
