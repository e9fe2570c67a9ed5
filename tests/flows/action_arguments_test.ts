/** What a request may bring into the functions of `createAuth()`: a mistake in it is its sender's. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { type AuthObject, createAuth, memoryStore } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import GitHub from "fastify-authjs/providers/github";
import { passwordProvider, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

type Act = (auth: AuthObject, request: FastifyRequest, reply: FastifyReply) => unknown;

/** Each function, with everything that can be of a request taken from its body. */
const ACTIONS: Record<string, Act> = {
  "`fields` of signIn()": (auth, request, reply) =>
    auth.signIn(request, reply, "credentials", { fields: request.body }),
  "options of signIn()": (auth, request, reply) => auth.signIn(request, reply, "github", request.body as object),
  "`authorizationParams` of signIn()": (auth, request, reply) =>
    auth.signIn(request, reply, "github", { authorizationParams: request.body as Record<string, string> }),
  "options of signOut()": (auth, request, reply) => auth.signOut(request, reply, request.body as object),
  "options of linkAccount()": (auth, request, reply) =>
    auth.linkAccount(request, reply, "github", request.body as object),
  "account of unlinkAccount()": (auth, request) =>
    auth.unlinkAccount(request, request.body as { provider: string; providerAccountId: string }),
  "id of revokeSession()": (auth, request) => auth.revokeSession(request.body as string),
  "options of revokeSessions()": (auth, request) => auth.revokeSessions("1", request.body as { except: string }),
  "`except` of revokeSessions()": (auth, request) => auth.revokeSessions("1", { except: request.body as string }),
};

async function appOf(act: Act): Promise<FastifyInstance> {
  const adapter = withAccountList(memoryAdapter(), () => Promise.resolve([]));
  const auth = createAuth(testConfig({
    adapter: { ...adapter, unlinkAccount: () => Promise.resolve(undefined) },
    session: { strategy: "jwt" },
    store: memoryStore(),
    revocable: true,
    providers: [passwordProvider(), GitHub({ clientId: "id", clientSecret: "secret" })],
  }));
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post("/act", async (request, reply) => (await act(auth, request, reply)) ?? reply);
  await adapter.createUser!({ id: "id-ada", email: "ada@example.com", emailVerified: null });
  return app;
}

/** What JSON can be besides an object. */
const BODIES = ["5", '"x"', "true", "[]", "null"];

for (const [name, act] of Object.entries(ACTIONS)) {
  Deno.test(`G2: a body that is not what the ${name} must be is a 400, and the message names it`, async () => {
    await using app = await appOf(act);
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    for (const payload of BODIES) {
      if (name.startsWith("id of") && payload === '"x"') continue; // any text may be an id
      const headers = { "content-type": "application/json" };
      const { statusCode, body } = await client.request("POST", "/act", { payload, headers });
      assertEquals(statusCode, 400, `${payload}: ${body}`);
      assert(["FST_AUTHJS_BODY_INVALID", "FST_AUTHJS_CONFIG_INVALID"].includes(JSON.parse(body).code), body);
      assertStringIncludes(body, name.split(" of ")[1]!);
    }
  });
}

Deno.test("G3: a sign-in with a password whose request has no body is a 400, and nothing is tried", async () => {
  const tried: unknown[] = [];
  const auth = createAuth(testConfig({ providers: [passwordProvider((fields) => tried.push(fields))] }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.post(
    "/login",
    (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body }),
  );
  const { statusCode, body } = await new Client(app).request("POST", "/login");
  assertEquals([statusCode, JSON.parse(body).code, tried], [400, "FST_AUTHJS_BODY_INVALID", []]);
});

Deno.test("G3: a sign-in at a provider needs no body, and one that is no object is a 400", async () => {
  await using app = await appOf((auth, request, reply) =>
    auth.signIn(request, reply, "github", { fields: request.body } as object)
  );
  const client = new Client(app);
  const without = await client.request("POST", "/act");
  assertStringIncludes(String(without.headers.location), "https://github.com/login/oauth/authorize?");
  const refused = await client.request("POST", "/act", { json: 5 });
  assertEquals([refused.statusCode, refused.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
});

Deno.test("G2: a body that an own parser left as URLSearchParams is a 400, and no sign-in without its fields", async () => {
  const tried: unknown[] = [];
  const auth = createAuth(testConfig({ providers: [passwordProvider((fields) => tried.push(fields))] }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  const form = "application/x-www-form-urlencoded";
  app.addContentTypeParser(form, { parseAs: "string" }, (_request, body, done) => {
    done(null, new URLSearchParams(String(body)));
  });
  for (const options of [{}, { rememberMe: true }]) {
    const path = `/login/${Object.keys(options)}`;
    app.post(
      path,
      (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body, ...options }),
    );
  }
  for (const path of ["/login/", "/login/rememberMe"]) {
    const { statusCode, body } = await new Client(app).post(path, { username: "ada", password: "open" });
    assertEquals([statusCode, JSON.parse(body).code, tried], [400, "FST_AUTHJS_BODY_INVALID", []]);
  }
});

Deno.test("parameters for the provider may be URLSearchParams", async () => {
  const options = { authorizationParams: new URLSearchParams({ login: "ada" }) as never };
  const acts: Act[] = [
    (auth, request, reply) => auth.signIn(request, reply, "github", options),
    (auth, request, reply) => auth.linkAccount(request, reply, "github", options),
  ];
  for (const act of acts) {
    await using app = await appOf(act);
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    const { statusCode, headers, body } = await client.request("POST", "/act");
    assertEquals(statusCode, 302, body);
    assertEquals(new URL(String(headers.location)).searchParams.get("login"), "ada");
  }
});

Deno.test("G3: a parameter for the provider that is undefined is not sent, and one that is no text is a 400", async () => {
  await using app = await appOf(async (auth, request, reply) => {
    const { hint } = request.body as { hint: string };
    return await auth.signIn(request, reply, "github", { authorizationParams: { login: "ada", login_hint: hint } });
  });
  const client = new Client(app);
  const { headers } = await client.request("POST", "/act", { json: {} });
  const { searchParams } = new URL(String(headers.location));
  assertEquals([searchParams.get("login"), searchParams.get("login_hint")], ["ada", null]);
  for (const hint of [null, {}, ["a"]]) {
    const { statusCode, body } = await client.request("POST", "/act", { json: { hint } });
    assertEquals([statusCode, JSON.parse(body).code], [400, "FST_AUTHJS_BODY_INVALID"], JSON.stringify(hint));
    assertStringIncludes(body, "login_hint");
  }
});

Deno.test("G3: fields of a wrong type, a provider and a callback URL of a body are never a 5xx", async () => {
  await using app = await appOf(async (auth, request, reply) => {
    // deno-lint-ignore no-explicit-any -- a body can be anything
    const { provider, callbackUrl, fields, account } = request.body as any;
    if (account !== undefined) return await auth.unlinkAccount(request, account);
    return await auth.signIn(request, reply, provider, { fields, callbackUrl });
  });
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const odd: unknown[] = [5, true, null, [], {}, [[]], { toString: 1 }, "__proto__", ""];
  const bodies = odd.flatMap((value): Record<string, unknown>[] => [
    { provider: value, fields: {} },
    { provider: "credentials", fields: { username: value, password: "open" } },
    { provider: "credentials", fields: { username: "ada", password: "open" }, callbackUrl: value },
    { provider: "github", fields: value, callbackUrl: value },
    { account: { provider: value, providerAccountId: value } },
  ]);
  for (const json of bodies) {
    const { statusCode, body } = await client.request("POST", "/act", { json });
    assert(statusCode < 500, `${JSON.stringify(json)}: ${body}`);
  }
});
