import secureSession from "@fastify/secure-session";
import Fastify from "fastify";
import { listen, USER } from "../fixture.js";

export async function start() {
  const app = Fastify();
  await app.register(secureSession, { key: Buffer.alloc(32, 7), cookie: { path: "/" } });
  app.post("/sign-in", (request, reply) => {
    request.session.set("user", USER);
    reply.send();
  });
  app.get("/me", (request) => request.session.get("user") ?? null);
  const port = await listen(app);
  const { cookies: [{ name, value }] } = await app.inject({ method: "POST", url: "/sign-in" });
  return { port, cookie: `${name}=${encodeURIComponent(value)}` };
}
