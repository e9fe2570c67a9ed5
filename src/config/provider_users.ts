/** Checks the users that `authorize()` and `profile()` of the configuration return. */
import type { Provider } from "@auth/core/providers";
import { FastifyAuthError } from "../errors.ts";
import { defaultProfile } from "../provider/default_profile.ts";
import type { Notices } from "./notices.ts";

/** The functions of a provider that return a user, at the provider or among its `options`. */
const FUNCTIONS = ["authorize", "profile"] as const;

/** What a user without an id is a mistake of, if the application wrote no `profile()`. */
const NO_PROFILE = "No `sub` and no `id` came from the userinfo endpoint, so the default";

type Users = Partial<Record<typeof FUNCTIONS[number], unknown>>;

/**
 * Reports the first user that cannot be meant.
 *
 * @param provider A copy, which is written to.
 */
export function watchUsers(provider: Provider, notices: Notices): Provider {
  const { id, options } = provider as { id: string; options?: Users & { id?: string } };
  for (const holder of [provider as Users, options]) {
    for (const name of FUNCTIONS) {
      const own = holder?.[name];
      if (typeof own !== "function") continue;
      const what = `\`${name}()\` of the provider "${options?.id ?? id}"`;
      const named = own === defaultProfile ? `${NO_PROFILE} ${what}` : what;
      holder![name] = watch(own as Returns, { what: named, notices, mayCopy: name === "authorize" });
    }
  }
  return provider;
}

/**
 * Checks that a credentials provider has `authorize()`: that of the factory refuses every sign-in.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID`.
 */
export function requireAuthorize(provider: Provider): void {
  const { id, type, authorize, options } = provider as Users & { id: string; type: string; options?: Users };
  if (type !== "credentials" || typeof options?.authorize === "function") return;
  // The one of the factory takes no parameter.
  if (typeof authorize === "function" && (options === undefined || authorize.length > 0)) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_PROVIDER_INVALID",
    `The provider "${id}" has no authorize(), so it would refuse every sign-in. Give it one: ` +
      "`Credentials({ credentials: { … }, async authorize(fields) { return user or null; } })`.",
  );
}

type Returns = (this: unknown, ...args: unknown[]) => unknown;

/** How the users of one function are watched. */
interface Watch {
  readonly what: string;
  readonly notices: Notices;
  /**
   * Whether core writes the id as a text into what the function returns, which may be the application's only
   * copy, or frozen.
   */
  readonly mayCopy: boolean;
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function watch(own: Returns, { what, notices, mayCopy }: Watch): Returns {
  let told = false;
  return async function (...args) {
    const user = await own.apply(this, args);
    if (user && typeof user !== "object") {
      throw new TypeError(
        `${what} returned a ${typeof user}: return the user, as in \`{ id, name, email }\`, or null.`,
      );
    }
    const problem = told ? undefined : problemOf(user);
    if (problem !== undefined) {
      told = true;
      notices.warn(`${what} returned ${problem}`, "FST_AUTHJS_WARN_CALLBACK");
    }
    if (!user || !mayCopy) return user;
    const isAsItIs = typeof (user as { id?: unknown }).id === "string" && !Object.isFrozen(user);
    return isAsItIs || !isPlain(user) ? user : { ...user };
  };
}

/** Null and what else is falsy refuses a sign-in; undefined mostly is a forgotten `return`. */
function problemOf(user: unknown): string | undefined {
  if (user === undefined) {
    return "undefined, so the sign-in is refused. Return the user, as in `{ id, name, email }`. To refuse a sign-in, " +
      "return null.";
  }
  if (!user) return undefined;
  const { id } = user as { id?: unknown };
  if (id !== undefined && id !== null && id !== "") return undefined;
  return "a user without `id`, so Auth.js makes one up, another with each sign-in: the same person is a new user " +
    "each time. Return the user's id.";
}
