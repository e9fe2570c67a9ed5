/** Starts an application and asks it once: `start.js own|port`. Prints the milliseconds of CPU since the process began. */
import Fastify from "fastify";
import process from "node:process";

const SECRET = "a-secret-for-the-benchmarks-of-at-least-32-characters";

const config = (GitHub) => ({
  providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
  secret: SECRET,
  trustHost: true,
});

/** Each loads its own packages. */
const PLUGINS = {
  async port() {
    const { authRoutes } = await import("./port.js");
    const { default: GitHub } = await import("@auth/core/providers/github");
    return authRoutes({ ...config(GitHub), basePath: "/auth" });
  },
  async own() {
    const { FastifyAuth } = await import("fastify-authjs");
    const { default: GitHub } = await import("fastify-authjs/providers/github");
    return FastifyAuth(config(GitHub));
  },
};

const app = Fastify();
await app.register(await PLUGINS[process.argv[2]](), { prefix: "/auth" });
const response = await app.inject("/auth/csrf");
if (typeof response.json().csrfToken !== "string") throw new Error(response.payload);
const { user, system } = process.cpuUsage();
console.log((user + system) / 1000);
process.exit();
