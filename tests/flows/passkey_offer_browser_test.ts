/** After another sign-in a page offers to add a passkey. */
import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import Passkey from "fastify-authjs/providers/passkey";
import type { Page } from "playwright-core";
import { testApp } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { Client, setCookies } from "../support/client.ts";
import { emptyTables, webAuthnAdapter, webAuthnConfig, type WebAuthnTables } from "../support/webauthn.ts";
import { addAuthenticator } from "../support/webauthn_browser.ts";
import { withSite } from "../support/webauthn_page.ts";
import { pathOf } from "../support/oauth_client.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";

const ADA = { id: "id-ada", name: "Ada", email: "ada@example.com", emailVerified: null };

function offerConfig(
  overrides: Partial<FastifyAuthConfig> = {},
): { config: FastifyAuthConfig; tables: WebAuthnTables } {
  const tables = emptyTables();
  tables.users.set(ADA.id, ADA);
  const password = Credentials({
    credentials: { username: {}, password: { type: "password" } },
    authorize: ({ password }) => password === "open" ? ADA : null,
  });
  const providers = [password, Passkey];
  return {
    tables,
    config: webAuthnConfig(tables, { providers, origin: undefined as never, trustHost: true, ...overrides }),
  };
}

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/auth/signin?callbackUrl=%2F%3Fdone`);
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
}

browserTest("after a password a passkey is offered and added, and the sign-in goes on", async (page) => {
  const { config, tables } = offerConfig();
  await withSite(config, async ({ origin }) => {
    const authenticator = await addAuthenticator(page);
    await signIn(page, origin);
    await page.getByRole("heading", { name: "Sign in faster next time" }).waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.waitForURL(`${origin}/?done`);
    assertEquals((await authenticator.credentials()).length, 1);
    assertEquals(tables.authenticators.size, 1);
    // Who has one is not asked. Plugged in, it would sign in by itself.
    await authenticator.remove();
    await page.context().clearCookies();
    await signIn(page, origin);
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("a passkey that is not wanted is not offered again", async (page) => {
  const { config } = offerConfig();
  await withSite(config, async ({ origin }) => {
    await addAuthenticator(page);
    await signIn(page, origin);
    await page.getByRole("link", { name: "Not now" }).click();
    await page.waitForURL(`${origin}/?done`);
    const kept = (await page.context().cookies()).find(({ name }) => name === "authjs.passkey-offer")!;
    assertEquals(Math.round((kept.expires - Date.now() / 1000) / 86400), 30);
    await page.context().clearCookies({ name: "authjs.session-token" });
    await signIn(page, origin);
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("a browser that has no passkeys goes on", async (page) => {
  const { config } = offerConfig();
  await page.addInitScript("delete globalThis.PublicKeyCredential");
  await withSite(config, async ({ origin }) => {
    const offered = page.waitForResponse((answer) => answer.url().includes("offer=passkey"));
    await signIn(page, origin);
    await offered;
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("without JavaScript the offer has a way on", async (page) => {
  const { config } = offerConfig();
  await withSite(config, async ({ origin }) => {
    await signIn(page, origin);
    await page.getByRole("link", { name: "Not now" }).click();
    await page.waitForURL(`${origin}/?done`);
  });
}, { javaScriptEnabled: false });

Deno.test("the offer leads to no other origin", async () => {
  const { config } = offerConfig();
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn(FORM);
  const { body } = await client.get("/auth/signin?offer=passkey&callbackUrl=https%3A%2F%2Fevil.example");
  assertStringIncludes(body, "Sign in faster next time");
  const [, main = ""] = /<main([^]*)<\/main>/.exec(body) ?? [];
  assertStringIncludes(main, 'href="http://localhost');
  assertFalse(main.includes("evil"), main);
});

const OFFER = "http://localhost/auth/signin?offer=passkey&callbackUrl=http%3A%2F%2Flocalhost%2Fhome";
const FORM = { username: "ada", password: "open", callbackUrl: "/home" };

Deno.test("a passkey is offered on the built-in pages alone", async () => {
  const cases: [overrides: Partial<FastifyAuthConfig>, offers: boolean][] = [
    [{}, true],
    [{ pages: { passkeyOffer: false } }, false],
    [{ pages: { signIn: "/login" } }, false],
  ];
  for (const [overrides, offers] of cases) {
    const { config } = offerConfig(overrides);
    await using app = await testApp(config);
    const answer = await new Client(app).signIn(FORM);
    assertEquals(answer.headers.location, offers ? OFFER : "http://localhost/home");
    assertEquals(setCookies(answer).filter((line) => line.includes("passkey-offer")).length, offers ? 1 : 0);
  }
  const { config } = offerConfig();
  await using app = await testApp(config);
  const client = new Client(app, { accept: "application/json" });
  assertStringIncludes((await client.signIn(FORM)).body, '{"url":"http://localhost/home"}');
});

Deno.test("the offer is for the user who is signed in, and a database that fails loses no sign-in", async () => {
  const { config, tables } = offerConfig();
  await using app = await testApp(config);
  assertStringIncludes(
    (await new Client(app).get(OFFER.slice("http://localhost".length))).body,
    "<h1>Sign in</h1>",
  );
  const adapter: Adapter = {
    ...webAuthnAdapter(tables),
    listAuthenticatorsByUserId: () => Promise.reject(new Error("the database is down")),
  };
  const failing = offerConfig({ adapter });
  await using other = await testApp(failing.config);
  const answer = await new Client(other).signIn(FORM);
  assertEquals(answer.headers.location, "http://localhost/home");
});

Deno.test("a sign-in at a provider leads to the offer if a form began it, and not if a script did", async () => {
  await using provider = await ScriptedProvider.start({});
  const own = {
    id: "op",
    name: "OP",
    type: "oidc",
    clientId: "client",
    clientSecret: "secret",
    checks: ALL_CHECKS,
  };
  const { config, tables } = offerConfig({
    providers: [{ ...own, issuer: provider.issuer } as never, Passkey],
  });
  await using app = await testApp(config);
  tables.users.clear();
  for (const [accept, offers] of [["text/html", true], ["application/json", false]] as const) {
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const headers = accept === "text/html" ? { accept } : { accept, "x-auth-return-redirect": "1" };
    const started = await client.post("/auth/signin/op", { csrfToken, callbackUrl: "/home" }, headers);
    const address = started.headers.location ?? started.json().url;
    const answer = await client.get(pathOf(provider.authorize(String(address))));
    assertEquals(answer.headers.location, offers ? OFFER : "http://localhost/home", accept);
  }
});
