/** The options of all features, as the configuration has them. */
import type { BearerConfig } from "./bearer/options.ts";
import type { ProviderLogoutConfig } from "./provider_logout/options.ts";
import type { StepUpConfig, StepUpGuardOptions } from "./step_up/options.ts";

export type * from "./bearer/options.ts";
export type * from "./provider_logout/options.ts";
export type * from "./step_up/options.ts";

/** The options of the features. */
export interface FeatureOptions extends BearerConfig, ProviderLogoutConfig, StepUpConfig {}

/** What they add to the options of guards. */
export interface FeatureGuardOptions extends StepUpGuardOptions {}

/** What the features add to the options of `auth.signOut()`. */
export type { ProviderSignOutAction as FeatureSignOutOptions } from "./provider_logout/options.ts";
