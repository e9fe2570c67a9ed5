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
 * Makes the request. It has what core reads of a `Request` (`Auth()` and `toInternalRequest()` of 0.41.3): making one,
 * with its `Headers` and the stream of its body, takes longer than most of what core then does. It is made where anything
 * else is read. Functions of the application get a `Request` that core makes itself.
 */
export function toCoreRequest({ url, method, headers, override, body }: CoreRequestParts): Request {
  const sent = { ...headers, ...override, ...(body !== undefined && { "content-type": "application/json" }) };
  return new CoreRequest(url, method, new CoreHeaders(sent), body) as unknown as Request;
}

/** What core reads of a `Request`. */
class CoreRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: CoreHeaders;
  /** Only looked at for whether there is one. */
  readonly body: NonNullable<CoreRequestParts["body"]> | null;
  #whole: Request | undefined;

  constructor(url: string, method: string, headers: CoreHeaders, body: CoreRequestParts["body"]) {
    this.url = url;
    this.method = method;
    this.headers = headers;
    this.body = body ?? null;
  }

  json(): Promise<unknown> {
    return Promise.resolve(copyOf(this.body!));
  }

  whole(): Request {
    const { url, method, headers, body } = this;
    return this.#whole ??= new Request(url, {
      method,
      headers: headers.whole(),
      body: body === null ? null : JSON.stringify(body),
    });
  }
}

/** What core reads of `Headers`. */
class CoreHeaders {
  readonly #entries: [name: string, value: string][] = [];
  #whole: Headers | undefined;

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

  static {
    // The builders of the npm package write a member `[Symbol.iterator]()` in two ways.
    Object.defineProperty(this.prototype, Symbol.iterator, {
      value(this: CoreHeaders): Iterator<[name: string, value: string]> {
        return this.#entries[Symbol.iterator]();
      },
    });
  }

  whole(): Headers {
    return this.#whole ??= new Headers(this.#entries);
  }
}

/** Has a class answer for all that it does not have itself, such as what another release of core reads. */
function completeBy<T extends object>(part: { readonly prototype: { whole(): T } }): void {
  const get = (_: object, name: string | symbol, receiver: { whole(): T }) => {
    const whole = receiver.whole();
    const value = Reflect.get(whole, name, whole);
    return typeof value === "function" ? value.bind(whole) : value;
  };
  Object.setPrototypeOf(part.prototype, new Proxy({}, { get }));
}
completeBy(CoreRequest);
completeBy(CoreHeaders);

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
