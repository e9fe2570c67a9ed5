/** Every attempt to sign in is its own: any tab can end its sign-in, whatever others do. */
import type { AuthConfig } from "@auth/core";
import { decode } from "@auth/core/jwt";
import { assert, assertEquals, assertLess, assertMatch } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import Passkey from "fastify-authjs/providers/passkey";
import { passwordProvider, SECRET, testApp, testConfig } from "../support/app.ts";
import { ATTEMPT, attemptsOf } from "../support/attempts.ts";
import { type Answer, Client, formIn } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import {
  clearedCookies,
  locationOf,
  oauthApp,
  OPENID_CLIENT,
  pathOf,
  type ProviderSettings,
  signedInName,
  startSignIn,
} from "../support/oauth_client.ts";
import { plainPort } from "../support/plain_port.ts";
import { seededRandom } from "../support/random.ts";
import { ALL_CHECKS, oauthSettings, withProvider } from "../support/scripted_sign_in.ts";
import { PATHS, ScriptedProvider } from "../support/scripted_provider.ts";
import { emptyTables, ORIGIN, webAuthnAdapter, WebAuthnClient, webAuthnConfig } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const EXPIRED = "http://localhost/auth/error?error=Configuration&code=sign_in_expired";

/** A tab on its way through a sign-in. */
interface Tab {
  /** Where the sign-in is to lead. */
  readonly address: string;
  /** The name of the attempt's cookie. */
  readonly attempt: string;
  /** Comes back from the provider, once or more. */
  finish(change?: (callback: URL) => void): Promise<Answer>;
}

async function openTab(client: Client, provider: ScriptedProvider, address: string, id = "op"): Promise<Tab> {
  const before = new Set(attemptsOf(client));
  const { pathname } = new URL(address, "http://localhost");
  const started = locationOf(await startSignIn(client, id, { callbackUrl: pathname }));
  const [attempt] = attemptsOf(client).filter((name) => !before.has(name));
  return {
    address: `http://localhost${pathname}`,
    attempt: attempt!,
    finish: async (change = () => {}) => {
      const callback = new URL(provider.authorize(started));
      change(callback);
      return await client.get(pathOf(callback.href));
    },
  };
}

async function openTabs(client: Client, provider: ScriptedProvider, count: number): Promise<Tab[]> {
  const tabs: Tab[] = [];
  for (let i = 0; i < count; i++) tabs.push(await openTab(client, provider, `/page-${i}`));
  return tabs;
}

/**
 * Each tab that is kept ends at its own address; the others lead to the page that begins again, or, once the user is
 * signed in, to the latest address.
 */
async function finishAll(client: Client, tabs: readonly Tab[]): Promise<number> {
  const kept = new Set(attemptsOf(client));
  const latest = `http://localhost/page-${tabs.length - 1}`;
  let otherwise = EXPIRED;
  for (const tab of tabs) {
    const isKept = kept.has(tab.attempt);
    const answer = await tab.finish();
    assertEquals(locationOf(answer), isKept ? tab.address : otherwise, tab.address);
    if (isKept) otherwise = latest;
    assertEquals(clearedCookies(answer), isKept ? [tab.attempt] : []);
    if (isKept) assertEquals(await signedInName(client), "Ada");
  }
  assertEquals(attemptsOf(client), []);
  return kept.size;
}

for (const [count, orders] of [[2, 2], [4, 6], [30, 4]] as const) {
  Deno.test(`of ${count} tabs those that are kept end in any order, each at its own address`, async () => {
    const random = seededRandom();
    for (let order = 0; order < orders; order++) {
      await withProvider({}, async ({ client, provider }) => {
        const tabs = await openTabs(client, provider, count);
        if (order === 0) tabs.reverse();
        else if (order > 1) tabs.sort(() => random.int(2) - 0.5);
        const newest = tabs.filter(({ attempt }) => attemptsOf(client).includes(attempt));
        assertEquals(newest.length, Math.min(count, 8));
        for (const { address } of newest) assertLess(count - 9, Number(/\d+$/.exec(address)));
        assertEquals(await finishAll(client, tabs), newest.length);
      });
    }
  });
}

Deno.test("a tab that begins while another one does takes nothing from it", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const csrfToken = await client.csrfToken();
    const started = await Promise.all(
      ["/a", "/b", "/c"].map((callbackUrl) => client.post("/auth/signin/op", { csrfToken, callbackUrl })),
    );
    for (const [i, path] of ["/a", "/b", "/c"].entries()) {
      const answer = await client.get(pathOf(provider.authorize(locationOf(started[i]!))));
      assertEquals(locationOf(answer), `http://localhost${path}`);
    }
  });
});

Deno.test("an attempt that gave way begins again with one click on the page that it leads to", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const [first] = await openTabs(client, provider, 12);
    const page = await client.get(pathOf(locationOf(await first!.finish())));
    const { action, fields } = formIn(page);
    const started = locationOf(await client.post(action, fields));
    assertEquals(
      locationOf(await client.get(pathOf(provider.authorize(started)))),
      "http://localhost/page-11",
    );
  });
});

Deno.test("beside a session cookie of 3 KB four attempts and more are kept, in 4 KB", async () => {
  for (const origin of ["http://localhost", "https://app.example"]) {
    await withProvider({}, async ({ provider }) => {
      const { issuer } = provider;
      const { app, browser } = await oauthApp({}, {
        origin,
        providers: [
          passwordProvider(),
          { ...OPENID_CLIENT, issuer, checks: ALL_CHECKS },
        ] as unknown as FastifyAuthConfig["providers"],
        callbacks: { jwt: ({ token }) => ({ ...token, groups: "g".repeat(1950) }) },
      });
      await using _app = app;
      const client = browser();
      await client.signIn({ username: "ada", password: "open" });
      const session = [...client.cookies].find(([name]) => name.includes("session-token"))!;
      assertLess(3000, session[1].length);

      const address = `/reports/2026?${"columns=name,address,".repeat(12)}`;
      const started: string[] = [];
      for (let i = 0; i < 12; i++) {
        const callbackUrl = `${address}${i}`;
        started.push(locationOf(await startSignIn(client, "op", { callbackUrl })));
        assertLess(sizeOf(client), 4097);
      }
      const count = attemptsOf(client).length;
      assertLess(3, count);
      for (let i = 12 - count; i < 12; i++) {
        const answer = await client.get(pathOf(provider.authorize(started[i]!)));
        assertEquals(locationOf(answer), `${origin}${address}${i}`);
      }
    });
  }
});

/** What the attempts of a browser take of its Cookie header. */
function sizeOf(client: Client): number {
  return attemptsOf(client).map((name) => `${name}=${client.cookies.get(name)}`).join("; ").length;
}

Deno.test("the longest address is kept, also if others give way to it", async () => {
  await withProvider({}, async ({ client, provider }) => {
    await openTabs(client, provider, 8);
    const tab = await openTab(client, provider, `/${"x".repeat(2000)}`);
    assertLess(sizeOf(client), 4097);
    assertLess(client.cookies.get(tab.attempt)!.length, 4001);
    assertEquals(locationOf(await tab.finish()), tab.address);
  });
});

Deno.test("a callback that fails removes only the attempt that its state leads to", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const tabs = await openTabs(client, provider, 4);
    const declined = (callback: URL) => {
      callback.searchParams.delete("code");
      callback.searchParams.set("error", "access_denied");
    };
    const answer = await tabs[1]!.finish(declined);
    assertMatch(locationOf(answer), /error=OAuthCallbackError/);
    assertEquals(clearedCookies(answer), [tabs[1]!.attempt]);

    provider.script.answer = {
      token: (_request, response) =>
        response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    };
    assertEquals(clearedCookies(await tabs[2]!.finish()), [tabs[2]!.attempt]);
    provider.script.answer = {};
    for (const each of [tabs[3]!, tabs[0]!]) assertEquals(locationOf(await each.finish()), each.address);
  });
});

Deno.test("the page after a sign-in that was declined leads to the address of its tab", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const tabs = await openTabs(client, provider, 2);
    for (const tab of tabs) {
      const answer = await tab.finish((callback) => {
        callback.searchParams.delete("code");
        callback.searchParams.set("error", "access_denied");
      });
      assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
      assertEquals(formIn(await client.get(pathOf(locationOf(answer)))).fields.callbackUrl, tab.address);
    }
  });
});

Deno.test("a callback that is foreign, unknown or repeated deletes nothing", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const [first, second] = await openTabs(client, provider, 2);
    const elsewhere = await openTab(browser(), provider, "/elsewhere");
    let foreign = "";
    await elsewhere.finish((callback) => foreign = callback.searchParams.get("state")!);
    assertEquals(locationOf(await first!.finish()), first!.address);

    const set = (state: string) => (callback: URL) => callback.searchParams.set("state", state);
    const refused: [what: string, answer: () => Promise<Answer>][] = [
      ["foreign", () => second!.finish(set(foreign))],
      ["unknown", () => second!.finish(set("x"))],
      ["empty", () => second!.finish(set(""))],
      ["none", () => second!.finish(({ searchParams }) => searchParams.delete("state"))],
      ["repeated", () => first!.finish()],
    ];
    const { length } = provider.requests;
    for (const [what, send] of refused) {
      const answer = await send();
      assertEquals([locationOf(answer), clearedCookies(answer)], [second!.address, []], what);
      assertEquals(attemptsOf(client), [second!.attempt], what);
    }
    assertEquals(provider.requests.length, length, "the provider is asked nothing");
    assertEquals(await signedInName(client), "Ada", "who is signed in stays signed in");
    assertEquals(locationOf(await second!.finish()), second!.address);
  });
});

for (const checks of [ALL_CHECKS, ["pkce"], ["nonce"]]) {
  Deno.test(`with the checks ${checks} an attempt ends after 15 minutes, also if its cookie comes back`, async () => {
    await withProvider({}, async ({ client, provider }) => {
      await withClock(async (clock) => {
        const [first, second] = await openTabs(client, provider, 2);
        clock.now += 899_000;
        assertEquals(locationOf(await first!.finish()), first!.address);
        clock.now += 2000;
        assertEquals(attemptsOf(client), [second!.attempt]);
        client.cookies.delete("authjs.session-token");
        const { length } = provider.requests;
        for (const change of [undefined, ({ searchParams }: URL) => searchParams.delete("state")]) {
          assertEquals(locationOf(await second!.finish(change)), EXPIRED);
        }
        assertEquals(provider.requests.length, length, "the provider is asked nothing");
      });
    }, { checks });
  });
}

Deno.test("browsers get no check cookie of core, and no cookie holds what it is checked by in the clear", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const started = new URL(locationOf(await startSignIn(client, "op", { callbackUrl: "/a" })));
    const names = [...client.cookies.keys()].map((name) => ATTEMPT.test(name) ? "attempt" : name).sort();
    assertEquals(names, ["attempt", "authjs.callback-url", "authjs.csrf-token"]);
    for (const name of ["state", "nonce"]) {
      const value = started.searchParams.get(name)!;
      assert(![...client.cookies].flat().some((text) => text.includes(value)), name);
    }
    assertEquals(locationOf(await client.get(pathOf(provider.authorize(started)))), "http://localhost/a");
  });
});

Deno.test("attributes of `cookies.state` apply to the attempts, and its name is their prefix", async () => {
  const cookies = {
    state: { name: "flow", options: { path: "/auth", sameSite: "none", secure: true, maxAge: 60 } },
  } as NonNullable<FastifyAuthConfig["cookies"]>;
  await withProvider(
    {},
    async ({ client, provider }) => {
      const started = await startSignIn(client);
      const [line] = [started.headers["set-cookie"]].flat().map(String).filter((each) => each.startsWith("flow."));
      assertMatch(
        line!,
        /^flow\.[\w-]{19}=[\w-]+; Max-Age=60; Path=\/auth; HttpOnly; Secure; SameSite=None$/,
      );
      const answer = await client.get(pathOf(provider.authorize(locationOf(started))));
      const [cleared] = [answer.headers["set-cookie"]].flat().map(String).filter((each) => each.startsWith("flow."));
      assertMatch(cleared!, /=; Max-Age=0; Path=\/auth;/);
      assertEquals(await signedInName(client), "Ada");
    },
    {},
    { cookies },
  );
});

/** Without the check, which core makes a `state` for. */
const STATELESS: [name: string, checks: string[]][] = [["pkce", ["pkce"]], ["nonce", ["nonce"]], ["none", [
  "none",
]]];

for (const [name, checks] of STATELESS) {
  Deno.test(`with the check ${name} a state that core does not get names the attempt`, async () => {
    await withProvider({}, async ({ client, provider }) => {
      const tabs = await openTabs(client, provider, 3);
      let state = "";
      const answer = await tabs[1]!.finish(({ searchParams }) => state = searchParams.get("state")!);
      assertEquals(locationOf(answer), tabs[1]!.address);
      assertEquals(
        await decode({ token: state, secret: SECRET, salt: "encodedState" }).catch(() => null),
        null,
      );
      assertEquals(provider.requests.some(({ body }) => body.has("state")), false);
      for (const each of [tabs[0]!, tabs[2]!]) assertEquals(locationOf(await each.finish()), each.address);
    }, { checks });
  });

  Deno.test(`with the check ${name} a callback without a state takes the newest attempt of its provider`, async () => {
    await withProvider({}, async ({ provider }) => {
      const shared = { name: "OP", type: "oidc", clientId: "client", issuer: provider.issuer, checks };
      const providers = ["op", "other"].map((id) => ({ ...shared, id, clientSecret: "secret" }));
      const parts = await oauthApp({}, { providers: providers as never });
      await using _app = parts.app;
      const client = parts.browser();
      const [first, second] = await openTabs(client, provider, 2);
      const other = await openTab(client, provider, "/other", "other");
      const without = ({ searchParams }: URL) => searchParams.delete("state");

      provider.script.answer = { token: (_request, response) => response.writeHead(400).end("{}") };
      const failed = await second!.finish(without);
      assertEquals(clearedCookies(failed), [], "its state leads to none");
      provider.script.answer = {};

      const answer = await second!.finish(without);
      assertEquals([locationOf(answer), clearedCookies(answer)], [second!.address, [second!.attempt]]);
      for (const each of [first!, other]) assertEquals(locationOf(await each.finish()), each.address);
    });
  });
}

for (const how of ["a link", "a sign-in"]) {
  Deno.test(`a callback without a state links no account to the user who began ${how}`, async () => {
    // The server ignores PKCE.
    await using provider = await ScriptedProvider.start();
    const tables = emptyTables();
    const shared = { ...OPENID_CLIENT, issuer: provider.issuer, checks: ["pkce"] };
    const auth = createAuth(testConfig({
      adapter: webAuthnAdapter(tables),
      providers: ["home", "op"].map((id) => ({ ...shared, id })) as never,
    }));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.post("/link", (request, reply) => auth.linkAccount(request, reply, "op"));
    const client = new Client(app);
    await (await openTab(client, provider, "/", "home")).finish();
    const headers = { "sec-fetch-site": "same-origin" };
    if (how === "a link") await client.request("POST", "/link", { headers });
    else await startSignIn(client);

    provider.script = { claims: { sub: "mallory", name: "Mallory", email: "mallory@example.com" } };
    await client.get("/auth/callback/op?code=of-mallory");
    const [ada] = tables.users.values();
    const linked = tables.accounts.filter(({ userId }) => userId === ada!.id);
    assertEquals(linked.map(({ provider }) => provider), ["home"]);
  });
}

for (const checks of [["pkce"], ["nonce"]]) {
  Deno.test(`with the check ${checks} an unknown state takes no attempt`, async () => {
    await withProvider({}, async ({ client, provider }) => {
      const tab = await openTab(client, provider, "/a");
      const answer = await tab.finish(({ searchParams }) => searchParams.set("state", "unknown"));
      assertEquals([locationOf(answer), clearedCookies(answer)], [EXPIRED, []]);
      assertEquals(provider.paths.includes(PATHS.token), false);
      assertEquals(locationOf(await tab.finish()), tab.address);
    }, { checks });
  });
}

Deno.test("a state of the provider's own parameters stays, and leads to the newest attempt with it", async () => {
  const authorization = { params: { state: "ours", scope: "openid" } };
  await withProvider({}, async ({ client, provider }) => {
    const [first, second] = await openTabs(client, provider, 2);
    let state: string | null = "";
    const answer = await second!.finish(({ searchParams }) => state = searchParams.get("state"));
    assertEquals([state, locationOf(answer)], ["ours", second!.address]);
    assertEquals(locationOf(await first!.finish()), first!.address);
  }, { checks: ["pkce"], authorization });
});

const FORM_POST: ProviderSettings = {
  authorization: { params: { response_mode: "form_post", scope: "openid" } },
};

Deno.test("form_post: each of two forms brings all attempts that are SameSite=None, and ends its own", async () => {
  await withProvider({}, async ({ provider }) => {
    const shared = {
      name: "OP",
      type: "oidc",
      clientId: "client",
      clientSecret: "secret",
      checks: ALL_CHECKS,
    };
    const { issuer } = provider;
    const providers = [{ ...shared, id: "op", issuer, ...FORM_POST }, { ...shared, id: "lax", issuer }];
    const { app, browser } = await oauthApp({}, {
      providers: providers as never,
      origin: "https://app.example",
    });
    await using _app = app;
    const client = browser();
    const crossSite = new Set<string>();
    const begin = async (id: string, callbackUrl: string) => {
      const started = await startSignIn(client, id, { callbackUrl });
      for (const line of [started.headers["set-cookie"]].flat().map(String)) {
        if (/SameSite=None; *Secure|Secure; SameSite=None/.test(line)) {
          crossSite.add(line.slice(0, line.indexOf("=")));
        }
      }
      return locationOf(started);
    };
    const lax = await begin("lax", "/lax");
    assertEquals(crossSite.size, 0);
    const forms = [await begin("op", "/a"), await begin("op", "/b")];
    assertEquals([crossSite.size, attemptsOf(crossSite).length], [2, 2]);
    for (const [i, path] of [[1, "/b"], [0, "/a"]] as const) {
      const { searchParams } = new URL(provider.authorize(forms[i]!));
      const pairs = [...client.cookies].filter(([name]) => crossSite.has(name));
      const answer = await client.post("/auth/callback/op", Object.fromEntries(searchParams), {
        cookie: pairs.map(([name, value]) => `${name}=${value}`).join("; "),
      });
      assertEquals(locationOf(answer), `https://app.example${path}`);
      assertEquals(attemptsOf(clearedCookies(answer)).length, 1);
    }
    assertEquals(locationOf(await client.get(pathOf(provider.authorize(lax)))), "https://app.example/lax");
  });
});

Deno.test("form_post: a form of a provider that checks no state ends its own attempt", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const started = [];
    for (const callbackUrl of ["/a", "/b"]) started.push(await startSignIn(client, "op", { callbackUrl }));
    for (const [i, path] of ["/a", "/b"].entries()) {
      const { searchParams } = new URL(provider.authorize(locationOf(started[i]!)));
      const answer = await client.post("/auth/callback/op", Object.fromEntries(searchParams));
      assertEquals(locationOf(answer), `http://localhost${path}`);
    }
  }, { checks: ["pkce"], ...FORM_POST });
});

/** An OAuth provider without ID tokens. */
const OAUTH = { tokens: { id_token: undefined } };

Deno.test("a redirect proxy that is a plain Auth.js reads the state, and the deployment ends the sign-in", async () => {
  await using provider = await ScriptedProvider.start(OAUTH);
  const settings = { id: "op", name: "OP", clientId: "client", clientSecret: "secret" };
  const redirectProxyUrl = "http://stable.example/auth";
  const own = { ...settings, ...oauthSettings(provider.issuer) };
  const stable = plainPort(
    { providers: [own], secret: SECRET, trustHost: true, redirectProxyUrl } as never as AuthConfig,
  );
  await using _stable = stable;
  const { app, browser } = await oauthApp(own, { origin: "http://pr-7.preview.example", redirectProxyUrl });
  await using _app = app;
  const client = browser();
  const started = [];
  for (const callbackUrl of ["/a", "/b"]) started.push(await startSignIn(client, "op", { callbackUrl }));
  for (const [i, path] of ["/a", "/b"].entries()) {
    const callback = provider.authorize(locationOf(started[i]!));
    assertEquals(new URL(callback).host, "stable.example");
    const handedOn = await stable.inject({ url: pathOf(callback), headers: { host: "stable.example" } });
    const back = locationOf(handedOn);
    assertEquals(new URL(back).origin, "http://pr-7.preview.example");
    assertEquals(locationOf(await client.get(pathOf(back))), `http://pr-7.preview.example${path}`);
  }
});

Deno.test("the stable deployment of a redirect proxy signs in itself, also if its provider checks no state", async () => {
  const overrides = {
    origin: "https://app.example",
    redirectProxyUrl: "https://app.example/auth",
    redirectProxyOrigins: ["https://*.preview.example"],
  };
  await withProvider(
    OAUTH,
    async ({ client, provider }) => {
      const started = locationOf(await startSignIn(client, "op", { callbackUrl: "/a" }));
      const expected = provider.authorize(started);
      assertEquals(locationOf(await client.get(pathOf(expected))), "https://app.example/a");
      // Used up.
      assertEquals(locationOf(await client.get(pathOf(expected))), "https://app.example/a");
      client.cookies.clear();
      assertMatch(locationOf(await client.get(pathOf(expected))), /code=sign_in_expired/);
    },
    (issuer) => ({ ...oauthSettings(issuer), checks: ["pkce"] }),
    overrides,
  );
});

/** A site with passkeys, a user who has one, and a signed-out browser. */
async function passkeySite(overrides: Partial<FastifyAuthConfig> = {}) {
  const tables = emptyTables();
  const app = await testApp(webAuthnConfig(tables, { providers: [Passkey], ...overrides }));
  const device = new SoftwareAuthenticator(ORIGIN, false);
  const client = new WebAuthnClient(app);
  await client.register(device, { email: "ada@example.com" });
  await client.signOut();
  return { app, tables, client, device };
}

Deno.test("passkeys: the offer of one tab outlives those of others, and any of them signs in", async () => {
  const { app, client, device } = await passkeySite();
  await using _app = app;
  const offers = [];
  for (let tab = 0; tab < 3; tab++) offers.push((await client.options({ action: "authenticate" })).options);
  assertEquals(attemptsOf(client).length, 3);
  for (const tab of [1, 0, 2]) {
    const answer = await client.send("authenticate", device.get(offers[tab]!));
    assertEquals([answer.headers.location, attemptsOf(clearedCookies(answer)).length], [ORIGIN, 1]);
    assertEquals((await client.user())?.email, "ada@example.com");
    await client.signOut();
  }
});

Deno.test("passkeys: two registrations and an offer in three tabs end in any order", async () => {
  const { app, tables, client, device } = await passkeySite();
  await using _app = app;
  const [zoe, bob] = [
    (await client.options({ action: "register", email: "zoe@example.com" })).options,
    (await client.options({ action: "register", email: "bob@example.com" })).options,
  ];
  const { options: offer } = await client.options({ action: "authenticate" });
  await client.send("register", new SoftwareAuthenticator(ORIGIN).create(zoe));
  assertEquals((await client.user())?.email, "zoe@example.com");
  await client.signOut();
  await client.send("authenticate", device.get(offer));
  assertEquals((await client.user())?.email, "ada@example.com");
  await client.signOut();
  await client.send("register", new SoftwareAuthenticator(ORIGIN).create(bob));
  assertEquals((await client.user())?.email, "bob@example.com");
  assertEquals([tables.users.size, tables.authenticators.size], [3, 3]);
});

Deno.test("passkeys: a ceremony that fails leaves the offers of other tabs", async () => {
  const { app, client, device } = await passkeySite();
  await using _app = app;
  const [first, second] = [await client.options(), await client.options()];
  const refused = await client.send("authenticate", device.at("https://evil.example").get(first.options));
  assertMatch(locationOf(refused), /error=WebAuthnVerificationError/);
  assertEquals(attemptsOf(client).length, 1);
  const unknown = await client.send("authenticate", device.get({ ...second.options, challenge: "b3RoZXI" }));
  assertMatch(locationOf(unknown), /error=WebAuthnVerificationError/);
  assertEquals((await client.send("authenticate", device.get(second.options))).headers.location, ORIGIN);
});

Deno.test("passkeys: an offer and a sign-in with a provider do not disturb each other", async () => {
  await using provider = await ScriptedProvider.start({ claims: { email: "zoe@example.com" } });
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const { app, client, device } = await passkeySite({
    providers: [Passkey, { ...settings, issuer: provider.issuer, checks: ALL_CHECKS } as never],
    pages: { passkeyOffer: false },
  });
  await using _app = app;
  const { options } = await client.options({ action: "authenticate" });
  const started = locationOf(await startSignIn(client, "op", { callbackUrl: "/a" }));
  await client.options({ action: "authenticate" });
  assertEquals(locationOf(await client.get(pathOf(provider.authorize(started)))), `${ORIGIN}/a`);
  await client.signOut();
  assertEquals((await client.send("authenticate", device.get(options))).headers.location, ORIGIN);
  assertEquals((await client.user())?.email, "ada@example.com");
});
