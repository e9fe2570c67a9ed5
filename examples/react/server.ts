/**
 * Serves the page of app.js, which Deno bundles for browsers, and signs its users in.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { authConfig, port } from "../auth.ts";

const PAGE = `<!DOCTYPE html>
<title>React</title>
<link rel="icon" href="data:,">
<body><script type="module" src="/app.js"></script>`;

/** app.js with React and the client. An application has a bundler of its own, such as Vite. */
async function bundle(): Promise<string> {
  const flags = ["--quiet", "--no-lock", "--platform=browser", "--minify"];
  const { CHECKOUT_CONFIG: config } = process.env; // has React
  if (config) flags.push(`--config=${config}`);
  const app = fileURLToPath(new URL("app.js", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["bundle", ...flags, app], {
    maxBuffer: 2 ** 24,
  });
  return stdout;
}

/** Makes the application. */
export async function build(
  config: FastifyAuthConfig = authConfig(),
  app: FastifyInstance = Fastify(),
): Promise<FastifyInstance> {
  const script = await bundle();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", (_request, reply) => reply.type("text/html").send(PAGE));
  app.get("/app.js", (_request, reply) => reply.type("text/javascript").send(script));
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
