import Fastify from "fastify";
import { authConfig, listen, sessionCookie } from "../fixture.js";
import { authRoutes, getSession } from "../port.js";

export async function start() {
  const config = { ...authConfig(), basePath: "/auth" };
  const app = Fastify();
  app.register(authRoutes(config), { prefix: "/auth" });
  app.get("/me", async (request) => (await getSession(request, config)).user);
  return { port: await listen(app), cookie: await sessionCookie() };
}
