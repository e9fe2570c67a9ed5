/** The query of a request, read from its URL: an application may have configured another query parser. */

/**
 * The query of a URL, without its `?`.
 *
 * @param url The URL as Node gives it. A fragment that a client sent is ignored.
 */
export function queryOf(url: string): string {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return start === -1 ? "" : address.slice(start + 1);
}

/**
 * The parameters of a query (WHATWG URL, `application/x-www-form-urlencoded`): `+` is a space, only `&`
 * separates, and an invalid percent-escape stays as it is.
 */
export function parseQuery(query: string): URLSearchParams {
  // The constructor would drop a leading "?", which is part of a name here.
  return new URLSearchParams(`&${query}`);
}
