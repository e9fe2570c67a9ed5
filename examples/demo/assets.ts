import { readFile } from "node:fs/promises";
// What browsers are sent as a file below; imported here to have it installed.
import "@simplewebauthn/browser";
import type { FastifyInstance } from "fastify";

const JAVASCRIPT = "text/javascript; charset=utf-8";

const ASSETS = [
  ["style.css", "text/css; charset=utf-8", "./public/style.css"],
  ["csrf.js", JAVASCRIPT, "./public/csrf.js"],
  ["passkeys.js", JAVASCRIPT, "./public/passkeys.js"],
  ["simplewebauthn.js", JAVASCRIPT, import.meta.resolve("@simplewebauthn/browser")],
  ["icon.svg", "image/svg+xml", "./public/icon.svg"],
] as const;

/** Serves the few files that the pages refer to; they are read once. */
export async function addAssets(scope: FastifyInstance): Promise<void> {
  for (const [name, type, file] of ASSETS) {
    const content = await readFile(new URL(file, import.meta.url));
    scope.get(
      `/assets/${name}`,
      (_request, reply) => reply.type(type).header("cache-control", "no-cache").send(content),
    );
  }
}
