/**
 * The user's data where an ID token has none: many servers give them at the userinfo endpoint only, as OpenID Connect
 * Core section 5.4 says where an access token is issued.
 *
 * @module
 */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import type { Profile, TokenSet } from "@auth/core/types";
import * as oauth from "oauth4webapi";
import type { OIDCConfigInternal, ProfileCallback } from "./types.ts";
import { FastifyAuthError } from "../errors.ts";

type Part = Record<PropertyKey, unknown>;
type Configured = OIDCConfigInternal<Profile> & { issuer?: string };

/** The claims of the scopes `profile` and `email` that make a user. */
const USER_CLAIMS = ["name", "nickname", "preferred_username", "picture", "email"];

/** What core asks for where the provider does not say. */
const DEFAULT_SCOPE = "openid profile email";

/** Stands where core has no URL of an endpoint, which is then found by discovery. */
const NO_HOST = "authjs.dev";

/**
 * The provider with a `profile` that is given the claims of the userinfo endpoint as well, where the ID token has none
 * although `profile` or `email` was granted. An `idToken` that is set stands: `false` always asks, `true` never.
 *
 * @param provider A provider that is ours to change.
 */
export function completeFromUserinfo(provider: Provider): Provider {
  const { options, ...own } = provider as unknown as Part & { options?: Part };
  if (own.type !== "oidc" || (options?.idToken ?? own.idToken) !== undefined) return provider;
  return {
    ...own,
    profile: afterUserinfo((own.profile ?? defaultProfile) as ProfileCallback<Profile>),
    ...(options && {
      options: typeof options.profile === "function"
        ? { ...options, profile: afterUserinfo(options.profile as ProfileCallback<Profile>) }
        : options,
    }),
  } as unknown as Provider;
}

/** Core calls `profile` as a method of the provider it works with. */
function afterUserinfo(profile: ProfileCallback<Profile>): ProfileCallback<Profile> {
  return async function (this: Configured, claims, tokens) {
    if (needsUserinfo(this, claims, tokens)) addClaims(claims, await readUserinfo(this, claims, tokens));
    return await profile.call(this, claims, tokens);
  };
}

function needsUserinfo({ authorization }: Configured, claims: Profile, { scope }: TokenSet): boolean {
  // RFC 6749 section 5.1: a scope that is not named is the one that was asked for.
  const granted = scope ?? authorization?.url.searchParams.get("scope") ?? DEFAULT_SCOPE;
  return /(?:^|[\s,])(?:profile|email)(?:[\s,]|$)/.test(granted) &&
    USER_CLAIMS.every((name) => isMissing(claims[name]));
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

/**
 * Adds what is not there yet. The ID token's own claims stay: they were made for this client and this sign-in, and a
 * userinfo response that is a JWT has an `iss`, `aud` and `exp` that are its own.
 *
 * @param claims The object that core hands to the callbacks and events, too.
 */
function addClaims(claims: Profile, userinfo: Profile): void {
  for (const [name, value] of Object.entries(userinfo)) {
    // What every object inherits, `__proto__` for one, is not missing.
    if (isMissing(claims[name])) claims[name] = value;
  }
}

/**
 * What the userinfo endpoint says; nothing where there is none.
 *
 * @throws {Error} where the claims are of another subject than the ID token's: they must not be used (OpenID Connect
 * Core section 5.3.2).
 */
async function readUserinfo(provider: Configured, { sub }: Profile, tokens: TokenSet): Promise<Profile> {
  const { id, clientId, client, userinfo } = provider;
  if (userinfo?.request) {
    const claims = await userinfo.request({ tokens, provider } as never) as Profile;
    if (claims?.sub === sub) return claims;
    throw new FastifyAuthError(
      "FST_AUTHJS_PROVIDER_INVALID",
      `The \`sub\` that \`userinfo.request\` of "${id}" returns is not that of the ID token.`,
    );
  }
  const server = await serverOf(provider);
  if (server.userinfo_endpoint === undefined) return {};
  const settings = { client_id: clientId, ...client };
  const response = await oauth.userInfoRequest(server, settings, tokens.access_token!, options(provider));
  return await oauth.processUserInfoResponse(server, settings, sub!, response) as Profile;
}

/** The server with its userinfo endpoint, if it has one: configured, or found by discovery. */
async function serverOf(provider: Configured): Promise<oauth.AuthorizationServer> {
  const { issuer = "", userinfo, token } = provider;
  if (isSet(userinfo?.url)) return { issuer, userinfo_endpoint: userinfo!.url.href };
  if (!URL.canParse(issuer)) return { issuer };
  try {
    const url = new URL(issuer);
    return await oauth.processDiscoveryResponse(
      url,
      await oauth.discoveryRequest(url, options(provider)),
    );
  } catch (error) {
    // With a token endpoint that is configured there need not be a discovery document.
    const { status } = (error as { cause?: { status?: number } }).cause ?? {};
    if (isSet(token?.url) && status === 404) return { issuer };
    throw error;
  }
}

function isSet(url: URL | undefined): boolean {
  return url !== undefined && url.host !== NO_HOST;
}

/** Plain http is refused where it has to be: in production, by the provider's own `fetch`. */
function options(provider: Configured) {
  return {
    [oauth.allowInsecureRequests]: true,
    // deno-lint-ignore no-explicit-any -- the function is `fetch`, whose types differ from those of oauth4webapi
    [oauth.customFetch]: (provider as unknown as Part)[customFetch] as any,
  };
}

/** What core makes a user with where the provider has no `profile` (`defaultProfile` of 0.41.3, not exported). */
function defaultProfile(claims: Profile) {
  const user = {
    id: claims.sub ?? claims.id ?? crypto.randomUUID(),
    name: claims.name ?? claims.nickname ?? claims.preferred_username,
    email: claims.email,
    image: claims.picture,
  };
  return Object.fromEntries(Object.entries(user).filter(([, value]) => value !== undefined));
}
