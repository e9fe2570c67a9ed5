/**
 * An application as a process of its own over `DATABASE_URL`, with the store in `REDIS_URL` if there is one. With `KILL`
 * it is killed in its first sign-in: when the user is written, and before the account is. It prints the port it listens
 * on, then its log.
 *
 * @module
 */
import process from "node:process";
import PostgresAdapter from "@auth/pg-adapter";
import Fastify from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { redisStore } from "fastify-authjs/redis";
import { Redis } from "ioredis";
import pg from "pg";
import { SECRET } from "./app.ts";
import { identityProvider } from "./identity.ts";

const { DATABASE_URL, REDIS_URL, KILL, PREFIX } = process.env;
const pool = new pg.Pool({ connectionString: DATABASE_URL! });
const redis = REDIS_URL ? new Redis(REDIS_URL) : undefined;
const adapter = PostgresAdapter(pool);
const config: FastifyAuthConfig = {
  adapter: {
    ...adapter,
    linkAccount(account) {
      if (KILL) process.kill(process.pid, "SIGKILL");
      return adapter.linkAccount!(account);
    },
  },
  adapterTimeout: 1000,
  providers: [identityProvider("one"), identityProvider("two")],
  secret: SECRET,
  origin: "http://app.test",
  ...(redis && { store: redisStore(redis, { prefix: PREFIX! }) }),
};
const app = Fastify({ logger: { stream: { write: (line) => void console.log(`log ${line.trim()}`) } } });
await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", async (request) => ({ session: await getSession(request, config) }));
app.addHook("onClose", async () => {
  await pool.end();
  redis?.disconnect();
});

process.stdin.on("end", () => void app.close()).resume();
const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
console.log(`port ${address.port}`);
