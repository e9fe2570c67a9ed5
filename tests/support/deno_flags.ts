/** How a test starts Deno for a process that imports what only tests use. */
import process from "node:process";

/** Names the configuration with the packages of tests, which `scripts/deno.ts` runs the tests with. */
export function denoFlags(): string[] {
  const config = process.env.CHECKOUT_CONFIG;
  return config === undefined ? [] : ["--config", config];
}
