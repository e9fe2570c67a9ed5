/**
 * Holds what requests do, so that they overlap in an order that a test chooses.
 *
 * Not fast-check's scheduler: that picks one of all gates each time, and so seldom holds one request while another one
 * passes its twenty.
 *
 * @module
 */
import { AsyncLocalStorage } from "node:async_hooks";

/** A request that has not moved for so long waits for another one, in milliseconds. */
const QUIET_MS = 2;

/** A request that nothing holds, and that does not end, in milliseconds. */
const STUCK_MS = 120_000;

/** A request under way. */
interface Held {
  readonly name: string;
  /** The gates that it is at. */
  readonly gates: { readonly name: string; open(): void }[];
}

/** Gates that requests pass one at a time. */
export class Gates {
  /** What was done, for whoever reads of a failure. */
  readonly log: string[] = [];
  readonly #own = new AsyncLocalStorage<Held>();
  readonly #underWay = new Set<Held>();
  #moved = (): void => {};
  #isOpen = false;
  #count = 0;

  /** How many requests are under way. */
  get size(): number {
    return this.#underWay.size;
  }

  /** Begins a request. */
  run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const own = { name: `${++this.#count} ${name}`, gates: [] };
    this.log.push(own.name);
    this.#underWay.add(own);
    return this.#own.run(own, work).finally(() => {
      this.log.push(`${own.name}: done`);
      this.#underWay.delete(own);
      this.#moved();
    });
  }

  /** Waits until this gate is opened. What no request does waits for nothing. */
  async pass(name: string): Promise<void> {
    const own = this.#own.getStore();
    if (own === undefined || this.#isOpen) return;
    await new Promise<void>((open) => {
      own.gates.push({ name, open });
      this.#moved();
    });
  }

  /** Stops each call of an object's functions at a gate, before it begins and before it ends. */
  hold<T extends object>(name: string, object: T): T {
    const methods = Object.entries(object).filter(([, value]) => typeof value === "function");
    const held = methods.map(([key, method]) => [key, async (...args: unknown[]) => {
      await this.pass(`before ${name}.${key}()`);
      const result = await method.apply(object, args);
      await this.pass(`after ${name}.${key}()`);
      return result;
    }]);
    return { ...object, ...Object.fromEntries(held) };
  }

  /**
   * Lets one request pass so many gates, unless it ends or waits for another one before.
   *
   * @param which Counted from the first one under way.
   */
  async open(which: number, count: number): Promise<void> {
    await this.#settled();
    const held = [...this.#underWay].filter(({ gates }) => gates.length > 0);
    const own = held[which % held.length];
    for (let opened = 0; opened < count && own?.gates[0] !== undefined; opened++) {
      const { name, open } = own.gates.shift()!;
      this.log.push(`${own.name}: ${name}`);
      open();
      await this.#settled();
    }
  }

  /** Waits until every request is at a gate, or waits for one that is. */
  async #settled(): Promise<void> {
    const since = performance.now();
    const isAtGate = ({ gates }: Held) => gates.length > 0;
    await new Promise((resolve) => setImmediate(resolve));
    for (let held = [...this.#underWay]; !held.every(isAtGate); held = [...this.#underWay]) {
      const moved = new Promise<boolean>((resolve) => this.#moved = () => resolve(true));
      let timer;
      const quiet = new Promise<boolean>((resolve) => timer = setTimeout(resolve, QUIET_MS, false));
      const hasMoved = await Promise.race([moved, quiet]);
      clearTimeout(timer);
      if (!hasMoved && held.some(isAtGate)) return;
      if (performance.now() - since > STUCK_MS) throw new Error("A request waits for what never comes.");
    }
  }

  /** Does something that comes to no gate. */
  async past<T>(work: () => Promise<T>): Promise<T> {
    this.#isOpen = true;
    try {
      return await work();
    } finally {
      this.#isOpen = false;
    }
  }
}
