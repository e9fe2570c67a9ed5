/**
 * An application as a process of its own: `DATABASE_URL` is its PostgreSQL, `AUTH_URL` and `AUTH_SECRET` are the
 * plugin's. It prints the port it listens on and runs until its input ends, so that it never outlives a test.
 *
 * @module
 */
import process from "node:process";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { drizzle } from "drizzle-orm/node-postgres";
import Fastify from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import pg from "pg";
import { identityProvider } from "./identity.ts";

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL! });
const config: FastifyAuthConfig = {
  adapter: DrizzleAdapter(drizzle(pool)),
  providers: [identityProvider("one")],
};
const app = Fastify();
await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", async (request) => ({ session: await getSession(request, config), process: process.pid }));
app.addHook("onClose", () => pool.end());

process.stdin.on("end", () => void app.close()).resume();
const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
console.log(`port ${address.port}`);
