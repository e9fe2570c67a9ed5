/**
 * Every error this package throws by itself, at boot or for a request.
 *
 * Errors of Auth.js (`CredentialsSignin`, `AccessDenied`, …) are not among them: they keep their own classes.
 *
 * @module
 */

/**
 * The stable code of a {@linkcode FastifyAuthError}. Those without an HTTP status are boot errors: the application
 * does not start.
 *
 * - `FST_AUTHJS_SECRET_MISSING`: No secret in the configuration and none in `AUTH_SECRET`.
 * - `FST_AUTHJS_SECRET_TOO_SHORT`: A secret is shorter than 32 characters.
 * - `FST_AUTHJS_ORIGIN_INVALID`: `origin` or `AUTH_URL` is not an http or https URL.
 * - `FST_AUTHJS_HOST_NOT_TRUSTED`: The public origin is neither configured nor may it be taken from the request.
 * - `FST_AUTHJS_PREFIX_INVALID`: The routes cannot live under this prefix.
 * - `FST_AUTHJS_PROVIDER_INVALID`: A provider is incomplete, duplicated or unsafe.
 * - `FST_AUTHJS_ADAPTER_INVALID`: The adapter is missing, or lacks methods that the configuration needs.
 * - `FST_AUTHJS_CONFIG_INVALID`: Any other setting that Auth.js refuses.
 * - `FST_AUTHJS_HOST_INVALID` (400): The `Host` header (or `:authority`) is missing, is not a host, or comes twice.
 * - `FST_AUTHJS_BODY_INVALID` (400): The request body is not a flat object of texts, numbers and booleans, has too many
 *   fields or is nested too deep.
 * - `FST_AUTHJS_UNAUTHENTICATED` (401): No session, and the guarded route needs one.
 * - `FST_AUTHJS_FORBIDDEN` (403): A session that may not use the guarded route.
 * - `FST_AUTHJS_CROSS_SITE` (403): A page of another origin sent the request, and that origin is not in `trustedOrigins`.
 * - `FST_AUTHJS_NOT_FOUND` (404): No such provider.
 * - `FST_AUTHJS_METHOD_NOT_ALLOWED` (405): The method is not served on this route; `Allow` names those that are.
 * - `FST_AUTHJS_SESSION_TOO_LARGE` (413): The session does not fit in the cookie (`sessionCookieLimit`).
 * - `FST_AUTHJS_QUERY_TOO_LONG` (414): The query of an auth route has more than 16,384 characters.
 * - `FST_AUTHJS_ENCODING_UNSUPPORTED` (415): The request body is compressed.
 * - `FST_AUTHJS_UNAVAILABLE` (503): The database failed or a provider did not answer, and that decides. The message says
 *   whether trying again helps.
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
  | "FST_AUTHJS_SESSION_TOO_LARGE"
  | "FST_AUTHJS_QUERY_TOO_LONG"
  | "FST_AUTHJS_ENCODING_UNSUPPORTED"
  | "FST_AUTHJS_UNAVAILABLE";

/** The HTTP status a client sees. */
const STATUS_CODES: Partial<Record<FastifyAuthErrorCode, number>> = {
  FST_AUTHJS_HOST_INVALID: 400,
  FST_AUTHJS_BODY_INVALID: 400,
  FST_AUTHJS_UNAUTHENTICATED: 401,
  FST_AUTHJS_FORBIDDEN: 403,
  FST_AUTHJS_CROSS_SITE: 403,
  FST_AUTHJS_NOT_FOUND: 404,
  FST_AUTHJS_METHOD_NOT_ALLOWED: 405,
  FST_AUTHJS_SESSION_TOO_LARGE: 413,
  FST_AUTHJS_QUERY_TOO_LONG: 414,
  FST_AUTHJS_ENCODING_UNSUPPORTED: 415,
  FST_AUTHJS_UNAVAILABLE: 503,
};

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
