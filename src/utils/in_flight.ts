/** Counts what runs at the same time. */

export type Bound = readonly [key: string, max: number];

/** Bounds how much runs at the same time, by keys. */
export class InFlight {
  readonly #running = new Map<string, number>();

  /**
   * Begins something that several bounds apply to.
   *
   * @returns What ends it; `undefined` if one of the bounds is reached.
   */
  begin(bounds: readonly Bound[]): (() => void) | undefined {
    if (bounds.some(([key, max]) => this.#count(key) >= max)) return undefined;
    for (const [key] of bounds) this.#running.set(key, this.#count(key) + 1);
    return () => bounds.forEach(([key]) => this.#end(key));
  }

  #count(key: string): number {
    return this.#running.get(key) ?? 0;
  }

  #end(key: string): void {
    const left = this.#count(key) - 1;
    if (left > 0) this.#running.set(key, left);
    else this.#running.delete(key);
  }
}
