/** The features, in the order in which their hooks are called. Only this list names them. */
import type { ListedFeature } from "../instance/feature.ts";
import { GUARD } from "./step_up/guard_options.ts";

export const FEATURES: readonly ListedFeature[] = [
  {
    name: "bearer",
    options: ["bearer"],
    load: async () => (await import("./bearer/mod.ts")).bearer,
  },
  {
    name: "step_up",
    options: ["stepUp"],
    guard: GUARD,
    load: async () => (await import("./step_up/mod.ts")).stepUp,
  },
];
