/** Says once where a callback of the application returns nothing, which mostly is a forgotten `return`. */
import type { AuthConfig } from "@auth/core";
import type { Notices } from "./notices.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

/** What happens where a callback returns nothing, and what to return. */
const RETURNS = {
  session: "so no user has a session. Return the session: `session({ session }) { …; return session; }`",
  jwt:
    "so the session is lost. Return the token: `jwt({ token }) { …; return token; }`, or null to end the session",
  signIn: "so the sign-in is refused. Return true, false or a URL: `signIn() { …; return true; }`",
  redirect: "so there is nowhere to go. Return a URL: `redirect({ url }) { …; return url; }`",
} as const satisfies Partial<Record<keyof Callbacks, string>>;

/** The callbacks, each of which is reported the first time it returns `undefined`. */
export function watchCallbacks(callbacks: Callbacks, notices: Notices): Callbacks {
  const watched = { ...callbacks } as Record<string, unknown>;
  for (const [name, consequence] of Object.entries(RETURNS)) {
    const own = watched[name];
    if (typeof own !== "function") continue;
    watched[name] = watch(own as Callback, () => {
      notices.warn(`\`callbacks.${name}\` returned undefined, ${consequence}.`, "FST_AUTHJS_WARN_CALLBACK");
    });
  }
  return watched as Callbacks;
}

type Callback = (this: unknown, ...args: unknown[]) => unknown;

function watch(own: Callback, tell: () => void): Callback {
  let told = false;
  const check = (result: unknown) => {
    if (result === undefined && !told) {
      told = true;
      tell();
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
