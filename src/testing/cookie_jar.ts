/** The cookies of one browser, for requests to one application. */
import { parseSetCookie } from "cookie";

/** Keeps cookies as a browser does, and sends each with every request: paths and domains do not count. */
export class CookieJar {
  readonly #cookies = new Map<string, string>();

  keep(lines: readonly string[]): void {
    for (const line of lines) {
      const { name, value = "", maxAge, expires } = parseSetCookie(line, { decode: (text) => text });
      // Max-Age counts before Expires (RFC 6265 section 5.3).
      const isGone = maxAge === undefined
        ? expires !== undefined && expires.getTime() <= Date.now()
        : maxAge <= 0;
      if (isGone) this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
  }

  /** The value of the Cookie header; empty if there is none. */
  get header(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }
}
