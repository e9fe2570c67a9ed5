/** `app.inject()` with the cookies of one browser. */
import { parseSetCookie } from "cookie";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { environment } from "../config/environment.ts";
import { invalidConfig } from "../errors.ts";

/** The part of a Fastify application that is used: of any server and any type provider, and of NestJS. */
export interface TestedApp {
  /** Sends a request to the application without a network. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>;
}

/**
 * The application's `inject()`, with the cookies of a browser of its own: they are sent with each request, and those
 * that a reply sets or removes are kept. So a session is renewed as in a browser, and ends with a sign-out. Paths,
 * domains and `Secure` do not count: every cookie is sent with every request.
 */
export interface InjectWithCookies {
  /**
   * Sends a request.
   * @param options A path, or what `app.inject()` takes. Cookies in it are sent as well.
   */
  (options: InjectOptions | string): Promise<LightMyRequestResponse>;
  /**
   * The Cookie header as it is now, for requests by other means: `fetch()`, a WebSocket, a browser. Empty if there are
   * no cookies.
   */
  readonly cookie: string;
}

/** @param setCookies The Set-Cookie lines of what the browser has already. */
export function injectWith(app: TestedApp, setCookies: readonly string[] = []): InjectWithCookies {
  const jar = new Map<string, string>();
  const keep = (line: string) => {
    const { name, value = "", maxAge, expires } = parseSetCookie(line, { decode: (text) => text });
    // Max-Age counts before Expires (RFC 6265 section 5.3).
    const isGone = maxAge === undefined ? expires !== undefined && expires.getTime() <= Date.now() : maxAge <= 0;
    if (isGone) jar.delete(name);
    else jar.set(name, value);
  };
  const header = () => [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  setCookies.forEach(keep);
  const inject = async (options: InjectOptions | string) => {
    const request = typeof options === "string" ? { url: options } : options;
    const { cookie: own = [], ...others } = Object.fromEntries(
      Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const cookie = [header(), own].flat().filter(Boolean).join("; ");
    const response = await app.inject({ ...request, headers: { ...others, ...(cookie && { cookie }) } });
    [response.headers["set-cookie"] ?? []].flat().map(String).forEach(keep);
    return response;
  };
  return Object.defineProperty(inject, "cookie", { get: header }) as InjectWithCookies;
}

/** Keeps functions that sign in any user out of production. */
export function refuseInProduction(what: string): void {
  if (environment.NODE_ENV !== "production") return;
  throw invalidConfig(`${what} of fastify-authjs/testing is for tests, and does not work under NODE_ENV=production.`);
}

/** Refuses an option that `what` does not have. */
export function assertOptions(options: object, names: readonly string[], what: string): void {
  const unknown = Object.keys(options).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw invalidConfig(`\`${unknown}\` is no option of ${what}: there are ${names.join(", ")}.`);
  }
}
