/** The query of a request, read from its URL: an application may have configured another query parser. */

/** The query of a URL as Node gives it, without `?` and without a fragment that a client sent. */
export function queryOf(url: string): string {
  const [address = ""] = url.split("#", 1);
  const start = address.indexOf("?");
  return start === -1 ? "" : address.slice(start + 1);
}

/** The parameters of a query. Unlike the constructor this keeps a leading "?", which is part of a name here. */
export function parseQuery(query: string): URLSearchParams {
  return new URLSearchParams(`&${query}`);
}
