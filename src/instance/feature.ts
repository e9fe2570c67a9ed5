/** What a feature is made of. `src/features/mod.ts` lists all of them. */
import { type Facts, type Mistake, mistakesIn, requireNone } from "../config/mistakes.ts";
import type { Notice, NoticeCode } from "../config/notices.ts";
import type { Rule } from "../config/rules.ts";
import type { Hooks } from "../core/context.ts";
import type { FeatureGuardOptions, FeatureOptions, FeaturePages, FeatureSignOutOptions } from "../features/mod.ts";
import { type FastifyAuthErrorCode, invalidConfig } from "../errors.ts";
import type { LiveSessions } from "../session/live_sessions.ts";
import type { SharedStore } from "../session/shared_store.ts";
import type { AuthRoute } from "../routes/table.ts";

/** A feature in the list: enough to know which configurations use it. It is loaded with the first one. */
export interface ListedFeature {
  /** Its options of the configuration. It is used if one of them is neither `false` nor missing. */
  readonly options?: readonly (keyof FeatureOptions)[];
  /** Its options in `pages`, which are true or false. */
  readonly pages?: readonly (keyof FeaturePages)[];
  /** Whether a configuration uses it, if options do not say that. */
  readonly isUsed?: (facts: Facts) => boolean;
  /** What it adds to guards. Their options are checked before anything is loaded. */
  readonly guard?: ListedGuard;
  /** What is recommended to configurations, whether they use it or not. */
  readonly advice?: readonly Mistake<NoticeCode>[];
  /** None if it has actions alone. */
  readonly load?: () => Promise<Feature>;
  /** What it adds to the object of `createAuth()`, whether a configuration uses it or not. */
  readonly actions?: ListedActions;
  /** What is wrong with an option of a function that needs the feature, if it is not used. */
  readonly lacking?: (options: FeatureSignOutOptions) => string | false;
}

/** Functions that take what acts, and then their own arguments. */
export type Actions = Readonly<Record<string, (auth: never, ...given: never[]) => unknown>>;

/** The functions of a feature, which are loaded with the first call, and the names of those that take a request. */
export interface ListedActions {
  readonly load: () => Promise<Actions>;
  readonly ofRequest?: readonly string[];
  readonly ofConfiguration?: readonly string[];
}

export interface Setup extends Facts {
  readonly store: SharedStore | undefined;
  readonly live: LiveSessions;
  /** What features keep for the next configuration of the tenant, by name. */
  readonly memory: Map<string, unknown>;
}

export interface GuardSecurity {
  /** Whether a session does not count. */
  readonly isAlone: boolean;
  /** The name of the scheme, and the scheme itself. */
  readonly name: string;
  readonly scheme: { readonly type: string; readonly scheme: string; readonly description: string };
}

/** What a feature adds to guards, besides {@linkcode Hooks.onGuard}. */
export interface ListedGuard {
  readonly rules: Readonly<Record<string, Rule>>;
  /** What is wrong with options that are valid each. */
  readonly together?: (options: FeatureGuardOptions) => string | false;
  /** How requests may pass besides with a session, for a document of the routes. */
  readonly security?: (options: FeatureGuardOptions) => GuardSecurity | undefined;
  /** What is wrong with them if the configuration does not use the feature. */
  readonly unused: string;
  /** The code of the 401 that a guard with them may answer with. */
  readonly code: FastifyAuthErrorCode;
}

export interface Feature {
  readonly rules?: { readonly [Name in keyof FeatureOptions]?: Rule };
  /** What stops the boot; the first one is said. */
  readonly problems?: readonly Mistake<FastifyAuthErrorCode>[];
  readonly warnings?: readonly Mistake<NoticeCode>[];
  /** Its routes, with the handlers that {@linkcode Hooks.handlers} has. */
  readonly routes?: readonly AuthRoute[];
  /** Throws what stops the boot. */
  configure(setup: Setup): Hooks;
}

export interface UsedFeatures {
  readonly features: readonly Feature[];
  readonly hooks: readonly Hooks[];
  readonly warnings: readonly Notice[];
  readonly advice: readonly Notice[];
}

/** Loads the features that a configuration uses. Throws the first mistake in their options. */
export async function loadFeatures(list: readonly ListedFeature[], setup: Setup): Promise<UsedFeatures> {
  const { config } = setup;
  const used = list.filter((each) => isUsed(each, setup));
  const features = await Promise.all(used.flatMap(({ load }) => load?.() ?? []));
  for (const { rules = {} } of features) {
    for (const [name, rule] of Object.entries(rules)) {
      const value: unknown = config[name as keyof FeatureOptions];
      const problem = value === undefined ? undefined : rule(value, name);
      if (problem !== undefined) throw invalidConfig(problem);
    }
  }
  for (const { problems = [] } of features) requireNone(problems, setup);
  return {
    features,
    hooks: features.map((feature) => feature.configure(setup)),
    warnings: features.flatMap(({ warnings = [] }) => [...mistakesIn(warnings, setup)]),
    advice: list.flatMap(({ advice = [] }) => [...mistakesIn(advice, setup)]),
  };
}

export function lackingFeature(
  list: readonly ListedFeature[],
  options: FeatureSignOutOptions,
  facts: Facts,
): string | undefined {
  for (const listed of list) {
    const problem = !isUsed(listed, facts) && listed.lacking?.(options);
    if (problem) return problem;
  }
}

export function isUsed({ options = [], isUsed }: Pick<ListedFeature, "options" | "isUsed">, facts: Facts): boolean {
  // `null` is a mistake, which its rules name.
  return isUsed?.(facts) ?? options.some((name) => ![undefined, false].includes(facts.config[name] as never));
}
