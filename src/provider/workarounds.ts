/**
 * Workarounds for providers that fail as core 0.41.3 ships them, each with what the provider does that core does not
 * expect. `provider_flows_test.ts` shows for each that core alone fails. The application's settings come over them.
 */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";
import type { OIDCConfig, ProfileCallback, TokenEndpointHandler, UserinfoEndpointHandler } from "./types.ts";

type Json = Record<string, unknown>;

// deno-lint-ignore no-explicit-any -- each provider has a profile of its own
type Profile = any;

/** Any of core's, with what single ones have besides. */
interface OAuthProvider extends Omit<OIDCConfig<Profile>, "options" | "type"> {
  type: string;
  headers?: Record<string, string>;
  apiKey?: string;
  options?: Partial<OAuthProvider>;
}

/** The settings that replace those of core, and what corrects the tokens before core checks them. */
type Workaround = Partial<OAuthProvider> & { tokens?: (tokens: Json) => Json };

const SECRET_IN_BODY = { token_endpoint_auth_method: "client_secret_post" };

const WORKAROUNDS: Readonly<Record<string, Workaround | ((shipped: OAuthProvider) => Workaround)>> = {
  // Core's userinfo endpoint is a placeholder.
  apple: { idToken: true },
  // There is no userinfo endpoint. Core requires an access token, which is issued only with the scope of an API; the
  // client id is such a scope.
  "azure-ad-b2c": ({ clientId, options }) => ({
    idToken: true,
    authorization: { params: { scope: `openid offline_access ${options?.clientId ?? clientId}` } },
  }),
  // Requires `state`, and always puts a nonce into the ID token, which has the name in a claim of its own.
  battlenet: { checks: ["state", "nonce"], idToken: true },
  // Core's address contains a placeholder, and its request lacks the API key.
  bungie: {
    userinfo: userinfoFrom(
      "https://www.bungie.net/Platform/User/GetMembershipsForCurrentUser/",
      (token, { headers, apiKey = "" }) => ({
        headers: { authorization: `Bearer ${token}`, "x-api-key": headers?.["X-API-Key"] ?? apiKey },
      }),
    ),
  },
  "click-up": { client: SECRET_IN_BODY, tokens: toStandardTokens },
  // Without the option `scope`, core sends the text "undefined".
  dribbble: ({ options }) => ({
    authorization: {
      url: "https://dribbble.com/oauth/authorize",
      params: { scope: (options as { scope?: string } | undefined)?.scope ?? "public" },
    },
  }),
  // Its ID token has no `exp`, which core requires. The user's data come from userinfo.
  faceit: { tokens: ({ id_token: _unused, ...tokens }) => tokens },
  foursquare: { client: SECRET_IN_BODY, tokens: toStandardTokens },
  instagram: { tokens: toStandardTokens },
  // The Authorization header has its own scheme.
  mailchimp: ({ userinfo }) => ({
    client: SECRET_IN_BODY,
    tokens: toStandardTokens,
    userinfo: userinfoFrom(userinfo, (token) => ({ headers: { authorization: `OAuth ${token}` } })),
  }),
  // Requires `state` and the access token in the query. The picture is called `image`.
  mailru: ({ userinfo }) => ({
    checks: ["pkce", "state"],
    userinfo: userinfoFrom(userinfo, (token = "") => ({ query: { access_token: token } })),
    profile: ({ id, name, email, image }) => ({ id, name, email, image }),
  }),
  // Requires `state`, and returns `scope` as a list.
  medium: { checks: ["state"], client: SECRET_IN_BODY, tokens: toStandardTokens },
  // The userinfo endpoint is an option that core does not read.
  netsuite: ({ options }) => options?.userinfo ? { userinfo: options.userinfo } : {},
  // Requires `state`.
  naver: { checks: ["state"] },
  // The user is not in a member `data`.
  threads: ({ profile }) => ({
    tokens: toStandardTokens,
    profile: (user, tokens) => profile!(user.data ? user : { data: user }, tokens),
  }),
  // Core's userinfo endpoint has no address, and the API that it requests was shut down in February 2026.
  todoist: { userinfo: "https://api.todoist.com/api/v1/user" },
  vk: { tokens: toStandardTokens },
  // The fragment is required. Only applications of an open-platform account get a `unionid`: without one,
  // core would create a user with each sign-in.
  wechat: ({ authorization, profile }) => ({
    authorization: { ...Object(authorization), url: `${Object(authorization).url}#wechat_redirect` },
    profile: async (user, tokens) => ({ ...await profile!(user, tokens), id: user.unionid ?? user.openid }),
  }),
};

/** Only core's factories keep settings under `options`: a provider that the application wrote needs no workaround. */
export function applyWorkarounds(provider: Provider): Provider {
  const shipped = provider as unknown as OAuthProvider;
  if (shipped.type !== "oauth" && shipped.type !== "oidc") return provider;
  const known = "options" in shipped && Object.hasOwn(WORKAROUNDS, shipped.id) ? WORKAROUNDS[shipped.id]! : {};
  const { tokens, ...replaced } = typeof known === "function" ? known(shipped) : known;
  const token = tokens && { token: withTokenFix(shipped.token, tokens) };
  return withCommonFixes({ ...shipped, ...replaced, ...token }) as unknown as Provider;
}

/** For every provider: core would send the texts "undefined" and "null" for unset parameters; user ids are strings. */
function withCommonFixes(provider: OAuthProvider): OAuthProvider {
  const fixed = { ...provider };
  if (provider.options) fixed.options = { ...provider.options };
  for (const part of fixed.options ? [fixed, fixed.options] : [fixed]) {
    for (const name of ["authorization", "token", "userinfo"] as const) {
      const endpoint = part[name];
      // Core takes null for unset.
      if (typeof endpoint === "object" && endpoint?.params) {
        part[name] = { ...endpoint, params: withoutUnset(endpoint.params) } as never;
      }
    }
    if (part.profile) part.profile = withStringId(part.profile);
  }
  return fixed;
}

/** Of a list of scopes core would make "a,b". */
function withoutUnset(members: Json): Json {
  const set = Object.entries(members).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(set.map(([name, value]) => {
    return [name, name === "scope" && Array.isArray(value) ? value.join(" ") : value];
  }));
}

/** `providerAccountId` is a text: a database may find nothing else in its column, and JSON has no bigint. */
function withStringId(profile: ProfileCallback<Profile>): ProfileCallback<Profile> {
  return async function (this: unknown, ...args) {
    const user = await profile.apply(this, args);
    const { id } = user ?? {};
    return id === undefined || id === null || typeof id === "string" ? user : { ...user, id: String(id) };
  };
}

function withTokenFix(token: OAuthProvider["token"], correct: (tokens: Json) => Json): TokenEndpointHandler {
  const endpoint = typeof token === "string" ? { url: token } : token;
  return {
    ...endpoint,
    async conform(response) {
      if (!response.ok) return undefined;
      const tokens = await response.json();
      return tokens?.access_token ? Response.json(correct(tokens)) : undefined;
    },
  };
}

/** RFC 6749 section 5.1: a token type, no null members, and the scopes as one text. */
function toStandardTokens(tokens: Json): Json {
  return { token_type: "bearer", ...withoutUnset(tokens) };
}

type Added = { readonly headers?: Record<string, string>; readonly query?: Record<string, string> };

/** Requests the user's data with other headers or parameters than core's. */
function userinfoFrom(
  address: OAuthProvider["userinfo"],
  add: (accessToken: string | undefined, provider: Pick<OAuthProvider, "apiKey" | "headers">) => Added,
): UserinfoEndpointHandler {
  return {
    url: address as string,
    async request({ tokens, provider }) {
      const { headers, query = {} } = add(tokens.access_token, provider as object);
      const url = new URL(provider.userinfo!.url);
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      const init = { headers: { accept: "application/json", ...headers }, redirect: "manual" } as const;
      const response = await (provider[customFetch] ?? fetch)(url, init);
      if (response.ok) return await response.json();
      throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", `"${provider.id}" answered ${response.status}.`);
    },
  };
}

/** What two factories add to the issuer for `wellKnown`, although it ends with that already: core reads none. */
const REPEATED: Readonly<Record<string, string>> = { asgardeo: "/oauth2/token/", onelogin: "/oidc/2/" };

/** Leaves out a discovery address that cannot be right, so that the one below the issuer is used. */
export function withoutRepeatedPath(provider: Provider): Provider {
  const { wellKnown, ...rest } = provider as unknown as Json & { id: string; options?: { issuer?: unknown } };
  const wrong = `${rest.options?.issuer}${REPEATED[rest.id]}.well-known/openid-configuration`;
  return Object.hasOwn(REPEATED, rest.id) && wellKnown === wrong ? rest as unknown as Provider : provider;
}
