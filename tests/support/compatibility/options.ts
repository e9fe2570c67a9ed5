/**
 * The rows of the compatibility suite that are options of Fastify.
 *
 * @module
 */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { FastifyServerOptions } from "fastify";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { parse } from "node:querystring";
import { overHttp2 } from "../http_transport.ts";
import type { Row, Visit } from "./run.ts";

async function certificate(): Promise<{ key: Uint8Array; cert: Uint8Array }> {
  const [key, cert] = await Promise.all(
    ["key", "cert"].map((name) => readFile(new URL(`../tls/${name}.pem`, import.meta.url))),
  );
  return { key: key!, cert: cert! };
}

/** Options that the types of `Fastify()` tell apart by the kind of server. */
const server = (options: object) => options as FastifyServerOptions;

async function checkSecureCookie({ client }: Visit): Promise<void> {
  const names = [...client.cookies.keys()];
  assertEquals(names.includes("__Secure-authjs.session-token"), true, names.join());
  await Promise.resolve();
}

/** One row for each option. */
export const OPTION_ROWS: readonly Row[] = [
  { name: "none", works: "what all rows have in common" },
  {
    name: "`caseSensitive: false`",
    works: "paths in capitals",
    server: server({ routerOptions: { caseSensitive: false } }),
    spell: (url) => url.replace(/^\/(?:auth\/)?\w+/, (path) => path.toUpperCase()),
  },
  {
    name: "`ignoreTrailingSlash`",
    works: "paths with a slash at the end",
    server: server({ routerOptions: { ignoreTrailingSlash: true } }),
    spell: (url) => url.replace(/[^/?](?=\?|$)/, "$&/"),
  },
  {
    name: "`ignoreDuplicateSlashes`",
    works: "paths with two slashes",
    server: server({ routerOptions: { ignoreDuplicateSlashes: true } }),
    spell: (url) => url.replace(/^\/auth\//, "//auth//"),
  },
  {
    name: "`rewriteUrl`",
    setUp: "it removes `/api`; `AUTH_URL` (`origin`) has the path `/api/auth`",
    works: "callback URLs and the sign-in page with the path that users see",
    server: server({
      rewriteUrl: ({ url = "" }: { url?: string }) => url.replace(/^\/api(?=\/)/, ""),
    }),
    config: { origin: "http://app.example/api/auth" },
    spell: (url) => url.replace(/^(?!\/api\/)/, "/api"),
    async check({ client, send }) {
      const answer = await client.get("/auth/providers");
      assertEquals(answer.json().op.callbackUrl, "http://app.example/api/auth/callback/op");
      const page = await send({ url: "/guarded", headers: { accept: "text/html" } });
      assertStringIncludes(String(page.headers.location), "/api/auth/signin");
      assertStringIncludes(String(page.headers.location), encodeURIComponent("/api/guarded"));
    },
  },
  {
    name: "`maxParamLength: 2`",
    works: "414 for a longer parameter of the application's own routes",
    server: server({ routerOptions: { maxParamLength: 2 } }),
    routes: (app) => app.get("/own/:name", () => "short"),
    async check({ client }) {
      const statuses = [await client.get("/own/ab"), await client.get("/own/abc")];
      assertEquals(statuses.map(({ statusCode }) => statusCode), [200, 414]);
    },
  },
  {
    name: "`http2`",
    works: "HTTP/2 without TLS",
    server: server({ http2: true }),
    transport: overHttp2,
  },
  {
    name: "`http2` with `https`",
    works: "HTTP/2 with TLS; the cookie for https",
    server: async () => server({ http2: true, https: await certificate() }),
    transport: overHttp2,
    check: checkSecureCookie,
  },
  {
    name: "`https`",
    works: "the cookie for https",
    server: async () => server({ https: await certificate() }),
    check: checkSecureCookie,
  },
  {
    name: "`serverFactory`",
    works: "a server of the application's own",
    server: server({
      serverFactory: (handler: Parameters<typeof createServer>[1]) =>
        createServer((request, response) => {
          response.setHeader("x-own-server", "1");
          handler!(request, response as never);
        }),
    }),
    async check({ client }) {
      assertEquals((await client.get("/me")).headers["x-own-server"], "1");
    },
  },
  {
    name: "`setErrorHandler()`",
    works: "the refusal of a guard in the shape of the application's own",
    add(app) {
      app.setErrorHandler((error: Error & { statusCode?: number; code?: string }, _request, reply) =>
        reply.code(error.statusCode ?? 500).send({ own: error.code })
      );
    },
    async check({ send }) {
      const refused = await send({ url: "/guarded" });
      assertEquals([refused.statusCode, refused.json()], [401, { own: "FST_AUTHJS_UNAUTHENTICATED" }]);
    },
  },
  {
    name: "`setNotFoundHandler()`",
    works: "it answers other paths, and the plugin those below `/auth`",
    add(app) {
      app.setNotFoundHandler((_request, reply) => reply.code(404).send({ own: true }));
    },
    async check({ client }) {
      assertEquals((await client.get("/nowhere")).json(), { own: true });
      assertEquals((await client.get("/auth/nowhere")).json().code, "FST_AUTHJS_NOT_FOUND");
    },
  },
  {
    name: "`querystringParser`",
    works: "the application's own parser",
    server: server({
      routerOptions: { querystringParser: (text: string) => ({ ...parse(text), own: "1" }) },
    }),
    routes: (app) => app.get("/own", (request) => request.query),
    async check({ client }) {
      assertEquals((await client.get("/own?a=2")).json(), { a: "2", own: "1" });
    },
  },
  {
    name: "`exposeHeadRoutes`",
    works: "HEAD of a guarded route, with and without a session",
    server: server({ exposeHeadRoutes: true }),
    async check({ client, send }) {
      assertEquals((await client.request("HEAD", "/guarded")).statusCode, 200);
      assertEquals((await send({ method: "HEAD", url: "/guarded" })).statusCode, 401);
    },
  },
  {
    name: "`handlerTimeout`",
    works: "503 for a handler that takes too long",
    server: server({ handlerTimeout: 60_000 }),
    routes: (app) => app.get("/own", { handlerTimeout: 1 } as object, () => new Promise(() => {})),
    async check({ client }) {
      assertEquals((await client.get("/own")).statusCode, 503);
    },
  },
  {
    name: "`bodyLimit: 1`",
    works: "413 for a body of the application's own routes",
    server: server({ bodyLimit: 1 }),
    routes: (app) => app.post("/own", () => "posted"),
    async check({ client }) {
      assertEquals((await client.request("POST", "/own", { json: { a: 1 } })).statusCode, 413);
    },
  },
  {
    name: "`trustProxy`",
    works: "the cookie for https, behind a proxy that forwards the protocol and the host",
    server: server({ trustProxy: true }),
    async check({ send }) {
      const headers = { "x-forwarded-proto": "https", "x-forwarded-host": "app.example" };
      const answer = await send({ url: "/auth/providers", headers });
      assertStringIncludes(answer.body, "https://app.example/auth/callback/op");
    },
  },
  {
    name: "parsers of the application's own",
    setUp: "for JSON and forms, and `*`",
    works: "what they make of a body",
    add(app) {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser(
        "*",
        { parseAs: "string" },
        (_request, body, done) => done(null, { own: body }),
      );
    },
    routes: (app) => app.post("/own", (request) => request.body),
    async check({ client }) {
      assertEquals((await client.post("/own", { a: "1" })).json(), { own: "a=1" });
    },
  },
];
