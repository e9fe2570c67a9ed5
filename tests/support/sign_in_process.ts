/**
 * An application as a process of its own that signs in with the provider at `ISSUER`, and closes on `SIGTERM` as
 * docs/deployment.md has it. It prints the port it listens on, and `closed` at its end.
 *
 * @module
 */
import process from "node:process";
import Fastify from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { SECRET } from "./app.ts";

const config: FastifyAuthConfig = {
  providers: [{
    id: "op",
    name: "OP",
    type: "oidc",
    issuer: process.env.ISSUER!,
    clientId: "client",
    clientSecret: "secret",
    checks: ["state", "pkce", "nonce"],
  }],
  secret: SECRET,
  origin: "http://app.test",
};
const app = Fastify();
await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", async (request) => ({ session: await getSession(request, config) }));

process.once("SIGTERM", async () => {
  setInterval(() => app.server.closeIdleConnections(), 100).unref();
  await app.close();
  console.log("closed");
  process.exit();
});
process.stdin.on("end", () => process.exit()).resume();
const address = new URL(await app.listen({ port: 0, host: "127.0.0.1" }));
console.log(`port ${address.port}`);
