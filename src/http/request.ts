/** Makes a web `Request`. */
import type { IncomingHttpHeaders } from "node:http";

/** The parts of the request. */
export interface WebRequestParts {
  /** The absolute URL. */
  readonly url: string;
  /** `GET` or `POST`. */
  readonly method: string;
  /** The headers as Node gives them. */
  readonly headers: IncomingHttpHeaders;
  /** Headers that replace others, or remove them where `undefined`. */
  readonly override?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** Headers about the connection and the length of the body that was received. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/** Makes the web request. */
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
    // ":authority" and the like are pseudo-headers of HTTP/2.
    if (value === undefined || name.startsWith(":") || CONNECTION_HEADERS.has(name)) continue;
    for (const line of Array.isArray(value) ? value : [value]) appendValid(result, name, line);
  }
  return result;
}

/** `app.inject()` accepts values that `Headers` refuses. */
function appendValid(headers: Headers, name: string, value: string): void {
  try {
    headers.append(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
