import Fastify from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { listen, sessionCookie } from "../fixture.js";
import { CONFIGURATIONS } from "../operations.js";
import { authRoutes } from "../port.js";

/** @param parameter Who answers, "own" or "port", and the name of a configuration: `own-plain`. */
export async function start(parameter) {
  const [who, name] = parameter.split("-");
  const config = CONFIGURATIONS[name];
  const app = Fastify();
  await app.register(
    who === "own" ? FastifyAuth({ ...config, emailConfirm: false }) : authRoutes({ ...config, basePath: "/auth" }),
    { prefix: "/auth" },
  );
  return { port: await listen(app), cookie: await sessionCookie() };
}
