/**
 * An application for `fastify start`, as `fastify generate` makes it: its plugins and routes are files.
 *
 * `fastify start --port 3000 app.ts`
 *
 * @module
 */
import autoload from "@fastify/autoload";
import type { FastifyInstance } from "fastify";
import { fileURLToPath } from "node:url";

/** What fastify-cli registers. */
export default async function app(fastify: FastifyInstance, _options: object): Promise<void> {
  for (const folder of ["plugins", "routes"]) {
    await fastify.register(autoload, {
      dir: fileURLToPath(new URL(folder, import.meta.url)),
      forceESM: true,
    });
  }
}
