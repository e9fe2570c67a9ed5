/** The errors of this package. Errors of Auth.js (`CredentialsSignin`, `AccessDenied`, …) keep their own classes. */

/**
 * The stable code of a {@linkcode FastifyAuthError}. `docs/errors.md` says what each means, and with which status it is
 * answered. Those without a status are errors at boot, or of a call that cannot work with the configuration.
 */
export type FastifyAuthErrorCode =
  | "FST_AUTHJS_SECRET_MISSING"
  | "FST_AUTHJS_SECRET_TOO_SHORT"
  | "FST_AUTHJS_ORIGIN_INVALID"
  | "FST_AUTHJS_HOST_NOT_TRUSTED"
  | "FST_AUTHJS_PREFIX_INVALID"
  | "FST_AUTHJS_PROVIDER_INVALID"
  | "FST_AUTHJS_ADAPTER_INVALID"
  | "FST_AUTHJS_CONFIG_INVALID"
  | "FST_AUTHJS_HOST_INVALID"
  | "FST_AUTHJS_BODY_INVALID"
  | "FST_AUTHJS_UNAUTHENTICATED"
  | "FST_AUTHJS_FORBIDDEN"
  | "FST_AUTHJS_CROSS_SITE"
  | "FST_AUTHJS_NOT_FOUND"
  | "FST_AUTHJS_METHOD_NOT_ALLOWED"
  | "FST_AUTHJS_LAST_SIGN_IN_METHOD"
  | "FST_AUTHJS_SESSION_TOO_LARGE"
  | "FST_AUTHJS_QUERY_TOO_LONG"
  | "FST_AUTHJS_ENCODING_UNSUPPORTED"
  | "FST_AUTHJS_STEP_UP_REQUIRED"
  | "FST_AUTHJS_ACCESS_TOKEN_EXPIRED"
  | "FST_AUTHJS_ACTION_FAILED"
  | "FST_AUTHJS_TOO_MANY_REQUESTS"
  | "FST_AUTHJS_UNAVAILABLE";

const PAGES = "https://github.com/fastify-authjs/fastify-authjs/blob/main/docs/errors/";

const STATUS_CODES: Partial<Record<FastifyAuthErrorCode, number>> = {
  FST_AUTHJS_HOST_INVALID: 400,
  FST_AUTHJS_BODY_INVALID: 400,
  FST_AUTHJS_UNAUTHENTICATED: 401,
  FST_AUTHJS_FORBIDDEN: 403,
  FST_AUTHJS_CROSS_SITE: 403,
  FST_AUTHJS_NOT_FOUND: 404,
  FST_AUTHJS_METHOD_NOT_ALLOWED: 405,
  FST_AUTHJS_LAST_SIGN_IN_METHOD: 409,
  FST_AUTHJS_SESSION_TOO_LARGE: 413,
  FST_AUTHJS_QUERY_TOO_LONG: 414,
  FST_AUTHJS_ENCODING_UNSUPPORTED: 415,
  FST_AUTHJS_STEP_UP_REQUIRED: 401,
  FST_AUTHJS_ACCESS_TOKEN_EXPIRED: 401,
  FST_AUTHJS_ACTION_FAILED: 500,
  FST_AUTHJS_TOO_MANY_REQUESTS: 429,
  FST_AUTHJS_UNAVAILABLE: 503,
};

/**
 * An error of this package, whose message says what to change. Errors of a request have the shape of `http-errors`
 * (`statusCode`, `status`, `expose`), which Fastify, NestJS and others answer with their status.
 *
 * @example
 * ```ts
 * import { FastifyAuthError } from "fastify-authjs";
 *
 * const error = new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in first.");
 * console.assert(error.statusCode === 401);
 * ```
 */
export class FastifyAuthError extends Error {
  /** The name of the class. */
  override readonly name = "FastifyAuthError";
  /** The stable code: match on this rather than on the message. */
  readonly code: FastifyAuthErrorCode;
  /** The address of the page about this code. */
  readonly help: string;
  /** The HTTP status; absent on errors at boot. Fastify answers with it. */
  declare readonly statusCode?: number;
  /** The same as `statusCode`, under the name that `http-errors` has for it. */
  declare readonly status?: number;
  /** Whether the client may see the message, as in `http-errors`: `true` on every error of a request. */
  declare readonly expose?: boolean;

  /** Makes an error; with the underlying one as `cause`, and a `statusCode` if it is not that of the code. */
  constructor(code: FastifyAuthErrorCode, message: string, options: ErrorOptions & { statusCode?: number } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : {});
    this.code = code;
    this.help = `${PAGES}${code}.md`;
    const statusCode = options.statusCode ?? STATUS_CODES[code];
    if (statusCode === undefined) return;
    Object.assign(this, { statusCode, status: statusCode, expose: true });
    // Fastify logs these with their stack, which is of no use for a mistake of the client.
    if (statusCode < 500) this.stack = `${this.name}: ${message}`;
  }
}

/** The error of a setting or an argument that cannot work. */
export function invalidConfig(message: string, options?: ErrorOptions): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message, options);
}

/** The error of a provider that cannot work, or answers what it must not. */
export function invalidProvider(message: string, options?: ErrorOptions): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_PROVIDER_INVALID", message, options);
}

/** There were more attempts than a limit allows. */
export class TooManyRequests extends FastifyAuthError {
  readonly type = "TooManyRequests";
  readonly told = { code: this.code, message: this.message };
  /** In seconds. */
  readonly wait: number;
  /** Fastify adds them to the reply. */
  readonly headers: { readonly "retry-after": string };

  constructor(seconds: number) {
    const wait = Math.max(1, Math.ceil(seconds));
    super("FST_AUTHJS_TOO_MANY_REQUESTS", `Too many requests. Try again in ${wait} second${wait === 1 ? "" : "s"}.`);
    this.wait = wait;
    this.headers = { "retry-after": `${wait}` };
  }
}

/** What is known of a failed action. */
export interface ActionFailure {
  /** The type of the error. */
  readonly type: string;
  /** The HTTP status. */
  readonly statusCode: number;
  /** What is the matter in detail. */
  readonly reason?: string;
  /** The page that shows the error. */
  readonly url?: string;
  /** When to try again: the value of `Retry-After`. */
  readonly retryAfter?: string;
}

/**
 * An action such as `auth.signIn()` or `auth.getAccessToken()` failed. The `cause` is the error of Auth.js, the status
 * what a JSON client of the auth routes gets: 401 for a wrong password, 403 if a callback denied access, 500 if the
 * server is at fault.
 *
 * @example
 * ```ts
 * import { AuthActionError } from "fastify-authjs";
 *
 * const error = new AuthActionError("Signing in failed.", { type: "CredentialsSignin", statusCode: 401 });
 * console.assert(error.code === "FST_AUTHJS_ACTION_FAILED" && error.statusCode === 401);
 * ```
 */
export class AuthActionError extends FastifyAuthError {
  /** The type of the error, as in `?error=` of the error page: `"CredentialsSignin"`, `"AccessDenied"`. */
  readonly type: string;
  /** The `code` of a `CredentialsSignin`. */
  readonly reason?: string;
  /** The page that shows the error, which the same request to an auth route would be redirected to. */
  readonly url?: string;
  /** Headers that Fastify adds to the reply: `retry-after` if the error named one. */
  readonly headers?: Readonly<Record<string, string>>;

  /** Makes an error. */
  constructor(message: string, failure: ActionFailure, options: ErrorOptions = {}) {
    super("FST_AUTHJS_ACTION_FAILED", message, { ...options, statusCode: failure.statusCode });
    this.type = failure.type;
    if (failure.reason !== undefined) this.reason = failure.reason;
    if (failure.url !== undefined) this.url = failure.url;
    if (failure.retryAfter !== undefined) this.headers = { "retry-after": failure.retryAfter };
  }
}
