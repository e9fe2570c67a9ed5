/** The answer to an auth request, as data. The reply is written once the answer is complete. */
import type { Page } from "../pages/types.ts";
import { type SerializeOptions, stringifyCookie, stringifySetCookie } from "cookie";
import type { SetCookie } from "../session/cookie.ts";
import type { Checks } from "./checks.ts";

/** The answer to a request. */
export interface Answer {
  /** The HTTP status; ignored where there is a redirect. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** A value to send as JSON, or text. */
  readonly body?: unknown;
  /** A built-in page, which is rendered when the answer is sent. */
  readonly page?: Page;
  readonly cookies: readonly SetCookie[];
  /** The session token that they set. */
  readonly session?: string;
  /** A path or an absolute URL. */
  readonly redirect?: string;
  /**
   * Why the request failed: logged when the answer is sent, unless it is `logged`. A `FastifyAuthError`
   * without a redirect is thrown.
   */
  readonly error?: Error;
  /**
   * The last error that core logged, and answered as if there were none: a callback or an event of the
   * application.
   */
  readonly logged?: Error;
  /** What core has its callback checked by. */
  readonly checks?: Checks;
  /** Whether an earlier request has got it, too: both were one attempt, which is logged and published once. */
  readonly isShared?: boolean;
  /** Whether the `signIn` callback led the user elsewhere, instead of to a session: an answer without error. */
  readonly turnedAway?: boolean;
  /** Whether the session that the answer sets is the one that the browser has, with an account more. */
  readonly goesOn?: boolean;
}

/** A redirect. */
export function redirectAnswer(redirect: string): Answer {
  return { status: 302, headers: {}, cookies: [], redirect };
}

/** A built-in page. */
export function pageAnswer(page: Page, status = 200): Answer {
  return { status, headers: {}, cookies: [], page };
}

/** A JSON body. */
export function jsonAnswer(body: unknown, status = 200): Answer {
  return { status, headers: { "content-type": "application/json" }, body, cookies: [] };
}

/**
 * The value of a Set-Cookie header.
 *
 * @throws {TypeError} Where a name or an attribute is invalid.
 */
export function toSetCookieLine({ name, value, options }: SetCookie): string {
  return stringifySetCookie(name, value, options);
}

/** Removes the cookie of this name. */
export function removalOf(name: string, options: SerializeOptions): SetCookie {
  return { name, value: "", options: { ...options, maxAge: 0 } };
}

/**
 * The Cookie header that a browser sends after the answer.
 *
 * @param header The one that it sent.
 */
export function cookiesAfter({ cookies }: Answer, header: string): string {
  const changed = new Map<string, string>();
  for (const { name, value } of cookies) changed.set(name, value);
  const pairs: string[] = [];
  for (const pair of header.split(";")) {
    const name = pair.split("=")[0]!.trim();
    if (pair.trim() !== "" && !changed.has(name)) pairs.push(pair.trim());
  }
  for (const [name, value] of changed) {
    if (value !== "") pairs.push(stringifyCookie({ [name]: value }));
  }
  return pairs.join("; ");
}
