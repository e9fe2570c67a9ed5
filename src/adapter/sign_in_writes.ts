/**
 * Undoes what a sign-in wrote, where the sign-in fails.
 *
 * Core creates a user first and links a sign-in method afterwards. A failure in between would leave a user
 * that blocks its e-mail address: every later sign-in with that address is refused with
 * `OAuthAccountNotLinked`. Core also uses up a sign-in link before it knows whether the sign-in succeeds.
 */
import type { Adapter, AdapterAccount, AdapterUser, VerificationToken } from "@auth/core/adapters";
import type { AccountListAdapter } from "./account_list.ts";
import { AdapterFailure, isUnanswered } from "./failure.ts";
import type { UnfinishedUsers } from "./unfinished_users.ts";

/** What is known of the sign-in. */
export interface SignInOptions {
  /** The type of its provider, which says what a new user needs to be able to sign in again. */
  readonly type: string;
  /** Users of earlier sign-ins that are still to be deleted. */
  readonly unfinished: UnfinishedUsers;
  /** Logs what could not be undone. */
  readonly report: (error: Error) => void;
}

/** What the operator has to do where nothing else removes the user. */
const DELETE_USER = "Its next sign-in deletes it, if this process gets it. " +
  "Otherwise delete the user from the database: until then no other sign-in with its address succeeds.";

type Account = Pick<AdapterAccount, "provider" | "providerAccountId">;

/** The writes of one sign-in. */
export class SignInWrites {
  /** The adapter for core: it records each write, and undoes one that completes after its timeout. */
  readonly adapter: Adapter;

  readonly #adapter: Adapter;
  readonly #options: SignInOptions;
  /** The user that this sign-in created. */
  #user: AdapterUser | undefined;
  #userRemoved = false;
  /** The account to link, and whether it was linked. */
  #account: Account | undefined;
  #accountLinked = false;
  /** The passkey to store, and whether it was stored. */
  #credentialId: string | undefined;
  #credentialStored = false;
  #sessionToken: string | undefined;
  #restoreLink = () => Promise.resolve();

  constructor(adapter: Adapter, options: SignInOptions) {
    this.#adapter = adapter;
    this.#options = options;
    this.adapter = this.#recordWrites();
  }

  #recordWrites(): Adapter {
    const adapter = this.#adapter;
    const wrap = <Name extends keyof Adapter>(
      name: Name,
      wrapper: (call: NonNullable<Adapter[Name]>) => Adapter[Name],
    ) => adapter[name] && { [name]: wrapper(adapter[name]) };
    return {
      ...adapter,
      ...wrap("createUser", (create) => async (user) => {
        const created = undoIfLate(create(user), (late) => this.#removeUser(late));
        this.#user = await created.catch((error: unknown) => {
          // The call may have created the user nevertheless, with the requested id.
          this.#removeLater(user, error);
          throw error;
        });
        return this.#user;
      }),
      ...wrap("linkAccount", (link) => async (account) => {
        this.#account = account;
        const linked = await undoIfLate(link(account) as Promise<AdapterAccount>, async () => {
          if (this.#userRemoved) await this.#unlinkAccount();
        });
        this.#accountLinked = true;
        return linked;
      }),
      ...wrap("createAuthenticator", (create) => async (authenticator) => {
        this.#credentialId = authenticator.credentialID;
        const created = await create(authenticator);
        this.#credentialStored = true;
        return created;
      }),
      ...wrap("createSession", (create) => async (session) => {
        const created = await undoIfLate(create(session), () => this.#deleteSession(session.sessionToken));
        this.#sessionToken = session.sessionToken;
        return created;
      }),
      ...wrap("useVerificationToken", (use) => async (params) => {
        const row = await undoIfLate(use(params), (late) => this.#restore(late, params));
        this.#restoreLink = () => this.#restore(row, params);
        return row;
      }),
      ...wrap("getUserByEmail", (get) => async (email) => {
        const user = await get(email);
        if (user === null || !this.#options.unfinished.has(user)) return user;
        await this.#deleteUser(user);
        return null;
      }),
    };
  }

  /**
   * Undoes what must not stay. Never rejects.
   *
   * @param failed Whether the adapter failed, so that the user has to sign in again.
   */
  async cleanUp(failed: boolean): Promise<void> {
    if (failed) await this.#restoreLink();
    if (failed && this.#sessionToken !== undefined) await this.#deleteSession(this.#sessionToken);
    if (this.#user !== undefined) await this.#removeUser(this.#user);
    // A signed-in user was adding a passkey, which was not stored.
    else if (this.#options.type === "webauthn" && this.#accountLinked && !this.#credentialStored) {
      await this.#unlinkAccount();
    }
  }

  /** Removes a user that this sign-in created, unless it can sign in; later, where that fails. */
  async #removeUser(user: AdapterUser): Promise<void> {
    try {
      await this.#removeUnfinished(user);
    } catch (error) {
      const what =
        `The user ${user.id} has no sign-in method, since its sign-in was broken off, and could not be`;
      this.#report(
        this.#removeLater(user, error)
          ? `${what} deleted yet. That is tried again for ten minutes; another line follows where it fails.`
          : `${what} deleted. ${DELETE_USER}`,
        error,
      );
    }
  }

  async #removeUnfinished(user: AdapterUser): Promise<void> {
    if (await this.#canSignIn(user)) return;
    if (this.#sessionToken !== undefined) await this.#deleteSession(this.#sessionToken);
    if (this.#accountLinked) await this.#unlinkAccount();
    await this.#deleteUser(user);
  }

  /**
   * Has the user removed by its next sign-in, or earlier where the database only has to answer again.
   *
   * @returns Whether it is tried earlier.
   */
  #removeLater({ id }: Pick<AdapterUser, "id">, error: unknown): boolean {
    const { unfinished } = this.#options;
    const isTriedAgain = isUnanswered(error) && this.#adapter.getUser !== undefined;
    const attempt = async () => {
      const user = await this.#adapter.getUser!(id);
      // Where there is none, the database may still be creating it.
      if (user === null) return;
      if (!user.emailVerified && !await this.#hasOtherAccount(id)) await this.#removeUnfinished(user);
      unfinished.delete(id);
    };
    const giveUp = (cause: unknown) =>
      this.#report(`The user ${id} has no sign-in method, and could not be deleted. ${DELETE_USER}`, cause);
    unfinished.add(id, isTriedAgain ? { attempt, giveUp } : undefined);
    return isTriedAgain;
  }

  /** Whether another sign-in has linked an account to the user, as far as the adapter tells. */
  async #hasOtherAccount(userId: string): Promise<boolean> {
    const { listAccountsByUserId: list } = this.#adapter as Adapter & Partial<AccountListAdapter>;
    const accounts = await list?.(userId) ?? [];
    return accounts.some(({ provider, providerAccountId }) =>
      provider !== this.#account?.provider || providerAccountId !== this.#account.providerAccountId
    );
  }

  /** Whether the user can sign in again: by e-mail always, otherwise with what was linked. */
  async #canSignIn(user: AdapterUser): Promise<boolean> {
    const { type } = this.#options;
    if (type === "email") return true;
    if (type === "webauthn") {
      if (this.#credentialStored || this.#credentialId === undefined) return this.#credentialStored;
      return await this.#adapter.getAuthenticator!(this.#credentialId) !== null;
    }
    if (this.#accountLinked || this.#account === undefined) return this.#accountLinked;
    // The call failed, but may have linked the account; so may another request.
    const owner = await this.#adapter.getUserByAccount!(this.#account);
    return owner !== null && owner.id === user.id;
  }

  /** Deletes a user, or replaces its address where the adapter cannot delete or the database refuses to. */
  async #deleteUser(user: AdapterUser): Promise<void> {
    const adapter = this.#adapter;
    try {
      if (!adapter.deleteUser) throw new Error("The adapter has no deleteUser().");
      await adapter.deleteUser(user.id);
    } catch (error) {
      if (isUnanswered(error) || !adapter.updateUser) throw error;
      // Some adapters delete the user, and then fail because it has no accounts or sessions.
      const remaining = await adapter.getUser?.(user.id);
      // No real address has this domain (RFC 6761 section 6.4).
      const email = `${crypto.randomUUID()}@unfinished.invalid`;
      if (remaining !== null) await adapter.updateUser({ id: user.id, email });
    }
    this.#userRemoved = true;
    this.#options.unfinished.delete(user.id);
  }

  async #deleteSession(token: string): Promise<void> {
    const problem = "A session that no browser has could not be deleted; it ends when it expires.";
    await this.#reportFailure(problem, () => this.#adapter.deleteSession?.(token));
  }

  async #unlinkAccount(): Promise<void> {
    const account = this.#account!;
    const problem = `An account of "${account.provider}" that belongs to no user could not be unlinked.`;
    await this.#reportFailure(problem, () => this.#adapter.unlinkAccount?.(account));
  }

  /** Stores a used sign-in link again. Some adapters return the row without all of its columns. */
  async #restore(
    row: VerificationToken | null,
    params: { identifier: string; token: string },
  ): Promise<void> {
    if (row === null || row.expires.valueOf() <= Date.now()) return;
    const { identifier = params.identifier, expires } = row;
    const link = { identifier, token: params.token, expires };
    const problem =
      "A sign-in link was used up by a sign-in that the database broke off: another one has to be mailed.";
    await this.#reportFailure(problem, () => this.#adapter.createVerificationToken?.(link));
  }

  async #reportFailure(problem: string, run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#report(problem, error);
    }
  }

  #report(problem: string, cause: unknown): void {
    this.#options.report(new Error(problem, { cause }));
  }
}

/** Waits for a call; a result that comes after the timeout goes to `undo`. */
async function undoIfLate<T>(call: T | PromiseLike<T>, undo: (late: T) => Promise<void>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    // Where the call fails in the end, there is nothing to undo.
    if (error instanceof AdapterFailure) error.late?.then((late) => undo(late as T), () => {});
    throw error;
  }
}
