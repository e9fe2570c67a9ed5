/** Task: after three wrong passwords for an account from one address the next ones are refused for a while. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({
    ...config,
    rateLimit: { accountFromAddress: { max: 3, timeWindow: 15 * 60_000 } },
  });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  return app as FastifyInstance;
}
