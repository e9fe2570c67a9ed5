/** The auth routes. With `fastify-plugin`, so that sessions are written back in all of the application. */
import type { FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import fp from "fastify-plugin";
import { config } from "../config.ts";

export default fp(async (fastify: FastifyInstance) => {
  await fastify.register(FastifyAuth(config), { prefix: "/auth" });
}, { name: "auth" });
