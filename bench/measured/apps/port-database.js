import Fastify from "fastify";
import { DATABASE_COOKIE, databaseConfig, listen } from "../fixture.js";
import { getSession } from "../port.js";

export async function start() {
  const config = { ...databaseConfig(), basePath: "/auth" };
  const app = Fastify();
  app.get("/me", async (request) => {
    const { user: { name, email, image } } = await getSession(request, config);
    return { name, email, image };
  });
  return { port: await listen(app), cookie: DATABASE_COOKIE };
}
