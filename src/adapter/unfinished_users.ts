/**
 * Users without a sign-in method, left by sign-ins that the database broke off.
 *
 * @module
 */

/** How many are remembered; the oldest is forgotten first. */
const MOST = 1000;

/** The ids of users that could not be deleted at once, for the next sign-in that meets one of them. */
export class UnfinishedUsers {
  readonly #ids = new Set<string>();

  /** Remembers a user. */
  add(id: string): void {
    this.#ids.add(String(id));
    if (this.#ids.size > MOST) this.forget(this.#ids.values().next().value!);
  }

  /** Whether a user was left; one whose address has been verified since has somebody. */
  has({ id, emailVerified }: { id: string; emailVerified?: unknown }): boolean {
    return this.#ids.has(String(id)) && !emailVerified;
  }

  /** Forgets a user. */
  forget(id: string): void {
    this.#ids.delete(String(id));
  }
}
