/** The answer to an auth request, as data. The reply is written once the answer is complete. */
import type { VerificationToken } from "@auth/core/adapters";
import { AccessDenied } from "@auth/core/errors";
import type { FastifyAuthError } from "../errors.ts";
import type { SetCookie } from "../http/set_cookie.ts";
import type { Page } from "../pages/types.ts";
import type { EventDetails } from "../telemetry/events.ts";
import type { AuthEvents } from "../types.ts";

export interface Answer {
  /** The HTTP status, unless there is a redirect. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** A built-in page, which is rendered when the answer is sent. */
  readonly page?: Page;
  readonly cookies: readonly SetCookie[];
  readonly session?: string;
  /** Whether that session is the one that the browser has, with an account more. */
  readonly goesOn?: boolean;
  /** Whether a script or the application began the sign-in. */
  readonly byScript?: boolean | undefined;
  readonly redirect?: string;
  /** Why the request failed. A `FastifyAuthError` without a redirect is thrown when the answer is sent. */
  readonly error?: Error;
  /** Of the link that was mailed. */
  readonly mailed?: Pick<VerificationToken, "identifier" | "expires">;
  readonly events?: { readonly [Name in keyof AuthEvents]?: EventDetails<Name> };
  /** Whether it was logged and published already, such as with another request of the same attempt. */
  readonly isReported?: boolean;
}

/** The `signIn` callback led the user elsewhere: an answer without error. */
export const TURNED_AWAY: NonNullable<Answer["events"]> = {
  "fastify-authjs:sign-in-failure": { reason: AccessDenied.type, status: 403 },
};

export function redirectAnswer(redirect: string): Answer {
  return { status: 302, headers: {}, cookies: [], redirect };
}

export function pageAnswer(page: Page, status = 200): Answer {
  return { status, headers: {}, cookies: [], page };
}

export function jsonAnswer(body: unknown, status = 200): Answer {
  return { status, headers: { "content-type": "application/json" }, body, cookies: [] };
}

/** An error that is thrown once these cookies are set. */
export function failedAnswer(error: FastifyAuthError, cookies: Answer["cookies"] = []): Answer {
  return { status: 503, headers: {}, cookies, error };
}
