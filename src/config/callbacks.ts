/**
 * Says once if a callback of the application returns nothing, which mostly is a forgotten `return`, or a
 * session without its user.
 */
import type { AuthConfig } from "@auth/core";
import type { Notices } from "./notices.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** What happens if a callback returns nothing, and what to return. */
const RETURNS = {
  session: "so no user has a session. Return the session: `session({ session }) { …; return session; }`",
  jwt:
    "so the session cannot be read. Return the token, `jwt({ token }) { …; return token; }`, or null to end " +
    "the session",
  signIn: "so the sign-in is refused. Return true, false or a URL: `signIn() { …; return true; }`",
  redirect:
    "so users are led to the origin of the application. Return a URL: `redirect({ url }) { …; return url; }`",
} as const satisfies Partial<Record<keyof Callbacks, string>>;

/** The callbacks, each of which is reported the first time it returns what cannot be meant. */
export function watchCallbacks(callbacks: Callbacks, notices: Notices): Callbacks {
  const watched = { ...callbacks } as Record<string, unknown>;
  for (const [name, consequence] of Object.entries(RETURNS)) {
    if (!(name in watched)) continue;
    const own = watched[name] as ((...args: unknown[]) => { user?: unknown } | null | undefined) | undefined;
    let told = false;
    watched[name] = async function (this: unknown, ...args: unknown[]) {
      // As in core, one that is set to `undefined` replaces the default.
      if (own === undefined) throw new TypeError(`callbacks.${name} is not a function`);
      const result = await own.apply(this, args);
      if (told) return result;
      const isEmpty = result === undefined || (name === "redirect" && !isAddress(result));
      // Null is no mistake: it is how a callback ends a session.
      const lacksUser = name === "session" && !isEmpty && result !== null && typeof result.user !== "object";
      if (!isEmpty && !lacksUser) return result;
      told = true;
      const what = typeof result === "string" ? "an empty text" : result === null ? null : typeof result;
      const problem = isEmpty ? `\`callbacks.${name}\` returned ${what}, ${consequence}.` : NO_USER;
      notices.warn(problem, "FST_AUTHJS_WARN_CALLBACK");
      return result;
    };
  }
  return watched as Callbacks;
}

/** Whether a `redirect` callback may return it. */
export function isAddress(value: unknown): value is string | URL {
  return value instanceof URL || (typeof value === "string" && value !== "");
}

const NO_USER =
  "`callbacks.session` returned a session without `user`, so no user has a session. Add to the " +
  "`session` that it is given: `session({ session }) { …; return session; }`.";
