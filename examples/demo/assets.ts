import { readFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";

const ASSETS = [
  ["style.css", "text/css; charset=utf-8"],
  ["csrf.js", "text/javascript; charset=utf-8"],
  ["icon.svg", "image/svg+xml"],
] as const;

/** Serves the few files that the pages refer to; they are read once. */
export async function addAssets(scope: FastifyInstance): Promise<void> {
  for (const [name, type] of ASSETS) {
    const content = await readFile(new URL(`./public/${name}`, import.meta.url));
    scope.get(
      `/assets/${name}`,
      (_request, reply) => reply.type(type).header("cache-control", "no-cache").send(content),
    );
  }
}
