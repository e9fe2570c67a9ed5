/** Task: only signed-in users read /orders; every other path stays open. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, type RouteAuthConfig } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth(config);
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/", () => "open");
  app.get("/orders", { config: { auth: true } as RouteAuthConfig as object }, async (request) => {
    const session = await auth.getSession(request);
    return { of: session?.user?.name };
  });
  return app as FastifyInstance;
}
