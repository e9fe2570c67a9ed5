/** `app.inject()` with the cookies of one browser. */
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { CookieJar } from "./cookie_jar.ts";

/** The part of a Fastify application that is used: of any server and any type provider, and of NestJS. */
export interface TestedApp {
  /** Sends a request to the application without a network. */
  inject(options: InjectOptions | string): Promise<LightMyRequestResponse>;
}

/**
 * The application's `inject()`, with the cookies of a browser of its own: they are sent with each request,
 * and those that a reply sets or removes are kept. So a session is renewed as in a browser, and ends with a
 * sign-out. Paths, domains and `Secure` do not count: every cookie is sent with every request.
 */
export interface InjectWithCookies {
  /**
   * Sends a request.
   *
   * @param options A path, or what `app.inject()` takes. Cookies in it are sent as well.
   * @returns The response of `app.inject()`.
   */
  (options: InjectOptions | string): Promise<LightMyRequestResponse>;
  /**
   * The Cookie header as it is now, for requests by other means: `fetch()`, a WebSocket, a browser. Empty
   * if there are no cookies.
   */
  readonly cookie: string;
}

export function injectWith(app: TestedApp, jar: CookieJar = new CookieJar()): InjectWithCookies {
  const inject = async (options: InjectOptions | string) => {
    const request = typeof options === "string" ? { url: options } : options;
    const response = await app.inject({ ...request, headers: withCookies(request.headers, jar.header) });
    jar.keep([response.headers["set-cookie"] ?? []].flat().map(String));
    return response;
  };
  return Object.defineProperty(inject, "cookie", { get: () => jar.header }) as InjectWithCookies;
}

type Headers = NonNullable<InjectOptions["headers"]>;

function withCookies(headers: Headers = {}, cookies: string): Headers {
  const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "cookie");
  const own = Object.entries(headers).filter(([name]) => name.toLowerCase() === "cookie");
  const cookie = [cookies, ...own.flatMap(([, value]) => value)].filter(Boolean).join("; ");
  return { ...Object.fromEntries(others), ...(cookie && { cookie }) };
}
