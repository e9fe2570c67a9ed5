/** Bearer tokens (RFC 6750 section 2.1). */

const BEARER = /^bearer(?: +(.*?))? *$/i;
const TOKEN = /^[\w.~+/-]+=*$/;

/**
 * The token of an `Authorization` header.
 *
 * @returns `undefined` where the header is missing or of another scheme, an empty string for what cannot be a
 * token.
 */
export function bearerToken(authorization: string | undefined): string | undefined {
  const match = authorization === undefined ? null : BEARER.exec(authorization);
  if (match === null) return undefined;
  const [, token = ""] = match;
  return TOKEN.test(token) ? token : "";
}
