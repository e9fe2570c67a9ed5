/** What can be observed from outside: the events of the audit trail, and operations on tracing channels. */

/** What every event on the channels of `node:diagnostics_channel` has: never a token, a code or an e-mail address. */
export interface AuthEvent {
  /** When the request came to its handler: milliseconds since 1970. */
  readonly time: number;
  /** Fastify's id of the request, which its lines in the log have as `reqId`; none without a request. */
  readonly requestId?: string;
  /** The mount path of the auth routes as users see it; none without a request. */
  readonly mountPath?: string;
  /** The address of the client: Fastify's `request.ip`. */
  readonly address?: string;
  /** The `User-Agent` header, at most 512 characters of it. */
  readonly userAgent?: string;
  /** The id of the provider; for a sign-out only if that provider asked for it (`providerLogout.backchannel`). */
  readonly provider?: string;
}

/** `fastify-authjs:sign-in`: a user has signed in. */
export interface SignInEvent extends AuthEvent {
  /** The id of the user. */
  readonly userId?: string;
  /** The id of the account at the provider; none for e-mail, since it would be the address. */
  readonly accountId?: string;
  /** Whether the adapter has created the user. */
  readonly isNewUser: boolean;
}

/** `fastify-authjs:sign-in-failure`: a sign-in was refused or failed. */
export interface SignInFailureEvent extends AuthEvent {
  /**
   * The type of the error of Auth.js, such as `"CredentialsSignin"` or `"InvalidCheck"`, or the code of a
   * `FastifyAuthError`, such as `"FST_AUTHJS_TOO_MANY_REQUESTS"`.
   */
  readonly reason: string;
  /** The `code` of a `CredentialsSignin`, what is wrong with a CSRF token, or `"sign_in_expired"`. */
  readonly code?: string;
  /** The HTTP status for a client that asks for one. */
  readonly status: number;
}

/** `fastify-authjs:sign-out`: a user has signed out, or an OpenID Provider has ended the session. */
export interface SignOutEvent extends AuthEvent {
  /** The id of the user; none if the adapter's `deleteSession()` returns nothing. */
  readonly userId?: string;
}

/** `fastify-authjs:link`: an account of a provider was linked to a user. A new user's first account is, too. */
export interface LinkEvent extends AuthEvent {
  /** The id of the user. */
  readonly userId?: string;
  /** The id of the account at the provider. */
  readonly accountId?: string;
}

/** `fastify-authjs:unlink`: an account was unlinked from the signed-in user (`auth.unlinkAccount()`). */
export interface UnlinkEvent extends LinkEvent {}

/** `fastify-authjs:access-refused`: a guard refused a request of a signed-in user, or one with a bearer token. */
export interface AccessRefusedEvent extends AuthEvent {
  /**
   * `FST_AUTHJS_FORBIDDEN` (`roles`, `authorize`, `scopes`), `FST_AUTHJS_STEP_UP_REQUIRED` (`maxAge`, `acr`, `amr`), or
   * `FST_AUTHJS_UNAUTHENTICATED` for a bearer token that is not valid.
   */
  readonly reason: string;
  /** The path of the route as it was declared, such as `/orders/:id`. */
  readonly route?: string;
  /** The id of the user, if the session has it as `user.id`. */
  readonly userId?: string;
}

/** `fastify-authjs:revoke`: a session was ended, and not by a sign-out. */
export interface RevokeEvent extends AuthEvent {
  /**
   * `replaced`: its browser has signed in again. `revoked`: by `auth.revokeSession()`, or by `auth.revokeSessions()`,
   * which is one event for all sessions of a user. They act without a request.
   */
  readonly reason: "replaced" | "revoked";
  /** The id of the user of the session that ended; none for a session in a database that was replaced. */
  readonly userId?: string;
}

/** The events of the audit trail, by the channel of `node:diagnostics_channel` that they are published on. */
export interface AuthEvents {
  /** A user has signed in. */
  "fastify-authjs:sign-in": SignInEvent;
  /** A sign-in was refused or failed. */
  "fastify-authjs:sign-in-failure": SignInFailureEvent;
  /** A user has signed out. */
  "fastify-authjs:sign-out": SignOutEvent;
  /** An account was linked to a user. */
  "fastify-authjs:link": LinkEvent;
  /** An account was unlinked from a user. */
  "fastify-authjs:unlink": UnlinkEvent;
  /** A session was ended, and not by a sign-out. */
  "fastify-authjs:revoke": RevokeEvent;
  /** A guard refused a request. */
  "fastify-authjs:access-refused": AccessRefusedEvent;
}

/**
 * What subscribers of the tracing channels get: `tracing:<name>:start` before, `tracing:<name>:asyncEnd` after, and
 * `tracing:<name>:error` if it failed, each time the same object. It has no token, code or e-mail address.
 */
export interface Operation {
  /** After a failure: the type of an error of Auth.js, the code of a `FastifyAuthError`, or the name of an error. */
  errorType?: string;
  /**
   * A subscriber of `start` may set this, to run the operation in a context. It must call an earlier one, too.
   */
  run?: <Result>(work: () => Result) => Result;
}

/** `fastify-authjs.action`: a request to an auth route, or an action of `createAuth()`. */
export interface AuthActionOperation extends Operation {
  /**
   * What it does: `"signin"`, `"callback"`, `"signout"`, `"signed-out"`, `"backchannel-logout"`, `"session"`,
   * `"update"`, `"token"`, `"jwks"`, `"webauthn-options"`, `"csrf"`, `"providers"`, `"error"`, `"verify-request"`,
   * `"signin-page"` or `"signout-page"`.
   */
  readonly action: string;
  /** The id of the provider that it is about. */
  readonly provider?: string;
  /** The type of that provider: `"oauth"`, `"oidc"`, `"email"`, `"credentials"`, `"webauthn"`. */
  readonly providerType?: string;
  /** Fastify's id of the request. */
  readonly requestId: string;
  /** The mount path of the auth routes as users see it. */
  readonly mountPath: string;
  /** Whether the application's own code asked (`auth.signIn()`), and no request to an auth route. */
  readonly fromApplication: boolean;
  /** After a failure: the HTTP status for a client that asks for one. */
  readonly status?: number;
}

/** What a request to a provider is for. */
export type ProviderEndpoint = "discovery" | "jwks" | "other" | "revocation" | "token" | "userinfo";

/** `fastify-authjs.provider-request`: a request to a provider of OAuth or OpenID Connect, its body included. */
export interface ProviderRequestOperation extends Operation {
  /** The id of the provider. */
  readonly provider: string;
  /** What it is for. */
  readonly endpoint: ProviderEndpoint;
  /** The HTTP method. */
  readonly method: string;
  /** The address, with `[redacted]` in place of the values of its parameters. */
  readonly url: string;
  /**
   * After the end: the HTTP status; missing if there was no response. `errorType` is the status from 400 on, else
   * `"timeout"`, `"unreachable"`, or what is wrong with the request.
   */
  readonly status?: number;
}

/** `fastify-authjs.adapter-call`: a call of the database adapter. */
export interface AdapterCallOperation extends Operation {
  /**
   * The method, such as `"getUserByEmail"`. `errorType` is `"unanswered"` for a database that cannot be reached or
   * takes too long, `"conflict"` if a row has the same unique key, `"refused"` for another refusal, else `"failed"`.
   */
  readonly method: string;
}

/** `fastify-authjs:session-read`: the session of a request was read, once however often the request asked for it. */
export interface SessionReadEvent {
  /** How sessions are kept. */
  readonly strategy: "jwt" | "database";
  /** `"session"`, `"none"`, or `"unknown"` if the adapter, a store or a callback failed. */
  readonly result: "session" | "none" | "unknown";
  /** How long it took, in seconds. */
  readonly duration: number;
}
