/**
 * Two tenants by their hosts: http://acme.localhost:3000 and http://umbrella.localhost:3000. Each has a configuration of
 * its own, and a session at the one is none at the other.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

// Made once: the same object for each request of a tenant.
const tenants = new Map(["acme", "umbrella"].map((tenant) => {
  const host = `${tenant}.localhost`;
  return [host, authConfig({ tenant, origin: `http://${host}:${port}`, pages: { siteName: tenant } })];
}));

const auth = createAuth((request) => tenants.get(request.hostname));

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => (await auth.getSession(request))?.user ?? null);
  app.get(
    "/staff",
    { onRequest: auth.requireSession() },
    (request) => `You are signed in at ${request.hostname}.`,
  );
  return app;
}

if (import.meta.main) {
  console.log(await (await build()).listen({ port }));
  for (const { origin } of tenants.values()) console.log(`${origin}/auth/signin`);
}
