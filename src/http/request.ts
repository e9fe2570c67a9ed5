/**
 * From a Fastify request's parts to a web `Request`. Knows nothing of Auth.js.
 *
 * @module
 */
import type { IncomingHttpHeaders } from "node:http";

/** What the web request is made of. */
export interface WebRequestParts {
  /** The absolute URL. */
  readonly url: string;
  /** `GET` or `POST`. */
  readonly method: string;
  /** The headers as Node gives them. */
  readonly headers: IncomingHttpHeaders;
  /** Headers that replace what came, or remove it where `undefined`. */
  readonly override?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** They describe bytes on a connection, which the body made here is not. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Makes the web request.
 *
 * @param parts Where the request goes and what it carries.
 */
export function toWebRequest({ url, method, headers, override, body }: WebRequestParts): Request {
  const init: RequestInit = { method, headers: toWebHeaders({ ...headers, ...override }) };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    (init.headers as Headers).set("content-type", "application/json");
  }
  return new Request(url, init);
}

function toWebHeaders(headers: IncomingHttpHeaders): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    // ":authority" and its like are HTTP/2's, not headers.
    if (value === undefined || name.startsWith(":") || CONNECTION_HEADERS.has(name)) continue;
    for (const line of Array.isArray(value) ? value : [value]) appendValid(result, name, line);
  }
  return result;
}

/** A real socket cannot deliver a value that `Headers` refuses; an injected request can. */
function appendValid(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
