/**
 * A preload for fastify-cli, which listens for signals that Deno refuses to (SIGILL): they are left out.
 *
 * @module
 */
import process from "node:process";

for (const method of ["on", "once"] as const) {
  const add = process[method];
  process[method] = function (this: typeof process, event: string, listener: () => void) {
    try {
      return add.call(process, event, listener);
    } catch (error) {
      if (event.startsWith("SIG")) return process;
      throw error;
    }
  } as typeof add;
}
