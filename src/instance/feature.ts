/** What a feature is made of. `src/features/mod.ts` lists all of them. */
import type { Facts } from "../config/mistakes.ts";
import type { Rule } from "../config/rules.ts";
import type { Hooks } from "../core/context.ts";
import type { FastifyAuthErrorCode } from "../errors.ts";
import type { FeatureOptions } from "../features/options.ts";
import type { FastifyAuthConfig } from "../types.ts";
import type { AuthRoute } from "../routes/table.ts";

/** A feature in the list: enough to know which configurations use it. It is loaded with the first one. */
export interface ListedFeature {
  readonly name: string;
  /** Its options at the top level of the configuration. It is used if one of them is neither `false` nor missing. */
  readonly options: readonly (keyof FeatureOptions)[];
  /** What it adds to guards. Their options are checked before anything is loaded. */
  readonly guard?: ListedGuard;
  readonly load: () => Promise<Feature>;
}

/** What a feature adds to guards, besides {@linkcode Hooks.onGuard}. */
export interface ListedGuard {
  /** Its options of a guard. */
  readonly rules: Readonly<Record<string, Rule>>;
  /** What is wrong with them if the configuration does not use the feature. */
  readonly unused: string;
  /** The code of the 401 that a guard with them may answer with. */
  readonly code: FastifyAuthErrorCode;
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
export function isUsed({ options }: Pick<ListedFeature, "options">, config: FastifyAuthConfig): boolean {
  return options.some((name) => config[name] !== undefined && config[name] !== false);
}
