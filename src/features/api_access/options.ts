/** The options of access tokens: whose are accepted, and what guards require of them. */
import type { SessionRequest } from "../../types.ts";

/** The option of access tokens. */
export interface ApiAccessConfig {
  /**
   * Accepts the access tokens of authorization servers on guarded routes with `tokens`, and issues tokens for other
   * services. `{}` only issues.
   * @default none
   */
  apiAccess?: ApiAccessOptions;
}

/** Whose access tokens are accepted. */
export interface ApiAccessOptions {
  /**
   * The authorization servers. A token counts for the one that it names as its issuer.
   * @default []
   */
  issuers?: readonly ApiIssuer[];
  /**
   * The scopes that clients may ask for, in the metadata of the protected resource (RFC 9728).
   * @default none are named
   */
  scopes?: readonly string[];
}

/** An authorization server whose access tokens are accepted. */
export interface ApiIssuer {
  /** Its issuer identifier, as in `iss`: `"https://login.example"`. */
  issuer: string;
  /** What its tokens are for, as in `aud`, unless a guard names another `audience`. */
  audience: string;
  /**
   * Where its keys are published.
   * @default what its metadata say (OpenID Connect Discovery, RFC 8414)
   */
  jwksUri?: string;
  /**
   * Whether tokens must follow RFC 9068, with the type `at+jwt` and all its claims. With `false`, for servers such as
   * Auth0, only `iss`, `aud`, `exp` and the signature are checked: an ID token for the same audience counts, too.
   * @default true
   */
  rfc9068?: boolean;
  /**
   * The client with which tokens that are no JWT are introspected (RFC 7662), at one issuer at most.
   * @default they are refused
   */
  introspection?: { clientId: string; clientSecret: string };
}

/** What guards require of the tokens of a request. */
export interface ApiAccessGuardOptions {
  /**
   * What lets a request pass: a session, an access token in the `Authorization` header, which then counts alone, or
   * either. `roles`, `authorize` and options of step-up are about sessions.
   * @default ["session"]
   */
  tokens?: readonly ("session" | "access")[];
  /**
   * The scopes that an access token must have, all of them: 403 with `insufficient_scope` otherwise.
   * @default []
   */
  scopes?: readonly string[];
  /**
   * What access tokens have to be for, in place of the `audience` of their issuer.
   * @default that of the issuer
   */
  audience?: string;
}

/** The claims of an access token (RFC 9068 section 2.2, RFC 7662 section 2.2). */
export interface AccessTokenClaims {
  /** Who issued it. */
  readonly iss: string;
  /** The user, or the client if it acts for itself. */
  readonly sub?: string;
  /** What it is for. */
  readonly aud?: string | readonly string[];
  /** The client that it was issued to. */
  readonly client_id?: string;
  /** Scopes, with spaces between them. */
  readonly scope?: string;
  /** When it ends, in seconds since 1970. */
  readonly exp?: number;
  /** Further claims. */
  readonly [claim: string]: unknown;
}

/** A token to issue. */
export interface IssueTokenOptions {
  /** The service that it is for. */
  audience: string;
  /**
   * How long it lives, in seconds, at most a day.
   * @default 300
   */
  ttl?: number;
  /**
   * Its scopes.
   * @default none
   */
  scopes?: readonly string[];
}

/** What an object of `createAuth()` does with access tokens. */
export interface ApiAccessActions {
  /**
   * The claims of the access token with which a request passed its guard.
   * @param request The request, in a hook after the guard or in the handler.
   * @returns The claims; `null` if a session let it pass.
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if no guard of the route accepts access tokens.
   *
   * @example
   * ```ts
   * import Fastify from "fastify";
   * import { createAuth } from "fastify-authjs";
   *
   * const issuers = [{ issuer: "https://login.example", audience: "https://api.example" }];
   * const auth = createAuth({ providers: [], secret: "a string of 32 characters or more", apiAccess: { issuers } });
   * const app = Fastify();
   * await app.register(auth.plugin, { prefix: "/auth" });
   * const guard = auth.requireSession({ tokens: ["access"], scopes: ["orders:read"] });
   * app.get("/orders", { onRequest: guard }, async (request) => (await auth.getClaims(request))?.sub);
   * ```
   */
  readonly getClaims: (request: SessionRequest) => Promise<AccessTokenClaims | null>;
  /**
   * Issues an access token (RFC 9068) for the signed-in user, which another service checks by the keys at
   * `<mount path>/jwks`. The keys are those of the variable AUTH_SIGNING_KEYS, a JWK Set with private keys of which the
   * first signs, or are made, kept sealed and changed every 30 days in the `store`.
   * @throws {FastifyAuthError} `FST_AUTHJS_UNAUTHENTICATED` (401) without a session, `FST_AUTHJS_CONFIG_INVALID` for an
   * invalid option or without keys, `FST_AUTHJS_UNAVAILABLE` (503) if the store fails.
   */
  readonly issueToken: (request: SessionRequest, options: IssueTokenOptions) => Promise<string>;
}
