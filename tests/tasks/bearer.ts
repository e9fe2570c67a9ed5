/** Task: a command-line program calls /api/me with a token that its user got in the browser. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({ ...config, bearer: { maxAge: 3600 } });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/api/me", { onRequest: auth.requireSession() }, (request) => auth.getSession(request));
  return app as FastifyInstance;
}
