/** Lets requests with an access token pass a guard, or refuses them (RFC 6750 section 3). */
import type { FastifyRequest } from "fastify";
import { createRemoteJWKSet, customFetch, decodeJwt, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import * as oauth from "oauth4webapi";
import type { Guarded } from "../../core/context.ts";
import { FastifyAuthError } from "../../errors.ts";
import { type PublicOrigin, requireOrigin } from "../../http/origin.ts";
import type { Setup } from "../../instance/feature.ts";
import { type Fetch, limitedFetch } from "../../provider/fetch.ts";
import { PUBLIC_KEY_ALGORITHMS, requestOptions } from "../../provider/openid_client.ts";
import { DEFAULT_PROVIDER_TIMEOUT } from "../../provider/prepare.ts";
import type { GuardedReply } from "../../types.ts";
import { parseJsonObject } from "../../utils/decode.ts";
import { errorChain } from "../../utils/error_chain.ts";
import { Proofs, Refused } from "./dpop.ts";
import type { AccessTokenClaims, ApiIssuer } from "./options.ts";

/** For how long a token that was checked is not checked again, in milliseconds: a key may be withdrawn. */
const JWT_KNOWN_FOR = 10 * 60_000, OPAQUE_KNOWN_FOR = 60_000;

/** For how long the metadata of an issuer are kept, in milliseconds. */
const METADATA_KNOWN_FOR = 10 * 60_000;

/** How many characters of tokens are remembered: some megabytes with their claims. */
const MOST_REMEMBERED = 2 ** 22;

/** Whether the scheme is one of ours, and what a request carries then. */
const SCHEME = /^(?:bearer|dpop)(?: |$)/i;
const CREDENTIALS = /^(bearer|dpop) +([\w.~+/-]+=*) *$/i;

/** Under which requests carry the claims of their token; `null` if a session let them pass. */
const CLAIMS: unique symbol = Symbol("fastify-authjs.accessTokenClaims");

interface WithClaims {
  [CLAIMS]?: AccessTokenClaims | null;
}

/** @returns `undefined` if no guard of the request accepts access tokens. */
export function claimsOf(request: object): AccessTokenClaims | null | undefined {
  return (request as WithClaims)[CLAIMS];
}

interface Server extends ApiIssuer {
  readonly fetch: Fetch;
}

/** The access tokens of one configuration. */
export class AccessTokens {
  readonly #servers: ReadonlyMap<string, Server>;
  readonly #known = new LRUCache<string, AccessTokenClaims>({
    maxSize: MOST_REMEMBERED,
    sizeCalculation: (_claims, key) => key.length,
    ttlResolution: 0,
  });
  readonly #metadata = new LRUCache<string, oauth.AuthorizationServer, Server>({
    max: 100,
    ttl: METADATA_KNOWN_FOR,
    ttlResolution: 0,
    ignoreFetchAbort: true,
    fetchMethod: (_issuer, _stale, { context }) => discover(context),
  });
  readonly #keys = new Map<string, ReturnType<typeof createRemoteJWKSet>>();
  readonly #proofs: Proofs;

  constructor({ config, production, insecure, store }: Setup) {
    const { issuers = [] } = config.apiAccess!;
    const limits = { timeout: config.providerTimeout ?? DEFAULT_PROVIDER_TIMEOUT, production, insecure };
    this.#servers = new Map(issuers.map((each) => {
      const { issuer } = each;
      const limited = limitedFetch(issuer, (...given) => fetch(...given), limits, { issuer });
      return [issuer, { ...each, fetch: fetchOf(issuer, limited) }];
    }));
    this.#proofs = new Proofs(store);
  }

  /**
   * Lets a request with a token pass, with `true`. Gives the challenge for a request without one that needs a session.
   *
   * @throws {FastifyAuthError} 401 or 403, with the challenge on the reply; 503 if it is not known whether a token
   * counts.
   */
  async admit(
    { request, options, auth }: Guarded,
    reply: GuardedReply,
  ): Promise<true | string | undefined> {
    const { tokens = ["session"], scopes = [], audience } = options;
    if (!tokens.includes("access")) return undefined;
    const origin = requireOrigin(request, auth.config.origin);
    const challenge = (scheme: string, error?: string, description?: string) =>
      [
        `${scheme} resource_metadata="${metadataAddress(audience, origin)}"`,
        ...(error === undefined ? [] : [`error="${error}", error_description="${description}"`]),
        ...(scopes.length > 0 && error !== "invalid_token" ? [`scope="${scopes.join(" ")}"`] : []),
      ].join(", ");
    const { authorization = "" } = request.headers;
    // Another scheme, such as Basic of a proxy, is beside the session.
    if (!SCHEME.test(authorization)) {
      (request as WithClaims)[CLAIMS] = null;
      if (tokens.includes("session")) return challenge("Bearer");
      reply.header("www-authenticate", challenge("Bearer"));
      throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Send an access token to use this route.");
    }
    const [, scheme = "Bearer", token] = CREDENTIALS.exec(authorization) ?? [];
    const shown = /^dpop$/i.test(scheme) ? "DPoP" : "Bearer";
    try {
      if (token === undefined) throw new Refused("The Authorization header has no bearer or DPoP token.");
      const claims = await this.#claimsOf(token, shown, audience, { request, origin });
      const held = scopesOf(claims);
      if (!scopes.every((scope) => held.includes(scope))) {
        reply.header("www-authenticate", challenge(shown, "insufficient_scope", "The token lacks a scope."));
        throw new FastifyAuthError(
          "FST_AUTHJS_FORBIDDEN",
          `The token lacks a scope of ${scopes.join(", ")}.`,
        );
      }
      (request as WithClaims)[CLAIMS] = claims;
      return true;
    } catch (error) {
      if (error instanceof FastifyAuthError && error.code !== "FST_AUTHJS_UNAVAILABLE") throw error;
      const unavailable = [...errorChain(error)].find((each) => each instanceof FastifyAuthError);
      if (unavailable !== undefined) {
        const message = "The access token could not be checked. The log says why.";
        request.log.error(error as Error, message);
        throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", message);
      }
      request.log.info({ reason: (error as Error).message }, "An access token was refused.");
      reply.header(
        "www-authenticate",
        challenge(shown, "invalid_token", "The token is invalid or has expired."),
      );
      throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "The access token is invalid or has expired.");
    }
  }

  async #claimsOf(
    token: string,
    scheme: string,
    audience: string | undefined,
    asked: { request: Guarded["request"]; origin: PublicOrigin },
  ): Promise<AccessTokenClaims> {
    const key = `${audience ?? ""} ${token}`;
    const known = this.#known.get(key);
    const isKnown = known !== undefined && (known.exp === undefined || known.exp * 1000 > Date.now());
    if (isKnown && scheme === "Bearer" && asked.request.headers.dpop === undefined) return known;
    const { claims, knownFor, isProven } = await this.#check(token, audience, asked);
    const proof = asked.request.headers.dpop;
    if (isBound(claims) || scheme === "DPoP" || proof !== undefined) {
      if (scheme !== "DPoP") throw new Refused("A token that is bound to a key came as a bearer token.");
      await this.#proofs.check(proof, token, claims, { ...asked, isProven });
    }
    if (isBound(claims)) return claims;
    // Requests with the same token share them.
    const shared = JSON.parse(JSON.stringify(claims), (_name, value) => Object.freeze(value));
    this.#known.set(key, shared, { ttl: knownFor });
    return shared;
  }

  async #check(token: string, audience: string | undefined, { request, origin }: {
    request: Guarded["request"];
    origin: PublicOrigin;
  }) {
    if (token.split(".").length !== 3) {
      return { claims: await this.#introspect(token, audience), knownFor: OPAQUE_KNOWN_FOR, isProven: false };
    }
    if (!/^(?:[\w-]+\.){2}[\w-]+$/.test(token)) throw new Refused("It is no JWT in its compact form.");
    const server = this.#servers.get(String(decodeJwt(token).iss));
    if (server === undefined) throw new Refused("Its issuer is none of `apiAccess.issuers`.");
    const wanted = audience ?? server.audience;
    const metadata = await this.#metadataOf(server);
    if (server.rfc9068 !== false) {
      const headers = new Headers();
      for (const name of ["authorization", "dpop"]) {
        const value = request.headers[name];
        if (typeof value === "string") headers.set(name, value);
      }
      const url = `${origin.href}${(request as FastifyRequest).originalUrl}`;
      const checked = new Request(url, { method: request.method, headers });
      const claims = await oauth.validateJwtAccessToken(metadata, checked, wanted, requestOptions(server));
      return { claims: claims as AccessTokenClaims, knownFor: JWT_KNOWN_FOR, isProven: true };
    }
    const { payload } = await jwtVerify(token, this.#keysAt(metadata.jwks_uri!, server), {
      algorithms: [...PUBLIC_KEY_ALGORITHMS],
      issuer: server.issuer,
      audience: wanted,
      requiredClaims: ["exp"],
      clockTolerance: 30,
    });
    return { claims: payload as AccessTokenClaims, knownFor: JWT_KNOWN_FOR, isProven: false };
  }

  async #introspect(token: string, audience: string | undefined): Promise<AccessTokenClaims> {
    const server = [...this.#servers.values()].find(({ introspection }) => introspection !== undefined);
    if (server === undefined) throw new Refused("It is no JWT, and no issuer has `introspection`.");
    const metadata = await this.#metadataOf(server);
    const client = { client_id: server.introspection!.clientId };
    const secret = oauth.ClientSecretBasic(server.introspection!.clientSecret);
    const options = requestOptions(server);
    const response = await oauth.introspectionRequest(metadata, client, secret, token, options);
    const claims = await oauth.processIntrospectionResponse(metadata, client, response);
    if (!claims.active) throw new Refused("The issuer says that it is not active.");
    const { iss = server.issuer, aud, exp } = claims;
    if (iss !== server.issuer) throw new Refused("The issuer says that it is of another issuer.");
    if (![aud].flat().includes(audience ?? server.audience)) throw new Refused("It is for another audience.");
    if (exp !== undefined && exp <= Date.now() / 1000) throw new Refused("It has expired.");
    return { ...claims, iss } as AccessTokenClaims;
  }

  async #metadataOf(server: Server): Promise<oauth.AuthorizationServer> {
    const { issuer, jwksUri, introspection } = server;
    const found = jwksUri !== undefined && introspection === undefined
      ? this.#metadata.get(issuer)
      : await this.#metadata.fetch(issuer, { context: server });
    if (found !== undefined) return found;
    const given: oauth.AuthorizationServer = { issuer, jwks_uri: jwksUri! };
    this.#metadata.set(issuer, given);
    return given;
  }

  #keysAt(url: string, { fetch }: Server) {
    const keys = this.#keys.get(url) ??
      createRemoteJWKSet(new URL(url), {
        [customFetch]: (input, { signal: _, ...init }) => fetch(input, init),
      });
    this.#keys.set(url, keys);
    return keys;
  }
}

function isBound({ cnf }: AccessTokenClaims): boolean {
  return typeof cnf === "object" && cnf !== null && Object.keys(cnf).length > 0;
}

/** Scopes, also as servers have them that do not follow RFC 9068. */
function scopesOf({ scope, scp }: AccessTokenClaims): string[] {
  return [scope, scp].flat().flatMap((each) => typeof each === "string" ? each.split(" ") : []);
}

/** The metadata of an issuer, of OpenID Connect Discovery or of RFC 8414. */
async function discover(server: Server): Promise<oauth.AuthorizationServer> {
  const url = new URL(server.issuer);
  const read = async (algorithm: "oidc" | "oauth2") => {
    const response = await oauth.discoveryRequest(url, { ...requestOptions(server), algorithm });
    return await oauth.processDiscoveryResponse(url, response);
  };
  const metadata = await read("oidc").catch((error) => read("oauth2").catch(() => Promise.reject(error)));
  return server.jwksUri === undefined ? metadata : { ...metadata, jwks_uri: server.jwksUri };
}

/** Sends what is asked of an issuer. An answer that says nothing of the token is an error. */
function fetchOf(issuer: string, limited: Fetch): Fetch {
  return async (input, init) => {
    const response = await limited(input, init);
    if (response.ok && parseJsonObject(await response.clone().text()) !== undefined) return response;
    const problem = `The issuer ${issuer} answered ${response.status}, or no JSON object, at ${
      String(input)
    }.`;
    throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", problem);
  };
}

/** Where the metadata of the resource are (RFC 9728 section 3.1): of the audience, if it is an address of ours. */
export function metadataAddress(audience: string | undefined, { href }: PublicOrigin): string {
  const own = audience !== undefined && URL.canParse(audience) ? new URL(audience) : undefined;
  const path = own?.origin === href && own.pathname !== "/" ? own.pathname : "";
  return `${href}/.well-known/oauth-protected-resource${path}`;
}
