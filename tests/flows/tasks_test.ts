/** Ten tasks, each a program of `tests/tasks/` that was written from docs/coding-agents.md and what it leads to. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyInstance } from "fastify";
import Credentials from "fastify-authjs/providers/credentials";
import { Redis } from "ioredis";
import { passwordProvider, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { serverUrl } from "../support/databases.ts";
import { locationOf, OPENID_CLIENT, pathOf, startSignIn } from "../support/oauth_client.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";
import { startSmtp } from "../support/smtp.ts";
import { emptyTables, ORIGIN, webAuthnAdapter, WebAuthnClient } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";
import { build as bearer } from "../tasks/bearer.ts";
import { build as guard } from "../tasks/guard.ts";
import { build as mail } from "../tasks/mail.ts";
import { build as passkeys } from "../tasks/passkeys.ts";
import { build as providerLogout } from "../tasks/provider_logout.ts";
import { build as rateLimit } from "../tasks/rate_limit.ts";
import { build as roles } from "../tasks/roles.ts";
import { build as sessions } from "../tasks/sessions.ts";
import { build as stepUp } from "../tasks/step_up.ts";
import { build as store } from "../tasks/store.ts";

async function signedIn(app: FastifyInstance, username = "ada"): Promise<Client> {
  const client = new Client(app, { accept: "text/html" });
  await client.signIn({ username, password: "open" });
  return client;
}

Deno.test("task: guard a route", async () => {
  await using app = await guard(testConfig());
  assertEquals((await app.inject("/orders")).statusCode, 401);
  assertEquals((await app.inject("/")).body, "open");
  assertEquals((await (await signedIn(app)).get("/orders")).json(), { of: "ada" });
});

Deno.test("task: a scope for a role", async () => {
  await using app = await roles(testConfig());
  assertEquals((await app.inject("/admin/users")).statusCode, 401);
  assertEquals((await (await signedIn(app, "bob")).get("/admin/users")).statusCode, 403);
  assertEquals((await (await signedIn(app)).get("/admin/users")).body, "users");
});

const redis = serverUrl("TEST_REDIS_URL", "Redis");
if (redis !== undefined) {
  Deno.test("task: processes that share sessions through Redis", async () => {
    const client = new Redis(redis);
    try {
      await using one = await store(testConfig(), client);
      await using other = await store(testConfig(), client);
      const here = await signedIn(one);
      const there = new Client(other);
      for (const [name, value] of here.cookies) there.cookies.set(name, value);
      assertEquals((await there.get("/me")).json().session.user.name, "ada");
      await here.signOut();
      assertEquals((await there.get("/me")).json().session, null);
    } finally {
      await client.quit();
    }
  });
}

Deno.test("task: users end their other sessions", async () => {
  await using app = await sessions(testConfig());
  const [one, other] = [await signedIn(app), await signedIn(app)];
  assertEquals((await one.get("/devices")).json().length, 2);
  assertEquals((await one.post("/devices/end-others", {})).statusCode, 415);
  assertEquals((await one.request("POST", "/devices/end-others")).json(), { left: 1 });
  assertEquals((await other.get("/devices")).statusCode, 401);
});

Deno.test("task: a program with a bearer token", async () => {
  await using app = await bearer(testConfig());
  const client = await signedIn(app);
  const csrfToken = await client.csrfToken();
  const { access_token } = (await client.request("POST", "/auth/token", { json: { csrfToken } })).json();
  const headers = { authorization: `Bearer ${access_token}` };
  assertEquals((await app.inject({ url: "/api/me", headers })).json().user.name, "ada");
  assertEquals((await app.inject("/api/me")).statusCode, 401);
});

Deno.test("task: sign in by mail", async () => {
  await using smtp = await startSmtp();
  await using app = await mail(
    testConfig({ adapter: webAuthnAdapter(emptyTables()) }),
    `smtp://127.0.0.1:${smtp.port}?ignoreTLS=true`,
  );
  const client = new Client(app, { accept: "text/html" });
  await startSignIn(client, "nodemailer", { email: "ada@example.com" });
  const [, link = ""] = /(http:\/\/localhost\/auth\/callback\/\S+)/.exec(smtp.mails[0]!.message.text!)!;
  await client.confirm(pathOf(link));
  assertEquals((await client.get("/me")).json().user.email, "ada@example.com");
});

Deno.test("task: passkeys", async () => {
  const tables = emptyTables();
  const ada = { id: "id-ada", name: "ada", email: "ada@example.com", emailVerified: null };
  tables.users.set(ada.id, ada);
  const password = Credentials({
    credentials: { username: {}, password: { type: "password" } },
    authorize: ({ password }) => password === "open" ? ada : null,
  });
  const config = testConfig({ providers: [password], origin: ORIGIN, adapter: webAuthnAdapter(tables) });
  await using app = await passkeys(config);
  const client = new WebAuthnClient(app);
  await client.signIn({ username: "ada", password: "open" });
  const authenticator = new SoftwareAuthenticator(ORIGIN);
  await client.register(authenticator);
  assertEquals((await client.get("/passkeys")).json().length, 1);
  await client.signOut();
  await client.authenticate(authenticator);
  assertEquals((await client.get("/me")).json().session.user.email, "ada@example.com");
});

Deno.test("task: ask for the password again", async () => {
  await using app = await stepUp(testConfig());
  const client = await signedIn(app);
  assertEquals((await client.get("/account/delete")).body, "sure?");
  await withClock(async () => {
    const asked = await client.get("/account/delete", { headers: { accept: "text/html" } });
    assertMatch(String(asked.headers.location), /\/auth\/signin\?.*prompt=login/);
  }, Date.now() + 6 * 60_000);
});

Deno.test("task: limit attempts", async () => {
  await using app = await rateLimit(testConfig());
  const client = new Client(app, { accept: "application/json" });
  const attempts = [];
  for (let i = 0; i < 4; i++) {
    attempts.push((await client.signIn({ username: "ada", password: "wrong" })).statusCode);
  }
  assertEquals(attempts, [401, 401, 401, 429]);
});

Deno.test("task: sign out at the provider", async () => {
  await using provider = await ScriptedProvider.start({});
  const own = { ...OPENID_CLIENT, issuer: provider.issuer, checks: ALL_CHECKS } as never;
  const endpoint = `${provider.issuer}/end`;
  const metadata = await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json();
  provider.documents.set("/.well-known/openid-configuration", {
    ...metadata,
    end_session_endpoint: endpoint,
  });
  await using app = await providerLogout(testConfig({ providers: [passwordProvider(), own] }));
  const client = new Client(app, { accept: "text/html" });
  await client.get(pathOf(provider.authorize(locationOf(await startSignIn(client)))));
  const out = await client.signOut();
  assertStringIncludes(String(out.headers.location ?? out.body), endpoint);
  assertEquals((await client.get("/me")).json().session, null);
});
