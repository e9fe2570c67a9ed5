/**
 * Workarounds for providers that fail as core 0.41.3 ships them.
 *
 * Each entry says what the provider does that core does not expect. `tests/provider_flows_test.ts` shows that core alone
 * fails there, and that the plugin does not. What an application sets itself still wins: core merges it over what is here.
 *
 * @module
 */
import { customFetch } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";

type Json = Record<string, unknown>;

interface Endpoint {
  url?: string;
  params?: Json;
  request?: (context: UserinfoContext) => Promise<Json>;
  conform?: (response: Response) => Promise<Response | undefined>;
}

/** What core calls `userinfo.request` with. */
interface UserinfoContext {
  tokens: { access_token?: string };
  provider: OAuthProvider & { userinfo?: { url: URL } };
}

// deno-lint-ignore no-explicit-any -- each provider has a profile of its own
type ProfileMapping = (profile: any, tokens: unknown) => Json | Promise<Json>;

/** The part of a provider that is read or replaced. */
interface OAuthProvider {
  id: string;
  type: string;
  clientId?: string;
  headers?: Record<string, string>;
  apiKey?: string;
  client?: Json;
  checks?: string[];
  idToken?: boolean;
  authorization?: string | Endpoint;
  token?: string | Endpoint;
  userinfo?: string | Endpoint;
  profile?: ProfileMapping;
  options?: Partial<OAuthProvider>;
  [customFetch]?: typeof fetch;
}

/** What is to be different from what core ships. */
type Workaround = (shipped: OAuthProvider) => Partial<OAuthProvider>;

const SECRET_IN_BODY = { token_endpoint_auth_method: "client_secret_post" };

/** The workarounds by the id of the provider. */
const WORKAROUNDS: Readonly<Record<string, Workaround>> = {
  // What core gives for its userinfo endpoint is a placeholder.
  apple: () => ({ idToken: true }),
  // Discovery names no userinfo endpoint, which core demands without using it. Without a scope for some API there is no
  // access token, which core demands as well: the application's own id is such a scope.
  "azure-ad-b2c": ({ clientId, options }) => ({
    idToken: true,
    authorization: { params: { scope: `openid offline_access ${options?.clientId ?? clientId}` } },
    [customFetch]: withUserinfoEndpoint(options?.[customFetch] ?? ((...request) => fetch(...request))),
  }),
  // Refuses a sign-in without `state`, and puts a nonce into the ID token whether one was sent or not. The name is in a
  // claim of its own there.
  battlenet: () => ({ checks: ["state", "nonce"], idToken: true }),
  // Core asks at an address with a placeholder in it, and without the key that goes with every request.
  bungie: () => ({
    userinfo: {
      url: "https://www.bungie.net/Platform/User/GetMembershipsForCurrentUser/",
      request: (context) =>
        ask(context, {
          ...credential(context, "Bearer"),
          "x-api-key": context.provider.headers?.["X-API-Key"] ?? context.provider.apiKey ?? "",
        }),
    },
  }),
  "click-up": ({ token }) => ({ client: SECRET_IN_BODY, token: withTokenFix(token, toStandardTokens) }),
  // Its scope is an option, and the text "undefined" without it.
  dribbble: ({ options }) => ({
    authorization: {
      url: "https://dribbble.com/oauth/authorize",
      params: { scope: (options as { scope?: string } | undefined)?.scope ?? "public" },
    },
  }),
  // Sends an ID token along that has no `exp`; the user's data come from userinfo.
  faceit: ({ token }) => ({ token: withTokenFix(token, ({ id_token: _unused, ...tokens }) => tokens) }),
  foursquare: ({ token }) => ({ client: SECRET_IN_BODY, token: withTokenFix(token, toStandardTokens) }),
  instagram: ({ token }) => ({ token: withTokenFix(token, toStandardTokens) }),
  // A scheme of its own in the Authorization header.
  mailchimp: ({ token, userinfo }) => ({
    client: SECRET_IN_BODY,
    token: withTokenFix(token, toStandardTokens),
    userinfo: {
      url: userinfo as string,
      request: (context) => ask(context, credential(context, "OAuth")),
    },
  }),
  // `state` is a required parameter, the access token goes into the query, and the picture is called `image`.
  mailru: ({ userinfo }) => ({
    checks: ["pkce", "state"],
    userinfo: {
      url: userinfo as string,
      request: (context) => ask(context, {}, { access_token: context.tokens.access_token ?? "" }),
    },
    profile: ({ id, name, email, image }) => ({ id, name, email, image }),
  }),
  // `state` is a required parameter, and `scope` comes back as a list.
  medium: ({ token }) => ({
    checks: ["state"],
    client: SECRET_IN_BODY,
    token: withTokenFix(token, toStandardTokens),
  }),
  // Its userinfo endpoint is an option, and core does not look for it there.
  netsuite: ({ options }) => options?.userinfo ? { userinfo: options.userinfo } : {},
  // `state` is a required parameter.
  naver: () => ({ checks: ["state"] }),
  // The user is not inside a `data` member.
  threads: ({ token, profile }) => ({
    token: withTokenFix(token, toStandardTokens),
    profile: (user, tokens) => profile!(user.data ? user : { data: user }, tokens),
  }),
  // Core refuses a userinfo endpoint without an address, and the one it would ask was shut down in February 2026.
  todoist: () => ({ userinfo: "https://api.todoist.com/api/v1/user" }),
  vk: ({ token }) => ({ token: withTokenFix(token, toStandardTokens) }),
  // The fragment is required. Only an application of an open-platform account is told a `unionid`: without it each
  // sign-in would look like another person's.
  wechat: ({ authorization, profile }) => ({
    authorization: {
      ...authorization as Endpoint,
      url: `${(authorization as Endpoint).url}#wechat_redirect`,
    },
    profile: async (user, tokens) => ({ ...await profile!(user, tokens), id: user.unionid ?? user.openid }),
  }),
};

/**
 * The provider with the workaround it needs. A provider that the application wrote itself stays as it is, whatever its id.
 *
 * @param provider A copy that has been completed from the environment.
 */
export function applyWorkarounds(provider: Provider): Provider {
  const shipped = provider as unknown as OAuthProvider;
  if (shipped.type !== "oauth" && shipped.type !== "oidc") return provider;
  // Only core's factories keep the application's settings under `options`.
  const known = "options" in shipped && Object.hasOwn(WORKAROUNDS, shipped.id);
  const replaced = known ? WORKAROUNDS[shipped.id]!(shipped) : {};
  return withCommonFixes({ ...shipped, ...replaced }) as unknown as Provider;
}

/** For every provider: parameters that are not set are not sent, and ids of users are strings. */
function withCommonFixes(provider: OAuthProvider): OAuthProvider {
  const fixed = { ...provider };
  for (const name of ["authorization", "token", "userinfo"] as const) {
    const endpoint = provider[name];
    if (typeof endpoint === "object" && endpoint.params) {
      fixed[name] = { ...endpoint, params: withoutUndefined(endpoint.params) };
    }
  }
  if (provider.profile) fixed.profile = withStringId(provider.profile);
  if (provider.options?.profile) {
    fixed.options = { ...provider.options, profile: withStringId(provider.options.profile) };
  }
  return fixed;
}

/** Core would send the text "undefined", over its own `redirect_uri` for instance. */
function withoutUndefined(params: Json): Json {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}

/** `providerAccountId` is a string by its type; a number is not found again in a database's text column. */
function withStringId(profile: ProfileMapping): ProfileMapping {
  return async function (this: unknown, ...args) {
    const user = await profile.apply(this, args);
    return typeof user?.id === "number" ? { ...user, id: String(user.id) } : user;
  };
}

/** The token endpoint, with what it answers corrected before core checks it. */
function withTokenFix(token: string | Endpoint | undefined, correct: (tokens: Json) => Json): Endpoint {
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

/** Tokens without a type are bearer tokens; what is null is not there; a list of scopes is one text (RFC 6749, 5.1). */
function toStandardTokens({ scope, ...tokens }: Json): Json {
  const given = Object.entries({ ...tokens, scope: Array.isArray(scope) ? scope.join(" ") : scope })
    .filter(([, value]) => value !== null && value !== undefined);
  return { token_type: "bearer", ...Object.fromEntries(given) };
}

function withUserinfoEndpoint(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const url = input instanceof Request ? input.url : input;
    if (!response.ok || !String(url).endsWith("/.well-known/openid-configuration")) return response;
    const { origin } = new URL(url);
    return Response.json({ userinfo_endpoint: `${origin}/not-there`, ...await response.json() });
  };
}

function credential({ tokens }: UserinfoContext, scheme: string): Record<string, string> {
  return { authorization: `${scheme} ${tokens.access_token}` };
}

/** Asks for the user's data the way this provider wants to be asked. */
async function ask(
  context: UserinfoContext,
  headers: Record<string, string>,
  query: Record<string, string> = {},
): Promise<Json> {
  const { provider } = context;
  const url = new URL(provider.userinfo!.url);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  const response = await (provider[customFetch] ?? fetch)(url, {
    headers: { accept: "application/json", ...headers },
    redirect: "manual",
  });
  if (response.ok) return await response.json();
  throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", `"${provider.id}" answered ${response.status}.`);
}
