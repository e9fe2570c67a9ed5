/** Bearer tokens (RFC 6750 section 2.1). */

const SCHEME = /^bearer(?: |$)/i;
/** What follows differs from what comes before, so that no two parts can take the same spaces. */
const CREDENTIALS = /^bearer +([\w.~+/-]+=*) *$/i;

/**
 * The token of an `Authorization` header.
 *
 * @returns `undefined` if the header is missing or of another scheme, an empty string for what cannot be a
 * token.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined || !SCHEME.test(authorization)) return undefined;
  return CREDENTIALS.exec(authorization)?.[1] ?? "";
}
