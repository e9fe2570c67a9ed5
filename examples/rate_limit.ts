/**
 * Limits on signing in: five failed attempts in ten minutes on each account from one address.
 *
 * `@fastify/rate-limit` has to be installed.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

// All other limits have their defaults; several processes need a client of Redis as `redis`.
const config = authConfig({ rateLimit: { accountFromAddress: { max: 5, timeWindow: 600_000 } } });

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify({ trustProxy: "127.0.0.1" }); // the proxy, since addresses are those of `request.ip`
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => (await getSession(request, config))?.user ?? null);
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
