/** Task: users see where they are signed in, and sign out everywhere else. */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";

export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth({ ...config, store: memoryStore(), revocable: true });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/devices", (request) => auth.listSessions(request));
  app.post("/devices/end-others", async (request) => {
    const sessions = await auth.listSessions(request);
    for (const { id, current } of sessions) if (!current) await auth.revokeSession(id);
    return { left: (await auth.listSessions(request)).length };
  });
  return app as FastifyInstance;
}
