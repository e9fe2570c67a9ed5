/**
 * Undoes what a sign-in wrote, if the sign-in fails.
 *
 * Core creates a user first and links a sign-in method afterwards. A failure in between would leave a user that blocks
 * its e-mail address: every later sign-in with it is refused with `OAuthAccountNotLinked`. Core also uses up a sign-in
 * link before it knows whether the sign-in succeeds.
 */
import type { Adapter, AdapterAccount, AdapterUser, VerificationToken } from "@auth/core/adapters";
import { setTimeout } from "node:timers/promises";
import { monotonicNow } from "../utils/time.ts";
import type { AccountListAdapter } from "./added_methods.ts";
import { wrapMethods } from "./bind.ts";
import { AdapterFailure, isUnanswered } from "./failure.ts";
import type { AccountId, UnfinishedUsers } from "./sign_in_turns.ts";

interface SignInOptions {
  /** Of its provider: it says what a new user needs to be able to sign in again. */
  readonly type: string;
  readonly unfinished: UnfinishedUsers;
  /** Whether no other sign-in with the account is under way, as far as is known. */
  readonly isAlone: () => boolean;
  readonly report: (error: Error) => void;
}

const FINISH_OR_DELETE =
  "For an hour the next sign-in with its account goes on with it, in this process and in those that share its " +
  "`store`. Otherwise delete the user from the database: until then no other sign-in with its address succeeds.";

export class SignInWrites {
  /** The adapter for core: it records each write, and undoes one that completes after its timeout. */
  readonly adapter: Adapter;

  #user: AdapterUser | undefined;
  #userRemoved = false;
  #asked: AccountId | undefined;
  /** A user that an earlier sign-in has created for it, and one that has its address. */
  #left: AdapterUser | undefined;
  #found: AdapterUser | null = null;
  #account: AccountId | undefined;
  #accountLinked = false;
  #credentialId: string | undefined;
  #credentialStored = false;
  #sessionToken: string | undefined;
  #lacksSession = false;
  #usedLink: VerificationToken | null = null;

  constructor(private readonly inner: Adapter, private readonly options: SignInOptions) {
    this.adapter = wrapMethods<Adapter>(inner, {
      createUser: (create) => async (user) => {
        this.#user = this.#left ?? await this.#leftWithoutAddress();
        if (this.#user !== undefined) return this.#user;
        try {
          this.#user = await undoIfLate(create(withoutEmptyAddress(user)), async (late) => {
            await this.#record(late);
            await this.#removeUser(late);
          });
        } finally {
          // A call that failed may have created the user nevertheless, with the requested id.
          await this.#record(this.#user ?? user);
        }
        return this.#user;
      },
      getUserByAccount: (get) => async (account) => {
        this.#asked = account;
        return await get(account);
      },
      linkAccount: (link) => async (account) => {
        this.#account = account;
        const linked = await undoIfLate(link(account) as Promise<AdapterAccount>, async () => {
          if (this.#userRemoved) await this.#unlinkAccount();
        });
        this.#accountLinked = true;
        // With a passkey there is one more to write.
        if (this.options.type !== "webauthn") await this.#finish({ id: account.userId });
        return linked;
      },
      createAuthenticator: (create) => async (authenticator) => {
        this.#credentialId = authenticator.credentialID;
        const created = await create(authenticator);
        this.#credentialStored = true;
        await this.#finish({ id: authenticator.userId });
        return created;
      },
      createSession: (create) => async (session) => {
        const { sessionToken } = session;
        this.#lacksSession = true;
        const created = await undoIfLate(create(session), () => this.#deleteSession(sessionToken));
        this.#lacksSession = false;
        this.#sessionToken = sessionToken;
        return created;
      },
      useVerificationToken: (use) => async (params) => {
        const row = await undoIfLate(use(params), (late) => this.#restore(linkOf(late, params)));
        this.#usedLink = linkOf(row, params);
        return row;
      },
      getUserByEmail: (get) => async (email) => {
        const user = await get(email);
        if (user !== null && await this.#isLeft(user)) {
          this.#left = user;
          return null;
        }
        this.#found = user;
        return user;
      },
    });
  }

  /** A user whose address is verified can sign in by e-mail. */
  async #record({ id, emailVerified }: AdapterUser): Promise<void> {
    if (this.#asked !== undefined && !emailVerified) await this.options.unfinished.add(this.#asked, String(id));
  }

  /** Whether an earlier sign-in with the account has created this user, and nothing has finished it. */
  async #isLeft({ id, emailVerified }: AdapterUser): Promise<boolean> {
    const { unfinished, isAlone } = this.options;
    if (emailVerified || this.#asked === undefined || !isAlone()) return false;
    return await unfinished.find(this.#asked) === String(id) && !await this.#hasOtherAccount(id);
  }

  /** The same for one that core does not look up by its address. */
  async #leftWithoutAddress(): Promise<AdapterUser | undefined> {
    const id = this.#asked && await this.options.unfinished.find(this.#asked);
    const user = id === undefined ? null : await this.inner.getUser?.(id) ?? null;
    return user !== null && await this.#isLeft(user) ? user : undefined;
  }

  /** Never rejects. `failed` says whether a database, store or provider failed, so that the user can sign in again. */
  async cleanUp(failed: boolean): Promise<void> {
    if (failed) await this.#restore(this.#usedLink);
    if (failed && this.#sessionToken !== undefined) await this.#deleteSession(this.#sessionToken);
    if (this.#user !== undefined) await this.#removeUser(this.#user);
    // A signed-in user was adding a passkey, which was not stored.
    else if (this.options.type === "webauthn" && this.#accountLinked && !this.#credentialStored) {
      await this.#unlinkAccount();
    }
  }

  /** Says which user a sign-in was refused for, if another one may have left it. Never rejects. */
  async explainRefusal(): Promise<void> {
    const user = this.#found;
    // The `signIn` callback may refuse a mailed link with the same error.
    if (user === null || user.emailVerified || this.#asked === undefined) return;
    if (await this.#hasOtherAccount(user.id).catch(() => false)) return;
    const message = `A sign-in with "${this.#asked.provider}" was refused, since the user ${user.id} has its e-mail ` +
      "address, and is not linked to that account. If that user has no account at all, its first sign-in was broken " +
      "off: its process ended, or the database failed between two writes. Then delete the user from the database.";
    this.options.report(Object.assign(new Error(message), { name: "UnfinishedUserFound" }));
  }

  /** Removes a user that this sign-in created, unless it can sign in. Never rejects. */
  async #removeUser(user: AdapterUser): Promise<void> {
    const what =
      `The user ${user.id} has no sign-in method, since its sign-in was broken off, and could not be deleted`;
    const giveUp = (error: unknown) => this.#report(`${what}. ${FINISH_OR_DELETE}`, error);
    try {
      await this.#removeUnfinished(user);
    } catch (error) {
      if (!isUnanswered(error)) return giveUp(error);
      const later = "That is tried again for ten minutes; another line follows if it fails.";
      this.#report(`${what} yet. ${later}`, error);
      // A logger of the application that throws would end the process, and there is no other place to say it.
      tryAgain(() => this.#removeLeft(user)).catch(giveUp).catch(() => {});
    }
  }

  /** Removes a user later, unless another sign-in has finished it, or its address was verified. */
  async #removeLeft(user: AdapterUser): Promise<void> {
    // deno-coverage-ignore Another process has to give the user up between two attempts
    if (await this.options.unfinished.find(this.#asked!) !== String(user.id)) return;
    // First, since some adapters say of a user that they could not read that there is none.
    // deno-coverage-ignore Another sign-in has to finish the user between two attempts
    if (await this.#canSignIn(user)) return await this.#finish(user);
    const current = await this.inner.getUser?.(user.id) ?? null;
    if (current === null || current.emailVerified || await this.#hasOtherAccount(user.id)) return;
    await this.#removeUnfinished(current);
  }

  async #removeUnfinished(user: AdapterUser): Promise<void> {
    if (await this.#canSignIn(user)) return await this.#finish(user);
    if (this.#accountLinked) await this.#unlinkAccount();
    await this.#deleteUser(user);
  }

  /** Ends the record of a user, if one may have been made: sign-ins by e-mail have none. */
  async #finish({ id }: Pick<AdapterUser, "id">): Promise<void> {
    if (this.#asked !== undefined) await this.options.unfinished.delete(String(id));
  }

  /** Whether the user has another account than the one that signs in, as far as the adapter tells. */
  async #hasOtherAccount(userId: string): Promise<boolean> {
    const accounts = await (this.inner as Partial<AccountListAdapter>).listAccountsByUserId?.(userId) ?? [];
    return accounts.some(({ provider, providerAccountId }) =>
      provider !== this.#asked?.provider || providerAccountId !== this.#asked.providerAccountId
    );
  }

  /** Whether the user can sign in again: by e-mail always, otherwise with what was linked. */
  async #canSignIn(user: AdapterUser): Promise<boolean> {
    const { type } = this.options;
    if (type === "email") return true;
    if (type === "webauthn") {
      // The user registers again.
      if (this.#lacksSession) return false;
      if (this.#credentialStored || this.#credentialId === undefined) return this.#credentialStored;
      return await this.inner.getAuthenticator!(this.#credentialId) !== null;
    }
    if (this.#accountLinked || this.#account === undefined) return this.#accountLinked;
    // The call failed, but may have linked the account; so may another request.
    const owner = await this.inner.getUserByAccount!(this.#account);
    return owner !== null && owner.id === user.id;
  }

  /** Deletes a user, or replaces its address if the adapter cannot delete or the database refuses to. */
  async #deleteUser(user: AdapterUser): Promise<void> {
    const { deleteUser, getUser, updateUser } = this.inner;
    try {
      if (!deleteUser) throw new Error("The adapter has no deleteUser().");
      await deleteUser(user.id);
      await this.#finish(user);
    } catch (error) {
      if (isUnanswered(error) || !updateUser) throw error;
      // Some adapters delete the user, and then fail because it has no accounts or sessions. Others say that
      // there is none if they could not look, so that the record stays.
      if (await getUser?.(user.id) !== null) {
        // No real address has this domain (RFC 6761 section 6.4).
        await updateUser({ id: user.id, email: `${crypto.randomUUID()}@unfinished.invalid` });
        await this.#finish(user);
      }
    }
    this.#userRemoved = true;
  }

  async #deleteSession(token: string): Promise<void> {
    const problem = "A session that no browser has could not be deleted; it ends when it expires.";
    await this.#reportFailure(problem, () => this.inner.deleteSession?.(token));
  }

  async #unlinkAccount(): Promise<void> {
    const account = this.#account!;
    const problem = `An account of "${account.provider}" that belongs to no user could not be unlinked.`;
    await this.#reportFailure(problem, () => this.inner.unlinkAccount?.(account));
  }

  /** Stores a used sign-in link again. */
  async #restore(link: VerificationToken | null): Promise<void> {
    // deno-coverage-ignore The link has to expire while its sign-in fails
    if (link === null || link.expires.valueOf() <= Date.now()) return;
    const problem = "A sign-in link was used up by a sign-in that broke off: another one has to be mailed.";
    await this.#reportFailure(problem, () => this.inner.createVerificationToken?.(link));
  }

  async #reportFailure(problem: string, run: () => unknown): Promise<void> {
    try {
      await run();
    } catch (error) {
      // deno-coverage-ignore-start What is taken back has to fail, too, after the database has answered again
      this.#report(problem, error);
    }
    // deno-coverage-ignore-stop
  }

  #report(problem: string, cause: unknown): void {
    this.options.report(new Error(problem, { cause }));
  }
}

/** What is stored again. Some adapters return the row without all of its columns. */
function linkOf(
  row: VerificationToken | null,
  params: { identifier: string; token: string },
): VerificationToken | null {
  return row && { ...params, identifier: row.identifier ?? params.identifier, expires: row.expires };
}

/** Some providers have an empty text for a user without an address, which would be the unique one of the first. */
function withoutEmptyAddress(user: AdapterUser): AdapterUser {
  return user.email === "" ? { ...user, email: undefined as never } : user;
}

/** Waits for a call; a result that comes after the timeout goes to `undo`. */
async function undoIfLate<T>(call: T | PromiseLike<T>, undo: (late: T) => Promise<void>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    // If the call fails in the end, there is nothing to undo.
    if (error instanceof AdapterFailure) error.late?.then((late) => undo(late as T)).catch(() => {});
    throw error;
  }
}

const TRIED_FOR_MS = 10 * 60_000;

/** The pauses before another attempt: each is twice the one before. */
const FIRST_PAUSE_MS = 500, LONGEST_PAUSE_MS = 5_000;

/** Repeats what a database did not answer. Nobody waits, and no process runs for it. Rejects as the last attempt. */
async function tryAgain(attempt: () => Promise<void>): Promise<void> {
  const until = monotonicNow() + TRIED_FOR_MS;
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    await setTimeout(pause, undefined, { ref: false });
    try {
      return await attempt();
    } catch (error) {
      // deno-coverage-ignore-start The database has to stay away for ten minutes
      if (!isUnanswered(error) || monotonicNow() >= until) throw error;
    }
    // deno-coverage-ignore-stop
  }
}
