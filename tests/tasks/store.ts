/** Task: several processes share sessions through Redis, and a user who signs out of one is out of all at once. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { redisStore } from "fastify-authjs/redis";
import type { Redis } from "ioredis";

export async function build(config: FastifyAuthConfig, client: Redis): Promise<FastifyInstance> {
  const auth = createAuth({ ...config, store: redisStore(client), revocable: true });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  return app as FastifyInstance;
}
