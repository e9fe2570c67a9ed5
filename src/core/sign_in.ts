/**
 * One sign-in, as core calls the application's functions: what comes of it, and the session that it makes.
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import type { User } from "@auth/core/types";
import { updateOnSignIn } from "../adapter/account_tokens.ts";
import { unavailableError } from "../adapter/failure.ts";
import { createSession, type NewSession } from "../session/create.ts";
import { SessionStoreFailure } from "../session/shared_store.ts";
import { type Answer, removalOf } from "./answer.ts";
import type { ProviderContext } from "./context.ts";
import { errorAnswer } from "./error_answer.ts";
import { removeOldChunks } from "./session_cookies.ts";
import { userIdOf } from "./user_id.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;
type Events = NonNullable<AuthConfig["events"]>;

/** A sign-in: what core is given for it, and the answer. */
export interface SignIn {
  readonly adapter: Adapter;
  readonly callbacks: Partial<Callbacks>;
  readonly events: Partial<Events>;
  /** The answer to a sign-in that did not fail, with its session. */
  complete(answer: Answer): Answer;
  /** The answer to a sign-in that failed. */
  fail(error: Error): Answer;
}

/**
 * Begins or ends a sign-in.
 *
 * @param adapter `undefined` without a database.
 * @param isSignedIn Whether core links the account to the user who is signed in.
 */
export function signInOf(
  context: ProviderContext,
  adapter: Adapter | undefined,
  isSignedIn: boolean,
): SignIn {
  const { config, settings, cookies, held, headers, provider, trail, warnOnce, logger } = context;
  const { callbacks: { signIn: ownSignIn, redirect } = {}, pages } = config.core;
  let own = trail?.watch(config.core.events) ?? config.core.events ?? {};
  if (config.keepsTokens && settings.strategy === "database") own = updateOnSignIn(own, adapter!);
  const { signIn, createUser, linkAccount, updateUser } = own;
  // The user that the `signIn` callback saw, and whether that returned a page.
  let user: User | undefined;
  let turnedAway = false;
  let linksAccount = false;
  let isNewUser = false;
  // `null` if the `jwt` callback returned null.
  let session: NewSession | null | undefined;
  let failure: SessionStoreFailure | undefined;

  return {
    // Core wants an adapter of every configuration, once one of the process had mails or passkeys. With this one
    // the user stays the object that the `signIn` callback saw.
    adapter: adapter ?? {
      getUserByAccount: () => null,
      getUserByEmail: () => null,
      createUser: () => user as AdapterUser,
      linkAccount: () => undefined,
    },
    callbacks: {
      ...(redirect && { redirect }),
      async signIn(params) {
        user = params.user as User;
        if (adapter === undefined && (provider.type === "oauth" || provider.type === "oidc")) {
          user.id = userIdOf(params.account!, context);
        }
        const answer = ownSignIn === undefined ? true : await ownSignIn(params);
        turnedAway = typeof answer === "string";
        return answer;
      },
      async jwt(params) {
        const given = adapter === undefined
          ? { ...withoutNewUser(params), trigger: "signIn" as const }
          : params;
        isNewUser = given.isNewUser === true;
        try {
          session = await createSession(given, {
            config,
            settings,
            adapter,
            held: held.token,
            cookies,
            userAgent: headers["user-agent"],
            linksAccount,
            goesOn: isSignedIn && linksAccount,
            warnOnce,
          }) ?? null;
        } catch (error) {
          if (error instanceof SessionStoreFailure) failure = error;
          throw error;
        }
        return params.token;
      },
    },
    events: adapter === undefined
      ? { ...(signIn && { signIn: (message) => signIn(withoutNewUser(message)) }) }
      : {
        ...(signIn && { signIn }),
        ...(createUser && { createUser }),
        ...(updateUser && { updateUser }),
        linkAccount(message) {
          linksAccount = true;
          return linkAccount?.(message);
        },
      },
    complete(answer) {
      const { options } = settings.cookie;
      const given = session === null
        ? held.names.map((name) => removalOf(name, options))
        : session?.cookies ?? [];
      const newUser = isNewUser && answer.redirect !== undefined ? pages?.newUser : undefined;
      return removeOldChunks({
        ...answer,
        cookies: [...answer.cookies, ...given],
        turnedAway,
        ...(session && { session: session.token, goesOn: session.goesOn }),
        ...(newUser && { redirect: withCallbackUrl(newUser, answer.redirect!) }),
      }, context);
    },
    fail(error) {
      if (failure === undefined) return errorAnswer(error, context);
      logger.error(failure);
      return { status: 503, headers: {}, cookies: [], error: unavailableError(failure) };
    },
  };
}

function withCallbackUrl(page: string, callbackUrl: string): string {
  return `${page}${page.includes("?") ? "&" : "?"}${new URLSearchParams({ callbackUrl })}`;
}

/** Without a database nobody is a new user. Core says nothing of that with credentials. */
function withoutNewUser<T extends { isNewUser?: boolean; account?: { type: string } | null }>(params: T): T {
  const isNamed = "isNewUser" in params && params.account?.type !== "credentials";
  return isNamed ? { ...params, isNewUser: undefined } : params;
}
