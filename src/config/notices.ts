/** The log, and warnings about the set-up that come up after boot, such as a date in the database that cannot be read. */

/** The logger of Fastify, as far as it is used. */
export interface Log {
  /** A failure of the application, its adapter or a provider. */
  error(details: object, message: string): void;
  /** Something that the operator should check. */
  warn(details: object, message: string): void;
  /** A mistake of a client. */
  info(details: object, message: string): void;
  debug(details: object, message: string): void;
}

/** The stable code of a mistake that does not stop the boot, as `code` on its line of the log. It is said once. */
export type NoticeCode =
  | "FST_AUTHJS_WARN_OPTION" // A setting is unknown, or a time looks as if it were in another unit.
  | "FST_AUTHJS_WARN_SECRET" // A secret looks as if it were not random, or not what was meant.
  | "FST_AUTHJS_WARN_CREDENTIALS" // A provider has no client id, client secret or API key.
  | "FST_AUTHJS_WARN_TLS" // A provider is reached without TLS, by `insecureProviders`.
  | "FST_AUTHJS_WARN_PROVIDER" // A provider has a setting that is unsafe or cannot work.
  | "FST_AUTHJS_WARN_WEBAUTHN" // A setting of passkeys is unsafe or cannot work.
  | "FST_AUTHJS_WARN_HOST" // The public origin follows the Host header, and nothing configures that.
  // Browsers refuse a configured cookie, do not send it to the auth routes or with a visitor of another
  // site, or send it twice.
  | "FST_AUTHJS_WARN_COOKIE"
  | "FST_AUTHJS_WARN_LIFETIME" // How long sessions last is set to what does not work as it reads.
  | "FST_AUTHJS_WARN_ADAPTER" // The adapter returned what cannot be read.
  | "FST_AUTHJS_WARN_SHARED_SESSIONS" // Two configurations of the process accept the same sessions.
  | "FST_AUTHJS_WARN_RATE_LIMIT" // Attempts to sign in are not limited, or not as they should be.
  | "FST_AUTHJS_WARN_NO_STORE" // Several processes serve the same users without a `store` that they share.
  | "FST_AUTHJS_WARN_OPENAPI" // `openapi: true` has no effect.
  // A request contradicts the public origin in use, or that has no TLS in production.
  | "FST_AUTHJS_WARN_ORIGIN"
  | "FST_AUTHJS_WARN_CALLBACK_URL" // A `callbackUrl` was refused.
  // A callback, `authorize()` or `profile()` returned nothing, a session without its user, or a user
  // without an id; a function asks for the session that it is called for; or the callbacks of an update
  // take longer than reads wait for them.
  | "FST_AUTHJS_WARN_CALLBACK"
  | "FST_AUTHJS_WARN_CONFIG_OBJECT" // A session is read with another configuration than the mounted one.
  | "FST_AUTHJS_WARN_ROLES" // A guard requires a role, and the session has none.
  | "FST_AUTHJS_WARN_STEP_UP" // A user signed in again, and not as a guard requires.
  | "FST_AUTHJS_WARN_SIGN_IN_PAGE" // A guard knows no sign-in page to send browsers to.
  | "FST_AUTHJS_WARN_PAGE" // A page of the application is the built-in page that it takes the place of.
  | "FST_AUTHJS_WARN_LOST_COOKIE" // A renewed session cookie did not reach the browser.
  | "FST_AUTHJS_WARN_SESSION_SIZE" // A session is too large for a cookie, or close to it.
  | "FST_AUTHJS_WARN_NO_TENANT" // There is no configuration for a request.
  | "FST_AUTHJS_WARN_TENANT_CONFIG" // The configuration of a tenant is made anew for each request.
  // A session has no user in its token, so it can be neither listed nor ended.
  | "FST_AUTHJS_WARN_SESSION_RECORD"
  | "FST_AUTHJS_WARN_CODEC" // The application's `jwt.encode` and `jwt.decode` lose a claim of the token.
  // A sign-out does not end the session at the OpenID Provider as it should.
  | "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT";

export interface Notice {
  readonly code: NoticeCode;
  readonly message: string;
}

/** Keeps warnings until the application's log is known. */
export class Notices {
  #log: Log | undefined;
  readonly #waiting: Notice[] = [];

  warn(message: string, code: NoticeCode): void {
    const notice = { code, message };
    if (this.#log === undefined) this.#waiting.push(notice);
    else send(this.#log, notice);
  }

  sendTo(log: Log): void {
    this.#log ??= log;
    for (const notice of this.#waiting.splice(0)) send(this.#log, notice);
  }
}

function send(log: Log, { message, ...details }: Notice): void {
  log.warn(details, message);
}
