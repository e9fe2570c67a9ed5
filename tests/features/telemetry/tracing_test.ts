/** Spans of OpenTelemetry have no codes, tokens or addresses in them. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { context, ROOT_CONTEXT, SpanKind, trace } from "@opentelemetry/api";
import { FastifyOtelInstrumentation } from "@fastify/otel";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { Recorder, withContext } from "../../support/telemetry.ts";

const SECRETS = ["c0de", "5tate", "t0ken", "ada@example.com", "n0where"];

const PATHS = [
  "/auth/callback/op?code=c0de&state=5tate",
  "/auth/callback/op/?code=c0de&state=5tate",
  "/auth/callback/mail?token=t0ken&email=ada@example.com",
  "/auth/callback/nobody?code=c0de",
  "/auth/nowhere?code=c0de",
  "/auth/signin?callbackUrl=/n0where",
  "/auth/callback/op%3Fcode=c0de",
];

function config() {
  const op = {
    id: "op",
    name: "OP",
    type: "oidc",
    issuer: "https://op.example",
    clientId: "a",
    clientSecret: "b",
  };
  return testConfig({ providers: [op] as never });
}

for (const registerOnInitialization of [false, true]) {
  Deno.test(`@fastify/otel records no secrets (registerOnInitialization: ${registerOnInitialization})`, async () => {
    const recorder = new Recorder();
    const instrumentation = new FastifyOtelInstrumentation({ registerOnInitialization });
    instrumentation.setTracerProvider(recorder.tracerProvider);
    try {
      await using app = Fastify() as unknown as FastifyInstance;
      if (!registerOnInitialization) await app.register(instrumentation.plugin() as never);
      await app.register(FastifyAuth(config()), { prefix: "/auth" });
      app.get("/own", () => "");
      for (const path of PATHS) await app.inject(path);
      await app.inject("/own?code=mine");
      const text = await recorder.text();
      for (const secret of SECRETS) assert(!text.includes(secret), `${secret} in ${text}`);
      const paths = recorder.spans.map(({ attributes }) => String(attributes["url.path"]));
      assert(paths.includes("/auth/callback/op?code=[redacted]&state=[redacted]"), paths.join());
      assert(paths.includes("/own?code=mine"), paths.join());
      assertMatch(text, /fastify-authjs-routes/);
    } finally {
      instrumentation.disable();
    }
  });
}

Deno.test("nor where a hook refuses the request: of the application, or the choice of a tenant", async () => {
  const recorder = new Recorder();
  const instrumentation = new FastifyOtelInstrumentation({ registerOnInitialization: true });
  instrumentation.setTracerProvider(recorder.tracerProvider);
  try {
    const choose = () => Promise.reject(new Error("The database is gone"));
    for (const source of [config(), choose]) {
      await using app = Fastify() as unknown as FastifyInstance;
      if (source !== choose) app.addHook("onRequest", (_request, reply) => reply.code(503).send("Closed"));
      await app.register(FastifyAuth(source as never), { prefix: "/auth" });
      for (const path of PATHS) assertEquals((await app.inject(path)).statusCode, 503, path);
    }
    assertEquals(
      recorder.spans.filter(({ attributes }) => "url.path" in attributes).length,
      2 * PATHS.length,
    );
    const text = await recorder.text();
    for (const secret of SECRETS) assert(!text.includes(secret), `${secret} in ${text}`);
  } finally {
    instrumentation.disable();
  }
});

/** The attributes of a request as the instrumentation of `node:http` sets them, today's and the older ones. */
const HTTP_ATTRIBUTES: Record<string, (path: string) => Record<string, string>> = {
  "stable": (path) => ({ "url.path": path.split("?")[0]!, "url.query": path.split("?")[1]! }),
  "stable, with a question mark": (path) => ({ "url.query": `?${path.split("?")[1]}` }),
  "older": (path) => ({ "http.target": path, "http.url": `http://app.example${path}` }),
  "full": (path) => ({ "url.full": `http://app.example${path}` }),
};

Deno.test("the span of node:http has no secrets, with and without @fastify/otel", async () => {
  await withContext(async () => {
    for (const [which, attributesOf] of Object.entries(HTTP_ATTRIBUTES)) {
      for (const withOtel of [false, true]) {
        const recorder = new Recorder();
        const instrumentation = new FastifyOtelInstrumentation();
        instrumentation.setTracerProvider(recorder.tracerProvider);
        await using app = Fastify() as unknown as FastifyInstance;
        if (withOtel) await app.register(instrumentation.plugin() as never);
        await app.register(FastifyAuth(config()), { prefix: "/auth" });
        await app.ready();
        const path = "/auth/callback/op?code=c0de&state=5tate";
        const attributes = attributesOf(path);
        const span = recorder.tracerProvider.getTracer("http").startSpan(
          "GET",
          { attributes, kind: SpanKind.SERVER },
          ROOT_CONTEXT,
        );
        const metadata = { type: "http", span };
        const active = trace.setSpan(ROOT_CONTEXT, span)
          .setValue(Symbol.for("OpenTelemetry SDK Context Key RPC_METADATA"), metadata);
        await context.with(active, async () => await app.inject(path));
        span.end();
        const text = await recorder.text();
        for (const secret of SECRETS) assert(!text.includes(secret), `${which}: ${secret} in ${text}`);
        const http = recorder.spans.find(({ name }) => name === "GET")!;
        assertEquals(Object.keys(http.attributes).sort(), Object.keys(attributes).sort());
        assertMatch(Object.values(http.attributes).join(), /code=\[redacted\]&state=\[redacted\]/);
        instrumentation.disable();
      }
    }
  });
});

Deno.test("a tracer whose spans cannot be read, or a decorator of another kind, does no harm", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  const set: Record<string, string> = {};
  app.decorateRequest(
    "opentelemetry",
    (() => ({
      span: { setAttribute: (name: string, value: string) => set[name] = value },
    })) as never,
  );
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  await new Client(app).get("/auth/signin?callbackUrl=/n0where");
  assertEquals(set, {
    "url.full": "http://localhost:80/auth/signin?callbackUrl=[redacted]",
    "url.query": "callbackUrl=[redacted]",
  });
  for (const decorator of [null, "text", (() => undefined) as never]) {
    await using other = Fastify() as unknown as FastifyInstance;
    other.decorateRequest("opentelemetry", decorator as never);
    await other.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    assertEquals((await other.inject("/auth/csrf")).statusCode, 200);
  }
});
