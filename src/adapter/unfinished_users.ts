/** Users that cannot sign in, because the database failed during the sign-in that created them. */

/** The most ids that are kept; the oldest is dropped first. */
const MAXIMUM = 1000;

/** The ids of users that could not be deleted. A later sign-in with the same address deletes them. */
export class UnfinishedUsers {
  readonly #ids = new Set<string>();

  add(id: string): void {
    this.#ids.add(String(id));
    if (this.#ids.size > MAXIMUM) this.delete(this.#ids.values().next().value!);
  }

  /** Whether a user is unfinished; one whose address was verified since is not. */
  has({ id, emailVerified }: { id: string; emailVerified?: unknown }): boolean {
    return this.#ids.has(String(id)) && !emailVerified;
  }

  delete(id: string): void {
    this.#ids.delete(String(id));
  }
}
