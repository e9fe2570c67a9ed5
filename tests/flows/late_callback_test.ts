/** A callback that comes too late or once more: a session beats the error, else one click begins the sign-in again. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "../support/app.ts";
import { attemptsOf } from "../support/attempts.ts";
import { type Answer, Client, formIn, setCookies } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { locationOf, pathOf, signedInName, startSignIn } from "../support/oauth_client.ts";
import { ALL_CHECKS, oauthSettings, withProvider } from "../support/scripted_sign_in.ts";
import type { ScriptedProvider } from "../support/scripted_provider.ts";
import { emptyTables, ORIGIN, WebAuthnClient, webAuthnConfig } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const EXPIRED = "http://localhost/auth/error?error=Configuration&code=sign_in_expired";
const SESSION = "authjs.session-token";
const JSON_CLIENT = { accept: "application/json" };

/** Begins a sign-in that leads to a page; returns the path of its callback. */
async function begin(client: Client, provider: ScriptedProvider, callbackUrl: string): Promise<string> {
  return pathOf(provider.authorize(locationOf(await startSignIn(client, "op", { callbackUrl }))));
}

/** A memory of users whose sessions are rows, for both strategies. */
function database(strategy: "jwt" | "database"): Partial<FastifyAuthConfig> {
  return { adapter: memoryAdapter(), session: { strategy } };
}

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`${strategy} sessions: a callback that is repeated leads a signed-in user on to its address`, async () => {
    await withProvider(
      {},
      async ({ client, provider, lines }) => {
        const callback = await begin(client, provider, "/report?page=2");
        const address = "http://localhost/report?page=2";
        assertEquals(locationOf(await client.get(callback)), address);
        const session = client.cookies.get(SESSION);
        const { length } = provider.requests;
        for (let again = 0; again < 2; again++) {
          const answer = await client.get(callback);
          assertEquals([answer.statusCode, locationOf(answer)], [302, address]);
          assertEquals(setCookies(answer), []);
        }
        assertEquals([provider.requests.length, client.cookies.get(SESSION)], [length, session]);
        // Nothing is silent.
        const warned = lines.filter((line) => (line.authjs as { type?: string })?.type === "InvalidCheck");
        assertEquals(warned.map(({ level }) => level), [40, 40]);
      },
      {},
      database(strategy),
    );
  });
}

Deno.test("a callback with a code that is used up leads a signed-in user on, and others to the error", async () => {
  await withProvider({}, async ({ client, provider }) => {
    await client.get(await begin(client, provider, "/a"));
    provider.script.answer = {
      token: (_request, response) =>
        response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    };
    const refused = locationOf(await client.get(await begin(client, provider, "/b")));
    assertEquals(refused, "http://localhost/auth/error?error=Configuration");
    assertEquals(locationOf(await client.get(pathOf(refused))), "http://localhost/b");
    client.cookies.delete(SESSION);
    const answer = await client.get(await begin(client, provider, "/c"));
    assertEquals(locationOf(answer), refused);
    assertEquals(formIn(await client.get(pathOf(refused))).action, "/auth/signin/op");
  });
});

Deno.test("a session beats no other error: one that the provider answered with, or a failed profile, is told", async () => {
  await withProvider({}, async ({ client, provider }) => {
    await client.get(await begin(client, provider, "/a"));
    const declined = new URL(await begin(client, provider, "/b"), "http://localhost");
    declined.searchParams.delete("code");
    declined.searchParams.set("error", "access_denied");
    assertMatch(locationOf(await client.get(pathOf(declined.href))), /error=OAuthCallbackError/);
    provider.script.answer = { token: (_request, response) => response.writeHead(400).end("{}") };
    assertMatch(
      locationOf(await client.get(await begin(client, provider, "/b"))),
      /auth\/error\?error=Configuration$/,
    );
  });
});

Deno.test("without a session an expired sign-in begins again with one click, at its provider and for its address", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const expired = await begin(client, provider, "/first?x=1&y=2");
    await withClock(async (clock) => {
      clock.now += 901_000;
      // A later tab has another address.
      await begin(client, provider, "/second");
      const answer = await client.get(expired);
      assertEquals(locationOf(answer), EXPIRED);
      const page = await client.get(pathOf(EXPIRED));
      assertStringIncludes(page.body, "Your sign-in has expired");
      const { action, fields } = formIn(page);
      assertEquals([action, fields.callbackUrl], [
        "/auth/signin/op",
        "http://localhost/first?x=1&y=2",
      ]);
      const started = locationOf(await client.post(action, fields));
      assertEquals(
        locationOf(await client.get(pathOf(provider.authorize(started)))),
        fields.callbackUrl,
      );
      assertEquals(await signedInName(client), "Ada");
    });
  });
});

Deno.test("the error page offers that once, for no other error, and not on a page of the application", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const link = /<a class="button primary" href="\/auth\/signin"/;
    const plain = await browser().get(pathOf(EXPIRED));
    assertMatch(plain.body, link);
    const expired = await begin(client, provider, "/a");
    client.cookies.delete(attemptsOf(client)[0]!);
    await client.get(expired);
    assertEquals(formIn(await client.get(pathOf(EXPIRED))).action, "/auth/signin/op");
    assertMatch((await client.get(pathOf(EXPIRED))).body, link, "once");
  });
  await withProvider(
    {},
    async ({ client, provider }) => {
      const expired = await begin(client, provider, "/a");
      client.cookies.clear();
      const answer = await client.get(expired);
      assertEquals(locationOf(answer), "http://localhost/oops?error=Configuration&code=sign_in_expired");
      assert(!setCookies(answer).some((line) => line.startsWith("authjs.form=")));
    },
    {},
    { pages: { error: "/oops" } },
  );
});

Deno.test("two requests with one callback: the error page of the one leads on, once the other has signed in", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const callback = await begin(client, provider, "/a");
    const other = browser();
    for (const [name, value] of client.cookies) other.cookies.set(name, value);
    await client.get(callback);
    const session = client.cookies.get(SESSION)!;
    provider.script.answer = {
      token: (_request, response) =>
        response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    };
    const failed = locationOf(await other.get(callback));
    assertEquals(failed, "http://localhost/auth/error?error=Configuration");
    other.cookies.set(SESSION, session);
    assertEquals(locationOf(await other.get(pathOf(failed))), "http://localhost/a");
    assertEquals((await other.get(pathOf(failed))).statusCode, 200);
  });
});

Deno.test("clients that read JSON get the error of a repeated callback, also with a session", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const callback = await begin(client, provider, "/a");
    await client.get(callback);
    const answer = await client.get(callback, { headers: JSON_CLIENT });
    assertEquals([answer.statusCode, answer.json()], [401, {
      error: "Configuration",
      code: "sign_in_expired",
    }]);
    const asked = { headers: { "x-auth-return-redirect": "1" } };
    assertEquals((await client.get(callback, asked)).json(), { url: EXPIRED });
  });
});

Deno.test("P6: a late callback leads to no other origin, and not to a callback again", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const callback = await begin(client, provider, "/a");
    await client.get(callback);
    const hostile = ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"];
    for (const address of [...hostile, "/other", "/auth/callback/op?state=x"]) {
      const leads = await client.get(`${callback}&${new URLSearchParams({ callbackUrl: address })}`);
      assertEquals(locationOf(leads), "http://localhost/a", address);
      client.cookies.set("authjs.callback-url", encodeURIComponent(address));
      const { origin, pathname } = new URL(locationOf(await client.get(callback)));
      assertEquals(origin, "http://localhost", address);
      assert(!pathname.startsWith("/auth/"), pathname);
      client.cookies.set("authjs.callback-url", encodeURIComponent("http://localhost/a"));
    }
  });
});

Deno.test("P6: a late callback signs nobody in, and says nothing of a session that has ended", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const callback = await begin(client, provider, "/a");
    await client.get(callback);
    const copy = browser();
    for (const [name, value] of client.cookies) copy.cookies.set(name, value);
    await client.signOut();
    assertEquals(locationOf(await copy.get(callback)), EXPIRED);
    const stranger = browser();
    assertEquals(locationOf(await stranger.get(callback)), EXPIRED);
    assertEquals(stranger.cookies.has(SESSION), false);
  });
});

Deno.test("P6: if the database is down, or the redirect callback throws, a late callback is the error that it was", async () => {
  let fails = false;
  const adapter = memoryAdapter();
  const failing = {
    ...adapter,
    getSessionAndUser: (token: string) => fails ? Promise.reject(new Error("down")) : adapter.getSessionAndUser!(token),
  };
  await withProvider(
    {},
    async ({ client, provider }) => {
      const callback = await begin(client, provider, "/a");
      await client.get(callback);
      fails = true;
      assertEquals(locationOf(await client.get(callback)), EXPIRED);
    },
    {},
    { adapter: failing },
  );
  let throws = false;
  const redirect = ({ url }: { url: string }) => {
    if (throws) throw new Error("no");
    return url.startsWith("/") ? `http://localhost${url}` : url;
  };
  await withProvider(
    {},
    async ({ client, provider }) => {
      const callback = await begin(client, provider, "/a");
      await client.get(callback);
      throws = true;
      assertEquals(locationOf(await client.get(callback)), EXPIRED);
    },
    {},
    { callbacks: { redirect } },
  );
});

Deno.test("a link that fails says so to a signed-in user, also if it has taken too long", async () => {
  await withProvider({}, async ({ provider }) => {
    const { issuer } = provider;
    const shared = {
      name: "OP",
      type: "oidc",
      clientId: "client",
      clientSecret: "secret",
      checks: ALL_CHECKS,
    };
    const providers = [{ ...shared, id: "op", issuer }, {
      ...shared,
      ...oauthSettings(issuer),
      id: "second",
    }];
    const { logger } = captureLog();
    const auth = createAuth(testConfig({ adapter: memoryAdapter(), providers: providers as never }));
    await using app = Fastify({ logger } as never) as unknown as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.post(
      "/link",
      (request, reply) => auth.linkAccount(request, reply, "second", { callbackUrl: "/accounts" }),
    );
    const client = new Client(app);
    await client.get(await begin(client, provider, "/a"));
    await withClock(async (clock) => {
      const linking = await client.request("POST", "/link", { headers: { "sec-fetch-site": "same-origin" } });
      const callback = pathOf(provider.authorize(locationOf(linking)));
      clock.now += 901_000;
      assertEquals(
        locationOf(await client.get(callback)),
        "http://localhost/accounts?error=Configuration&code=sign_in_expired",
      );
    });
  });
});

/** A site that mails links, and a browser that has one. */
async function withLink(
  run: (parts: { client: Client; link: string; tables: MemoryTables; again: () => string }) => Promise<void>,
): Promise<void> {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const links: string[] = [];
  const sendVerificationRequest = ({ url }: { url: string }) => void links.push(url);
  const email = { id: "email", type: "email", name: "Email", maxAge: 600, sendVerificationRequest };
  await using app = await testApp(
    testConfig({ adapter: memoryAdapter(tables), providers: [email as never] }),
  );
  const client = new Client(app);
  const form = { csrfToken: await client.csrfToken(), email: "ada@example.com", callbackUrl: "/home" };
  await client.post("/auth/signin/email", form);
  await run({ client, link: pathOf(links[0]!), tables, again: () => pathOf(links.at(-1)!) });
}

Deno.test("a mailed link that is opened once more leads a signed-in user on to its address", () =>
  withLink(async ({ client, link }) => {
    assertEquals(locationOf(await client.confirm(link)), "http://localhost/home");
    // A later sign-in elsewhere on the site has another address.
    await client.get("/auth/signin?callbackUrl=%2Fother");
    assertEquals(locationOf(await client.confirm(link)), "http://localhost/home");
  }));

Deno.test("a mailed link that is used up, without a session: one click mails another, for the same address", () =>
  withLink(async ({ client, link, again }) => {
    await client.confirm(link);
    client.cookies.clear();
    const failed = locationOf(await client.confirm(link));
    assertEquals(failed, "http://localhost/auth/error?error=Verification");
    const page = await client.get(pathOf(failed));
    const { action, fields } = formIn(page);
    assertEquals([page.statusCode, action, fields.callbackUrl], [
      403,
      "/auth/signin/email",
      "http://localhost/home",
    ]);
    const [, email] = /name="email"[^>]* value="([^"]*)"/.exec(page.body) ??
      /value="([^"]*)"[^>]* name="email"/.exec(page.body)!;
    assertEquals(email, "ada@example.com");
    await client.post(action, { ...fields, email: email! });
    assertEquals(locationOf(await client.confirm(again())), "http://localhost/home");
  }));

/** A site with passkeys, and a browser whose device has one. */
async function withPasskey(
  run: (client: WebAuthnClient, device: SoftwareAuthenticator) => Promise<void>,
): Promise<void> {
  await using app = await testApp(webAuthnConfig(emptyTables()));
  const client = new WebAuthnClient(app);
  const device = new SoftwareAuthenticator(ORIGIN, false);
  await client.register(device, { email: "ada@example.com" });
  await client.signOut();
  await run(client, device);
}

async function answerOf(
  client: WebAuthnClient,
  device: SoftwareAuthenticator,
): Promise<(action?: string) => Promise<Answer>> {
  const { options } = await client.options({ action: "authenticate" });
  const credential = device.get(options);
  return (action = "authenticate") => client.send(action, credential);
}

Deno.test("a passkey answer that is sent once more, or too late, leads a signed-in user on", () =>
  withPasskey(async (client, device) => {
    const send = await answerOf(client, device);
    assertEquals(locationOf(await send()), ORIGIN);
    assertEquals(locationOf(await send()), ORIGIN);
    await withClock(async (clock) => {
      const late = await answerOf(client, device);
      clock.now += 901_000;
      assertEquals(locationOf(await late()), ORIGIN);
    });
    assertMatch(locationOf(await send("register")), /error=WebAuthnVerificationError/, "none was added");
    assertEquals((await client.user())?.email, "ada@example.com");
  }));

Deno.test("a passkey answer that comes too late, without a session, is asked for again on the error page", () =>
  withPasskey(async (client, device) => {
    const send = await answerOf(client, device);
    client.cookies.clear();
    const failed = locationOf(await send());
    assertEquals(failed, `${ORIGIN}/auth/error?error=WebAuthnVerificationError`);
    const page = await client.get(pathOf(failed));
    assertMatch(page.body, /<form[^>]*data-passkey="\/auth\/webauthn-options\/passkey"/);
    assertMatch(page.body, /<script src="\/auth\/assets\/passkey/);
    const broken = await client.send("authenticate", {
      ...device.get((await client.options()).options),
      id: "x",
    });
    assertMatch(locationOf(broken), /error=WebAuthnVerificationError/);
  }));
