/** An application that shows a user's sessions. */
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import type { AuthObject } from "fastify-authjs";

/** The plugin at `/auth`, the session at `/me`, the sessions at `/sessions`. */
export async function sessionsApp(auth: AuthObject, options: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify(options) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/sessions", (request) => auth.listSessions(request));
  return app;
}
