/** Mistakes with the object of createAuth(), and bodies in another form than their type says. */
import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { emptyTables, webAuthnAdapter, webAuthnConfig } from "../support/webauthn.ts";

Deno.test("register(auth) says to register auth.plugin", async () => {
  const app = Fastify();
  const error = await assertRejects(async () => await app.register(createAuth(testConfig()) as never), Error);
  assertMatch(error.message, /app\.register\(auth\.plugin/);
});

Deno.test("auth.plugin() is an error that says to register it without calling it", async () => {
  const call = createAuth(testConfig()).plugin as unknown as () => Promise<void>;
  await assertRejects(async () => await Fastify().register(call() as never), Error, "`auth.plugin` without calling it");
});

for (
  const [options, name] of [[{ decorateRequest: "false" }, "decorateRequest"], [{ openapi: 1 }, "openapi"]] as const
) {
  Deno.test(`\`${name}\` of the registration that is no boolean stops the boot`, async () => {
    const { plugin } = createAuth(testConfig());
    const registered = async () => await Fastify().register(plugin, { prefix: "/auth", ...options } as never);
    const { message } = await assertRejects(registered, Error);
    assertMatch(message, new RegExp(`The option \`${name}\` of .* must be true or false\\.$`));
  });
}

Deno.test("an option of the registration that does nothing is told", async () => {
  const { logger, lines } = captureLog();
  const { plugin } = createAuth(testConfig());
  await using app = Fastify({ logger } as object) as unknown as FastifyInstance;
  await app.register(plugin, { prefix: "/auth", decoratRequest: true, providers: [] } as never);
  const told = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_OPTION").map(({ msg }) => msg);
  assertEquals(told.map((text) => text.split(" ")[0]), ["`decoratRequest`", "`providers`"]);
});

Deno.test("the options of Fastify's register() are taken beside those of the plugin", async () => {
  const { plugin } = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  const options = { logLevel: "warn", logSerializers: {}, decorateRequest: false, openapi: undefined } as object;
  await app.register(plugin, { prefix: "/auth", ...options });
  assertEquals((await app.inject("/auth/providers")).statusCode, 200);
});

Deno.test("getSession() of a route with config.auth is an error if no plugin guards it", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  app.get("/declared", { config: { auth: true } as object }, (request) => auth.getSession(request));
  app.get("/open", (request) => auth.getSession(request));
  const declared = await app.inject("/declared");
  assertEquals([declared.statusCode, declared.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
  assertStringIncludes(declared.json().message, "register `auth.plugin`");
  assertEquals((await app.inject("/open")).statusCode, 200);

  await using guarded = Fastify() as FastifyInstance;
  await guarded.register(auth.plugin, { prefix: "/auth" });
  guarded.get("/declared", { config: { auth: true } as object }, (request) => auth.getSession(request));
  assertEquals((await guarded.inject("/declared")).statusCode, 401);
});

Deno.test("a function of createAuth() without the request, or with another argument first, says so", async () => {
  const auth = createAuth(testConfig());
  const tenants = createAuth(() => auth.config);
  // deno-lint-ignore no-explicit-any -- mistakes of programs without types
  const calls: [string, (request: any, reply: any) => unknown][] = [
    ["signIn()", () => auth.signIn("github" as never, undefined as never)],
    ["signOut()", () => auth.signOut(undefined as never, undefined as never)],
    ["signOut()", (request, reply) => auth.signOut(reply, request)],
    ["getToken()", () => auth.getToken(undefined as never)],
    ["getToken()", (request) => auth.getToken(request.raw)],
    ["getSession()", (_request, reply) => auth.getSession(reply)],
    ["getSession()", () => auth.getSession(null as never)],
    ["listAccounts()", () => auth.listAccounts(undefined as never)],
    ["onSessionEnd()", () => auth.onSessionEnd((() => {}) as never, undefined as never)],
    ["getToken()", (request) => tenants.getToken(request.raw)],
    ["Signing out", (request) => auth.signOut(request, undefined as never)],
    ["Signing in", (request) => auth.signIn(request, "github" as never)],
  ];
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post<{ Params: { index: number } }>(
    "/:index",
    (request, reply) => calls[request.params.index]![1](request, reply),
  );
  for (const [index, [where]] of calls.entries()) {
    const answer = await app.inject({ method: "POST", url: `/${index}` });
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"], where);
    assertMatch(
      answer.json().message,
      /: (?:its first argument is the request|it takes the request, and then the reply)/,
    );
    assertStringIncludes(answer.json().message, `${where}: `);
  }
});

Deno.test("an action with a configuration that cannot be used says why", async () => {
  const mail = { id: "mail", name: "Mail", type: "email", sendVerificationRequest() {} };
  const auth = createAuth(testConfig({ providers: [mail as never] }));
  await using app = Fastify() as FastifyInstance;
  app.post("/login", (request, reply) => auth.signIn(request, reply, "mail", { fields: { email: "a@b.example" } }));
  const answer = await app.inject({ method: "POST", url: "/login" });
  assertEquals(answer.statusCode, 500);
  assertMatch(answer.json().code, /^FST_AUTHJS_(?:ADAPTER|CONFIG)_INVALID$/);
});

Deno.test("an action is unavailable while the database is, and so are the options of a passkey", async () => {
  const failing = { getUserByEmail: () => Promise.reject(new Error("no connection")) };
  const mail = { id: "mail", name: "Mail", type: "email", sendVerificationRequest() {} };
  const auth = createAuth(testConfig({ adapter: { ...memoryAdapter(), ...failing }, providers: [mail as never] }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/login", (request, reply) => auth.signIn(request, reply, "mail", { fields: { email: "a@b.example" } }));
  const login = await app.inject({ method: "POST", url: "/login" });
  assertEquals([login.statusCode, login.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);

  const adapter = { ...webAuthnAdapter(emptyTables()), ...failing };
  await using passkeys = await testApp(webAuthnConfig(emptyTables(), { adapter }));
  const url = "/auth/webauthn-options/passkey?action=register&email=a@b.example";
  const options = await passkeys.inject({ url, headers: { host: "app.example" } });
  assertEquals([options.statusCode, options.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
});

Deno.test("a guarded route stays shut if the application goes on without the plugin", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  app.register(auth.plugin, { prefix: "/:tenant" }).after((_error) => {});
  app.get("/guarded", { config: { auth: true } as object }, () => "for you");
  const answer = await app.inject("/guarded");
  assertEquals(answer.statusCode, 500);
  assertMatch(answer.json().message, /no FastifyAuth is registered/);
});

Deno.test("what another hook throws of the routes stops the boot as it is", async () => {
  const app = Fastify();
  app.addHook("onRoute", () => {
    throw new Error("no more routes");
  });
  await assertRejects(
    async () => await app.register(createAuth(testConfig()).plugin, { prefix: "/auth" }),
    Error,
    "no more routes",
  );
});

Deno.test("JSON that is sent as a form, and a type that is not accepted, are told", async () => {
  await using app = await testApp();
  const client = new Client(app);
  const send = (contentType: string, payload: string) =>
    client.request("POST", "/auth/callback/credentials", {
      payload,
      headers: { "content-type": contentType },
    });
  const asForm = await send("application/x-www-form-urlencoded", '{"username":"ada","password":"open"}');
  assertEquals([asForm.statusCode, asForm.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
  assertStringIncludes(asForm.json().message, "application/json");
  const text = await send("text/plain; charset=x", "username=ada");
  assertEquals([text.statusCode, text.json().code], [415, "FST_AUTHJS_BODY_INVALID"]);
  assertMatch(
    text.json().message,
    /"text\/plain".*application\/json, application\/x-www-form-urlencoded or multipart/,
  );
});
