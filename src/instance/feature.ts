/** What a feature is made of. `src/features/mod.ts` lists all of them. */
import type { Facts } from "../config/mistakes.ts";
import type { Hooks } from "../core/context.ts";
import type { FeatureOptions } from "../features/options.ts";
import type { FastifyAuthConfig } from "../types.ts";
import type { AuthRoute } from "../routes/table.ts";

/** A feature in the list: enough to know which configurations use it. It is loaded with the first one. */
export interface ListedFeature {
  readonly name: string;
  /** Its options at the top level of the configuration. It is used if one of them is neither `false` nor missing. */
  readonly options: readonly (keyof FeatureOptions)[];
  readonly load: () => Promise<Feature>;
}

/** A feature. */
export interface Feature {
  /** Its routes, with the handlers that {@linkcode Hooks.handlers} has. */
  readonly routes?: readonly AuthRoute[];
  /**
   * Checks its options, and makes what it adds to a configuration.
   *
   * @throws {FastifyAuthError} What stops the boot.
   */
  configure(facts: Facts): Hooks;
}

/** Whether a configuration uses a feature. */
export function isUsed({ options }: ListedFeature, config: FastifyAuthConfig): boolean {
  return options.some((name) => config[name] !== undefined && config[name] !== false);
}
