/** The options of all features, as the configuration has them. */
import type { BearerConfig } from "./bearer/options.ts";

export type * from "./bearer/options.ts";

/** The options of the features. */
export interface FeatureOptions extends BearerConfig {}
