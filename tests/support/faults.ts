/**
 * An adapter whose methods can be made to fail.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";

/**
 * How a method fails: as a query builder does, with its parameters in the message; without ever answering; by doing its
 * work only when {@linkcode FaultyAdapter.release} is called; or after it has done its work.
 */
export type Fault = "throws" | "hangs" | "is late" | "throws afterwards";

/** An adapter that works until told otherwise. */
export interface FaultyAdapter {
  readonly adapter: Adapter;
  /** The methods that fail. */
  readonly faults: Map<string, Fault>;
  /** The methods that were called, in order. */
  readonly calls: string[];
  /** Lets the late methods do their work, and waits for it. */
  release(): Promise<void>;
}

/** Wraps an adapter. */
export function faultyAdapter(inner: Adapter): FaultyAdapter {
  const faults = new Map<string, Fault>();
  const calls: string[] = [];
  const late: (() => Promise<unknown>)[] = [];
  const methods = Object.entries(inner as Record<string, (...args: unknown[]) => Promise<unknown>>);
  const adapter = methods.map(([name, method]) => [name, async (...args: unknown[]) => {
    calls.push(name);
    const fault = faults.get(name);
    if (fault === "hangs") return await new Promise(() => {});
    if (fault === "is late") {
      return await new Promise((resolve, reject) =>
        void late.push(() => Promise.resolve(method(...args)).then(resolve, reject))
      );
    }
    const result = fault === "throws" ? undefined : await method(...args);
    if (fault) throw new Error(`Failed query: ${name}\nparams: ${JSON.stringify(args)}`);
    return result;
  }]);
  return {
    adapter: Object.fromEntries(adapter) as Adapter,
    faults,
    calls,
    async release() {
      await Promise.all(late.splice(0).map((work) => work()));
    },
  };
}
