/** Whether tests try every combination, as `deno task weekly` does, instead of some of each: `TEST_THOROUGH=1`. */
import process from "node:process";

export const isThorough: boolean = process.env.TEST_THOROUGH === "1";

/** Some of the combinations, others for each turn; or all of them. */
export function someOf<T>(all: readonly T[], turn: number, step: number): readonly T[] {
  return isThorough ? all : all.filter((_, index) => index % step === turn % step);
}

/** A test that takes minutes, for weekly runs. */
export function thoroughTest(name: string, run: () => Promise<void>): void {
  if (isThorough) Deno.test(name, run);
  else console.log(`Left to \`deno task weekly\`: ${name}`);
}
