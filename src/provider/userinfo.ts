/** Reads claims from userinfo if the ID token has none: many servers return them there only (OIDC Core section 5.4). */
import type { Provider } from "@auth/core/providers";
import type { Profile, TokenSet } from "@auth/core/types";
import * as oauth from "oauth4webapi";
import { invalidProvider } from "../errors.ts";
import { NO_USERINFO } from "./discovery.ts";
import { openIdMetadata, requestOptions, toOpenIdClient } from "./openid_client.ts";
import { defaultProfile, type Settings } from "./settings.ts";
import type { OIDCConfigInternal, ProfileCallback } from "./types.ts";

type Configured = OIDCConfigInternal<Profile> & { issuer?: string };

/** The claims of the scopes `profile` and `email` that core makes a user from. */
const USER_CLAIMS = ["name", "nickname", "preferred_username", "picture", "email"];

const DEFAULT_SCOPE = "openid profile email";

/** Not if `idToken` is set: with `false` core always reads userinfo, with `true` never. */
export function completeFromUserinfo(provider: Provider): Provider {
  const { type, idToken, profile: own } = provider as unknown as Settings;
  if (type !== "oidc" || idToken !== undefined) return provider;
  const toUser = (own ?? defaultProfile) as ProfileCallback<Profile>;
  /** Core calls it as a method of the provider, and passes the claims to callbacks and events, too. */
  async function profile(this: Configured, claims: Profile, tokens: TokenSet) {
    if (needsUserinfo(this, claims, tokens)) {
      for (const [name, value] of Object.entries(await readUserinfo(this, claims, tokens))) {
        // Those of the ID token stay: a userinfo response that is a JWT has another `iss`, `aud` and `exp`. Inherited
        // members such as `__proto__` are not missing.
        if (isMissing(claims[name])) claims[name] = value;
      }
    }
    return await toUser.call(this, claims, tokens);
  }
  return { ...provider, profile } as Provider;
}

function needsUserinfo({ authorization }: Configured, claims: Profile, { scope }: TokenSet): boolean {
  // Without a scope in the response, the requested one was granted (RFC 6749 section 5.1).
  const granted = scope ?? authorization?.url.searchParams.get("scope") ?? DEFAULT_SCOPE;
  return /(?:^|[\s,])(?:profile|email)(?:[\s,]|$)/.test(granted) &&
    USER_CLAIMS.every((name) => isMissing(claims[name]));
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === "";
}

/** Its claims, if there is an endpoint. `sub` must be that of the ID token (OpenID Connect Core section 5.3.2). */
async function readUserinfo(provider: Configured, { sub }: Profile, tokens: TokenSet): Promise<Profile> {
  const { id, clientId, client, userinfo } = provider;
  if (userinfo?.request) {
    const claims = await userinfo.request({ tokens, provider } as never) as Profile;
    if (claims?.sub === sub) return claims;
    throw invalidProvider(`The \`sub\` that \`userinfo.request\` of "${id}" returns is not that of the ID token.`);
  }
  const server = await serverOf(provider);
  if ([undefined, NO_USERINFO].includes(server.userinfo_endpoint)) return {};
  const settings = { client_id: clientId, ...client };
  const options = requestOptions(toOpenIdClient(provider));
  const response = await oauth.userInfoRequest(server, settings, tokens.access_token!, options);
  return await oauth.processUserInfoResponse(server, settings, sub!, response);
}

/** The server with its userinfo endpoint, configured or found by discovery. */
async function serverOf(provider: Configured): Promise<oauth.AuthorizationServer> {
  const { issuer = "", userinfo, token } = provider;
  if (isSet(userinfo?.url)) return { issuer, userinfo_endpoint: userinfo!.url.href };
  if (!URL.canParse(issuer)) return { issuer };
  return await openIdMetadata(toOpenIdClient(provider)).catch((error) => {
    // If the token endpoint is configured, there may be no discovery document.
    const { status } = (error as { cause?: { status?: number } }).cause ?? {};
    if (isSet(token?.url) && status === 404) return { issuer };
    throw error;
  });
}

/** Core has a placeholder for an endpoint that is found by discovery. */
function isSet(url: URL | undefined): boolean {
  return url !== undefined && url.host !== "authjs.dev";
}
