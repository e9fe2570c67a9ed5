/** The features, in the order in which their hooks are called. Only this list names them. */
import type { ListedFeature } from "../instance/feature.ts";

export const FEATURES: readonly ListedFeature[] = [
  {
    name: "bearer",
    options: ["bearer"],
    load: async () => (await import("./bearer/mod.ts")).bearer,
  },
];
