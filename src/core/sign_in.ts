/**
 * One sign-in, as core calls the application's functions: what comes of it, and the session that it makes.
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import type { Provider } from "@auth/core/providers";
import type { User } from "@auth/core/types";
import { updateOnSignIn } from "../adapter/account_tokens.ts";
import { unavailableError } from "../adapter/failure.ts";
import { readSessionCookie } from "../session/cookie.ts";
import { createSession, type NewSession, type SignInParams } from "../session/create.ts";
import { SessionStoreFailure } from "../session/session_records.ts";
import { type Answer, removalOf } from "./answer.ts";
import type { ProviderContext } from "./context.ts";
import { errorAnswer } from "./error_answer.ts";
import { removeOldChunks } from "./session_cookies.ts";
import { withUserId } from "./user_id.ts";

type Callbacks = NonNullable<AuthConfig["callbacks"]>;
type Events = NonNullable<AuthConfig["events"]>;

/** A sign-in. */
export class SignIn {
  readonly #context: ProviderContext;
  readonly #adapter: Adapter | undefined;
  readonly #isSignedIn: boolean;
  /** The user that the `signIn` callback saw. */
  #user: User | undefined;
  /** Whether the `signIn` callback returned a page. */
  #turnedAway = false;
  #linksAccount = false;
  #isNewUser = false;
  /** `null` if the `jwt` callback returned null. */
  #session: NewSession | null | undefined;
  #failure: SessionStoreFailure | undefined;

  /**
   * @param adapter `undefined` without a database.
   * @param isSignedIn Whether core links the account to the user who is signed in.
   */
  constructor(context: ProviderContext, adapter: Adapter | undefined, isSignedIn: boolean) {
    this.#context = context;
    this.#adapter = adapter;
    this.#isSignedIn = isSignedIn;
  }

  /**
   * Stands in for an adapter: core wants one of every configuration, once one of the process had mails or
   * passkeys. The user stays the object that the `signIn` callback saw.
   */
  get adapter(): Adapter {
    return {
      getUserByAccount: () => null,
      getUserByEmail: () => null,
      createUser: () => this.#user as AdapterUser,
      linkAccount: () => undefined,
    };
  }

  /** The provider for core, which without a database has no account to make a row of. */
  providerFor(provider: Provider): Provider {
    // Core refuses conditional UI without a field for it on its own page.
    const own = { ...provider, enableConditionalUI: false } as unknown as Provider;
    return this.#adapter === undefined ? { ...own, account: () => undefined } as Provider : own;
  }

  get callbacks(): Partial<Callbacks> {
    const { signIn: own, redirect } = this.#context.config.core.callbacks ?? {};
    const signIn = withUserId(this.#context, own);
    return {
      ...(redirect && { redirect }),
      signIn: async (params) => {
        this.#user = params.user as User;
        const answer = signIn === undefined ? true : await signIn(params);
        this.#turnedAway = typeof answer === "string";
        return answer;
      },
      jwt: async (params) => {
        const trigger = "signIn" as const;
        await this.#makeSession(
          this.#adapter === undefined ? { ...withoutNewUser(params), trigger } : params,
        );
        return params.token;
      },
    };
  }

  async #makeSession(params: SignInParams): Promise<void> {
    const { config, settings, cookies, headers, warnOnce } = this.#context;
    this.#isNewUser = params.isNewUser === true;
    try {
      this.#session = await createSession(params, {
        config,
        settings,
        adapter: this.#adapter,
        held: readSessionCookie(cookies, settings.cookie.name).token,
        cookies,
        userAgent: headers["user-agent"],
        linksAccount: this.#linksAccount,
        goesOn: this.#isSignedIn && this.#linksAccount,
        warnOnce,
      }) ?? null;
    } catch (error) {
      if (error instanceof SessionStoreFailure) this.#failure = error;
      throw error;
    }
  }

  get events(): Partial<Events> {
    const { config: { core, keepsTokens }, settings: { strategy }, trail } = this.#context;
    let own = trail?.watch(core.events) ?? core.events ?? {};
    if (keepsTokens && strategy === "database") own = updateOnSignIn(own, this.#adapter!);
    const { signIn, createUser, linkAccount, updateUser } = own;
    if (this.#adapter === undefined) {
      return signIn === undefined ? {} : { signIn: (message) => signIn(withoutNewUser(message)) };
    }
    return {
      ...(signIn && { signIn }),
      ...(createUser && { createUser }),
      ...(updateUser && { updateUser }),
      linkAccount: (message) => {
        this.#linksAccount = true;
        return linkAccount?.(message);
      },
    };
  }

  /** The answer to a sign-in that did not fail, with its session. */
  complete(answer: Answer): Answer {
    const { settings, cookies, config: { core } } = this.#context;
    const given = this.#session === null
      ? readSessionCookie(cookies, settings.cookie.name).names
        .map((name) => removalOf(name, settings.cookie.options))
      : this.#session?.cookies ?? [];
    const newUser = this.#isNewUser && answer.redirect !== undefined ? core.pages?.newUser : undefined;
    const complete = {
      ...answer,
      cookies: [...answer.cookies, ...given],
      turnedAway: this.#turnedAway,
      goesOn: this.#session?.goesOn === true,
      ...(newUser && { redirect: withCallbackUrl(newUser, answer.redirect!) }),
    };
    return removeOldChunks(complete, this.#context);
  }

  /** The answer to a sign-in that failed. */
  fail(error: Error): Answer {
    const { logger } = this.#context;
    if (this.#failure === undefined) return errorAnswer(error, this.#context);
    logger.error(this.#failure);
    return { status: 503, headers: {}, cookies: [], error: unavailableError(this.#failure) };
  }
}

function withCallbackUrl(page: string, callbackUrl: string): string {
  return `${page}${page.includes("?") ? "&" : "?"}${new URLSearchParams({ callbackUrl })}`;
}

/** Without a database nobody is a new user. Core says nothing of that with credentials. */
function withoutNewUser<T extends { isNewUser?: boolean; account?: { type: string } | null }>(params: T): T {
  const isNamed = "isNewUser" in params && params.account?.type !== "credentials";
  return isNamed ? { ...params, isNewUser: undefined } : params;
}
