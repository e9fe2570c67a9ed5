/** Documents of `@fastify/swagger`: the auth routes, and routes that are guarded. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import swagger, { type SwaggerOptions } from "@fastify/swagger";
import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from "@fastify/type-provider-typebox";
import { validate } from "@readme/openapi-parser";
import Fastify, { type FastifyInstance, type FastifyServerOptions } from "fastify";
import {
  jsonSchemaTransform,
  jsonSchemaTransformObject,
  serializerCompiler,
  validatorCompiler,
} from "fastify-type-provider-zod";
import { FastifyAuth, type FastifyAuthConfig, memoryStore, requireSession } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import { Type } from "typebox";
import { parse } from "yaml";
import { z } from "zod";
import { captureLog, passwordProvider, SECRET, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const ok = () => "ok";

interface Operation {
  security?: Record<string, string[]>[];
  responses: Record<string, { description: string }>;
  parameters?: { name: string; in: string }[];
}

interface Document {
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: object; securitySchemes?: Record<string, Scheme> };
  securityDefinitions?: Record<string, Scheme>;
}

interface Scheme {
  type: string;
  in: string;
  name: string;
  scheme?: string;
}

const info = { title: "An application", version: "1.0.0" };

/** Options of `@fastify/swagger` for every version of OpenAPI that it knows and the validator does. */
const VERSIONS: Readonly<Record<string, SwaggerOptions>> = {
  "2.0": { swagger: { info } },
  "3.0": { openapi: { openapi: "3.0.3", info } },
  "3.1": { openapi: { openapi: "3.1.0", info } },
};

/** As the plugin is registered: swagger before it, the routes after it. */
async function documentedApp(
  config: FastifyAuthConfig,
  { options = VERSIONS["3.1"]!, show = false, server = {} as FastifyServerOptions } = {},
): Promise<FastifyInstance> {
  const app = Fastify(server) as FastifyInstance;
  await app.register(swagger, { ...options });
  await app.register(FastifyAuth(config), { prefix: "/auth", ...(show && { openapi: true }) });
  return app;
}

Deno.test("the routes for sign-outs at OpenID Providers are shown where the configuration has them", async () => {
  const provider = { id: "op", name: "OP", type: "oidc" as const, clientId: "id", clientSecret: "secret" };
  const providers = [passwordProvider(), { ...provider, issuer: "https://op.example" }];
  const options = { providerLogout: { backchannel: true }, store: memoryStore(), revocable: true };
  await using app = await documentedApp(testConfig({ providers: providers as never, ...options }), {
    show: true,
  });
  const { paths } = await validDocumentOf(app);
  const { parameters, requestBody } = paths["/auth/backchannel-logout/{provider}"]!.post! as unknown as {
    parameters: { schema: { enum: string[] } }[];
    requestBody: { content: object };
  };
  assertEquals(parameters[0]!.schema.enum, ["op"]);
  assertEquals(Object.keys(requestBody.content), ["application/x-www-form-urlencoded"]);
  assertEquals(Object.keys(paths["/auth/signed-out"]!), ["get"]);
});

Deno.test("the route of the keys is shown where tokens are issued", async () => {
  await using app = await documentedApp(testConfig({ apiAccess: {}, store: memoryStore() }), { show: true });
  const { paths } = await validDocumentOf(app);
  assertEquals(Object.keys(paths["/auth/jwks"]!), ["get"]);
});

async function documentOf(app: FastifyInstance): Promise<Document> {
  await app.ready();
  return (app as unknown as { swagger(): Document }).swagger();
}

/** The document, which a validator has accepted. */
async function validDocumentOf(app: FastifyInstance): Promise<Document> {
  const document = await documentOf(app);
  const result = await validate(structuredClone(document) as never);
  assert(result.valid, JSON.stringify(result, null, 2));
  return document;
}

/** The statuses that a guard adds. */
const REFUSALS = ["401", "403", "503"];

const guarded = (operation: Operation | undefined) =>
  operation?.security !== undefined && REFUSALS.every((status) => status in operation.responses);

for (const [version, options] of Object.entries(VERSIONS)) {
  Deno.test(`OpenAPI ${version}: the auth routes are hidden, and the document is valid`, async () => {
    await using app = await documentedApp(testConfig(), { options });
    app.get("/open/:id", ok);
    const document = await validDocumentOf(app);
    assertEquals(Object.keys(document.paths), ["/open/{id}"]);
    assertEquals(document.paths["/open/{id}"]!.get!.security, undefined);
    assertEquals(document.components?.securitySchemes ?? document.securityDefinitions, undefined);
  });

  Deno.test(`OpenAPI ${version}: the auth routes are shown where the registration says so, and are valid`, async () => {
    const providers = [passwordProvider(), GitHub({ clientId: "id", clientSecret: "secret" })];
    await using app = await documentedApp(testConfig({ providers }), { options, show: true });
    const { paths } = await validDocumentOf(app);
    const operations = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method} ${path}`)
    );
    assertEquals(operations.sort(), [
      "get /auth/callback/{provider}",
      "get /auth/csrf",
      "get /auth/error",
      "get /auth/providers",
      "get /auth/session",
      "get /auth/signin",
      "get /auth/signout",
      "get /auth/verify-request",
      "post /auth/callback/{provider}",
      "post /auth/session",
      "post /auth/signin/{provider}",
      "post /auth/signout",
    ]);
    const text = JSON.stringify(paths["/auth/callback/{provider}"]!.post);
    for (const part of ["csrfToken", "username", "password", '"enum":["credentials"]']) {
      assertStringIncludes(text, part);
    }
    assert(!text.includes("The code of the mail"), "no provider sends mails");
    const nullable = version.startsWith("3.0") ? '"type":"string","nullable":true' : '"type":["string","null"]';
    const session = JSON.stringify(paths["/auth/session"]!.get);
    for (const claim of ["name", "email", "image"]) assertStringIncludes(session, `"${claim}":{${nullable}}`);
    // A document is no reason to refuse or to change a request.
    const client = new Client(app);
    assertEquals((await client.signIn({ username: "ada", password: "open" })).statusCode, 302);
    assertEquals((await client.get("/auth/session")).json().user.name, "ada");
    assertEquals((await client.request("PUT", "/auth/session")).headers.allow, "GET, POST");
  });

  Deno.test(`OpenAPI ${version}: the code of a mail is described, and the document is valid`, async () => {
    const mail = { id: "mail", name: "Mail", type: "email", sendVerificationRequest() {} };
    const config = testConfig({ providers: [mail as never], adapter: memoryAdapter() });
    await using app = await documentedApp(config, { options, show: true });
    const { paths } = await validDocumentOf(app);
    const text = JSON.stringify(paths["/auth/callback/{provider}"]!.post);
    for (const part of ["The code of the mail", '"enum":["mail"]']) assertStringIncludes(text, part);
  });

  Deno.test(`OpenAPI ${version}: guarded routes have security and the answers of the guard`, async () => {
    const config = testConfig();
    await using app = await documentedApp(config, { options });
    app.get("/declared", { config: { auth: true } as object }, ok);
    app.get("/hook", { onRequest: requireSession(config) }, ok);
    app.post("/hook", { preHandler: [requireSession(config, { roles: "admin" })] }, ok);
    app.get("/open", ok);
    await app.register((scope, _options, done) => {
      scope.get("/before", ok);
      scope.addHook("onRequest", requireSession(config, { respectRouteConfig: true }));
      scope.get("/", { schema: { response: { 200: { type: "string" } } } }, ok);
      scope.get("/open", { config: { auth: false } as object }, ok);
      done();
    }, { prefix: "/default" });
    await app.register((scope, _options, done) => {
      scope.get("/", ok);
      scope.addHook("onRequest", requireSession(config));
      done();
    }, { prefix: "/instance" });
    const { paths } = await validDocumentOf(app);
    for (const path of ["/declared", "/hook", "/default/before", "/default/", "/instance/"]) {
      for (const [method, operation] of Object.entries(paths[path]!)) {
        assert(guarded(operation), `${method} ${path}: ${JSON.stringify(operation)}`);
      }
    }
    for (const path of ["/open", "/default/open"]) {
      assertEquals([paths[path]!.get!.security, Object.keys(paths[path]!.get!.responses)], [undefined, [
        "200",
      ]], path);
    }
  });
}

Deno.test("a field named password is described as one, also without a type", async () => {
  const provider = { ...passwordProvider(), options: undefined, credentials: { username: {}, password: {} } };
  await using app = await documentedApp(testConfig({ providers: [provider as never] }), { show: true });
  const { paths } = await validDocumentOf(app);
  assertStringIncludes(JSON.stringify(paths["/auth/callback/{provider}"]), '"password":{"type":"string","format":');
});

Deno.test("the security scheme is the session cookie under its real name", async () => {
  const secureCookies = { cookies: { sessionToken: { name: "__Host-sid" } } };
  const odd = { cookies: { sessionToken: { name: "my~session" } } };
  const CASES: [overrides: Partial<FastifyAuthConfig>, schemes: Record<string, string>][] = [
    [{ origin: "http://localhost" }, { "authjs.session-token": "authjs.session-token" }],
    [{ origin: "https://app.example" }, { "__Secure-authjs.session-token": "__Secure-authjs.session-token" }],
    [{ useSecureCookies: true }, { "__Secure-authjs.session-token": "__Secure-authjs.session-token" }],
    [secureCookies, { "__Host-sid": "__Host-sid" }],
    [odd, { "my_session": "my~session" }],
    // Without an origin in the configuration it follows the request.
    [{}, {
      "authjs.session-token": "authjs.session-token",
      "__Secure-authjs.session-token": "__Secure-authjs.session-token",
    }],
  ];
  for (const [overrides, expected] of CASES) {
    await using app = await documentedApp(testConfig(overrides));
    app.get("/me", { config: { auth: true } as object }, ok);
    const { components, paths } = await validDocumentOf(app);
    const schemes = components!.securitySchemes!;
    assertEquals(Object.fromEntries(Object.entries(schemes).map(([key, { name }]) => [key, name])), expected);
    for (const scheme of Object.values(schemes)) assertEquals([scheme.type, scheme.in], ["apiKey", "cookie"]);
    assertEquals(paths["/me"]!.get!.security, Object.keys(expected).map((key) => ({ [key]: [] })));
  }
});

Deno.test("in OpenAPI 2.0, which has no cookies, the scheme is the Cookie header", async () => {
  await using app = await documentedApp(testConfig({ origin: "https://app.example" }), {
    options: VERSIONS["2.0"]!,
  });
  app.get("/me", { config: { auth: true } as object }, ok);
  const { securityDefinitions } = await validDocumentOf(app);
  const scheme = securityDefinitions!["__Secure-authjs.session-token"]!;
  assertEquals([scheme.type, scheme.in, scheme.name], ["apiKey", "header", "Cookie"]);
});

for (const [version, options] of Object.entries(VERSIONS)) {
  Deno.test(`OpenAPI ${version}: with \`bearer\` a token counts in place of the cookie, and its route is shown`, async () => {
    const config = testConfig({ origin: "http://localhost", bearer: true });
    await using app = await documentedApp(config, { options, show: true });
    app.get("/me", { config: { auth: true } as object }, ok);
    const { components, securityDefinitions, paths } = await validDocumentOf(app);
    const { type, scheme, name } = (components?.securitySchemes ?? securityDefinitions)!["authjs.bearer"]!;
    assertEquals(
      [type, scheme, name],
      version === "2.0" ? ["apiKey", undefined, "Authorization"] : ["http", "bearer", undefined],
    );
    assertEquals(paths["/me"]!.get!.security, [{ "authjs.session-token": [] }, { "authjs.bearer": [] }]);
    assertStringIncludes(JSON.stringify(paths["/auth/token"]!.post), '"expires_in"');
  });
}

Deno.test("one bearer token is not enough for guards of two configurations", async () => {
  const config = testConfig({ origin: "http://localhost", bearer: true });
  const staff = { ...config, cookies: { sessionToken: { name: "staff" } } };
  await using app = await documentedApp(config);
  app.get("/", { onRequest: [requireSession(config), requireSession(staff)] }, ok);
  const { paths } = await validDocumentOf(app);
  assertEquals(paths["/"]!.get!.security, [{ "authjs.session-token": [], staff: [] }]);
});

Deno.test("a guard that may have users sign in again answers 401 with the code for that, too", async () => {
  const config = testConfig({ stepUp: true });
  await using app = await documentedApp(config);
  app.get("/declared", { config: { auth: { maxAge: 60 } } as object }, ok);
  app.get("/hooks", { onRequest: [requireSession(config), requireSession(config, { acr: "2" })] }, ok);
  app.get("/plain", { onRequest: requireSession(config) }, ok);
  const { paths } = await validDocumentOf(app);
  for (const path of ["/declared", "/hooks", "/plain"]) {
    const codes = JSON.stringify(paths[path]!.get!.responses["401"]);
    assertStringIncludes(codes, "FST_AUTHJS_UNAUTHENTICATED");
    assertEquals(codes.includes("FST_AUTHJS_STEP_UP_REQUIRED"), path !== "/plain", path);
  }
});

Deno.test("guards of two configurations require both sessions", async () => {
  const config = testConfig({ origin: "http://localhost" });
  const staff = testConfig({
    secret: SECRET + "staff",
    origin: "http://localhost",
    cookies: { sessionToken: { name: "staff" } },
  });
  await using app = await documentedApp(config);
  app.get("/", { onRequest: [requireSession(config), requireSession(staff)] }, ok);
  const { paths } = await validDocumentOf(app);
  assertEquals(paths["/"]!.get!.security, [{ "authjs.session-token": [], staff: [] }]);
});

Deno.test("under a guard of the whole application the sign-in page is described as open", async () => {
  const config = testConfig({ pages: { signIn: "/login" } });
  await using app = await documentedApp(config);
  app.addHook("onRequest", requireSession(config));
  app.route({ method: ["GET", "HEAD"], url: "/login", handler: ok });
  app.route({ method: "POST", url: "/login", handler: ok });
  const { paths } = await validDocumentOf(app);
  assertEquals(paths["/login"]!.get!.security, undefined);
  assert(guarded(paths["/login"]!.post));
});

Deno.test("a route for access tokens says so, and whether a session passes, too", async () => {
  const config = testConfig({ origin: "http://localhost", apiAccess: {} });
  await using app = await documentedApp(config);
  const guard = (url: string, tokens: ("session" | "access")[], scopes?: string[]) =>
    app.get(url, { config: { auth: { tokens, ...(scopes && { scopes }) } } as object }, ok);
  guard("/session", ["session"]);
  guard("/access", ["access"], ["orders:read"]);
  guard("/write", ["access"], ["orders:write"]);
  guard("/both", ["session", "access"]);
  const { components, paths } = await validDocumentOf(app);
  assertEquals(components!.securitySchemes!.accessToken!.scheme, "bearer");
  const [cookie] = paths["/session"]!.get!.security!;
  assert(!("accessToken" in cookie!));
  assertEquals(paths["/access"]!.get!.security, [{ accessToken: [] }]);
  assertEquals(paths["/both"]!.get!.security, [cookie, { accessToken: [] }]);
  // All routes have the one scheme.
  assert(!JSON.stringify(components!.securitySchemes).includes("orders:"));
  const { 401: unauthenticated, 403: forbidden } = paths["/write"]!.get!.responses;
  assertStringIncludes(forbidden!.description, "scopes orders:write.");
  assertStringIncludes(JSON.stringify(unauthenticated), '"enum":["FST_AUTHJS_UNAUTHENTICATED"]');
});

Deno.test("an access token is enough for a route if each of its guards lets it pass", async () => {
  const config = testConfig({ origin: "http://localhost", apiAccess: {} });
  await using app = await documentedApp(config);
  const guard = (...tokens: ("session" | "access")[]) => requireSession(config, tokens.length > 0 ? { tokens } : {});
  app.get("/each", { onRequest: [guard("session", "access"), guard("session", "access")] }, ok);
  app.get("/first", { onRequest: [guard("session", "access"), guard()] }, ok);
  app.get("/last", { onRequest: [guard(), guard("session", "access")] }, ok);
  app.get("/alone", { onRequest: [guard("access"), guard("session", "access")] }, ok);
  const { paths } = await validDocumentOf(app);
  const access = { accessToken: [] };
  const [cookie] = paths["/first"]!.get!.security!;
  assertEquals(Object.keys(cookie!), ["authjs.session-token"]);
  assertEquals(paths["/first"]!.get!.security, [cookie]);
  assertEquals(paths["/last"]!.get!.security, [cookie]);
  assertEquals(paths["/each"]!.get!.security, [cookie, access]);
  assertEquals(paths["/alone"]!.get!.security, [access]);
});

Deno.test("what the application says itself stays: schemes, security, answers, other routes", async () => {
  const securitySchemes = Object.freeze({
    login: { type: "apiKey", in: "cookie", name: "authjs.session-token" },
    bearer: { type: "http", scheme: "bearer" },
  }) as never;
  const options = {
    openapi: { openapi: "3.0.3", info, components: { securitySchemes }, security: [{ bearer: [] }] },
  };
  await using app = await documentedApp(testConfig({ origin: "http://localhost" }), { options });
  const auth = { config: { auth: true } as object };
  app.get("/me", auth, ok);
  app.get("/own", {
    ...auth,
    schema: { security: [{ bearer: [] }], response: { 401: { description: "mine" } } } as object,
  }, ok);
  app.get("/open", ok);
  const { components, paths } = await validDocumentOf(app);
  assertEquals(Object.keys(components!.securitySchemes!), ["login", "bearer"]);
  assertEquals(paths["/me"]!.get!.security, [{ bearer: [], login: [] }]);
  assertEquals(paths["/own"]!.get!.security, [{ bearer: [] }]);
  assertEquals(paths["/own"]!.get!.responses["401"]!.description, "mine");
  assert(guarded(paths["/own"]!.get));
  assertEquals(paths["/open"]!.get!.security, undefined);
});

Deno.test("a scheme of another kind under the cookie's name is not replaced", async () => {
  const securitySchemes = { "authjs.session-token": { type: "http", scheme: "basic" } } as never;
  const options = { openapi: { openapi: "3.1.0", info, components: { securitySchemes } } };
  await using app = await documentedApp(testConfig({ origin: "http://localhost" }), { options });
  app.get("/me", { config: { auth: true } as object }, ok);
  const { components } = await validDocumentOf(app);
  const { "authjs.session-token": own, "authjs.session-token_": added } = components!.securitySchemes!;
  assertEquals([own!.type, added!.name], ["http", "authjs.session-token"]);
});

Deno.test("with zod's transform the document is valid, guarded routes and shown auth routes included", async () => {
  for (const openapi of ["3.0.3", "3.1.0"]) {
    const options = {
      openapi: { openapi, info },
      transform: jsonSchemaTransform,
      transformObject: jsonSchemaTransformObject,
    };
    await using app = await documentedApp(testConfig(), { options: options as SwaggerOptions, show: true });
    app.setValidatorCompiler(validatorCompiler);
    app.setSerializerCompiler(serializerCompiler);
    const schema = {
      body: z.object({ title: z.string() }),
      response: { 200: z.object({ id: z.number() }) },
    };
    app.post("/posts", { schema, config: { auth: true } as object }, () => ({ id: 1 }));
    app.get("/plain", { config: { auth: true } as object }, ok);
    const { paths } = await validDocumentOf(app);
    assert(guarded(paths["/posts"]!.post));
    assert(guarded(paths["/plain"]!.get));
    assertStringIncludes(JSON.stringify(paths["/posts"]), '"title"');
    assert("/auth/session" in paths);
    const refused = await app.inject({ method: "POST", url: "/posts", payload: { title: "x" } });
    assertEquals([refused.statusCode, refused.json().code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  }
});

Deno.test("with typebox the document is valid, and the guard answers before validation", async () => {
  await using app = await documentedApp(testConfig(), { show: true });
  const typed = app.withTypeProvider<TypeBoxTypeProvider>().setValidatorCompiler(TypeBoxValidatorCompiler);
  const body = Type.Object({ title: Type.String() });
  typed.post("/posts", { schema: { body }, config: { auth: true } as object }, ({ body }) => body.title);
  const { paths } = await validDocumentOf(app);
  assert(guarded(paths["/posts"]!.post));
  assertEquals((await app.inject({ method: "POST", url: "/posts", payload: {} })).statusCode, 401);
});

Deno.test("the YAML document says what the JSON document says", async () => {
  await using app = await documentedApp(testConfig(), { show: true });
  app.get("/me/:id", {
    config: { auth: true } as object,
    schema: { summary: 'Quotes ", colons: and\nlines' } as object,
  }, ok);
  const document = await documentOf(app);
  const yaml = (app as unknown as { swagger(options: object): string }).swagger({ yaml: true });
  assertEquals(parse(yaml), JSON.parse(JSON.stringify(document)));
  assert(!yaml.startsWith("{"));
  await using unguarded = await documentedApp(testConfig());
  unguarded.get("/open", ok);
  await unguarded.ready();
  assertStringIncludes(
    (unguarded as unknown as { swagger(options: object): string }).swagger({ yaml: true }),
    "openapi: 3.1.0",
  );
});

Deno.test("a document is completed in any scope, behind a base path, and for HEAD", async () => {
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth" });
  await app.register(async (api) => {
    const openapi = { openapi: "3.1.0", info, servers: [{ url: "https://app.example/api" }] };
    await api.register(swagger, { openapi, exposeHeadRoutes: true });
    const schema = { operationId: "me" } as object;
    api.get("/me/:id", { config: { auth: true } as object, schema }, ok);
    const generate = () => (api as unknown as { swagger(): Document }).swagger();
    api.get("/document", { schema: { hide: true } as object }, () => generate());
  }, { prefix: "/api" });
  const document: Document = (await app.inject("/api/document")).json();
  assertEquals(Object.keys(document.paths), ["/me/{id}"]);
  assert(guarded(document.paths["/me/{id}"]!.get));
  assert(guarded(document.paths["/me/{id}"]!.head));
});

Deno.test("without @fastify/swagger the application works, and showing the auth routes is a warning", async () => {
  const { logger, lines } = captureLog();
  await using app = Fastify({ logger }) as FastifyInstance;
  await app.register(FastifyAuth(testConfig()), { prefix: "/auth", openapi: true });
  app.get("/me", { config: { auth: true } as object }, ok);
  assert(lines.some(({ level, msg }) => level === 40 && msg.includes("Register @fastify/swagger before")));
  assertEquals((await app.inject("/me")).statusCode, 401);
});
