import { readFile } from "node:fs/promises";
import type { FastifyInstance, FastifyReply } from "fastify";

const JAVASCRIPT = "text/javascript; charset=utf-8";

const ASSETS = [
  ["style.css", "text/css; charset=utf-8", "./public/style.css"],
  ["csrf.js", JAVASCRIPT, "./public/csrf.js"],
  ["devices.js", JAVASCRIPT, "./public/devices.js"],
  ["inbox.js", JAVASCRIPT, "./public/inbox.js"],
  ["passkeys.js", JAVASCRIPT, "./public/passkeys.js"],
  ["icon.svg", "image/svg+xml", "./public/icon.svg"],
] as const;

/** Serves the few files that the pages refer to; they are read once. */
export async function addAssets(scope: FastifyInstance): Promise<void> {
  for (const [name, type, file] of ASSETS) {
    const content = await readFile(new URL(file, import.meta.url));
    const send = (_request: unknown, reply: FastifyReply) =>
      reply.type(type).header("cache-control", "no-cache").send(content);
    scope.get(`/assets/${name}`, send);
    // Where browsers look for it on pages that name none, such as those of the plugin.
    if (name === "icon.svg") scope.get("/favicon.ico", send);
  }
}
