/** Fastify and no session: what everything else is measured against. */
import Fastify from "fastify";
import { listen, USER } from "../fixture.js";

export async function start() {
  const app = Fastify();
  app.get("/me", () => USER);
  return { port: await listen(app), cookie: "" };
}
