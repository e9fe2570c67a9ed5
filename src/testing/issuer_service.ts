/**
 * The endpoints of the test issuer: those of `oauth2-mock-server`, which takes every client, for users and with grants
 * of our own: its tokens are all for one user, and its refresh tokens are not looked at.
 */
import { AssertionError } from "node:assert";
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { invalidConfig } from "../errors.ts";

/**
 * A user of the provider: the claims of ID tokens and of the userinfo endpoint (OpenID Connect Core 1.0, section 5.1).
 */
export interface IssuerUser {
  /** The id of the user at the provider. */
  sub: string;
  /** The full name. */
  name?: string;
  /** The e-mail address. */
  email?: string;
  /** Whether the provider has verified the address. */
  email_verified?: boolean;
  /** The address of a picture. */
  picture?: string;
  /** Any other claim, such as `groups`. */
  [claim: string]: unknown;
}

type TokenRequest = IncomingMessage & { readonly body: Readonly<Record<string, unknown>> };
type Answer = { statusCode: number; body: Record<string, unknown> };

/** What the endpoints of the library tell before they answer. */
interface Events {
  beforeAuthorizeRedirect: (redirect: { readonly url: URL }, request: IncomingMessage) => void;
  beforeTokenSigning: (token: { payload: Record<string, unknown> }, request: TokenRequest) => void;
  beforeResponse: (answer: Answer, request: TokenRequest) => void;
  beforeUserinfo: (answer: Answer, request: IncomingMessage) => void;
}

interface Service {
  readonly requestHandler: (request: IncomingMessage, response: ServerResponse) => void;
  on<Name extends keyof Events>(event: Name, listener: Events[Name]): void;
}

/** The part of `oauth2-mock-server` that is used. */
interface MockServer {
  readonly OAuth2Server: new (key: undefined, certificate: undefined, options: object) => {
    readonly issuer: { url: string | undefined; keys: { generate(algorithm: string): Promise<unknown> } };
    readonly service: Service;
  };
}

/**
 * Loads the library. It is an optional peer, so nothing imports it by name: bundlers and Deno would want it for every
 * application.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not installed.
 */
export async function loadMockServer(
  load = async (name: string): Promise<MockServer> => await import(/* webpackIgnore: true */ name),
): Promise<MockServer> {
  try {
    return await load("oauth2-mock-server");
  } catch (cause) {
    throw invalidConfig(
      "startIssuer() needs the package oauth2-mock-server, 8.2 or later, which cannot be loaded. Run " +
        "`npm install --save-dev oauth2-mock-server` (`pnpm add -D`, `yarn add -D`, `bun add -d`, or `deno add " +
        "npm:oauth2-mock-server`); on Node 20, `oauth2-mock-server@8`.",
      { cause },
    );
  }
}

/** What a client was allowed, and by whom. */
interface Grant {
  readonly user: IssuerUser;
  readonly scopes: readonly string[];
  readonly redirectUri: unknown;
  /** Claims of its tokens. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** A parameter of the authorization request: who signs in instead of `user`, in JSON. */
export const USER = "test_user";

/**
 * Makes the endpoints.
 * @param lifetime How long tokens last, in seconds.
 */
export async function issuerService(
  { OAuth2Server }: MockServer,
  url: string,
  lifetime: number,
  state: { readonly user: IssuerUser; readonly error: string | undefined },
): Promise<Service> {
  const { issuer, service } = new OAuth2Server(undefined, undefined, { endpoints: { endSession: "/logout" } });
  issuer.url = url;
  await issuer.keys.generate("RS256"); // the one that every client knows (OpenID Connect Core 1.0, section 15.1)
  /** By the type of the grant, and the code or token. */
  const grants = new Map<string, Grant>();
  const accessTokens = new Map<unknown, { readonly user: IssuerUser; readonly expires: number }>();

  service.on("beforeAuthorizeRedirect", ({ url: { searchParams: answer } }, { url: path = "" }) => {
    answer.set("iss", url); // RFC 9207
    if (state.error !== undefined) {
      answer.delete("code");
      answer.set("error", state.error);
    }
    if (!answer.has("code")) return;
    const { searchParams: query } = new URL(path, url);
    const user: IssuerUser = { ...JSON.parse(query.get(USER) ?? "null") ?? state.user };
    if (typeof user.sub !== "string" || user.sub === "") {
      // The library answers this one with 400.
      throw new AssertionError({ message: "The user has no `sub`: give one, as in `{ sub: '42' }`." });
    }
    const acr = query.get("acr_values")?.split(" ")[0];
    const time = Math.floor(Date.now() / 1000);
    const claims = { aud: query.get("client_id"), auth_time: time, sid: randomUUID(), ...(acr && { acr }) };
    const scopes = (query.get("scope") ?? "openid").split(" ");
    const redirectUri = query.get("redirect_uri");
    grants.set(`authorization_code ${answer.get("code")}`, { user, scopes, redirectUri, claims });
  });

  service.on("beforeTokenSigning", (token, request) => {
    const { user, claims } = grants.get(grantOf(request)) ?? {};
    const { iss, iat, nonce } = token.payload;
    const own = { iss, iat, exp: Number(iat) + lifetime, jti: randomUUID() };
    token.payload = { ...user, ...claims, ...own, ...(nonce !== undefined && { nonce }) };
  });

  service.on("beforeResponse", (answer, request) => {
    const grant = grants.get(grantOf(request));
    // Each is used once.
    grants.delete(grantOf(request));
    const { redirect_uri: redirectUri = grant?.redirectUri } = request.body;
    if (grant === undefined || redirectUri !== grant.redirectUri) return refuse(answer, 400, "invalid_grant");
    const { access_token, id_token, refresh_token } = answer.body;
    const { user, scopes } = grant;
    const isOffline = scopes.includes("offline_access");
    accessTokens.set(access_token, { user, expires: Date.now() + lifetime * 1000 });
    if (isOffline) grants.set(`refresh_token ${refresh_token}`, grant);
    answer.body = {
      access_token,
      token_type: "Bearer",
      expires_in: lifetime,
      scope: scopes.join(" "),
      ...(isOffline && { refresh_token }),
      ...(scopes.includes("openid") && { id_token }),
    };
  });

  service.on("beforeUserinfo", (answer, { headers: { authorization = "" } }) => {
    const { user, expires = 0 } = accessTokens.get(authorization.replace(/^Bearer /i, "")) ?? {};
    if (user === undefined || expires <= Date.now()) refuse(answer, 401, "invalid_token");
    else answer.body = user;
  });
  return service;
}

function grantOf({ body }: TokenRequest): string {
  return `${body.grant_type} ${body.code ?? body.refresh_token}`;
}

function refuse(answer: Answer, status: number, error: string): void {
  answer.statusCode = status;
  answer.body = { error, error_description: "It is unknown, was used, has expired, or is of another `redirect_uri`." };
}
