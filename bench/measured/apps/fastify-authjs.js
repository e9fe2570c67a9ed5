import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig, forgedCookies, listen, sessionCookie } from "../fixture.js";

export async function start() {
  const config = authConfig();
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => (await getSession(request, config)).user);
  app.get("/session", async (request) => ({ session: await getSession(request, config) }));
  return { port: await listen(app), cookie: await sessionCookie(), ...await forgedCookies() };
}
