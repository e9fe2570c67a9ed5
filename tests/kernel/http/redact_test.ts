/** What the logs of the auth routes get, with any logger. */
import { assert, assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { redactingSerializers } from "../../../src/http/redact.ts";
import { captureLog, testConfig } from "../../support/app.ts";

const request = {
  method: "GET",
  url: "/auth/callback/github?code=secret",
  params: { "*": "callback?code=secret" },
  headers: null,
  raw: null,
};

Deno.test("a logger without serializers gets the line of a request, without its codes", () => {
  const { req, res } = redactingSerializers({} as never);
  assertEquals(req!(request), { method: "GET", url: "/auth/callback/github?code=[redacted]" });
  assertEquals(res, undefined);
});

Deno.test("a serializer reads parts that a request lacks as they are, and the others without codes", () => {
  const own = ({ params, headers, raw }: typeof request) => ({ params, headers, raw });
  const log = { [Symbol.for("pino.serializers")]: { req: own } };
  assertEquals(redactingSerializers(log as never).req!(request), {
    params: { "*": "callback?code=[redacted]" },
    headers: null,
    raw: null,
  });
});

Deno.test("serializers of the registration and of scopes around it count, without codes", async () => {
  const { logger, lines } = captureLog();
  await using app = Fastify({ logger } as object) as FastifyInstance;
  app.addHook("onRequest", (request, _reply, done) => {
    request.log.info({ device: "a-device", visit: "a-visit" });
    done();
  });
  const ofScope = {
    device: (value: string) => `device ${value}`,
    req: ({ url }: { url: string }) => `request ${url}`,
    res: () => "not this one",
  };
  const ofRegistration = {
    visit: (value: string) => `visit ${value}`,
    res: ({ request, statusCode }: { request: { url: string }; statusCode: number }) => `${statusCode} ${request.url}`,
  };
  await app.register(async (scope) => {
    await scope.register(FastifyAuth(testConfig()), { prefix: "/auth", logSerializers: ofRegistration } as object);
  }, { logSerializers: ofScope } as object);
  await app.inject("/auth/signin?code=secret");
  const told = lines.flatMap(({ device, visit, req, res }) => [device, visit, req, res]).filter(Boolean);
  assertEquals(told, [
    "request /auth/signin?code=[redacted]",
    "device a-device",
    "visit a-visit",
    "200 /auth/signin?code=[redacted]",
  ]);
  assert(!JSON.stringify(lines).includes("secret"));
});

for (const isFirst of [true, false]) {
  const order = isFirst ? "before" : "after";
  Deno.test(`loggers that the application makes, as told ${order} the registration, count, without codes`, async () => {
    const { logger, lines } = captureLog();
    await using app = Fastify({ logger } as object) as FastifyInstance;
    const setFactory = () =>
      app.setChildLoggerFactory((logger, bindings, options) => logger.child({ ...bindings, own: true }, options));
    if (isFirst) setFactory();
    await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
    if (!isFirst) setFactory();
    await app.inject("/auth/signin?code=secret");
    const told = lines.flatMap(({ own, req }) => req === undefined ? [] : [own, (req as { url: string }).url]);
    assertEquals(told, [true, "/auth/signin?code=[redacted]"]);
    assert(!JSON.stringify(lines).includes("secret"));
  });
}
