/** A request for core, which is given no more than it reads. */
import type { IncomingHttpHeaders } from "node:http";

/** The parts of the request. */
export interface CoreRequestParts {
  /** The absolute URL. */
  readonly url: string;
  /** `GET` or `POST`. */
  readonly method: string;
  /** The headers as Node gives them. */
  readonly headers: IncomingHttpHeaders;
  /** Headers that replace others, or remove them where `undefined`. */
  readonly override?: Readonly<Record<string, string | undefined>>;
  /** Sent as JSON. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
}

/** Headers about the connection and the length of the body that was received. */
const CONNECTION_HEADERS = new Set([
  "connection",
  "content-length",
  "keep-alive",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Makes the request. It has what core reads of a `Request` (`Auth()` and `toInternalRequest()` of 0.41.3),
 * and is no `Request`: making one, with its `Headers` and the stream of its body, takes longer than most of
 * what core then does. Functions of the application get a `Request` that core makes itself.
 */
export function toCoreRequest({ url, method, headers, override, body }: CoreRequestParts): Request {
  const sent = { ...headers, ...override, ...(body !== undefined && { "content-type": "application/json" }) };
  const request: ReadByCore = {
    url,
    method,
    headers: new CoreHeaders(sent),
    // Only looked at for whether there is one.
    body: body ?? null,
    json: () => Promise.resolve(copyOf(body!)),
  };
  return request as unknown as Request;
}

/** What core reads of a `Request`. */
interface ReadByCore {
  readonly url: string;
  readonly method: string;
  readonly headers: CoreHeaders;
  readonly body: unknown;
  json(): Promise<unknown>;
}

/** What core reads of `Headers`. */
class CoreHeaders {
  readonly #entries: [name: string, value: string][] = [];

  constructor(headers: IncomingHttpHeaders) {
    for (const [name, value] of Object.entries(headers)) {
      // ":authority" and the like are pseudo-headers of HTTP/2.
      if (value === undefined || CONNECTION_HEADERS.has(name)) continue;
      const text = typeof value === "string" ? value : value.join(", ");
      // `app.inject()` accepts what no connection does, and no `Headers`.
      if (NAME.test(name) && VALUE.test(text)) this.#entries.push([name, text]);
    }
  }

  get(name: string): string | null {
    const sought = name.toLowerCase();
    return this.#entries.find(([name]) => name === sought)?.[1] ?? null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  [Symbol.iterator](): Iterator<[name: string, value: string]> {
    return this.#entries[Symbol.iterator]();
  }
}

/** A name of a header as Node gives it (RFC 9110 section 5.6.2). */
const NAME = /^[a-z0-9!#$%&'*+.^_`|~-]+$/;

/** A value that `Headers` accepts. */
const VALUE = /^[^\0\n\r\u0100-\uffff]*$/;

/** A copy, which functions of the application may write to: texts, and the `data` of an update as JSON. */
function copyOf(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const copy = { ...body };
  for (const [name, value] of Object.entries(copy)) {
    if (typeof value === "object" && value !== null) copy[name] = JSON.parse(JSON.stringify(value));
  }
  return copy;
}
