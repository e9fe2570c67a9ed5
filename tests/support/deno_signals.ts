/**
 * A preload for fastify-cli, which listens for signals that Deno refuses to (SIGILL): they are left out.
 *
 * @module
 */
import process from "node:process";

const { once } = process;

process.once = function (this: typeof process, event: string, listener: () => void) {
  try {
    return once.call(process, event, listener);
  } catch (error) {
    if (event.startsWith("SIG")) return process;
    throw error;
  }
} as typeof process.once;
