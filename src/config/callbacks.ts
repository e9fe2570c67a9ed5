/**
 * The functions of the application: what they are given, and what is said, once each, if they return what cannot be
 * meant. Mostly that is a forgotten `return`.
 */
import type { AuthConfig } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { withoutTyped } from "../http/redact.ts";
import { defaultProfile } from "../provider/settings.ts";
import type { Notices } from "./notices.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;

const CODE = "FST_AUTHJS_WARN_CALLBACK";

type Returns = (...args: unknown[]) => unknown;

const AsyncFunction = (async () => {}).constructor as unknown as new () => object;

/** Whether it was written with `async`. Others may return a promise, too. */
export function isAsync(callback: unknown): boolean {
  return callback instanceof AsyncFunction;
}

/** A callback whose results are looked at. It returns a promise only if the application's does, which then may wait. */
function watch(own: Returns, holder: object, look: (result: unknown) => void): Returns {
  const looked = async (later: unknown) => {
    const result = await later;
    look(result);
    return result;
  };
  if (isAsync(own)) {
    return async (...args) => await looked(own.apply(holder, args));
  }
  return (...args) => {
    const result = own.apply(holder, args);
    if (typeof (result as { then?: unknown } | null | undefined)?.then === "function") return looked(result);
    look(result);
    return result;
  };
}

/** What happens if a callback returns nothing, and what to return. */
const RETURNS = {
  session: "so no user has a session. Return the session: `session({ session }) { …; return session; }`",
  jwt: "so the session cannot be read. Return the token, `jwt({ token }) { …; return token; }`, or null to end " +
    "the session",
  signIn: "so the sign-in is refused. Return true, false or a URL: `signIn() { …; return true; }`",
  redirect: "so users are led to the origin of the application. Return a URL: `redirect({ url }) { …; return url; }`",
} as const satisfies Partial<Record<keyof Callbacks, string>>;

/**
 * The callbacks, also those that are methods of a class. Each is reported the first time it returns what cannot be
 * meant.
 */
export function watchCallbacks(callbacks: Callbacks, notices: Notices): Callbacks {
  const watched: Record<string, unknown> = {};
  for (const name of Object.keys(RETURNS) as (keyof typeof RETURNS)[]) {
    if (!(name in callbacks)) continue;
    // As in core, one that is set to `undefined` replaces the default.
    const own = callbacks[name] as Returns | undefined ?? (() => {
      throw new TypeError(`callbacks.${name} is not a function`);
    });
    watched[name] = watch(own, callbacks, lookAtResult.bind(null, name, notices));
  }
  return watched;
}

function lookAtResult(name: keyof typeof RETURNS, notices: Notices, result: unknown): void {
  const kind = name === "signIn" ? truthyKind(result) : undefined;
  if (kind !== undefined) throw new TypeError(`\`callbacks.signIn\` returned ${kind}: return true, false or a URL.`);
  if (result === undefined || (name === "redirect" && !isAddress(result))) {
    const what = typeof result === "string" ? "an empty text" : result === null ? null : typeof result;
    return notices.warnOnce(`\`callbacks.${name}\` returned ${what}, ${RETURNS[name]}.`, CODE);
  }
  // Null is no mistake: it is how a callback ends a session.
  if (name !== "session" || result === null || typeof (result as { user?: unknown }).user === "object") return;
  notices.warnOnce(NO_USER, CODE);
}

const NO_USER =
  "`callbacks.session` returned a session without `user`, so no user has a session. Add to the `session` that it is " +
  "given: `session({ session }) { …; return session; }`.";

/** Whether a callback may return it as an address. */
export function isAddress(value: unknown): value is string | URL {
  return value instanceof URL || (typeof value === "string" && value !== "");
}

/**
 * The callbacks, of which `session` is given rows whose other columns can be read, and are not sent. Core gives it the
 * rows: a callback that returns or spreads the session would send the session token and every column of the user to the
 * browser, such as the hash of a password.
 */
export function hideColumns(callbacks: Callbacks): Callbacks {
  const { session: own } = callbacks;
  if (own === undefined) return callbacks;
  return {
    ...callbacks,
    session(params) {
      const { session } = params as { session: { user: object } };
      const user = withFields(session.user, ["id", "name", "email", "image"]);
      return own({ ...params, session: withFields({ ...session, user }, ["user", "expires"]) } as typeof params);
    },
  };
}

/** A copy of a row. What is no field of it stands on its prototype: assigned to the copy, it becomes one. */
function withFields(row: object, fields: readonly string[]): object {
  const columns = Object.create(Object.getPrototypeOf(row));
  for (const name of Reflect.ownKeys(row)) define(columns, name, Reflect.get(row, name), false);
  // JSON would ask the row what it is.
  if ("toJSON" in columns) define(columns, "toJSON", undefined, false);
  const shown = Object.create(columns);
  for (const name of fields) {
    if (name in row) define(shown, name, Reflect.get(row, name), true);
  }
  return shown;
}

function define(target: object, name: PropertyKey, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable });
}

type Own = (this: unknown, ...args: unknown[]) => unknown;

/** Watches what returns a user or its tokens, at the provider, which is a copy and written to, or in its `options`. */
export function watchUsers(provider: Provider, notices: Notices): Provider {
  const { id, options } = provider as { id: string; options?: Record<string, unknown> };
  for (const holder of [provider as unknown as Record<string, unknown>, options ?? {}]) {
    for (const name of ["authorize", "profile", "account"]) {
      const own = holder[name] as Own;
      if (typeof own !== "function") continue;
      const what = `\`${name}()\` of the provider "${options?.id ?? id}"`;
      holder[name] = name === "account" ? watchAccount(own, what) : watchUser(own, what, name === "profile", notices);
    }
  }
  return provider;
}

function watchUser(own: Own, what: string, isProfile: boolean, notices: Notices): Own {
  // deno-lint-ignore no-explicit-any -- an application may return anything
  return async function (...args): Promise<any> {
    let user: unknown;
    try {
      user = await own.apply(this, args);
    } catch (error) {
      throw isProfile ? error : withoutTyped(error, args[0]);
    }
    lookAtUser(what, notices, user, own === defaultProfile);
    const { id, email = null } = Object(user);
    if (isProfile && email !== null && typeof email !== "string") {
      throw new TypeError(`${what} returned a user whose \`email\` is no text: return one address, or null.`);
    }
    // Of `false` from profile() core makes a user without an id, and signs that one in.
    if (!user || isProfile) return user || null;
    // Core writes the id into what authorize() returns, which may be the application's only copy, or frozen.
    const prototype = Object.getPrototypeOf(user);
    if ([Object.prototype, null].includes(prototype)) return { ...user };
    // A copy may lack fields of an instance of a class.
    if (Reflect.set(user, "id", id)) return user;
    const set = { value: id, writable: true, enumerable: true, configurable: true };
    return Object.create(prototype, { ...Object.getOwnPropertyDescriptors(user), id: set });
  };
}

function watchAccount(own: Own, what: string): Own {
  return function (...args) {
    const tokens = own.apply(this, args);
    if (!(tokens instanceof Promise)) return tokens;
    // A rejection that nothing waits for would end the process.
    tokens.catch(() => {});
    throw new TypeError(
      `${what} returned a promise: it is not awaited, so the account would have no tokens. Return them, or undefined ` +
        "for none.",
    );
  };
}

/** What is true for a wrong password, too: the rows of a query, an error and a response. */
export function truthyKind(result: unknown): string | undefined {
  if (Array.isArray(result)) return "an array";
  if (result instanceof Error) return "an error";
  return typeof result === "object" && result instanceof Response ? "a response" : undefined;
}

/** Null and what else is falsy refuses a sign-in; undefined mostly is a forgotten `return`. */
function lookAtUser(what: string, notices: Notices, user: unknown, isDefault: boolean): void {
  if (user === undefined) {
    const problem = `${what} returned undefined, so the sign-in is refused. Return the user, as in ` +
      "`{ id, name, email }`. To refuse a sign-in, return null.";
    return notices.warnOnce(problem, CODE);
  }
  if (!user) return;
  let kind: string | undefined;
  if (typeof user !== "object") kind = `a ${typeof user}`;
  // A plain object is none of these.
  else if (user.constructor !== Object) kind = truthyKind(user);
  if (kind !== undefined) {
    throw new TypeError(`${what} returned ${kind}: return the user, as in \`{ id, name, email }\`, or null.`);
  }
  const { id } = user as { id?: unknown };
  // As a text each is the same for every user: none, a method that was not called, a row, a promise.
  // JSON and drivers of databases round a number that is too large to another one.
  const isShared = typeof id === "number"
    ? !(Math.abs(id) <= Number.MAX_SAFE_INTEGER)
    : id === "" || ["boolean", "function", "symbol"].includes(typeof id) ||
      (typeof id === "object" && /^(?:\[object .*\])?$/.test(String(id)));
  if (isShared) {
    throw new TypeError(
      `${what} returned a user with the \`id\` ${String(id) || '""'}, which other users would have, too: return a ` +
        "text, or a number below 2 ** 53.",
    );
  }
  if (id !== undefined && id !== null) return;
  const why = isDefault ? "No `sub` and no `id` came from the userinfo endpoint, so the default " : "";
  const problem = `${why}${what} returned a user without \`id\`, so Auth.js makes one up, another with each sign-in: ` +
    "the same person is a new user each time. Return the user's id.";
  notices.warnOnce(problem, CODE);
}
