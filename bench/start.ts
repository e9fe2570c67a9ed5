/**
 * The measurements of starting an application, each in a fresh process.
 *
 * @module
 */
import { type Effort, repeat } from "./effort.ts";
import { runMeasured, type Runtime } from "./setup.ts";
import { median } from "./statistics.ts";

/** What is started, by its name in `start.js`. */
export const STARTS = ["bare", "port", "registered", "answered"] as const;

export type StartName = typeof STARTS[number];

/** What a start takes. */
export interface Start {
  /** Milliseconds of CPU. */
  readonly cpu: number;
  /** Milliseconds on the clock. */
  readonly clock: number;
}

/** Measures on one runtime. */
export async function measureStart(runtime: Runtime, effort: Effort): Promise<Record<StartName, Start>> {
  const measured: Record<StartName, Start[]> = { bare: [], port: [], registered: [], answered: [] };
  await repeat(effort, {
    async warmUp() {
      for (const name of STARTS) await runMeasured(runtime, "start.js", name);
    },
    async round() {
      for (const name of STARTS) measured[name].push(await runMeasured<Start>(runtime, "start.js", name));
    },
  });
  const result = STARTS.map((name) => [name, {
    cpu: median(measured[name].map(({ cpu }) => cpu)),
    clock: median(measured[name].map(({ clock }) => clock)),
  }]);
  return Object.fromEntries(result);
}
