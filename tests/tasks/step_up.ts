/** Task: deleting the account needs a password that was entered in the last five minutes. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({ ...config, stepUp: true });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/account/delete", { onRequest: auth.requireSession({ maxAge: 5 * 60 }) }, () => "sure?");
  return app as FastifyInstance;
}
