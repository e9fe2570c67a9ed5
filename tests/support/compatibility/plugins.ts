/**
 * The rows of the compatibility suite that are plugins of Fastify.
 *
 * @module
 */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import auth from "@fastify/auth";
import autoload from "@fastify/autoload";
import { fastifyAwilixPlugin } from "@fastify/awilix";
import caching from "@fastify/caching";
import compress from "@fastify/compress";
import cookie from "@fastify/cookie";
import cors from "@fastify/cors";
import csrf from "@fastify/csrf-protection";
import etag from "@fastify/etag";
import express from "@fastify/express";
import formbody from "@fastify/formbody";
import helmet from "@fastify/helmet";
import httpProxy from "@fastify/http-proxy";
import jwt from "@fastify/jwt";
import middie from "@fastify/middie";
import multipart from "@fastify/multipart";
import oauth2 from "@fastify/oauth2";
import { FastifyOtelInstrumentation } from "@fastify/otel";
import { Authenticator, Strategy } from "@fastify/passport";
import rateLimit from "@fastify/rate-limit";
import { fastifyRequestContext } from "@fastify/request-context";
import secureSession from "@fastify/secure-session";
import sensible from "@fastify/sensible";
import session from "@fastify/session";
import files from "@fastify/static";
import sse from "@fastify/sse";
import swagger from "@fastify/swagger";
import underPressure from "@fastify/under-pressure";
import view from "@fastify/view";
import websocket from "@fastify/websocket";
import { TypeBoxValidatorCompiler } from "@fastify/type-provider-typebox";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { asValue } from "awilix";
import ejs from "ejs";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { serializerCompiler, validatorCompiler } from "fastify-type-provider-zod";
import { getSession } from "fastify-authjs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Type } from "typebox";
import { WebSocket } from "ws";
import { z } from "zod";
import type { Row, Visit } from "./run.ts";

/** Any method that a plugin adds: its types may be those of another copy of Fastify. */
type Methods = Record<string, (...args: unknown[]) => unknown>;
const of = (decorated: object) => decorated as Methods;
/** Any property that a plugin adds. */
const its = (decorated: object) => decorated as Record<string, Record<string, unknown>>;

function use(app: FastifyInstance, plugin: unknown, options: object = {}): Promise<unknown> {
  return app.register(plugin as never, options as never) as unknown as Promise<unknown>;
}

const SECRET = "another-secret-of-at-least-32-characters";

async function bodyOf({ client }: Visit, url: string): Promise<string> {
  const { statusCode, body } = await client.get(url);
  assertEquals(statusCode, 200, body);
  return body;
}

/** A folder with one file, removed when the application is closed. */
async function folderWith(app: FastifyInstance, name: string, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "authjs-compatibility-"));
  await writeFile(join(folder, name), text);
  app.addHook("onClose", () => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A server to proxy to, closed with the application. */
async function upstreamOf(app: FastifyInstance): Promise<string> {
  const upstream = Fastify();
  upstream.get("/", (request) => ({ upstream: true, user: request.headers["x-user"] ?? null }));
  await upstream.listen({ port: 0, host: "127.0.0.1" });
  app.addHook("onClose", () => upstream.close());
  return `http://127.0.0.1:${(upstream.server.address() as AddressInfo).port}`;
}

/** Counts a visitor's requests in what `request.session` is. */
function countVisits(request: object): unknown {
  const visitor = its(request).session!;
  const { get, set } = visitor as unknown as Methods;
  const before = get!.call(visitor, "visits") as number | undefined;
  set!.call(visitor, "visits", (before ?? 0) + 1);
  return { visits: (before ?? 0) + 1 };
}

async function checkVisits(visit: Visit): Promise<void> {
  const counted = [await bodyOf(visit, "/own"), await bodyOf(visit, "/own")];
  assertEquals(counted, ['{"visits":1}', '{"visits":2}']);
  assertEquals((await visit.client.get("/guarded")).statusCode, 200, "the session of Auth.js is still there");
}

/** A middleware of Connect. */
type Middleware = (
  request: unknown,
  response: { setHeader(name: string, value: string): void },
  next: () => void,
) => void;
const stamp: Middleware = (_request, response, next) => {
  response.setHeader("x-middleware", "ran");
  next();
};

async function checkMiddleware({ client }: Visit): Promise<void> {
  for (const url of ["/me", "/guarded", "/auth/session"]) {
    assertEquals((await client.get(url)).headers["x-middleware"], "ran", url);
  }
}

/** Whether a socket opens, or the status that it is refused with. */
function connect(url: string, headers: Record<string, string>): Promise<string | number> {
  const socket = new WebSocket(url, { headers });
  return new Promise((resolve, reject) => {
    socket.on("message", (data: { toString(): string }) => {
      socket.once("close", () => resolve(data.toString()));
      socket.close();
    });
    socket.on("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on("error", reject);
  });
}

/** One row for each package. */
export const PLUGIN_ROWS: readonly Row[] = [
  {
    name: "@fastify/cookie",
    setUp: "with a secret; `onRequest`",
    works: "a signed cookie of the application beside the session cookie",
    add: (app) => use(app, cookie, { secret: SECRET }),
    routes(app) {
      app.get("/own", (request, reply) => {
        const seen = of(request).unsignCookie!(its(request).cookies!.own ?? "");
        of(reply).setCookie!("own", "mine", { signed: true, path: "/" });
        return seen;
      });
    },
    async check(visit) {
      await visit.client.get("/own");
      assertEquals(JSON.parse(await bodyOf(visit, "/own")).value, "mine");
      assertEquals((await visit.client.get("/guarded")).statusCode, 200);
    },
  },
  {
    name: "@fastify/session",
    setUp: "with @fastify/cookie",
    works: "a session of its own beside that of Auth.js",
    async add(app) {
      await use(app, cookie);
      await use(app, session, { secret: SECRET, cookie: { secure: false } });
    },
    routes: (app) => app.get("/own", (request) => countVisits(request)),
    check: checkVisits,
  },
  {
    name: "@fastify/secure-session",
    works: "a session of its own beside that of Auth.js",
    add: (app) => use(app, secureSession, { key: Buffer.alloc(32, 1), cookie: { path: "/" } }),
    routes: (app) => app.get("/own", (request) => countVisits(request)),
    check: checkVisits,
  },
  {
    name: "@fastify/csrf-protection",
    setUp: "with @fastify/cookie",
    works: "it refuses a POST without its token",
    async add(app) {
      await use(app, cookie);
      await use(app, csrf);
    },
    routes(app) {
      app.get("/token", (_request, reply) => ({ token: of(reply).generateCsrf!() }));
      app.post("/own", { onRequest: of(app).csrfProtection as never }, () => ({ posted: true }));
    },
    async check({ client }) {
      assertEquals((await client.request("POST", "/own")).statusCode, 403);
      const { token } = (await client.get("/token")).json<{ token: string }>();
      const posted = await client.request("POST", "/own", { headers: { "csrf-token": token } });
      assertEquals(posted.statusCode, 200);
    },
  },
  {
    name: "@fastify/formbody",
    works: "a form of the application",
    add: (app) => use(app, formbody),
    routes: (app) => app.post("/own", (request) => request.body),
    async check({ client }) {
      assertEquals((await client.post("/own", { a: "1" })).json(), { a: "1" });
    },
  },
  {
    name: "@fastify/multipart",
    setUp: "`attachFieldsToBody`",
    works: "an upload to the application, and a sign-in with `FormData`",
    add: (app) => use(app, multipart, { attachFieldsToBody: "keyValues" }),
    routes: (app) => app.post("/own", (request) => request.body),
    async check({ client }) {
      const boundary = "----formdata-of-a-test-0123456789"; // Node takes none of less than 27 characters
      const part = (name: string, value: string) =>
        `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
      const end = `--${boundary}--\r\n`;
      const payload = part("a", "1") + end;
      const headers = { "content-type": `multipart/form-data; boundary=${boundary}` };
      assertEquals((await client.request("POST", "/own", { headers, payload })).json(), { a: "1" });
      const fields = { csrfToken: await client.csrfToken(), username: "grace", password: "open" };
      const parts = Object.entries(fields).map(([name, value]) => part(name, value));
      const sent = { headers, payload: parts.join("") + end };
      assertEquals((await client.request("POST", "/auth/callback/credentials", sent)).statusCode, 302);
      assertEquals((await client.get("/auth/session")).json().user.name, "grace");
    },
  },
  {
    name: "@fastify/static",
    setUp: "also at the root, with `wildcard`",
    works: "a file",
    add: async (app) => use(app, files, { root: await folderWith(app, "own.txt", "a file") }),
    async check(visit) {
      assertEquals(await bodyOf(visit, "/own.txt"), "a file");
      assertEquals((await visit.client.get("/auth/own.txt")).statusCode, 404);
    },
  },
  {
    name: "@fastify/view",
    setUp: "with ejs",
    works: "a template that shows the session",
    add: async (app) =>
      use(app, view, { engine: { ejs }, root: await folderWith(app, "own.ejs", "Hello <%= user.name %>") }),
    routes: (app, { config }) =>
      app.get("/own", async (request, reply) => {
        const session = await getSession(request, config);
        return of(reply).view!("own.ejs", { user: session?.user });
      }),
    async check(visit) {
      assertEquals(await bodyOf(visit, "/own"), "Hello Ada");
    },
  },
  {
    name: "@fastify/compress",
    setUp: "registered before the plugin: it compresses the routes that come after it",
    onlyBefore: true,
    works: "a page and the sign-in page, both compressed",
    add: (app) => use(app, compress, { threshold: 1, encodings: ["gzip"] }),
    async check({ client }) {
      for (const [url, text] of [["/me", '"Ada"'], ["/auth/signin", "<form"]] as const) {
        const answer = await client.get(url, { headers: { "accept-encoding": "gzip" } });
        assertEquals(answer.headers["content-encoding"], "gzip", url);
        assertStringIncludes(gunzipSync(answer.rawPayload).toString(), text);
      }
    },
  },
  {
    name: "@fastify/etag",
    works: "304 for what the browser has",
    add: (app) => use(app, etag),
    async check({ client }) {
      const { etag } = (await client.get("/guarded")).headers;
      const again = await client.get("/guarded", { headers: { "if-none-match": String(etag) } });
      assertEquals(again.statusCode, 304);
    },
  },
  {
    name: "@fastify/under-pressure",
    setUp: "`exposeStatusRoute`",
    works: "the status route",
    add: (app) => use(app, underPressure, { exposeStatusRoute: "/own", maxEventLoopDelay: 60_000 }),
    async check(visit) {
      assertEquals(JSON.parse(await bodyOf(visit, "/own")), { status: "ok" });
    },
  },
  {
    name: "@fastify/accepts-serializer",
    works: "a reply in the type that was asked for",
    async add(app) {
      // Without its types, which would require `config.serializers` of every route in the program.
      const { default: acceptsSerializer } = await import("@fastify/accepts-serializer" as string);
      await use(app, acceptsSerializer, {
        serializers: [{ regex: /^text\/x-own$/, serializer: (body: object) => Object.keys(body).join() }],
        default: "application/json",
      });
    },
    async check({ client }) {
      const answer = await client.get("/guarded", { headers: { accept: "text/x-own" } });
      assertEquals([answer.body, answer.headers["content-type"]], ["guarded", "text/x-own"]);
    },
  },
  {
    name: "@fastify/sensible",
    works: "`reply.notFound()`",
    add: (app) => use(app, sensible),
    routes: (app) => app.get("/own", (_request, reply) => of(reply).notFound!()),
    async check({ client }) {
      assertEquals((await client.get("/own")).statusCode, 404);
    },
  },
  {
    name: "@fastify/autoload",
    works: "a guarded route from a file",
    async add(app, { guard }) {
      const text = 'export default async (app, { guard }) => app.get("/own", { onRequest: guard }, () => "loaded");';
      await use(app, autoload, { dir: await folderWith(app, "own.mjs", text), options: { guard } });
    },
    async check(visit) {
      assertEquals(await bodyOf(visit, "/own"), "loaded");
      assertEquals((await visit.send({ url: "/own" })).statusCode, 401);
    },
  },
  {
    name: "@fastify/websocket",
    works: "a guarded socket: 401, and open with the session",
    add: (app) => use(app, websocket),
    routes(app, { config, guard }) {
      const handler = async (socket: { send(text: string): void }, request: FastifyRequest) => {
        socket.send(String((await getSession(request, config))?.user?.name));
      };
      // In a scope, since the plugin looks at the routes that come after it
      return app.register((scope, _options, done) => {
        scope.get("/own", { websocket: true, onRequest: guard } as object, handler as never);
        done();
      });
    },
    async check({ client, origin }) {
      const url = origin.replace("http", "ws") + "/own";
      assertEquals(await connect(url, {}), 401);
      assertEquals(await connect(url, { cookie: client.cookie! }), "Ada");
    },
  },
  {
    name: "@fastify/sse",
    works: "a guarded stream of events: 401, and open with the session",
    add: (app) => use(app, sse),
    routes(app, { config, guard }) {
      const handler = async (request: FastifyRequest, reply: FastifyReply) => {
        await of(its(reply).sse!).send!({ data: (await getSession(request, config))?.user?.name });
      };
      app.get("/own", { sse: "only", onRequest: guard } as object, handler as never);
    },
    async check(visit) {
      assertEquals((await visit.send({ url: "/own" })).statusCode, 401);
      assertStringIncludes(await bodyOf(visit, "/own"), 'data: "Ada"');
    },
  },
  {
    name: "@fastify/http-proxy",
    setUp: "a guard as its `preHandler`",
    works: "a proxied service behind the guard, which is told the user",
    add: async (app, { config, guard }) =>
      use(app, httpProxy, {
        upstream: await upstreamOf(app),
        prefix: "/own",
        preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
          await guard(request, reply);
          const session = await getSession(request, config);
          if (session) request.headers["x-user"] = session.user?.name ?? "";
        },
      }),
    async check(visit) {
      assertEquals((await visit.send({ url: "/own" })).statusCode, 401);
      assertEquals(JSON.parse(await bodyOf(visit, "/own")), { upstream: true, user: "Ada" });
    },
  },
  {
    name: "@fastify/middie",
    works: "a middleware, on the auth routes as well",
    async add(app) {
      await use(app, middie);
      of(app).use!(stamp);
    },
    check: checkMiddleware,
  },
  {
    name: "@fastify/express",
    works: "a middleware of Express, on the auth routes as well",
    async add(app) {
      await use(app, express);
      of(app).use!(stamp);
    },
    check: checkMiddleware,
  },
  {
    name: "@fastify/caching",
    setUp: '`privacy: "public"`',
    works: "its header on a route without a guard; a guarded reply stays private",
    add: (app) => use(app, caching, { privacy: "public", expiresIn: 300 }),
    routes: (app) => app.get("/own", () => "for all"),
    async check({ client, send }) {
      assertEquals((await send({ url: "/own" })).headers["cache-control"], "public, max-age=300");
      for (const url of ["/guarded", "/declared"]) {
        const { headers } = await client.get(url);
        assertMatch(String(headers["cache-control"]), /private|no-store/, url);
        assertEquals(/public/.test(String(headers["cache-control"])), false, url);
        assertMatch(String(headers.vary), /cookie/i, url);
      }
    },
  },
  {
    name: "@fastify/helmet",
    setUp: "its defaults",
    works: "its policy on the pages of the application and on the sign-in page",
    add: (app) => use(app, helmet),
    async check({ client }) {
      for (const url of ["/me", "/auth/signin"]) {
        const policy = String((await client.get(url)).headers["content-security-policy"]);
        assertMatch(policy, /default-src/, url);
      }
    },
  },
  {
    name: "@fastify/swagger",
    setUp: "OpenAPI 3.1, registered before the plugin: it describes the routes that come after it",
    onlyBefore: true,
    works: "guarded routes have their security and the 401, the auth routes are hidden",
    add: (app) => use(app, swagger, { openapi: { openapi: "3.1.0", info: { title: "Own", version: "1.0.0" } } }),
    async check({ app }) {
      type Operation = { security?: unknown[]; responses: Record<string, unknown> };
      const { paths } = await of(app).swagger!() as { paths: Record<string, { get: Operation }> };
      assertEquals(Object.keys(paths).sort(), ["/declared", "/guarded", "/me"]);
      for (const url of ["/declared", "/guarded"]) {
        assertEquals(paths[url]!.get.security?.length, 2, "one for each name of the cookie");
        assertEquals("401" in paths[url]!.get.responses, true, url);
      }
    },
  },
  {
    name: "@fastify/otel",
    works: "a span of each request, without the codes of callbacks",
    async add(app) {
      const exporter = new InMemorySpanExporter();
      const instrumentation = new FastifyOtelInstrumentation();
      instrumentation.setTracerProvider(
        new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
      );
      await use(app, instrumentation.plugin());
      app.decorate("ownSpans", exporter as unknown);
    },
    check({ app }) {
      const exporter = its(app).ownSpans as unknown as InMemorySpanExporter;
      const paths = exporter.getFinishedSpans().map(({ attributes }) => String(attributes["url.path"]));
      assertEquals(paths.includes("/me"), true);
      assertEquals(paths.some((path) => path.startsWith("/auth/callback/op")), true);
      assertEquals(paths.filter((path) => path.includes("a-code")), []);
      return Promise.resolve();
    },
  },
  {
    name: "@fastify/cors",
    setUp: "`credentials`, and the origin in `trustedOrigins`",
    works: "a preflight, and a sign-in from the other origin",
    config: { trustedOrigins: ["https://spa.example"] },
    add: (app) => use(app, cors, { origin: "https://spa.example", credentials: true }),
    async check({ client, send }) {
      const headers = { origin: "https://spa.example", "access-control-request-method": "POST" };
      const preflight = await send({ method: "OPTIONS", url: "/auth/signout", headers });
      assertEquals(preflight.statusCode, 204);
      const csrfToken = await client.csrfToken();
      const answer = await client.post("/auth/callback/credentials", {
        csrfToken,
        username: "grace",
        password: "open",
      }, { origin: "https://spa.example", "x-auth-return-redirect": "1" });
      assertEquals([answer.statusCode, answer.headers["access-control-allow-origin"]], [200, headers.origin]);
      assertEquals(answer.headers["access-control-allow-credentials"], "true");
    },
  },
  {
    name: "@fastify/rate-limit",
    setUp: "registered before the plugin: it limits the routes that come after it",
    works: "429 for the request that is too many, and the headers on the auth routes",
    onlyBefore: true,
    add: (app) => use(app, rateLimit, { max: 1000 }),
    routes: (app) => app.get("/own", { config: { rateLimit: { max: 1 } } as object }, () => "once"),
    async check({ client }) {
      const statuses = [await client.get("/own"), await client.get("/own")].map(({ statusCode }) => statusCode);
      assertEquals(statuses, [200, 429]);
      assertEquals((await client.get("/auth/session")).headers["x-ratelimit-limit"], "1000");
    },
  },
  {
    name: "@fastify/rate-limit",
    setUp: "beside `rateLimit` of the configuration, which has counters of its own",
    works: "429 for its own route, and for the failed attempt that is too many",
    config: { rateLimit: { account: { max: 2, timeWindow: 60_000 } } },
    add: (app) => use(app, rateLimit, { max: 1000, global: false }),
    routes: (app) => app.get("/own", { config: { rateLimit: { max: 1 } } as object }, () => "once"),
    async check({ app, client }) {
      const counted = of(app).rateLimit!({ max: 1 });
      assertEquals(typeof counted, "function");
      assertEquals((await client.signIn({ username: "ada", password: "wrong" })).statusCode, 302);
      assertEquals((await client.signIn({ username: "ada", password: "open" })).statusCode, 429);
    },
  },
  {
    name: "fastify-type-provider-zod",
    setUp: "as the compilers of the whole application",
    works: "a validated body, and one that is refused",
    add(app) {
      app.setValidatorCompiler(validatorCompiler as never);
      app.setSerializerCompiler(serializerCompiler as never);
    },
    routes: (app) => app.post("/own", { schema: { body: z.object({ age: z.number() }) } }, (request) => request.body),
    check: checkValidation,
  },
  {
    name: "@fastify/type-provider-typebox",
    setUp: "as the validator of the whole application",
    works: "a validated body, and one that is refused",
    add: (app) => void app.setValidatorCompiler(TypeBoxValidatorCompiler as never),
    routes: (app) =>
      app.post("/own", { schema: { body: Type.Object({ age: Type.Number() }) } }, (request) => request.body),
    check: checkValidation,
  },
  {
    name: "@fastify/request-context",
    works: "the session in the context of the request",
    async add(app) {
      await use(app, fastifyRequestContext);
    },
    routes(app, { config }) {
      const context = (request: FastifyRequest) => its(request).requestContext as unknown as Methods;
      const preHandler = async (request: FastifyRequest) => {
        context(request).set!("session", await getSession(request, config));
      };
      app.get("/own", { preHandler }, (request) => context(request).get!("session"));
    },
    async check(visit) {
      assertEquals(JSON.parse(await bodyOf(visit, "/own")).user.name, "Ada");
    },
  },
  {
    name: "@fastify/awilix",
    works: "the session in the scope of the request",
    add: (app) => use(app, fastifyAwilixPlugin, { disposeOnResponse: true, strictBooleanEnforced: true }),
    routes(app, { config }) {
      const scopeOf = (request: FastifyRequest) => its(request).diScope as unknown as Methods;
      const preHandler = async (request: FastifyRequest) => {
        scopeOf(request).register!({ session: asValue(await getSession(request, config)) });
      };
      app.get("/own", { preHandler }, (request) => scopeOf(request).resolve!("session"));
    },
    async check(visit) {
      assertEquals(JSON.parse(await bodyOf(visit, "/own")).user.name, "Ada");
    },
  },
  {
    name: "@fastify/oauth2",
    works: "the start of its own flow",
    add: (app) =>
      use(app, oauth2, {
        name: "other",
        credentials: {
          client: { id: "id", secret: "secret" },
          auth: { authorizeHost: "https://other.example", tokenHost: "https://other.example" },
        },
        startRedirectPath: "/own",
        callbackUri: "https://app.example/own/callback",
      }),
    async check({ client }) {
      const { statusCode, headers } = await client.get("/own");
      assertEquals([statusCode, new URL(String(headers.location)).host], [302, "other.example"]);
    },
  },
  {
    name: "@fastify/passport",
    setUp: "with @fastify/secure-session",
    works: "a strategy on a route of its own",
    async add(app) {
      const passport = new Authenticator();
      passport.use(
        "own",
        new class extends Strategy {
          override authenticate(request: FastifyRequest) {
            if (request.headers["x-key"] === "key") this.success({ name: "keyholder" });
            else this.fail();
          }
        }("own") as never,
      );
      await use(app, secureSession, { key: Buffer.alloc(32, 1), cookie: { path: "/" } });
      await use(app, passport.initialize());
      await use(app, passport.secureSession());
      app.decorate("ownStrategy", passport.authenticate("own", { session: false }) as unknown);
    },
    routes(app) {
      const preValidation = its(app).ownStrategy as never;
      app.get("/own", { preValidation }, (request) => its(request).user);
    },
    async check({ client }) {
      assertEquals((await client.get("/own")).statusCode, 401);
      const answer = await client.get("/own", { headers: { "x-key": "key" } });
      assertEquals(answer.json(), { name: "keyholder" });
    },
  },
  {
    name: "@fastify/jwt",
    works: "a bearer token of the application",
    add: (app) => use(app, jwt, { secret: SECRET }),
    routes(app) {
      app.get("/own", (request) => of(request).jwtVerify!());
      app.get("/token", () => (its(app).jwt as unknown as Methods).sign!({ sub: "machine" }));
    },
    async check(visit) {
      assertEquals((await visit.client.get("/own")).statusCode, 401);
      const authorization = `Bearer ${await bodyOf(visit, "/token")}`;
      assertEquals((await visit.client.get("/own", { headers: { authorization } })).json().sub, "machine");
    },
  },
  {
    name: "@fastify/auth",
    setUp: "the guard or an API key",
    works: "either lets a request pass, none is a 401",
    add: (app) => use(app, auth),
    routes(app, { guard }) {
      const apiKey = (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void) =>
        done(request.headers["x-key"] === "key" ? undefined : new Error("no key"));
      const either = of(app).auth!([apiKey, guard], { relation: "or" });
      app.get("/own", { onRequest: either as never }, () => "in");
    },
    async check({ client, send }) {
      assertEquals((await send({ url: "/own" })).statusCode, 401);
      assertEquals((await send({ url: "/own", headers: { "x-key": "key" } })).body, "in");
      assertEquals((await client.get("/own")).body, "in");
    },
  },
];

async function checkValidation({ client }: Visit): Promise<void> {
  const post = (age: unknown) => client.request("POST", "/own", { json: { age } });
  assertEquals((await post(36)).json(), { age: 36 });
  assertEquals((await post("old")).statusCode, 400);
}
