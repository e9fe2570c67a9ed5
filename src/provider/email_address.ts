/** Normalizes e-mail addresses for sign-in links. */
import { lazyPattern } from "../utils/lazy_pattern.ts";

/** RFC 5321 section 4.5.3.1. */
const MAXIMUM_LENGTH = 254;

/**
 * Characters as they are typed, with spaces and marks that normalizing joins with their letters. To sort the
 * marks of a letter takes the square of their number.
 */
const LONGEST_TYPED = 1_000;

/** Characters of an unquoted local part (RFC 5322 section 3.2.3, RFC 6531 section 3.3). */
const localPart = lazyPattern(String.raw`^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~.-]{1,64}$`, "u");

/** Labels of a host name, in any script. */
const domainName = lazyPattern(String.raw`^[\p{L}\p{M}\p{N}-]+(?:\.[\p{L}\p{M}\p{N}-]+)*$`, "u");

/**
 * The form in which an address is stored, compared and mailed to.
 *
 * As in core, look-alikes of "@" and "," are replaced first, and what follows a comma in the domain is
 * dropped. Stricter than core, it has to be one mailbox: a comma before the "@" makes two recipients, and a
 * key-value store may cut its keys at "?" or "/".
 *
 * @returns `undefined` if it is no address.
 */
export function normalizeAddress(typed: string): string | undefined {
  if (typed.length > LONGEST_TYPED) return undefined;
  const parts = typed.normalize("NFKC").toLowerCase().trim().split("@");
  const [local = "", domain = ""] = parts;
  const host = domain.split(",")[0]!;
  if (parts.length !== 2 || !localPart().test(local) || !domainName().test(host)) return undefined;
  const address = `${local}@${host}`;
  return address.length > MAXIMUM_LENGTH ? undefined : address;
}
