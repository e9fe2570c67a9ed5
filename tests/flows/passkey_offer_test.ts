/** To whom a passkey is offered after another sign-in, and where the offer leads. */
import { assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyAuthConfig } from "fastify-authjs";
import Passkey from "fastify-authjs/providers/passkey";
import { testApp } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { locationOf, OPENID_CLIENT, pathOf, startSignIn } from "../support/oauth_client.ts";
import { ADA, offerConfig } from "../support/passkey_offer.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";
import { webAuthnAdapter } from "../support/webauthn.ts";

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

/** An application whose users sign in at a provider. */
function atProvider({ issuer }: ScriptedProvider, overrides: Partial<FastifyAuthConfig> = {}) {
  return offerConfig({ providers: [{ ...OPENID_CLIENT, issuer, checks: ALL_CHECKS } as never, Passkey], ...overrides });
}

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

Deno.test("who has a passkey is not asked for one", async () => {
  const { config, tables } = offerConfig();
  const passkey = {
    credentialID: "passkey",
    userId: ADA.id,
    providerAccountId: "passkey",
    credentialPublicKey: "key",
    counter: 0,
    credentialDeviceType: "multiDevice",
    credentialBackedUp: true,
    transports: null,
  };
  tables.authenticators.set(passkey.credentialID, passkey);
  tables.accounts.push({ type: "webauthn", provider: "passkey", providerAccountId: "passkey", userId: ADA.id });
  await using app = await testApp(config);
  const answer = await new Client(app).signIn(FORM);
  assertEquals(answer.headers.location, "http://localhost/home");
});

Deno.test("with a page for new users only the others are asked for a passkey", async () => {
  await using provider = await ScriptedProvider.start({});
  const { config, tables } = atProvider(provider, { pages: { newUser: "/welcome" } });
  tables.users.clear();
  await using app = await testApp(config);
  const leadsTo: unknown[] = [];
  for (let time = 0; time < 2; time++) {
    const client = new Client(app, { accept: "text/html" });
    const started = locationOf(await startSignIn(client, "op", { callbackUrl: "/home" }));
    const answer = await client.get(pathOf(provider.authorize(started)));
    leadsTo.push(answer.headers.location);
  }
  assertEquals(leadsTo, ["/welcome?callbackUrl=http%3A%2F%2Flocalhost%2Fhome", OFFER]);
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
  const { config, tables } = atProvider(provider);
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
