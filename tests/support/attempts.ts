/**
 * The cookies in which attempts to sign in are kept: `<prefix>.<time><name>`.
 *
 * @module
 */

/** A name of one, with the default prefix. */
export const ATTEMPT = /^(?:__Host-|__Secure-)?authjs(?:-\w+)?\.state\.[0-9a-z]{8}[\w-]{11}$/;

/** The names of those that a browser has, or that are in a list of names. */
export function attemptsOf(browser: { cookies: ReadonlyMap<string, string> } | Iterable<string>): string[] {
  const names = "cookies" in browser ? browser.cookies.keys() : browser;
  return [...names].filter((name) => ATTEMPT.test(name)).sort();
}
