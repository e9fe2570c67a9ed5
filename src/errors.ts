/**
 * Every error this package throws by itself, at boot or for a request.
 *
 * Errors of Auth.js (`CredentialsSignin`, `AccessDenied`, …) are not among them: they keep their own classes.
 *
 * @module
 */

/**
 * The stable codes of {@linkcode FastifyAuthError}, with the HTTP status a client sees. Errors without a
 * status are boot errors: the application does not start.
 */
const STATUS_CODES = {
  /** No secret in the configuration and none in `AUTH_SECRET`. */
  FST_AUTHJS_SECRET_MISSING: undefined,
  /** A secret is shorter than 32 characters. */
  FST_AUTHJS_SECRET_TOO_SHORT: undefined,
  /** `origin` or `AUTH_URL` is not an http or https URL. */
  FST_AUTHJS_ORIGIN_INVALID: undefined,
  /** The public origin is neither configured nor may it be taken from the request. */
  FST_AUTHJS_HOST_NOT_TRUSTED: undefined,
  /** The routes cannot live under this prefix. */
  FST_AUTHJS_PREFIX_INVALID: undefined,
  /** A provider is incomplete, duplicated or unsafe. */
  FST_AUTHJS_PROVIDER_INVALID: undefined,
  /** The adapter is missing, or lacks methods that the configuration needs. */
  FST_AUTHJS_ADAPTER_INVALID: undefined,
  /** Any other setting that Auth.js refuses. */
  FST_AUTHJS_CONFIG_INVALID: undefined,
  /** The `Host` header (or `:authority`) is missing or is not a host. */
  FST_AUTHJS_HOST_INVALID: 400,
  /** The request body is not a flat object of strings. */
  FST_AUTHJS_BODY_INVALID: 400,
  /** No session, and the guarded route needs one. */
  FST_AUTHJS_UNAUTHENTICATED: 401,
  /** A session that may not use the guarded route. */
  FST_AUTHJS_FORBIDDEN: 403,
  /** No such provider. */
  FST_AUTHJS_NOT_FOUND: 404,
  /** The method is not served on this route; `Allow` names those that are. */
  FST_AUTHJS_METHOD_NOT_ALLOWED: 405,
  /** The request body is compressed. */
  FST_AUTHJS_ENCODING_UNSUPPORTED: 415,
  /** The database or a provider did not answer, and the answer decides. */
  FST_AUTHJS_UNAVAILABLE: 503,
} as const satisfies Record<string, number | undefined>;

/** The stable code of a {@linkcode FastifyAuthError}. */
export type FastifyAuthErrorCode = keyof typeof STATUS_CODES;

/**
 * An error of this package: a stable `code`, a `statusCode` where HTTP sees it, and a message that says what to
 * change.
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
  /** The class name, for logs. */
  override readonly name = "FastifyAuthError";
  /** The stable code: match on this rather than on the message. */
  readonly code: FastifyAuthErrorCode;
  /** The HTTP status, absent on boot errors. Fastify answers with it. */
  readonly statusCode?: number;

  /**
   * Makes the error that its code stands for.
   *
   * @param code The stable code.
   * @param message What is wrong and what to change.
   * @param options The underlying error as `cause`.
   */
  constructor(code: FastifyAuthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    const statusCode = STATUS_CODES[code];
    if (statusCode === undefined) return;
    this.statusCode = statusCode;
    // A client's mistake is logged by Fastify, and where in our code it was noticed helps nobody.
    if (statusCode < 500) this.stack = `${this.name}: ${message}`;
  }
}
