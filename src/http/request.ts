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
  const sent = { ...headers, ...override, ...(body !== undefined && { "content-type": "application/json" }) };
  const request = new Request(url, { method, headers: toWebHeaders(sent) });
  return body === undefined ? request : withBody(request, JSON.stringify(body));
}

/**
 * The request with a body. The stream that `Request` makes of a text, and reads again, takes longer than most auth
 * requests.
 */
function withBody(request: Request, text: string): Request {
  const read = {
    // Only looked at for whether there is one.
    body: { value: true },
    json: { value: () => Promise.resolve(JSON.parse(text)) },
    text: { value: () => Promise.resolve(text) },
  };
  return Object.defineProperties(request, read);
}

function toWebHeaders(headers: IncomingHttpHeaders): Headers {
  const record: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    // ":authority" and the like are pseudo-headers of HTTP/2.
    if (value === undefined || name.startsWith(":") || CONNECTION_HEADERS.has(name)) continue;
    record[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  try {
    return new Headers(record);
  } catch {
    return onlyValid(record);
  }
}

/** `app.inject()` accepts values that `Headers` refuses. */
function onlyValid(record: Readonly<Record<string, string>>): Headers {
  const result = new Headers();
  for (const [name, value] of Object.entries(record)) {
    try {
      result.append(name, value);
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return result;
}
