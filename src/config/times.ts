/** Warns of times that look as if they were in another unit. */
import type { FastifyAuthOptions } from "../types.ts";
import { LIMIT_NAMES } from "./rate_limit.ts";

/**
 * No request to a provider or a database on another machine is sure to be answered in less, in milliseconds.
 */
const SHORTEST_TIMEOUT = 100;

/** Less than a second between attempts limits no attempts. */
const SHORTEST_WINDOW = 1000;

const TIMEOUTS = ["providerTimeout", "adapterTimeout"] as const;

/** Warnings of milliseconds that may be meant as seconds. */
export function timeWarnings(options: FastifyAuthOptions): string[] {
  const { rateLimit } = options;
  const windows = typeof rateLimit === "object" && rateLimit !== null
    ? LIMIT_NAMES.map((name) =>
      [`rateLimit.${name}.timeWindow`, (rateLimit[name] || undefined)?.timeWindow] as const
    )
    : [];
  return [
    ...TIMEOUTS.flatMap((name) => warningOf(name, options[name], SHORTEST_TIMEOUT)),
    ...windows.flatMap(([name, value]) => warningOf(name, value, SHORTEST_WINDOW)),
  ];
}

function warningOf(name: string, value: unknown, least: number): string[] {
  if (typeof value !== "number" || value <= 0 || value >= least) return [];
  return [`\`${name}\` is ${value} milliseconds. If seconds are meant, write ${value * 1000}.`];
}
