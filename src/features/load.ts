/** Loads the features that a configuration uses. */
import { type Facts, mistakesIn, requireNone } from "../config/mistakes.ts";
import { invalidConfig } from "../errors.ts";
import type { ListedFeature, Setup } from "./feature.ts";
import type { FeatureOptions } from "./mod.ts";

export type UsedFeatures = Awaited<ReturnType<typeof loadFeatures>>;

/** Throws the first mistake in their options. */
export async function loadFeatures(list: readonly ListedFeature[], setup: Setup) {
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

export function isUsed({ options = [], isUsed }: Pick<ListedFeature, "options" | "isUsed">, facts: Facts): boolean {
  // `null` is a mistake, which its rules name.
  return isUsed?.(facts) ?? options.some((name) => ![undefined, false].includes(facts.config[name] as never));
}
