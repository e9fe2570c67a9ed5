/**
 * `@fastify/rate-limit` on signing in with a password: five attempts a minute for each user name and address.
 *
 * @module
 */
import rateLimit from "@fastify/rate-limit";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig } from "./auth.ts";

const config = authConfig();

/** Whether a request signs in with a password. */
function isAttempt({ method, routeOptions, params }: FastifyRequest): boolean {
  return method === "POST" && routeOptions.url === "/auth/callback/:provider" &&
    (params as { provider: string }).provider === "credentials";
}

/** Who is counted: with the name, others behind the same address can still sign in. */
function keyOf({ ip, body }: FastifyRequest): string {
  const { username } = (body ?? {}) as { username?: string };
  return `${ip} ${String(username).toLowerCase()}`;
}

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  // Before the plugin, since it adds a hook to the routes that come after it; several processes need its `redis`
  await app.register(rateLimit, {
    hook: "preHandler", // when the body has been parsed
    max: 5,
    timeWindow: "1 minute",
    allowList: (request) => !isAttempt(request),
    keyGenerator: keyOf,
  });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => (await getSession(request, config))?.user ?? null);
  return app;
}

if (import.meta.main) await (await build()).listen({ port: 3000 });
