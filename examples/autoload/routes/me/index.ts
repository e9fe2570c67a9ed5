/** `/me`, which the folder is named after. */
import type { FastifyInstance } from "fastify";
import { getSession, requireSession } from "fastify-authjs";
import { config } from "../../config.ts";

export default async function me(fastify: FastifyInstance, _options: object): Promise<void> {
  fastify.get("/", { onRequest: requireSession(config) }, async (request) => {
    return (await getSession(request, config))?.user;
  });
  await Promise.resolve();
}
