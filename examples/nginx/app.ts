/**
 * Applications behind nginx: what each server of nginx.conf needs on this side.
 *
 * @module
 */
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import { authConfig, port } from "../auth.ts";

/** `trustProxy` for a proxy on the same machine: what others send is ignored. */
const LOOPBACK = "loopback";

/** What differs. `origin` is what `AUTH_URL` says in the environment, `trustHost` what `AUTH_TRUST_HOST` says. */
interface Setting {
  auth: Partial<FastifyAuthConfig>;
  trustProxy?: string;
  /** Where the application has its routes. */
  base?: string;
}

/** By port. */
export const SETTINGS: Readonly<Record<number, Setting>> = {
  3001: { auth: { origin: "https://fixed.example" } },
  3002: { auth: { trustHost: true }, trustProxy: LOOPBACK },
  3003: { auth: { trustHost: true }, trustProxy: LOOPBACK },
  3004: { auth: { origin: "https://kept.example" }, base: "/app" },
  3005: { auth: { origin: "https://removed.example/app/auth" } },
};

/** Makes the application of a setting. */
export async function build(
  { auth, trustProxy = "", base = "" }: Setting,
  more: Partial<FastifyAuthConfig> = {},
  logger: FastifyServerOptions["logger"] = true,
): Promise<FastifyInstance> {
  const config = authConfig({ ...auth, ...more });
  const app = Fastify({ logger, trustProxy: trustProxy || false }) as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: `${base}/auth` });
  app.get(`${base}/me`, { onRequest: requireSession(config) }, async (request) => {
    return (await getSession(request, config))?.user;
  });
  return app;
}

if (import.meta.main) {
  for (const [own, setting] of Object.entries(SETTINGS)) {
    await (await build(setting)).listen({ port: port && Number(own) });
  }
}
