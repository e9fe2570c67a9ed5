import Fastify from "fastify";
import { listen, sessionCookie } from "../fixture.js";
import { CONFIGURATIONS } from "../operations.js";
import { authRoutes } from "../port.js";

/** @param parameter The name of a configuration, and how many more providers it has: `plain-82`. */
export async function start(parameter) {
  const [name, more] = parameter.split("-");
  const app = Fastify();
  const config = { ...CONFIGURATIONS[name](Number(more)), basePath: "/auth" };
  app.register(authRoutes(config), { prefix: "/auth" });
  return { port: await listen(app), cookie: await sessionCookie() };
}
