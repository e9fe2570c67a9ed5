/** Cookies that a reply sets, as data and as headers. */
import { type SerializeOptions, stringifyCookie, stringifySetCookie } from "cookie";

/** A cookie to set; with an empty value and `maxAge: 0`, one to remove. */
export type SetCookie = Readonly<{ name: string; value: string; options: SerializeOptions }>;

/** Core encodes what is in its cookies; by default, the package leaves most characters as they are. */
const AS_CORE = { encode: encodeURIComponent };

/** `Object.assign()`, since Node 20 makes a new hidden class for each property after a spread, with every call. */
export function removalOf(name: string, options: SerializeOptions): SetCookie {
  return { name, value: "", options: Object.assign({}, options, { maxAge: 0 }) };
}

export function toSetCookieLine({ name, value, options }: SetCookie): string {
  return stringifySetCookie(Object.assign({}, options, { name, value }), options.encode ? options : AS_CORE);
}

/** The Cookie header that a browser sends once these are set, which sent `header` before. */
export function cookiesAfter(cookies: readonly SetCookie[], header: string): string {
  const pairs = new Map<string, string>();
  for (const pair of header.split(";")) {
    const name = pair.split("=")[0]!.trim();
    // Of several cookies of one name the first counts.
    if (!pairs.has(name)) pairs.set(name, pair.trim());
  }
  for (const { name, value } of cookies) pairs.set(name, value && stringifyCookie({ [name]: value }, AS_CORE));
  return [...pairs.values()].filter(Boolean).join("; ");
}
