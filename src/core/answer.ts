/**
 * The answer to an auth request, as data: nothing is written to the reply before it is complete.
 *
 * @module
 */
import { type SerializeOptions, stringifySetCookie } from "cookie";

/** A cookie to set; with an empty value and `maxAge: 0`, one to remove. */
export interface SetCookie {
  readonly name: string;
  readonly value: string;
  readonly options: SerializeOptions;
}

/** What a request is answered with. */
export interface Answer {
  /** The HTTP status; not looked at where there is a redirect. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A page, or what is sent as JSON; `undefined` for none. */
  readonly body?: unknown;
  readonly cookies: readonly SetCookie[];
  /** Where the browser is sent, absolute or a path. */
  readonly redirect?: string;
  /** Why the request failed. It is logged when the answer is sent; a `FastifyAuthError` without a redirect is thrown. */
  readonly error?: Error;
}

/** A redirect. */
export function redirectAnswer(redirect: string): Answer {
  return { status: 302, headers: {}, cookies: [], redirect };
}

/** A JSON body. */
export function jsonAnswer(body: unknown, status = 200): Answer {
  return { status, headers: { "content-type": "application/json" }, body, cookies: [] };
}

/**
 * The Set-Cookie line of a cookie.
 *
 * @throws {TypeError} for a name or an attribute that no cookie can have.
 */
export function toSetCookieLine({ name, value, options }: SetCookie): string {
  return stringifySetCookie(name, value, options);
}

/** A cookie that makes the browser forget the one of this name. */
export function removalOf(name: string, options: SerializeOptions): SetCookie {
  return { name, value: "", options: { ...options, maxAge: 0 } };
}
