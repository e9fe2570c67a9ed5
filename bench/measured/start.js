/**
 * Starts an application in a process of its own: `start.js <what>`. Prints the milliseconds of CPU since the process
 * began, and those on the clock.
 */
import Fastify from "fastify";
import process from "node:process";

const SECRET = "a-secret-for-the-benchmarks-of-at-least-32-characters";

/** What is started; each loads its own packages. */
const STARTS = {
  /** The application alone, with the packages loaded that a port needs. */
  async bare() {
    await import("@fastify/formbody");
    await import("@auth/core");
    await import("@auth/core/providers/github");
    const app = application();
    await app.ready();
  },
  /** The port. Its first request is answered, which shows whether the configuration is right. */
  async port() {
    const { authRoutes } = await import("./port.js");
    const { default: GitHub } = await import("@auth/core/providers/github");
    const config = { ...settings(GitHub), basePath: "/auth" };
    const app = application();
    app.register(authRoutes(config), { prefix: "/auth" });
    await answer(app);
  },
  /** Registered, and checked at boot. */
  async registered() {
    await registered();
  },
  /** The same, and its first request is answered. */
  async answered() {
    await answer(await registered());
  },
};

/** An application with one route. Fastify loads and makes with the first route what all others need, too. */
function application() {
  const app = Fastify();
  app.get("/", () => "Hello");
  return app;
}

async function registered() {
  const { FastifyAuth } = await import("fastify-authjs");
  const { default: GitHub } = await import("fastify-authjs/providers/github");
  const app = application();
  await app.register(FastifyAuth(settings(GitHub)), { prefix: "/auth" });
  await app.ready();
  return app;
}

const settings = (GitHub) => ({
  providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
  secret: SECRET,
  trustHost: true,
});

async function answer(app) {
  const response = await app.inject("/auth/csrf");
  if (typeof response.json().csrfToken !== "string") throw new Error(response.payload);
}

await STARTS[process.argv[2]]();
const { user, system } = process.cpuUsage();
console.log(JSON.stringify({ cpu: (user + system) / 1000, clock: performance.now() }));
process.exit();
