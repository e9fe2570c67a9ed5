/** Task: a sign-out here also signs the user out at the OpenID Provider. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({ ...config, providerLogout: true });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  return app as FastifyInstance;
}
