/**
 * E-mail addresses as people type them, for sign-in links.
 *
 * @module
 */

/** RFC 5321 section 4.5.3.1; a longer one would not fit the index of a database either. */
const MAXIMUM_LENGTH = 254;

/** Characters of an unquoted local part (RFC 5322 section 3.2.3, RFC 6531 section 3.3). */
const LOCAL_PART = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~.-]{1,64}$/u;

/** Labels of a host name, in any script. */
const DOMAIN = /^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*$/u;

/**
 * The address in the one form it is stored, compared and mailed to.
 *
 * As with core, look-alikes of "@" and "," are taken for what they look like before anything is checked, and what
 * follows a comma in the domain is dropped. Beyond core, only what one mailbox can be called is let through: a comma
 * in front of the "@" makes two recipients of it, and a store may cut its keys at a "?" or a "/".
 *
 * @param typed What somebody typed.
 * @returns `undefined` where that is no address.
 */
export function normalizeAddress(typed: string): string | undefined {
  const parts = typed.normalize("NFKC").toLowerCase().trim().split("@");
  const [local = "", domain = ""] = parts;
  const host = domain.split(",")[0]!;
  if (parts.length !== 2 || !LOCAL_PART.test(local) || !DOMAIN.test(host)) return undefined;
  const address = `${local}@${host}`;
  return address.length > MAXIMUM_LENGTH ? undefined : address;
}
