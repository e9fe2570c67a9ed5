/** Applications of every kind type-check against `getSession` and `requireSession`, without a cast. */
import { assertEquals } from "@std/assert";
import Fastify, { type FastifyRequest } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import { testConfig } from "../support/app.ts";

const config = testConfig();
const routes = {
  onRequest: requireSession(config),
  preHandler: [requireSession(config, { roles: "admin" })],
};

/** Never called: it is here to be type-checked. */
export async function registerEverywhere() {
  const http1 = Fastify({ logger: true });
  await http1.register(FastifyAuth(config), { prefix: "/auth" });
  http1.get<{ Params: { id: string }; Body: { a: number } }>(
    "/:id",
    routes,
    (request) => getSession(request, config),
  );
  http1.addHook("onRequest", requireSession(config));

  const h2c = Fastify({ http2: true });
  await h2c.register(FastifyAuth(config), { prefix: "/auth" });
  h2c.get("/", routes, (request) => getSession(request, config));
  h2c.addHook("preHandler", requireSession(config));

  const http2 = Fastify({ http2: true, https: {} });
  await http2.register(FastifyAuth(config), { prefix: "/auth" });
  http2.get<{ Querystring: { q: string } }>("/", routes, (request) => getSession(request, config));

  const https = Fastify({ https: {} });
  await https.register(FastifyAuth(config), { prefix: "/auth" });
  https.get("/", routes, (request: FastifyRequest) => getSession(request, config));
}

Deno.test("getSession() and requireSession() fit instances of every kind", () => {
  assertEquals([getSession.length, typeof registerEverywhere], [2, "function"]);
});
