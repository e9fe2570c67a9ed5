/** Signs a user in without a sign-in method: with the cookie that a sign-in would have ended with. */
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import { stringifySetCookie } from "cookie";
import { randomUUID } from "node:crypto";
import { isObject } from "../utils/decode.ts";
import { invalidConfig } from "../errors.ts";
import type { SignInParams } from "../features/feature.ts";
import { authInstance } from "../instance/auth_instance.ts";
import { createSession, type NewSession } from "../session/create.ts";
import type { SessionSettings } from "../session/settings.ts";
import type { Account, FastifyAuthConfig, Profile, User } from "../types.ts";
import { assertOptions, injectWith, type InjectWithCookies, refuseInProduction, type TestedApp } from "./inject.ts";

/** Who is signed in, and how. */
export interface SignedInOptions {
  /**
   * The user, with the fields that a sign-in gives the `jwt` callback, or that a row in the table of users has. With
   * sessions in a database the user is looked up by `id`, then by `email`, and is created if there is none.
   */
  readonly user: User | (User & Record<string, unknown>);
  /**
   * The account that the `jwt` callback gets, and whose tokens `refreshTokens` keeps. Not for sessions in a database:
   * nothing is linked.
   * @default one of the provider "testing", of the type "credentials"
   */
  readonly account?: Account;
  /**
   * The profile that the `jwt` callback gets. Not for sessions in a database.
   * @default none
   */
  readonly profile?: Profile;
  /**
   * Claims of the session token, which replace what the `jwt` callback returned: `{ expires_at: 0 }` for an access
   * token that has to be refreshed. With sessions in a database only those of `stepUp`: `{ auth_time, acr, amr }`.
   * @default {} those of the callback
   */
  readonly claims?: Readonly<Record<string, unknown>>;
  /**
   * When the session ends. For one that has ended give a time over 15 seconds ago, since clocks may differ. The first
   * read renews a session that ends soon, as it does in a browser.
   * @default after `session.maxAge`
   */
  readonly expires?: Date;
  /**
   * Whether users reach the application over https. It counts only if neither `origin` nor `AUTH_URL` says it: the name
   * of the cookie depends on it.
   * @default false
   */
  readonly secure?: boolean;
}

/** The application's `inject()` for a signed-in user. */
export interface SignedIn extends InjectWithCookies {
  /** The user: with sessions in a database the row, with the id that the adapter gave it. */
  readonly user: User;
}

/**
 * Signs a user in.
 *
 * The cookie is the one that a sign-in would have set: with the name, the key and the chunks that the configuration
 * says, and the claims that its `jwt` callback returns for a sign-in (`trigger: "signIn"`); or with a row in the
 * database, if sessions are kept there. With `revocable` the session has a record. The `signIn` callback and events are
 * not called, and no account is linked: `startIssuer()` is there for tests of the sign-in itself.
 * @param app The application; it may still be starting.
 * @param auth The configuration that was given to `FastifyAuth()`, or the object of `createAuth()`.
 * @returns The application's `inject()`, which sends the cookie.
 * @throws {FastifyAuthError} What is wrong with the configuration, or `FST_AUTHJS_CONFIG_INVALID` for other arguments
 * than these, and under `NODE_ENV=production`.
 * @throws What a callback, the encoder or the adapter throws.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
 * import { signedIn } from "fastify-authjs/testing";
 *
 * const config: FastifyAuthConfig = {
 *   providers: [],
 *   secret: "x".repeat(32),
 *   trustHost: true,
 *   callbacks: {
 *     jwt: ({ token, user }) => user ? { ...token, roles: (user as { roles?: string[] }).roles } : token,
 *     session: ({ session: { user, expires }, token }) => ({
 *       user: { name: user.name ?? null, roles: token.roles },
 *       expires,
 *     }),
 *   },
 * };
 * const app = Fastify();
 * await app.register(FastifyAuth(config), { prefix: "/auth" });
 * app.get("/admin", { config: { auth: { roles: "admin" } } as object }, () => "the admin area");
 *
 * const asAda = await signedIn(app, config, { user: { name: "Ada", roles: ["admin"] } });
 * console.assert((await asAda("/admin")).statusCode === 200);
 *
 * const asBob = await signedIn(app, config, { user: { name: "Bob" } });
 * console.assert((await asBob("/admin")).statusCode === 403);
 * ```
 */
export async function signedIn(
  app: TestedApp,
  auth: FastifyAuthConfig | { readonly config: FastifyAuthConfig },
  options: SignedInOptions,
): Promise<SignedIn> {
  refuseInProduction("signedIn()");
  const config = (auth as { config?: FastifyAuthConfig } | undefined)?.config ?? auth as FastifyAuthConfig;
  assertArguments(app, config, options);
  const instance = authInstance(config);
  await instance.requireReady();
  const settings = instance.settings(instance.config.origin?.secure ?? options.secure ?? false);
  const user = settings.strategy === "jwt" ? options.user : await userInDatabase(settings, options);
  const { cookies } = await makeSession(user, options, settings);
  const inject = injectWith(
    app,
    cookies.map(({ options, ...cookie }) => stringifySetCookie({ ...options, ...cookie }, options)),
  );
  return Object.defineProperty(inject, "user", { value: user, enumerable: true }) as SignedIn;
}

const OPTIONS = ["user", "account", "profile", "claims", "expires", "secure"];

function assertArguments(app: TestedApp, config: FastifyAuthConfig, options: SignedInOptions): void {
  const problem = typeof app?.inject !== "function"
    ? "The first argument is no Fastify application."
    : typeof config === "function" || "forConfig" in Object(config)
    ? "The second argument chooses the configuration of each request: give the configuration of the tenant."
    : !Array.isArray(Object(config).providers)
    ? "The second argument is no configuration."
    : !isObject(options?.user)
    ? "The third argument has no `user`."
    : undefined;
  if (problem !== undefined) {
    throw invalidConfig(
      "signedIn() takes the application, the configuration that FastifyAuth() was given, and the user: " +
        `\`await signedIn(app, config, { user: { name: "Ada" } })\`. ${problem}`,
    );
  }
  assertOptions(options, OPTIONS, "signedIn()");
  // By its method: test runners have a `Date` of their own.
  const { expires } = options;
  if (expires !== undefined && Number.isNaN(expires.getTime?.() ?? NaN)) {
    throw invalidConfig("`expires` of signedIn() must be a valid Date, as in `new Date(Date.now() + 60_000)`.");
  }
}

/** Makes the session, as the end of a sign-in does. */
async function makeSession(
  user: User,
  { account, profile, claims, expires }: SignedInOptions,
  settings: SessionSettings,
): Promise<NewSession> {
  const { callbacks, adapter, strategy } = settings;
  const jwt = async (params: SignInParams) => {
    const token = callbacks.jwt ? await callbacks.jwt(params) : params.token;
    if (token === null) throw invalidConfig("`callbacks.jwt` returned null for this user, so there is no session.");
    return token && { ...token, ...claims }; // a sign-in refuses what is no token
  };
  const { name, email, image: picture, id } = user;
  const sub = id?.toString();
  const own: Account = {
    provider: "testing",
    providerAccountId: id ?? email ?? "testing",
    type: "credentials",
    ...(id !== undefined && { userId: id }),
  };
  const signIn = {
    token: { name, email, picture, sub },
    user: sub === undefined ? user : { ...user, id: sub },
    account: account ?? own,
    profile,
    isNewUser: false,
    trigger: "signIn",
  } as SignInParams;
  const session = await createSession(signIn, {
    settings: { ...(expires === undefined ? settings : endingAt(expires, settings)), callbacks: { ...callbacks, jwt } },
    logger: { error: () => {}, warnOnce: () => {} },
    held: { token: "", names: [] },
    rememberMe: true,
    cookies: "",
    headers: {},
    adapter,
    parts: [],
    linksAccount: false,
    goesOn: false,
    claims,
  }) as NewSession;
  if (strategy === "jwt") return session;
  if (expires !== undefined) await adapter!.updateSession!({ sessionToken: session.token, expires });
  return session;
}

/**
 * The settings for a token that ends then. The cookie does not: a browser sends one whose session has ended elsewhere.
 * A session that has ended is not listed.
 */
function endingAt(expires: Date, settings: SessionSettings): SessionSettings {
  const maxAge = Math.floor((expires.getTime() - Date.now()) / 1000);
  return {
    ...settings,
    tokenMaxAge: maxAge,
    hooks: maxAge > 0 ? settings.hooks : settings.hooks.map(({ onSealed: _stores, ...hooks }) => hooks),
  };
}

/** Finds or creates the row of the user. */
async function userInDatabase(settings: SessionSettings, options: SignedInOptions): Promise<AdapterUser> {
  const unused = (["account", "claims", "profile"] as const).find((name) => options[name] !== undefined);
  if (unused !== undefined && !settings.hooks.some(({ rowCookies }) => rowCookies)) {
    throw invalidConfig(
      `\`${unused}\` is for the "jwt" strategy, or for \`stepUp\`: a row of a session has no claims.`,
    );
  }
  const adapter = settings.adapter as Required<Adapter>;
  const { id, email } = options.user;
  return (id === undefined ? null : await adapter.getUser(id)) ??
    (email ? await adapter.getUserByEmail(email) : null) ??
    await adapter.createUser({ emailVerified: null, ...options.user, id: id ?? randomUUID() } as AdapterUser);
}
