/**
 * An application of {@link refreshingCallbacks} as a process of its own. It prints the port it listens on and runs until it
 * is told to end.
 *
 * @module
 */
import process from "node:process";
import Fastify from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { redisStore } from "fastify-authjs/redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { refreshingCallbacks } from "./refreshing.ts";

const { ISSUER = "", CLIENT_SECRET = "", AUTH_SECRET = "", REDIS_URL = "", REDIS_CLIENT, REDIS_PREFIX = "" } =
  process.env;
/** In milliseconds. */
const { PROVIDER_TIMEOUT, REFRESH_DELAY = "0" } = process.env;

async function connect() {
  if (REDIS_CLIENT === "ioredis") {
    const client = new Redis(REDIS_URL);
    return { store: redisStore(client, { prefix: REDIS_PREFIX }), close: () => client.disconnect() };
  }
  if (REDIS_CLIENT === "redis") {
    const client = createClient({ url: REDIS_URL });
    await client.connect();
    return { store: redisStore(client as never, { prefix: REDIS_PREFIX }), close: () => client.destroy() };
  }
}

const redis = await connect();
const config: FastifyAuthConfig = {
  providers: [],
  secret: AUTH_SECRET,
  trustHost: true,
  ...(PROVIDER_TIMEOUT && { providerTimeout: Number(PROVIDER_TIMEOUT) }),
  callbacks: refreshingCallbacks({
    issuer: ISSUER,
    client: "client",
    secret: CLIENT_SECRET,
    onRefresh: () => new Promise((resolve) => setTimeout(resolve, Number(REFRESH_DELAY))),
  }),
  ...(redis && { store: redis.store }),
};
const app = Fastify();
await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", async (request) => ({ session: await getSession(request, config) }));
app.addHook("onClose", () => redis?.close());

process.once("SIGTERM", () => void app.close());
const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
console.log(`port ${address.port}`);
