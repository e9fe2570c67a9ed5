/**
 * The query of a request, read from its address: an application may have Fastify parse queries in any way.
 *
 * @module
 */

/**
 * The query of a request's address, without its `?`.
 *
 * @param url The address as Node gives it. A fragment never belongs to it, but a client can send one.
 */
export function queryOf(url: string): string {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return start === -1 ? "" : address.slice(start + 1);
}

/**
 * The parameters of a query (WHATWG URL, `application/x-www-form-urlencoded`): `+` is a space, only `&` separates, and an
 * invalid percent-escape stays as it is.
 *
 * @param query The query without its `?`.
 */
export function parseQuery(query: string): URLSearchParams {
  // The constructor drops a leading "?", which here would be part of a name.
  return new URLSearchParams(`&${query}`);
}
