/**
 * Says once where a callback of the application returns nothing, which mostly is a forgotten `return`, or a
 * session without its user.
 */
import type { AuthConfig } from "@auth/core";
import type { Notices } from "./notices.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** What happens where a callback returns nothing, and what to return. */
const RETURNS = {
  session: "so no user has a session. Return the session: `session({ session }) { …; return session; }`",
  jwt:
    "so the session cannot be read. Return the token: `jwt({ token }) { …; return token; }`, or null to end the session",
  signIn: "so the sign-in is refused. Return true, false or a URL: `signIn() { …; return true; }`",
  redirect:
    "so users are led to the origin of the application. Return a URL: `redirect({ url }) { …; return url; }`",
} as const satisfies Partial<Record<keyof Callbacks, string>>;

/** The callbacks, each of which is reported the first time it returns what cannot be meant. */
export function watchCallbacks(callbacks: Callbacks, notices: Notices): Callbacks {
  const watched = { ...callbacks } as Record<string, unknown>;
  for (const [name, consequence] of Object.entries(RETURNS)) {
    const own = watched[name];
    if (typeof own !== "function") continue;
    watched[name] = watch(own as Callback, (result) => {
      if (result === undefined || (name === "redirect" && !isAddress(result))) {
        const what = typeof result === "string" ? "an empty text" : result === null ? null : typeof result;
        return `\`callbacks.${name}\` returned ${what}, ${consequence}.`;
      }
      return name === "session" && lacksUser(result) ? NO_USER : undefined;
    }, notices);
  }
  return watched as Callbacks;
}

type Callback = (this: unknown, ...args: unknown[]) => unknown;

/** Whether a `redirect` callback may return it. */
export function isAddress(value: unknown): value is string | URL {
  return value instanceof URL || (typeof value === "string" && value !== "");
}

/** Null is no mistake: it is how a callback ends a session. */
function lacksUser(session: unknown): boolean {
  return session !== null && typeof (session as { user?: unknown }).user !== "object";
}

const NO_USER =
  "`callbacks.session` returned a session without `user`, so no user has a session. Add to the " +
  "`session` that it is given: `session({ session }) { …; return session; }`.";

function watch(
  own: Callback,
  problemOf: (result: unknown) => string | undefined,
  notices: Notices,
): Callback {
  let told = false;
  const check = (result: unknown) => {
    const problem = told ? undefined : problemOf(result);
    if (problem !== undefined) {
      told = true;
      notices.warn(problem, "FST_AUTHJS_WARN_CALLBACK");
    }
    return result;
  };
  return function (...args) {
    const result = own.apply(this, args);
    return !told && isThenable(result) ? result.then(check) : check(result);
  };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === "function";
}
