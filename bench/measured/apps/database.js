/** Sessions in a database, in memory. */
import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { DATABASE_COOKIE, databaseConfig, listen } from "../fixture.js";

export async function start() {
  const config = databaseConfig();
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => {
    const { user: { name, email, image } } = await getSession(request, config);
    return { name, email, image };
  });
  return { port: await listen(app), cookie: DATABASE_COOKIE };
}
