/**
 * An adapter whose methods can be made to fail.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";

/** How a method fails: as a query builder does, with its parameters in the message, or without ever answering. */
export type Fault = "throws" | "hangs";

/** An adapter that works until told otherwise. */
export interface FaultyAdapter {
  readonly adapter: Adapter;
  /** The methods that fail. */
  readonly faults: Map<string, Fault>;
  /** The methods that were called, in order. */
  readonly calls: string[];
}

/** Wraps an adapter. */
export function faultyAdapter(inner: Adapter): FaultyAdapter {
  const faults = new Map<string, Fault>();
  const calls: string[] = [];
  const methods = Object.entries(inner as Record<string, (...args: unknown[]) => unknown>);
  const adapter = methods.map(([name, method]) => [name, async (...args: unknown[]) => {
    calls.push(name);
    const fault = faults.get(name);
    if (fault === "hangs") return await new Promise(() => {});
    if (fault === "throws") throw new Error(`Failed query: ${name}\nparams: ${JSON.stringify(args)}`);
    return await method(...args);
  }]);
  return { adapter: Object.fromEntries(adapter) as Adapter, faults, calls };
}
