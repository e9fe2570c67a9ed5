/** Lets requests with an access token pass a guard, or refuses them (RFC 6750 section 3). */
import { calculateJwkThumbprint, decodeJwt, EmbeddedJWK, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { hash } from "node:crypto";
import * as oauth from "oauth4webapi";
import { publicUrl } from "../../config/mount_path.ts";
import { isText } from "../../config/rules.ts";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../../errors.ts";
import { type PublicOrigin, requireOrigin } from "../../http/origin.ts";
import type { AuthInstance } from "../../instance/auth_instance.ts";
import { pathsIn } from "../../instance/mount.ts";
import { presentedToken } from "../../instance/read_session.ts";
import { EXPIRED } from "../../jwt/jwe.ts";
import { type Fetch, limitedFetch } from "../../provider/fetch.ts";
import { type OpenIdClient, PUBLIC_KEY_ALGORITHMS, requestOptions } from "../../provider/openid_client.ts";
import { DEFAULT_PROVIDER_TIMEOUT } from "../../provider/prepare.ts";
import { SigningKeys } from "../../provider/signing_keys.ts";
import { isRowFor } from "../../session/name.ts";
import { openToken } from "../../session/open.ts";
import type { SharedStore } from "../../store/shared_store.ts";
import type { FastifyAuthConfig, GuardedReply, GuardedRequest } from "../../types.ts";
import { parseJsonObject } from "../../utils/decode.ts";
import { errorChain } from "../../utils/error_chain.ts";
import type { Guarded, Setup } from "../feature.ts";
import type { AccessTokenClaims, ApiIssuer } from "./options.ts";

/** For how long a token that was checked is not checked again, in milliseconds: a key may be withdrawn. */
const JWT_KNOWN_FOR = 10 * 60_000, OPAQUE_KNOWN_FOR = 60_000;

/** For how long the metadata of an issuer are kept, in milliseconds. */
const METADATA_KNOWN_FOR = 10 * 60_000;

/** How many characters of tokens are remembered: some megabytes with their claims. */
const MOST_REMEMBERED = 2 ** 22;

/** By how many seconds a proof may be older or newer than now. */
const WINDOW = 300;

const algorithms = [...PUBLIC_KEY_ALGORITHMS];

/** RFC 9068 section 2. */
const RFC9068 = { typ: "at+jwt", requiredClaims: ["exp", "sub", "client_id", "iat", "jti"] };

/** Whether the scheme is one of ours, and what a request carries then. */
const SCHEME = /^(?:bearer|dpop)(?: |$)/i;
const CREDENTIALS = /^(bearer|dpop) +([\w.~+/-]+=*) *$/i;

/** Under which requests carry the claims of their token; `null` if a session let them pass. */
const CLAIMS: unique symbol = Symbol("fastify-authjs.accessTokenClaims");

/** Under which requests carry the proof that counted for them. */
const PROOF: unique symbol = Symbol("fastify-authjs.proof");

interface WithClaims {
  [CLAIMS]?: AccessTokenClaims | null;
  [PROOF]?: string;
}

/** @returns `undefined` if no guard of the request accepts access tokens. */
export function claimsOf(request: object): AccessTokenClaims | null | undefined {
  return (request as WithClaims)[CLAIMS];
}

/** Why a token does not count, for the log. */
class Refused extends Error {}

interface Server extends ApiIssuer, Pick<OpenIdClient, "id" | "fetch"> {}

interface Asked {
  readonly request: GuardedRequest;
  readonly url: string;
  readonly token: string;
  readonly isDpop: boolean;
  /** What the guard names. */
  readonly audience: string | undefined;
}

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
  readonly #keys = new SigningKeys();
  /** What tokens are for if a guard does not say it, and all issuers say the same. */
  readonly #audience: string | undefined;
  readonly #store: SharedStore | undefined;
  readonly #proofs = new LRUCache<string, true>({ max: 100_000, ttl: 2 * WINDOW * 1000, ttlResolution: 0 });

  constructor({ config, production, insecure, store }: Setup) {
    const { issuers = [] } = config.apiAccess!;
    const limits = { timeout: config.providerTimeout ?? DEFAULT_PROVIDER_TIMEOUT, production, insecure };
    this.#servers = new Map(issuers.map((each) => {
      const { issuer } = each;
      const limited = limitedFetch(issuer, (...given) => fetch(...given), limits, { issuer });
      return [issuer, { ...each, id: issuer, fetch: fetchOf(issuer, limited) }];
    }));
    const audiences = new Set(issuers.map(({ audience }) => audience));
    this.#audience = audiences.size === 1 ? issuers[0]!.audience : undefined;
    this.#store = store;
  }

  /**
   * Lets a request with a token pass, with `true`. Gives the challenge for a request without one that needs a session.
   * @throws {FastifyAuthError} 401 or 403, with the challenge on the reply; 503 if it is not known whether a token
   * counts.
   */
  async admit({ request, config, options, auth }: Guarded, reply: GuardedReply): Promise<true | string | undefined> {
    const { tokens = ["session"], scopes = [], audience } = options;
    if (!tokens.includes("access")) return undefined;
    const origin = requireOrigin(request, auth.config.origin);
    const { authorization = "" } = request.headers;
    const [, scheme = "", token] = CREDENTIALS.exec(authorization) ?? [];
    const isDpop = /^dpop$/i.test(scheme);
    const challenge = (error?: string, description?: string) =>
      [
        `${isDpop ? "DPoP" : "Bearer"} resource_metadata="${metadataAddress(audience ?? this.#audience, origin)}"`,
        ...(error === undefined ? [] : [`error="${error}", error_description="${description}"`]),
        ...(scopes.length > 0 && error !== "invalid_token" ? [`scope="${scopes.join(" ")}"`] : []),
      ].join(", ");
    const refused = (code: FastifyAuthErrorCode, message: string, ...why: Parameters<typeof challenge>) => {
      reply.header("www-authenticate", challenge(...why));
      return new FastifyAuthError(code, message);
    };
    // Another scheme, such as Basic of a proxy, is beside the session.
    if (!SCHEME.test(authorization) || await isOfSession(request, config)) {
      (request as WithClaims)[CLAIMS] = null;
      if (tokens.includes("session")) return challenge();
      throw refused("FST_AUTHJS_UNAUTHENTICATED", "Send an access token to use this route.");
    }
    let claims: AccessTokenClaims;
    try {
      if (token === undefined) throw new Refused("The Authorization header has no bearer or DPoP token.");
      const { removed = "" } = pathsIn(request.server, auth as AuthInstance) ?? {};
      const url = origin.href + publicUrl(request, removed);
      claims = await this.#claimsOf({ request, url, token, isDpop, audience });
    } catch (error) {
      const ours = errorChain(error).find((each) => each instanceof FastifyAuthError);
      if (ours !== undefined) {
        const message = "The access token could not be checked. The log says why.";
        request.log.error(error as Error, message);
        throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", message);
      }
      request.log.info({ reason: (error as Error).message }, "An access token was refused.");
      const message = "The access token is invalid or has expired.",
        description = "The token is invalid or has expired.";
      throw refused("FST_AUTHJS_UNAUTHENTICATED", message, "invalid_token", description);
    }
    // Also as servers have them that do not follow RFC 9068.
    const held = [claims.scope, claims.scp].flat().flatMap((each) => isText(each) ? each.split(" ") : []);
    if (!scopes.every((scope) => held.includes(scope))) {
      const message = `The token lacks a scope of ${scopes.join(", ")}.`;
      throw refused("FST_AUTHJS_FORBIDDEN", message, "insufficient_scope", "The token lacks a scope.");
    }
    (request as WithClaims)[CLAIMS] = claims;
    return true;
  }

  async #claimsOf(asked: Asked): Promise<AccessTokenClaims> {
    const { request: { headers: { dpop } }, token, isDpop, audience } = asked;
    const key = `${audience ?? ""} ${token}`;
    const known = this.#known.get(key);
    const isPlain = !isDpop && dpop === undefined;
    if (isPlain && known && (known.exp === undefined || known.exp * 1000 > Date.now())) return known;
    const isJwt = token.split(".").length === 3;
    const claims = isJwt ? await this.#verify(asked) : await this.#introspect(asked);
    const isBound = Object.keys(Object(claims.cnf)).length > 0;
    if (isBound || !isPlain) await this.#prove(asked, claims);
    if (isBound) return claims;
    // Requests with the same token share them.
    const shared = JSON.parse(JSON.stringify(claims), (_name, value) => Object.freeze(value));
    this.#known.set(key, shared, { ttl: isJwt ? JWT_KNOWN_FOR : OPAQUE_KNOWN_FOR });
    return shared;
  }

  async #verify({ token, audience }: Asked): Promise<AccessTokenClaims> {
    if (!/^(?:[\w-]+\.){2}[\w-]+$/.test(token)) throw new Refused("It is no JWT in its compact form.");
    const server = this.#servers.get(String(decodeJwt(token).iss));
    if (server === undefined) throw new Refused("Its issuer is none of `apiAccess.issuers`.");
    const { jwks_uri } = await this.#metadataOf(server, "jwks_uri");
    const { payload } = await jwtVerify(token, this.#keys.at(jwks_uri!, server), {
      algorithms,
      issuer: server.issuer,
      audience: audience ?? server.audience,
      clockTolerance: 30,
      ...(server.rfc9068 === false ? { requiredClaims: ["exp"] } : RFC9068),
    });
    return payload as AccessTokenClaims;
  }

  async #introspect({ token, audience }: Asked): Promise<AccessTokenClaims> {
    const server = [...this.#servers.values()].find(({ introspection }) => introspection !== undefined);
    if (server === undefined) throw new Refused("It is no JWT, and no issuer has `introspection`.");
    const metadata = await this.#metadataOf(server, "introspection_endpoint");
    const { clientId: client_id, clientSecret } = server.introspection!;
    const client = { client_id }, secret = oauth.ClientSecretBasic(clientSecret);
    const response = await oauth.introspectionRequest(metadata, client, secret, token, requestOptions(server));
    const claims = await oauth.processIntrospectionResponse(metadata, client, response);
    if (!claims.active) throw new Refused("The issuer says that it is not active.");
    const { iss = server.issuer, aud, exp } = claims;
    if (iss !== server.issuer) throw new Refused("The issuer says that it is of another issuer.");
    if (![aud].flat().includes(audience ?? server.audience)) throw new Refused("It is for another audience.");
    if (exp !== undefined && exp <= Date.now() / 1000) throw new Refused("It has expired.");
    return { ...claims, iss };
  }

  /** Checks a proof of possession of the key (RFC 9449 section 4.3), which counts once. */
  async #prove({ request, url, token, isDpop }: Asked, { cnf }: AccessTokenClaims): Promise<void> {
    if (!isDpop) throw new Refused("A token that is bound to a key came as a bearer token.");
    const { method, headers: { dpop: proof } } = request;
    if (typeof proof !== "string" || proof.includes(",")) throw new Refused("There is no proof, or several.");
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms,
      typ: "dpop+jwt",
      requiredClaims: ["jti", "htm", "htu", "iat", "ath"],
    });
    const { jti, htm, htu, iat, ath } = payload;
    const thumbprint = await calculateJwkThumbprint(protectedHeader.jwk!);
    const isOwn = Object(cnf).jkt === thumbprint && ath === hash("sha256", token, "base64url") &&
      htm === method && URL.canParse(String(htu)) && withoutQuery(String(htu)) === withoutQuery(url) &&
      Math.abs(Date.now() / 1000 - iat!) <= WINDOW;
    if (!isOwn) throw new Refused("The proof is of another key, request, token or time.");
    const key = hash("sha256", `${thumbprint} ${jti}`, "base64url");
    // Another guard of this request has counted it.
    if ((request as WithClaims)[PROOF] === key) return;
    const isNew = this.#store === undefined
      ? !this.#proofs.has(key)
      : await this.#store.call("lock", this.#store.key("dpop", key), "used", 2 * WINDOW * 1000);
    this.#proofs.set(key, true);
    if (!isNew) throw new Refused("The proof came before.");
    (request as WithClaims)[PROOF] = key;
  }

  async #metadataOf(server: Server, needed: "jwks_uri" | "introspection_endpoint"): Promise<oauth.AuthorizationServer> {
    const { issuer } = server;
    const metadata = (await this.#metadata.fetch(issuer, { context: server }))!;
    if (URL.canParse(String(metadata[needed]))) return metadata;
    const advice = needed === "jwks_uri" ? "set `jwksUri`" : "`introspection` needs it";
    const problem = `The metadata of the issuer ${issuer} have no \`${needed}\`: ${advice}.`;
    throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", problem);
  }
}

/** Whether the token is that of a session (`bearer`), also one that has expired: then no issuer is asked about it. */
async function isOfSession(request: GuardedRequest, config: FastifyAuthConfig): Promise<boolean> {
  const presented = presentedToken(request, config);
  if (presented?.settings.use !== "header") return false;
  const { cookie: { token }, settings } = presented;
  if (settings.strategy === "database") return isRowFor(token, "header");
  return await openToken(token, settings).then(() => true, (error) => error === EXPIRED);
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

/** The metadata of an issuer, of OpenID Connect Discovery or of RFC 8414. */
async function discover(server: Server): Promise<oauth.AuthorizationServer> {
  const { issuer, jwksUri: jwks_uri, introspection } = server;
  if (jwks_uri !== undefined && introspection === undefined) return { issuer, jwks_uri };
  const url = new URL(issuer);
  const read = async (algorithm: "oidc" | "oauth2") => {
    const response = await oauth.discoveryRequest(url, { ...requestOptions(server), algorithm });
    return await oauth.processDiscoveryResponse(url, response);
  };
  const metadata = await read("oidc").catch((error) => read("oauth2").catch(() => Promise.reject(error)));
  return jwks_uri === undefined ? metadata : { ...metadata, jwks_uri };
}

/** Sends what is asked of an issuer. An answer that says nothing of the token is an error. */
function fetchOf(issuer: string, limited: Fetch): Fetch {
  return async (input, init) => {
    const response = await limited(input, init).catch((cause) => {
      if (cause instanceof FastifyAuthError) throw cause;
      // Such as a certificate that is not trusted.
      const problem = `The issuer ${issuer} cannot be asked at ${input}.`;
      throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", problem, { cause });
    });
    if (response.ok && parseJsonObject(await response.clone().text()) !== undefined) return response;
    const problem = `The issuer ${issuer} answered ${response.status}, or no JSON object, at ${input}.`;
    throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", problem);
  };
}

/** Where the metadata of the resource are (RFC 9728 section 3.1): of the audience, if it is an address of ours. */
function metadataAddress(audience: string | undefined, { href }: PublicOrigin): string {
  const own = audience !== undefined && URL.canParse(audience) ? new URL(audience) : undefined;
  const path = own?.origin === href && own.pathname !== "/" ? own.pathname : "";
  return `${href}/.well-known/oauth-protected-resource${path}`;
}
