/** What takes long and is left to `deno task weekly`, which sets `TEST_THOROUGH=1`. */
import process from "node:process";

const isThorough = process.env.TEST_THOROUGH === "1";
if (!isThorough) console.log("Some combinations are left to `deno task weekly`.");

/** All combinations if thorough; otherwise each `step`-th, beginning at another one for each `turn`. */
export function someOf<T>(all: readonly T[], turn: number, step: number): readonly T[] {
  return isThorough ? all : all.filter((_, index) => index % step === turn % step);
}

/** A test that takes a minute: it runs weekly, and otherwise says that it did not. */
export function thoroughTest(name: string, run: () => Promise<void>): void {
  if (isThorough) Deno.test(name, run);
  else console.log(`Left to \`deno task weekly\`: ${name}`);
}
