/**
 * A page on an origin of its own that has `fastify-authjs/client`, as a bundler would have compiled it.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import ts from "typescript";

const source = new URL("../../src/client/", import.meta.url);

/** A module of the client in JavaScript. */
export async function compileClient(name: string): Promise<string> {
  const { outputText } = ts.transpileModule(await readFile(new URL(name, source), "utf8"), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, removeComments: true },
  });
  return outputText;
}

/** A running page. */
export interface ClientPage extends AsyncDisposable {
  readonly app: FastifyInstance;
  /** Such as `http://localhost:40123`. */
  readonly origin: string;
  /** The modules that browsers loaded, such as `mod.ts`. */
  readonly loaded: readonly string[];
}

/** Starts it on a free port. The page calls `auth`, a client of `/auth` at the origin in its query, `at`. */
export async function startClientPage(): Promise<ClientPage> {
  const app = Fastify({ forceCloseConnections: true });
  const loaded: string[] = [];
  app.get<{ Params: { name: string } }>("/client/:name", async ({ params: { name } }, reply) => {
    loaded.push(name);
    return reply.type("text/javascript").send(await compileClient(name));
  });
  app.get("/*", (_request, reply) => reply.type("text/html").send(PAGE));
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  return {
    app,
    origin: `http://localhost:${port}`,
    loaded,
    [Symbol.asyncDispose]: () => app.close(),
  };
}

const PAGE = `<!DOCTYPE html>
<title>A page elsewhere</title>
<link rel="icon" href="data:,">
<input autocomplete="username webauthn">
<script type="module">
  import { createAuthClient } from "/client/mod.ts";
  const at = new URLSearchParams(location.search).get("at");
  window.auth = createAuthClient({ baseUrl: at + "/auth" });
  document.title = "ready";
</script>`;
