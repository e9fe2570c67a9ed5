/** The options of all features, as the configuration has them. */
import type { BearerConfig } from "./bearer/options.ts";
import type { StepUpConfig, StepUpGuardOptions } from "./step_up/options.ts";

export type * from "./bearer/options.ts";
export type * from "./step_up/options.ts";

/** The options of the features. */
export interface FeatureOptions extends BearerConfig, StepUpConfig {}

/** What they add to the options of guards. */
export interface FeatureGuardOptions extends StepUpGuardOptions {}
