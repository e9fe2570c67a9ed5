/**
 * Starts an application, and with an argument sends it a request for that path. V8 writes what was loaded for it into the
 * directory of `NODE_V8_COVERAGE` or `DENO_COVERAGE_DIR`. Prints whether Node has loaded its `fetch`.
 *
 * @module
 */
import Fastify from "fastify";
import { createAuth, requireSession } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import process from "node:process";

const auth = createAuth({
  providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
  secret: "a-secret-for-the-tests-of-at-least-32-characters",
  trustHost: true,
});
const app = Fastify();
await app.register(auth.plugin, { prefix: "/auth" });
app.get("/me", { onRequest: requireSession(auth.config) }, (request) => auth.getSession(request));
await app.ready();
const [, , path] = process.argv;
if (path !== undefined) await app.inject(path);
await app.close();
const { moduleLoadList = [] } = process as { moduleLoadList?: string[] };
console.log(moduleLoadList.some((name) => name.includes("undici/undici")));
