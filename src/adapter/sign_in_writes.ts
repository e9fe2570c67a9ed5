/**
 * What a sign-in writes, taken back where the sign-in comes to nothing.
 *
 * Core creates a user first and gives it a sign-in method after that. Left alone in between, the user's address would be
 * taken: whoever it belongs to would be told `OAuthAccountNotLinked` with every further attempt. And it uses up a sign-in
 * link before it knows whether the database will let anybody in.
 *
 * @module
 */
import type { Adapter, AdapterAccount, AdapterUser, VerificationToken } from "@auth/core/adapters";
import { AdapterFailure } from "./failure.ts";
import type { UnfinishedUsers } from "./unfinished_users.ts";

/** How a sign-in is followed. */
export interface SignInOptions {
  /** The type of its provider, which says when a new user can sign in again. */
  readonly type: string;
  /** The users of earlier sign-ins that are still to be deleted. */
  readonly unfinished: UnfinishedUsers;
  /** Takes what could not be taken back. */
  readonly report: (error: Error) => void;
}

/** A sign-in that is going on. */
export interface SignInWrites {
  /** What core is to work with. */
  readonly adapter: Adapter;
  /**
   * Takes back what must not stay. Never rejects.
   *
   * @param failed Whether the database failed, so that the person has to try again.
   */
  cleanUp(failed: boolean): Promise<void>;
}

/** Follows what core writes with an adapter. */
export function trackWrites(adapter: Adapter, options: SignInOptions): SignInWrites {
  const recorder = new Recorder(adapter, options);
  return { adapter: recorder.watched(), cleanUp: (failed) => recorder.cleanUp(failed) };
}

type Account = Pick<AdapterAccount, "provider" | "providerAccountId">;

class Recorder {
  /** The user that this sign-in created. */
  #user: AdapterUser | undefined;
  /** What was asked to be linked, and whether it was. */
  #account: Account | undefined;
  #linked = false;
  /** The passkey that was to be stored, and whether it was. */
  #credentialId: string | undefined;
  #enrolled = false;
  #sessionToken: string | undefined;
  #removed = false;
  #restoreLink = () => Promise.resolve();

  constructor(private readonly adapter: Adapter, private readonly options: SignInOptions) {}

  /** The adapter, with each write noted. A write that was given up and is done after all is taken back then. */
  watched(): Adapter {
    const { adapter } = this;
    const watch = <Name extends keyof Adapter>(
      name: Name,
      wrap: (call: NonNullable<Adapter[Name]>) => Adapter[Name],
    ) => adapter[name] && { [name]: wrap(adapter[name]) };
    return {
      ...adapter,
      ...watch("createUser", (create) => async (user) => {
        this.#user = await orLate(create(user), (late) => this.#removeUser(late)).catch((error: unknown) => {
          // It may be there all the same, with the id that was asked for.
          this.options.unfinished.add(user.id);
          throw error;
        });
        return this.#user;
      }),
      ...watch("linkAccount", (link) => async (account) => {
        this.#account = account;
        const linked = await orLate(link(account) as Promise<AdapterAccount>, () => this.#unlinkIfRemoved());
        this.#linked = true;
        return linked;
      }),
      ...watch("createAuthenticator", (create) => async (authenticator) => {
        this.#credentialId = authenticator.credentialID;
        const created = await create(authenticator);
        this.#enrolled = true;
        return created;
      }),
      ...watch("createSession", (create) => async (session) => {
        const created = await orLate(create(session), () => this.#endSession(session.sessionToken));
        this.#sessionToken = session.sessionToken;
        return created;
      }),
      ...watch("useVerificationToken", (use) => async (asked) => {
        const row = await orLate(use(asked), (late) => this.#restore(late, asked));
        this.#restoreLink = () => this.#restore(row, asked);
        return row;
      }),
      ...watch("getUserByEmail", (get) => async (email) => {
        const user = await get(email);
        if (user === null || !this.options.unfinished.has(user)) return user;
        await this.#free(user);
        return null;
      }),
    };
  }

  async cleanUp(failed: boolean): Promise<void> {
    if (failed) await this.#restoreLink();
    if (this.#user !== undefined) await this.#removeUser(this.#user);
    // A passkey that is not stored is no account of the user who was adding it.
    else if (this.options.type === "webauthn" && this.#linked && !this.#enrolled) await this.#unlink();
  }

  /** Whether the user can sign in again: by mail at once, otherwise by what has been linked to it. */
  async #canSignIn(user: AdapterUser): Promise<boolean> {
    const { adapter, options: { type } } = this;
    if (type === "email") return true;
    if (type === "webauthn") {
      if (this.#enrolled || this.#credentialId === undefined) return this.#enrolled;
      return await adapter.getAuthenticator!(this.#credentialId) !== null;
    }
    if (this.#linked || this.#account === undefined) return this.#linked;
    // A call that failed may have been done, and another request may have done it.
    const owner = await adapter.getUserByAccount!(this.#account);
    return owner !== null && owner.id === user.id;
  }

  /** Removes a user that this sign-in created, unless it can sign in. */
  async #removeUser(user: AdapterUser): Promise<void> {
    try {
      if (await this.#canSignIn(user)) return;
      if (this.#sessionToken !== undefined) await this.#endSession(this.#sessionToken);
      if (this.#linked) await this.#unlink();
      await this.#free(user);
    } catch (error) {
      this.options.unfinished.add(user.id);
      this.#report(
        `The user ${user.id} has no sign-in method, since its sign-in was broken off, and could not be deleted. ` +
          "Its next sign-in deletes it, if this process gets it. Otherwise delete the user from the database: " +
          "until then nobody else can sign in with its address.",
        error,
      );
    }
  }

  /** Deletes a user; or has it give up its address, where the adapter cannot delete or the database refuses to. */
  async #free(user: AdapterUser): Promise<void> {
    const { adapter, options } = this;
    try {
      if (!adapter.deleteUser) throw new Error("The adapter has no deleteUser().");
      await adapter.deleteUser(user.id);
    } catch (error) {
      if (isUnanswered(error) || !adapter.updateUser) throw error;
      // Some adapters delete the user and fail over the accounts and sessions that it does not have.
      const left = await adapter.getUser?.(user.id);
      // No address ends like this (RFC 6761 section 6.4).
      const email = `${crypto.randomUUID()}@unfinished.invalid`;
      if (left !== null) await adapter.updateUser({ id: user.id, email });
    }
    this.#removed = true;
    options.unfinished.forget(user.id);
  }

  async #endSession(token: string): Promise<void> {
    const what = "A session that no browser has could not be deleted; it ends when it expires.";
    await this.#attempt(() => this.adapter.deleteSession?.(token), what);
  }

  async #unlink(): Promise<void> {
    const account = this.#account!;
    const what = `An account of "${account.provider}" that belongs to no user could not be unlinked.`;
    await this.#attempt(() => this.adapter.unlinkAccount?.(account), what);
  }

  async #unlinkIfRemoved(): Promise<void> {
    if (this.#removed) await this.#unlink();
  }

  /** Has a sign-in link work again. Some adapters leave columns out of the row that they used up. */
  async #restore(
    row: VerificationToken | null,
    asked: Parameters<NonNullable<Adapter["useVerificationToken"]>>[0],
  ) {
    if (row === null || row.expires.valueOf() <= Date.now()) return;
    const link = { identifier: row.identifier ?? asked.identifier, token: asked.token, expires: row.expires };
    const what =
      "A sign-in link was used up by a sign-in that the database broke off: another one has to be mailed.";
    await this.#attempt(() => this.adapter.createVerificationToken?.(link), what);
  }

  async #attempt(run: () => unknown, what: string): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#report(what, error);
    }
  }

  #report(what: string, cause: unknown): void {
    this.options.report(new Error(what, { cause }));
  }
}

function isUnanswered(error: unknown): boolean {
  return error instanceof AdapterFailure && error.kind === "unanswered";
}

/** The result; where it comes after the call was given up, it goes to `undo`. */
async function orLate<T>(call: T | PromiseLike<T>, undo: (late: T) => Promise<void>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    // A failure that comes late changes nothing.
    if (error instanceof AdapterFailure) error.late?.then((late) => undo(late as T), () => {});
    throw error;
  }
}
