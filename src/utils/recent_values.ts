/** Values that were used lately. */

/** A bounded map that forgets the value first that was made first. */
export class RecentValues<Value> {
  readonly #values = new Map<string, Value>();
  readonly #most: number;

  /** @param most How many values are kept. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The value of a key, made if it is not kept. */
  get(key: string, make: () => Value): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = make();
    this.set(key, value);
    return value;
  }

  /** The value of a key, if it is kept. */
  find(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    this.#values.set(key, value);
    if (this.#values.size > this.#most) this.#values.delete(this.#values.keys().next().value!);
  }
}
