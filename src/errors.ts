/**
 * The errors of this package. Errors of Auth.js (`CredentialsSignin`, `AccessDenied`, …) keep their own
 * classes.
 */

/**
 * The stable code of a {@linkcode FastifyAuthError}. Those without an HTTP status are boot errors: the
 * application does not start.
 *
 * - `FST_AUTHJS_SECRET_MISSING`: No secret in the configuration and none in `AUTH_SECRET`.
 * - `FST_AUTHJS_SECRET_TOO_SHORT`: A secret is shorter than 32 characters.
 * - `FST_AUTHJS_ORIGIN_INVALID`: `origin` or `AUTH_URL` is not an http or https URL, or its path fits several
 *   mounts.
 * - `FST_AUTHJS_HOST_NOT_TRUSTED`: No public origin is configured, and that of requests is not trusted.
 * - `FST_AUTHJS_PREFIX_INVALID`: The routes cannot be mounted under this prefix, or another route is there.
 * - `FST_AUTHJS_PROVIDER_INVALID`: A provider is incomplete, duplicated or unsafe.
 * - `FST_AUTHJS_ADAPTER_INVALID`: The adapter is missing, or lacks methods that the configuration needs.
 * - `FST_AUTHJS_CONFIG_INVALID`: Any other setting that Auth.js refuses.
 * - `FST_AUTHJS_HOST_INVALID` (400): The `Host` header (or `:authority`) is missing, is invalid, or comes
 *   twice.
 * - `FST_AUTHJS_BODY_INVALID` (400): The request body is not a flat object of strings, numbers and booleans,
 *   has too many fields or is nested too deep.
 * - `FST_AUTHJS_UNAUTHENTICATED` (401): The route requires a session, and the request has none.
 * - `FST_AUTHJS_FORBIDDEN` (403): The signed-in user may not use the route.
 * - `FST_AUTHJS_CROSS_SITE` (403): A page of another origin sent the request, and that origin is not in
 *   `trustedOrigins`.
 * - `FST_AUTHJS_NOT_FOUND` (404): No such provider.
 * - `FST_AUTHJS_METHOD_NOT_ALLOWED` (405): The method is not served on this route; `Allow` names those that
 *   are.
 * - `FST_AUTHJS_SESSION_TOO_LARGE` (413): The session does not fit in the cookie (`sessionCookieLimit`).
 * - `FST_AUTHJS_QUERY_TOO_LONG` (414): The query of an auth route has more than 16,384 characters.
 * - `FST_AUTHJS_ENCODING_UNSUPPORTED` (415): The request body is compressed.
 * - `FST_AUTHJS_UNAVAILABLE` (503): The adapter failed or a provider did not answer. The message says whether
 *   trying again helps.
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

/** The HTTP status codes. */
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
 * An error of this package: a stable `code`, a `statusCode` for errors of a request, and a message that says
 * what to change. Errors of a request have the shape of `http-errors` (`status`, `expose`), which NestJS and
 * other error handlers require to answer with their status.
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
  /** The HTTP status, absent on boot errors. Fastify answers with it. */
  readonly statusCode?: number;
  /** The same as `statusCode`, under the name that `http-errors` has for it. */
  readonly status?: number;
  /** Whether the client may see the message, as in `http-errors`: `true` on every error of a request. */
  readonly expose?: boolean;

  /**
   * Makes an error; its status follows from its code.
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
    this.status = statusCode;
    this.expose = true;
    // Fastify logs these with their stack, which is of no use for a mistake of the client.
    if (statusCode < 500) this.stack = `${this.name}: ${message}`;
  }
}
