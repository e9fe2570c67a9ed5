import Fastify from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { listen, sessionCookie } from "../fixture.js";
import { CONFIGURATIONS } from "../operations.js";

/** @param parameter The name of a configuration, and how many more providers it has: `plain-82`. */
export async function start(parameter) {
  const [name, more] = parameter.split("-");
  const app = Fastify();
  const config = { ...CONFIGURATIONS[name](Number(more)), emailConfirm: false };
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  return { port: await listen(app), cookie: await sessionCookie() };
}
