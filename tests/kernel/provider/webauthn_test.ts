import { Buffer } from "node:buffer";
import process from "node:process";
import { assert, assertEquals, assertFalse, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
import { createStorage } from "unstorage";
import { type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import WebAuthn from "fastify-authjs/providers/webauthn";
import { captureLog, SECRET, testApp } from "../../support/app.ts";
import { setCookies } from "../../support/client.ts";
import { identityProvider } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import {
  emptyTables,
  type Options,
  ORIGIN,
  PROVIDERS,
  webAuthnAdapter,
  WebAuthnClient,
  webAuthnConfig,
} from "../../support/webauthn.ts";
import { SoftwareAuthenticator } from "../../support/webauthn_authenticator.ts";

/** Applications that share sessions with others of this file are warned of that. */
const OWN_SECRET = "a-secret-of-its-own-of-at-least-32-characters";

const EMAIL = "ada@example.com";

for (const [id, provider] of Object.entries(PROVIDERS)) {
  for (const strategy of ["jwt", "database"] as const) {
    const setUp = async () => {
      const tables = emptyTables();
      const app = await testApp(webAuthnConfig(tables, { providers: [provider], session: { strategy } }));
      return { app, tables, device: new SoftwareAuthenticator(ORIGIN) };
    };

    Deno.test(`${id}, ${strategy} sessions: registers under an address, and signs in with and without it`, async () => {
      const { app, tables, device } = await setUp();
      const client = new WebAuthnClient(app, id);
      const registered = await client.register(device, { email: EMAIL });
      assertEquals([registered.statusCode, registered.headers.location], [302, ORIGIN]);
      assertEquals((await client.user())?.email, EMAIL);
      await client.signOut();
      assertEquals(await client.user(), null);

      // The authenticator shows its owner which accounts it has here.
      assertEquals((await client.authenticate(device)).headers.location, ORIGIN);
      assertEquals((await client.user())?.email, EMAIL);
      await client.signOut();

      // The server says which authenticators the address has.
      const { action, options } = await client.options({ email: EMAIL });
      assertEquals(action, "authenticate");
      const [credential] = device.credentials;
      assertEquals(options.allowCredentials?.map((each) => each.id), [credential!.id.toString("base64url")]);
      await client.send("authenticate", device.get(options));
      assertEquals((await client.user())?.email, EMAIL);

      const [account] = tables.accounts;
      assertEquals([tables.users.size, tables.accounts.length], [1, 1]);
      assertEquals([account?.provider, account?.type as string], [id, "webauthn"]);
      assertEquals(account?.providerAccountId, credential!.id.toString("base64"));
      assertEquals([...tables.authenticators.values()].map(({ counter }) => counter), [3]);
      assertEquals(tables.sessions.size, strategy === "database" ? 1 : 0);
    });

    Deno.test(`${id}, ${strategy} sessions: a signed-in user adds a second device, and both sign in`, async () => {
      const { app, tables, device } = await setUp();
      const second = new SoftwareAuthenticator(ORIGIN, false);
      const client = new WebAuthnClient(app, id);
      await client.register(device, { email: EMAIL });
      const row = () => [...tables.sessions.keys()];
      const held = row();

      const { options } = await client.options({ action: "register" });
      const known = device.credentials[0]!.id.toString("base64url");
      assertEquals((options.excludeCredentials as { id: string }[]).map((each) => each.id), [known]);
      assertEquals(options.user?.name, EMAIL);
      const linked = await client.send("register", second.create(options));
      assertEquals(linked.headers.location, ORIGIN);
      assertEquals((await client.user())?.email, EMAIL);
      assertEquals([tables.users.size, tables.accounts.length, tables.authenticators.size], [1, 2, 2]);
      // The session goes on.
      assertEquals(row(), held);

      for (const each of [device, second]) {
        const other = new WebAuthnClient(app, id);
        await other.authenticate(each);
        assertEquals((await other.user())?.email, EMAIL);
      }
    });

    Deno.test(`${id}, ${strategy} sessions: a signed-in user with a picture that no cookie has room for adds a device`, async () => {
      const { app, tables, device } = await setUp();
      const client = new WebAuthnClient(app, id);
      await client.register(device, { email: EMAIL });
      for (const user of tables.users.values()) user.image = `data:image/png;base64,${"A".repeat(5000)}`;
      await client.authenticate(device);
      const answer = await client.askOptions({ action: "register" });
      assert(setCookies(answer).every((cookie) => cookie.length < 1000));
      await client.send("register", new SoftwareAuthenticator(ORIGIN).create(answer.json<Options>().options));
      assertEquals([tables.users.size, tables.authenticators.size], [1, 2]);
    });
  }
}

Deno.test("passkeys: a provider without fields on the sign-in page registers and signs in", async () => {
  const app = await testApp(webAuthnConfig(emptyTables(), { providers: [Passkey({ formFields: {} })] }));
  const device = new SoftwareAuthenticator(ORIGIN);
  await new WebAuthnClient(app).register(device, { email: EMAIL });
  const client = new WebAuthnClient(app);
  await client.authenticate(device);
  assertEquals((await client.user())?.email, EMAIL);
});

Deno.test("passkeys: the options demand a resident key and a verified user, and tie the challenge to the browser", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const answer = await client.askOptions({ action: "register", email: EMAIL });
  const { options } = answer.json();
  assertEquals(options.rp, { name: "app.example", id: "app.example" });
  assertEquals(options.authenticatorSelection.residentKey, "required");
  assertEquals(options.authenticatorSelection.userVerification, "required");
  assertEquals(options.attestation, "none");
  assertMatch(options.challenge, /^[\w-]{43}$/);
  assertEquals(answer.headers["cache-control"], "private, no-cache, no-store");
  // No other: a CSRF cookie would overwrite that of the token which the page asks for at the same time.
  const [cookie, ...others] = setCookies(answer);
  assertEquals(others, []);
  assertMatch(cookie ?? "", /^__Host-authjs\.state\.[\w-]{19}=.*; HttpOnly; Secure; SameSite=Lax$/);
  assertFalse(cookie?.includes(options.challenge));

  const { action, options: authentication } = await client.options();
  assertEquals([action, authentication.userVerification], ["authenticate", "required"]);
  assert(authentication.challenge !== options.challenge);
});

Deno.test("passkeys: the callback URL is the one of the contract, and a client of JSON gets the way on in the body", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const { passkey } = (await client.get("/auth/providers")).json();
  assertEquals([passkey.type, passkey.callbackUrl], ["webauthn", `${ORIGIN}/auth/callback/passkey`]);

  const { options } = await client.options({ action: "register", email: EMAIL });
  const data = JSON.stringify(new SoftwareAuthenticator(ORIGIN).create(options));
  const answer = await client.request("POST", "/auth/callback/passkey", {
    json: { action: "register", data, callbackUrl: "/welcome" },
    headers: { "x-auth-return-redirect": "1" },
  });
  assertEquals([answer.statusCode, answer.json()], [200, { url: `${ORIGIN}/welcome` }]);
  assertEquals((await client.user())?.email, EMAIL);
  assertFalse([...client.cookies.keys()].some((name) => name.endsWith("challenge")));
});

Deno.test("passkeys: the way on is that of the options, whatever another tab has begun since", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const device = new SoftwareAuthenticator(ORIGIN);
  const registration = await client.options({ action: "register", email: EMAIL });
  const csrfToken = await client.csrfToken();
  await client.post("/auth/signin", { csrfToken, callbackUrl: "/other" });
  const registered = await client.send("register", device.create(registration.options));
  assertEquals(registered.headers.location, ORIGIN);

  await client.post("/auth/signin", { csrfToken, callbackUrl: "/welcome" });
  const { options } = await client.options();
  await client.post("/auth/signin", { csrfToken, callbackUrl: "/other" });
  assertEquals((await client.send("authenticate", device.get(options))).headers.location, `${ORIGIN}/welcome`);
});

Deno.test("passkeys: the relying party is that of the pinned origin, whatever the headers say", async () => {
  for (const trustProxy of [false, true]) {
    for (const pinned of [{ origin: ORIGIN }, { relayingParty: true }]) {
      const relayingParty = { id: "app.example", name: "App", origin: ORIGIN };
      const app = await testApp(
        webAuthnConfig(emptyTables(), {
          providers: [pinned.relayingParty ? Passkey({ relayingParty }) : Passkey],
          origin: ORIGIN,
        }),
        { trustProxy },
      );
      const spoofed = new WebAuthnClient(app, "passkey", {
        host: "evil.example",
        "x-forwarded-host": "evil.example",
        "x-forwarded-proto": "http",
        forwarded: "host=evil.example;proto=http",
        // Without an Origin, by which the POST itself would be refused.
        referer: "https://evil.example/",
      });
      const { options } = await spoofed.options({ action: "register", email: EMAIL });
      assertEquals(options.rp?.id, "app.example");

      // Signed where the headers point to, for this relying party and for the one over there.
      for (const rpId of ["app.example", "evil.example"]) {
        for (const origin of ["https://evil.example", "http://evil.example"]) {
          const device = new SoftwareAuthenticator(origin);
          const answer = await spoofed.register(device, { email: EMAIL, rpId });
          assertStringIncludes(String(answer.headers.location), `${ORIGIN}/auth/error?error=WebAuthn`);
          assertEquals(await spoofed.user(), null);
        }
      }
      await spoofed.register(new SoftwareAuthenticator(ORIGIN), { email: EMAIL });
      assertEquals((await spoofed.user())?.email, EMAIL);
    }
  }
});

Deno.test("passkeys: AUTH_URL pins the relying party", async () => {
  const before = process.env.AUTH_URL;
  process.env.AUTH_URL = "https://pinned.example/auth";
  try {
    const { origin: _none, ...config } = webAuthnConfig(emptyTables());
    const client = new WebAuthnClient(await testApp(config), "passkey", { host: "evil.example" });
    assertEquals(
      (await client.options({ action: "register", email: EMAIL })).options.rp?.id,
      "pinned.example",
    );
    await client.register(new SoftwareAuthenticator("https://pinned.example"), { email: EMAIL });
    assertEquals((await client.user())?.email, EMAIL);
  } finally {
    if (before === undefined) delete process.env.AUTH_URL;
    else process.env.AUTH_URL = before;
  }
});

Deno.test("passkeys: where nothing is pinned the relying party follows Fastify's trust in proxies", async () => {
  const { origin: _none, ...config } = webAuthnConfig(emptyTables(), { trustHost: true });
  const forwarded = {
    host: "inner.example",
    "x-forwarded-host": "app.example",
    "x-forwarded-proto": "https",
  };
  const rpIdOf = async (trustProxy: boolean) => {
    const client = new WebAuthnClient(await testApp({ ...config }, { trustProxy }), "passkey", forwarded);
    return (await client.options({ action: "register", email: EMAIL })).options.rp?.id;
  };
  assertEquals([await rpIdOf(false), await rpIdOf(true)], ["inner.example", "app.example"]);
});

Deno.test("passkeys: two providers side by side know their own authenticators only", async () => {
  const tables = emptyTables();
  const providers = [Passkey, WebAuthn({ enableConditionalUI: false })];
  const app = await testApp(webAuthnConfig(tables, { providers }));
  const device = new SoftwareAuthenticator(ORIGIN);
  await new WebAuthnClient(app, "passkey").register(device, { email: EMAIL });
  const other = new WebAuthnClient(app, "webauthn");
  const answer = await other.authenticate(device);
  assertEquals(answer.headers.location, `${ORIGIN}/auth/error?error=WebAuthnVerificationError`);
  assertEquals(await other.user(), null);

  // The challenge of one is none of the other's.
  const client = new WebAuthnClient(app, "passkey");
  const { options } = await client.options();
  const data = JSON.stringify(device.get(options));
  const crossed = await client.post("/auth/callback/webauthn", { action: "authenticate", data });
  assertEquals(crossed.headers.location, `${ORIGIN}/auth/error?error=WebAuthnVerificationError`);
});

Deno.test("passkeys: one that no provider knows is said to be unknown, and another provider's is not", async () => {
  const tables = emptyTables();
  const providers = [Passkey, WebAuthn({ enableConditionalUI: false })];
  const app = await testApp(webAuthnConfig(tables, { providers }));
  const device = new SoftwareAuthenticator(ORIGIN);
  await new WebAuthnClient(app).register(device, { email: EMAIL });
  const codeOf = async (provider: string, from = app) => {
    const { headers } = await new WebAuthnClient(from, provider).authenticate(device);
    return new URL(String(headers.location)).searchParams.get("code");
  };
  assertEquals(await codeOf("webauthn"), null);
  tables.accounts.length = 0;
  assertEquals(await codeOf("passkey"), null);
  // With one provider an account that is unlinked says it, too.
  assertEquals(await codeOf("passkey", await testApp(webAuthnConfig(tables))), "unknown_passkey");
  tables.authenticators.clear();
  assertEquals(await codeOf("passkey"), "unknown_passkey");
});

Deno.test("passkeys: all of a signed-in user have one user handle, which is not that of another", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const handles = async (email: string) => {
    const client = new WebAuthnClient(app);
    await client.register(new SoftwareAuthenticator(ORIGIN), { email });
    const handle = async () => (await client.options({ action: "register" })).options.user?.id;
    return [await handle(), await handle()];
  };
  const [first, second] = await handles(EMAIL);
  assertEquals(first, second);
  assertMatch(first!, /^[\w-]{43}$/);
  assert(!(await handles("grace@example.com")).includes(first));
});

Deno.test("passkeys: an address is registered in the form in which links are mailed to it", async () => {
  const tables = emptyTables();
  const app = await testApp(webAuthnConfig(tables));
  await new WebAuthnClient(app).register(new SoftwareAuthenticator(ORIGIN), { email: " ADA@Example.com" });
  assertEquals([...tables.users.values()].map(({ email }) => email), [EMAIL]);
  const { action } = await new WebAuthnClient(app).options({ email: "Ada@EXAMPLE.com" });
  assertEquals(action, "authenticate");
  for (const email of ["ada", "ada@", "a,b@example.com", "ada@example.com@evil.example", "x".repeat(5000)]) {
    const answer = await new WebAuthnClient(app).askOptions({ action: "register", email });
    assertEquals([answer.statusCode, answer.json()], [400, { error: "That is no e-mail address." }]);
  }
});

Deno.test("passkeys: the page registers new users with a button of its own, if the provider may know them", async () => {
  const pageOf = async (provider: FastifyAuthConfig["providers"][number]) => {
    const app = await testApp(webAuthnConfig(emptyTables(), { providers: [provider] }));
    return (await new WebAuthnClient(app).get("/auth/signin")).body;
  };
  const button = /<button class="button" type="submit" name="action" value="register" disabled>/;
  assertMatch(await pageOf(Passkey), button);
  assertMatch(await pageOf(Passkey({ getUserInfo: (_options) => Promise.resolve(null) })), button);
  assertFalse(button.test(await pageOf(Passkey({ getUserInfo: () => Promise.resolve(null) }))));
  assertFalse(button.test(await pageOf(Passkey({ formFields: {} }))));
});

Deno.test("passkeys: options that make no sense are refused in JSON", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  await client.register(new SoftwareAuthenticator(ORIGIN), { email: EMAIL });
  const stranger = new WebAuthnClient(app);
  // Who says nothing signs in, under whichever address, and creates no user.
  for (
    const [who, query] of [[client, {}], [stranger, {}], [stranger, { email: "new@example.com" }]] as const
  ) {
    const { action, options } = await who.options(query as Record<string, string>);
    assertEquals([action, options.user], ["authenticate", undefined], JSON.stringify(query));
  }
  for (
    const [who, query] of [
      [stranger, { action: "delete" }],
      [stranger, { action: "register" }], // under which address?
      [stranger, { action: "register", email: EMAIL }], // another user has it
    ] as const
  ) {
    const answer = await who.askOptions(query as Record<string, string>);
    assertEquals(answer.statusCode, 400, JSON.stringify(query));
    assertMatch(answer.body, /^\{"error":"Invalid (?:action|request)"\}$/);
  }
  // Who is signed in is not asked for an address, and cannot give another's.
  const { options } = await client.options({ action: "register", email: "grace@example.com" });
  assertEquals(options.user?.name, EMAIL);
});

Deno.test("passkeys: a session cookie that is not valid is no session when options are asked for", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(
    webAuthnConfig(emptyTables(), { session: { strategy: "jwt" }, secret: OWN_SECRET }),
    {
      logger,
    },
  );
  for (const value of ["garbage", "e30.e30.e30.e30.e30", "%00"]) {
    const client = new WebAuthnClient(app);
    client.cookies.set("__Secure-authjs.session-token", value);
    assertEquals((await client.options()).action, "authenticate");
  }
  assertEquals(lines.filter(({ level }) => level > 30), []);
});

Deno.test("passkeys: an expired database session neither gets options nor adds an authenticator", async () => {
  const tables = emptyTables();
  const app = await testApp(webAuthnConfig(tables));
  const client = new WebAuthnClient(app);
  await client.register(new SoftwareAuthenticator(ORIGIN), { email: EMAIL });
  const { options } = await client.options({ action: "register" });
  for (const session of tables.sessions.values()) session.expires = new Date(Date.now() - 1000);
  // Under their old address nobody else is made of this user.
  for (const user of tables.users.values()) user.email = "lovelace@example.com";

  assertEquals((await client.askOptions({ action: "register" })).statusCode, 400);
  // Options of when it was valid.
  const again = new WebAuthnClient(app);
  for (const [name, value] of client.cookies) again.cookies.set(name, value);
  const answer = await again.send("register", new SoftwareAuthenticator(ORIGIN).create(options));
  assertMatch(String(answer.headers.location), /error=WebAuthnVerificationError/);
  assertEquals([answer.statusCode, tables.users.size, tables.authenticators.size], [302, 1, 1]);
  assertEquals(await again.user(), null);
});

Deno.test("passkeys: a session in a token that has ended gets no options", async () => {
  await using app = await testApp(webAuthnConfig(emptyTables(), { session: { strategy: "jwt" } }));
  const client = new WebAuthnClient(app);
  await client.register(new SoftwareAuthenticator(ORIGIN), { email: EMAIL });
  const copy = new WebAuthnClient(app);
  for (const [name, value] of client.cookies) copy.cookies.set(name, value);
  assertEquals((await copy.askOptions({ action: "register" })).statusCode, 200);
  await client.signOut();
  assertEquals((await copy.askOptions({ action: "register" })).statusCode, 400);
});

Deno.test("passkeys: a user without an address is told that one is needed", async () => {
  const { logger, lines } = captureLog();
  for (const strategy of ["jwt", "database"] as const) {
    const tables = emptyTables();
    await using app = await testApp(webAuthnConfig(tables, { session: { strategy }, secret: OWN_SECRET }), {
      logger,
    });
    const client = new WebAuthnClient(app);
    const device = new SoftwareAuthenticator(ORIGIN);
    await client.register(device, { email: EMAIL });
    for (const user of tables.users.values()) Object.assign(user, { email: null });
    await client.signOut();
    await client.authenticate(device);
    const answer = await client.askOptions({ action: "register" });
    assertEquals(answer.statusCode, 400);
    assertStringIncludes(answer.json().error, "this user has none");
    assertEquals(lines.filter(({ level }) => level > 30), []);
  }
});

Deno.test("passkeys: a signature whose numbers are short is as good as any", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const device = new SoftwareAuthenticator(ORIGIN);
  await client.register(device, { email: EMAIL });
  for (let i = 0; i < 6; i++) {
    await client.signOut();
    await client.authenticate(device, { shortSignature: true });
    assertEquals((await client.user())?.email, EMAIL);
  }
});

Deno.test("passkeys: the callback takes POST alone", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  for (const method of ["GET", "HEAD", "PUT", "DELETE"]) {
    const answer = await new WebAuthnClient(app).request(
      method,
      "/auth/callback/passkey?action=authenticate",
    );
    assertEquals([answer.statusCode, answer.headers.allow], [405, "POST"]);
  }
});

const BOOT_ERRORS: [what: string, overrides: Partial<FastifyAuthConfig>, code: string, message: RegExp][] = [
  [
    "the experimental flag",
    { experimental: {} },
    "FST_AUTHJS_CONFIG_INVALID",
    /experimental\.enableWebAuthn/,
  ],
  [
    "an adapter that keeps authenticators",
    { adapter: { ...memoryAdapter(), getAuthenticator: undefined } as never },
    "FST_AUTHJS_ADAPTER_INVALID",
    /lacks: getAuthenticator/,
  ],
  [
    "a conditional UI of its own",
    { providers: [Passkey, WebAuthn] },
    "FST_AUTHJS_CONFIG_INVALID",
    /'enableConditionalUI'/,
  ],
];

for (const [what, overrides, code, message] of BOOT_ERRORS) {
  Deno.test(`passkeys: boot says that ${what} is missing`, async () => {
    const error = await assertRejects(
      () => testApp(webAuthnConfig(emptyTables(), overrides)),
      FastifyAuthError,
    );
    assertEquals(error.code, code);
    assertMatch(error.message, message);
  });
}

Deno.test("passkeys: boot warns where no browser offers them, and of addresses that are not verified", async () => {
  const warningsOf = async (overrides: Partial<FastifyAuthConfig>) => {
    const { logger, lines } = captureLog();
    await testApp(webAuthnConfig(emptyTables(), overrides), { logger });
    return lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
  };
  for (
    const origin of ["http://app.example", "https://192.0.2.1", "http://127.0.0.1:3000", "https://[::1]"]
  ) {
    const [warning, ...others] = await warningsOf({ origin });
    assertStringIncludes(warning ?? "", `Browsers offer no passkeys at ${origin}`);
    assertEquals(others, []);
  }
  for (const origin of [ORIGIN, "http://localhost:3000", "http://demo.localhost"]) {
    assertEquals(await warningsOf({ origin }), []);
  }
  const email = Nodemailer({ server: "smtp://127.0.0.1:1", from: "a@b.example" }) as never;
  const linking = identityProvider("linking", { allowDangerousEmailAccountLinking: true }) as never;
  const signedInOnly = Passkey({ getUserInfo: () => Promise.resolve(null) });
  for (const [provider, id] of [[email, "nodemailer"], [linking, "linking"]] as const) {
    const [warning] = await warningsOf({ providers: [Passkey, identityProvider("other") as never, provider] });
    assertStringIncludes(warning ?? "", `without verifying it, and "${id}" later signs the owner`);
    assertEquals(await warningsOf({ providers: [signedInOnly, provider] }), []);
  }
});

Deno.test("passkeys: with getUserInfo: async () => null no client registers without a session, or learns which addresses have an account", async () => {
  const tables = emptyTables();
  const providers = [Passkey({ getUserInfo: () => Promise.resolve(null) })];
  const app = await testApp(webAuthnConfig(tables, { providers }));
  tables.users.set("1", { id: "1", email: EMAIL, emailVerified: null });
  for (const email of [EMAIL, "unknown@example.com"]) {
    const { action, options } = await new WebAuthnClient(app).options({ email });
    assertEquals([action, options.allowCredentials ?? []], ["authenticate", []]);
    assertEquals((await new WebAuthnClient(app).askOptions({ action: "register", email })).statusCode, 400);
  }
});

Deno.test("passkeys: an adapter that fails is answered with 503, and the log says so", async () => {
  for (const method of ["getAuthenticator", "updateAuthenticatorCounter", "getAccount"] as const) {
    const { logger, lines } = captureLog();
    const tables = emptyTables();
    const adapter = webAuthnAdapter(tables);
    const app = await testApp({ ...webAuthnConfig(tables), adapter, secret: SECRET }, { logger });
    const device = new SoftwareAuthenticator(ORIGIN);
    await new WebAuthnClient(app).register(device, { email: EMAIL });
    const broken = await testApp(
      webAuthnConfig(tables, {
        adapter: { ...adapter, [method]: () => Promise.reject(new Error("the disk is full")) },
      }),
      { logger },
    );
    const client = new WebAuthnClient(broken);
    const answer = await client.authenticate(device);
    assertEquals(answer.statusCode, 503, method);
    assertEquals(await client.user(), null);
    assert(
      lines.some(({ level, authjs }) => level === 50 && JSON.stringify(authjs).includes("the disk is full")),
    );
  }
});

Deno.test("passkeys: an adapter may return nothing for a user who has none", async () => {
  const tables = emptyTables();
  tables.users.set("ada", { id: "ada", email: EMAIL, emailVerified: null });
  for (const none of [undefined, null]) {
    const adapter = { ...webAuthnAdapter(tables), listAuthenticatorsByUserId: () => Promise.resolve(none as never) };
    const client = new WebAuthnClient(await testApp(webAuthnConfig(tables, { adapter })));
    const { action, options } = await client.options({ email: EMAIL });
    assertEquals([action, options.allowCredentials], ["authenticate", []]);
  }
});

Deno.test("passkeys: in a key-value store, which would take a second key for one credential, the first stays", async () => {
  const adapter = UnstorageAdapter(createStorage());
  const app = await testApp({ ...webAuthnConfig(emptyTables()), adapter });
  const device = new SoftwareAuthenticator(ORIGIN);
  await new WebAuthnClient(app).register(device, { email: EMAIL });
  const thief = new SoftwareAuthenticator(ORIGIN);
  const mallory = new WebAuthnClient(app);
  await mallory.register(thief, { email: "mallory@example.com", id: device.credentials[0]!.id });
  assertEquals(await mallory.user(), null);
  await mallory.authenticate(thief);
  assertEquals(await mallory.user(), null);

  const client = new WebAuthnClient(app);
  await client.authenticate(device);
  assertEquals((await client.user())?.email, EMAIL);
});

Deno.test("passkeys: the sign-in page has their script from its own server", async () => {
  const app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const page = await client.get("/auth/signin");
  const [, address = ""] = /<script src="(\/auth\/assets\/passkey-[0-9a-f]+\.js)" nonce="/.exec(page.body) ??
    [];
  const script = await client.get(address);
  assertMatch(script.body, /@simplewebauthn\/browser[^]*Permission is hereby granted[^]*startAuthentication/);
});

Deno.test("passkeys: the application's options reach the library, as its own functions do", async () => {
  const given: Record<string, Record<string, unknown>> = {};
  const { simpleWebAuthn } = Passkey({});
  const watched = Object.fromEntries(
    Object.entries(simpleWebAuthn).map(([name, call]) => [name, (options: Record<string, unknown>) => {
      given[name] = options;
      return call(options as never);
    }]),
  ) as unknown as typeof simpleWebAuthn;
  const provider = Passkey({
    simpleWebAuthn: watched,
    relayingParty: { id: "app.example", name: "App", origin: ORIGIN },
    registrationOptions: { timeout: 1234, supportedAlgorithmIDs: [-7] },
    authenticationOptions: { timeout: 4321 },
    verifyRegistrationOptions: { supportedAlgorithmIDs: [-7] },
    verifyAuthenticationOptions: { expectedType: ["webauthn.get", "payment.get"] },
  });
  const app = await testApp(webAuthnConfig(emptyTables(), { providers: [provider] }));
  const client = new WebAuthnClient(app);
  const device = new SoftwareAuthenticator(ORIGIN);
  const { options } = await client.options({ action: "register", email: EMAIL });
  assertEquals([options.rp, options.timeout], [{ id: "app.example", name: "App" }, 1234]);
  assertEquals(options.pubKeyCredParams, [{ alg: -7, type: "public-key" }]);
  await client.send("register", device.create(options));
  await client.signOut();
  assertEquals((await client.options()).options.timeout, 4321);
  await client.authenticate(device);
  assertEquals((await client.user())?.email, EMAIL);
  assertEquals(given.verifyRegistrationResponse?.supportedAlgorithmIDs, [-7]);
  assertEquals(given.verifyAuthenticationResponse?.expectedType, ["webauthn.get", "payment.get"]);
});

Deno.test("passkeys: of several origins of the relying party each counts, and no other", async () => {
  const origins = [ORIGIN, "https://admin.app.example"];
  const given = { relayingParty: { id: "app.example", origin: origins } };
  const app = await testApp(webAuthnConfig(emptyTables(), { providers: [Passkey(given)] }));
  for (const [index, origin] of [...origins, "https://elsewhere.app.example"].entries()) {
    const device = new SoftwareAuthenticator(origin), email = `ada-${index}@example.com`;
    const browsers = [new WebAuthnClient(app), new WebAuthnClient(app)] as const;
    await browsers[0].register(device, { email });
    await browsers[1].authenticate(device);
    const signedIn = origins.includes(origin) ? email : undefined;
    for (const browser of browsers) assertEquals((await browser.user())?.email, signedIn, origin);
  }
});

Deno.test("passkeys: without options of the application, keys are of kinds that databases have room for", async () => {
  const client = new WebAuthnClient(await testApp(webAuthnConfig(emptyTables())));
  const { options } = await client.options({ action: "register", email: EMAIL });
  assertEquals((options.pubKeyCredParams as { alg: number }[]).map(({ alg }) => alg), [-8, -7, -257]);
  assertEquals(options.user?.displayName, EMAIL);
});

Deno.test("passkeys: an old version of the library is an error that says what to install", async () => {
  const { logger, lines } = captureLog();
  const shipped = Passkey({});
  const simpleWebAuthn = {
    ...shipped.simpleWebAuthn,
    // Version 9 takes bytes.
    generateAuthenticationOptions:
      (({ allowCredentials = [] }: { allowCredentials?: { id: Uint8Array }[] }) =>
        Promise.resolve({
          challenge: "AQ",
          allowCredentials: allowCredentials.map(({ id }) => ({ id: Buffer.from(id).toString("base64url") })),
        })) as never,
  };
  await using app = await testApp(
    webAuthnConfig(emptyTables(), { providers: [Passkey({ simpleWebAuthn })], secret: OWN_SECRET }),
    { logger },
  );
  const answer = await new WebAuthnClient(app).askOptions();
  assertEquals([answer.statusCode, answer.json()], [500, { error: "Configuration" }]);
  assert(lines.some((line) => JSON.stringify(line).includes("npm install @simplewebauthn/server@14")));
});
