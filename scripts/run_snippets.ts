/**
 * Runs the complete snippets of the documentation, one after the other: each until its servers would listen, and then
 * what `snippet_uses.ts` has for it.
 *
 * Arguments: for each snippet its page, its number among the complete ones of the page, and its file, with spaces
 * between them.
 */
import type { FastifyInstance } from "fastify";
import { channel } from "node:diagnostics_channel";
import process from "node:process";
import { pathToFileURL } from "node:url";
import { answerAsProviders, USES } from "./snippet_uses.ts";

let apps: FastifyInstance[] = [];
channel("fastify.initialization").subscribe((message) => {
  const { fastify } = message as { fastify: FastifyInstance };
  // No port is opened
  fastify.listen = (async () => {
    await fastify.ready();
    return "";
  }) as never;
  fastify.log.level = "fatal";
  apps.push(fastify);
});
console.assert = (holds?: boolean, ...told: unknown[]) => {
  if (!holds) throw new Error(`not so: ${told}`);
};
answerAsProviders();

let failed = 0;
for (const argument of process.argv.slice(2)) {
  const [page = "", number = "", file = ""] = argument.split(" ");
  apps = [];
  try {
    const snippet = await import(pathToFileURL(file).href);
    // A module for tests exports a function that makes the application.
    if (apps.length === 0) await snippet.build?.();
    const [app] = apps;
    if (app === undefined) throw new Error("it makes no server");
    await app.ready();
    const use = USES[page]?.[Number(number)];
    if (use === undefined) throw new Error("scripts/snippet_uses.ts does not say what it does");
    await use(app, snippet);
  } catch (error) {
    failed++;
    console.error(`The complete snippet ${Number(number) + 1} of ${page} fails:`, error);
  }
  for (const app of apps) await app.close().catch(() => {});
}
process.exit(failed === 0 ? 0 : 1);
