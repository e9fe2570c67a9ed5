/** The endpoints of the test issuer. */
import { createHash } from "node:crypto";
import { type Grant, newSecret, take } from "./issuer_grants.ts";
import type { IssuerState } from "./issuer_state.ts";
import { signIdToken } from "./issuer_tokens.ts";

/** A request to the issuer. */
export interface IssuerRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: URLSearchParams;
  /** The Authorization header. */
  readonly authorization: string;
}

/** Its answer: a redirect, or JSON. */
export interface IssuerAnswer {
  readonly status: number;
  readonly location?: string;
  readonly body?: unknown;
}

type Endpoint = (request: IssuerRequest, issuer: IssuerState) => IssuerAnswer;

/** Answers a request. */
export function answerIssuer(request: IssuerRequest, issuer: IssuerState): IssuerAnswer {
  issuer.requests.push(`${request.method} ${request.path}`);
  const endpoint = ENDPOINTS[request.path];
  return endpoint?.(request, issuer) ??
    refusal(404, "not_found", `There is nothing at ${request.path}.`);
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  "/.well-known/openid-configuration": (_request, { url }) => ({ status: 200, body: metadata(url) }),
  "/jwks": (_request, { key }) => ({ status: 200, body: { keys: [key.jwk] } }),
  "/authorize": authorize,
  "/token": token,
  "/userinfo": userinfo,
  "/logout": logout,
};

/** OpenID Connect Discovery 1.0, section 3. */
function metadata(issuer: string) {
  return {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    end_session_endpoint: `${issuer}/logout`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "none"],
    code_challenge_methods_supported: ["S256"],
    scopes_supported: ["openid", "profile", "email", "offline_access"],
    authorization_response_iss_parameter_supported: true,
  };
}

/** The authorization endpoint, which asks the user nothing. */
function authorize({ query }: IssuerRequest, issuer: IssuerState): IssuerAnswer {
  const redirectUri = query.get("redirect_uri");
  if (redirectUri === null || !URL.canParse(redirectUri)) {
    return refusal(400, "invalid_request", "`redirect_uri` is not a URL.");
  }
  const location = new URL(redirectUri);
  const answer = (parameters: Record<string, string>): IssuerAnswer => {
    const state = query.get("state");
    for (const [name, value] of Object.entries({ ...parameters, ...(state !== null && { state }) })) {
      location.searchParams.set(name, value);
    }
    location.searchParams.set("iss", issuer.url); // RFC 9207
    return { status: 302, location: location.href };
  };
  if (issuer.error !== undefined) return answer({ error: issuer.error });
  if (typeof issuer.user?.sub !== "string" || issuer.user.sub === "") {
    return refusal(400, "invalid_request", 'The user has no `sub`: give one, as in `{ sub: "42" }`.');
  }
  if (query.get("response_type") !== "code") return answer({ error: "unsupported_response_type" });
  const challenge = query.get("code_challenge") ?? undefined;
  if (challenge !== undefined && query.get("code_challenge_method") !== "S256") {
    return answer({ error: "invalid_request", error_description: "Only S256 is supported." });
  }
  const code = newSecret();
  issuer.grants.codes.set(code, {
    user: { ...issuer.user },
    clientId: query.get("client_id") ?? "",
    scope: query.get("scope") ?? "openid",
    redirectUri,
    nonce: query.get("nonce") ?? undefined,
    challenge,
    acr: query.get("acr_values")?.split(" ")[0],
    authTime: Math.floor(Date.now() / 1000),
    sid: newSecret(),
  });
  return answer({ code });
}

/** The token endpoint (RFC 6749 sections 4.1.3 and 6). */
function token(request: IssuerRequest, issuer: IssuerState): IssuerAnswer {
  const { body } = request;
  const { codes, refreshTokens } = issuer.grants;
  const refused = (why: string) => refusal(400, "invalid_grant", why);
  let grant: Grant | undefined;
  switch (body.get("grant_type")) {
    case "authorization_code":
      grant = take(codes, body.get("code"));
      if (grant === undefined) return refused("The code is unknown, or was used.");
      if (grant.redirectUri !== body.get("redirect_uri")) return refused("`redirect_uri` is another one.");
      if (!isVerified(grant, body.get("code_verifier"))) {
        return refused("`code_verifier` is not that of the challenge.");
      }
      break;
    case "refresh_token":
      grant = take(refreshTokens, body.get("refresh_token"));
      if (grant === undefined) return refused("The refresh token is unknown, or was used.");
      break;
    default:
      return refusal(400, "unsupported_grant_type", "`grant_type` is authorization_code or refresh_token.");
  }
  if (grant.clientId !== clientOf(request)) return refused("It was issued to another client.");
  return { status: 200, body: issueTokens(grant, issuer) };
}

function issueTokens(grant: Grant, issuer: IssuerState) {
  const { grants, key, lifetime, url } = issuer;
  const accessToken = newSecret();
  grants.accessTokens.set(accessToken, { grant, expires: Date.now() + lifetime * 1000 });
  const scopes = grant.scope.split(" ");
  const refreshToken = scopes.includes("offline_access") ? newSecret() : undefined;
  if (refreshToken !== undefined) grants.refreshTokens.set(refreshToken, grant);
  return {
    access_token: accessToken,
    token_type: "Bearer",
    expires_in: lifetime,
    scope: grant.scope,
    ...(refreshToken && { refresh_token: refreshToken }),
    ...(scopes.includes("openid") && { id_token: signIdToken(grant, { issuer: url, key, lifetime }) }),
  };
}

/** RFC 7636 section 4.6. */
function isVerified({ challenge }: Grant, verifier: string | null): boolean {
  if (challenge === undefined) return true;
  return verifier !== null && createHash("sha256").update(verifier).digest("base64url") === challenge;
}

/** The client, by any way to authenticate. Secrets do not count. */
function clientOf({ authorization, body }: IssuerRequest): string {
  const basic = /^Basic (.+)$/i.exec(authorization)?.[1];
  if (basic === undefined) return body.get("client_id") ?? "";
  const [id = ""] = atob(basic).split(":");
  return decodeURIComponent(id.replaceAll("+", " ")); // RFC 6749 section 2.3.1
}

/** The userinfo endpoint (OpenID Connect Core 1.0, section 5.3). */
function userinfo({ authorization }: IssuerRequest, { grants }: IssuerState): IssuerAnswer {
  const found = grants.accessTokens.get(/^Bearer (.+)$/i.exec(authorization)?.[1] ?? "");
  if (found === undefined || found.expires <= Date.now()) {
    return refusal(401, "invalid_token", "The access token is unknown, or has expired.");
  }
  return { status: 200, body: found.grant.user };
}

/** The end-session endpoint (OpenID Connect RP-Initiated Logout 1.0), which asks the user nothing. */
function logout({ query, body }: IssuerRequest): IssuerAnswer {
  const parameter = (name: string) => query.get(name) ?? body.get(name);
  const target = parameter("post_logout_redirect_uri");
  if (target === null || !URL.canParse(target)) return { status: 200, body: { signedOut: true } };
  const location = new URL(target);
  const state = parameter("state");
  if (state !== null) location.searchParams.set("state", state);
  return { status: 302, location: location.href };
}

function refusal(status: number, error: string, description: string): IssuerAnswer {
  return { status, body: { error, error_description: description } };
}
