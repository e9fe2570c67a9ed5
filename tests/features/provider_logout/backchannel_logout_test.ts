/** An OpenID Provider ends sessions (Back-Channel Logout 1.0), with a real provider and with forged tokens. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import rateLimit from "@fastify/rate-limit";
import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import type { Configuration } from "oidc-provider";
import { createAuth, customFetch, type FastifyAuthConfig, FastifyAuthError, memoryStore } from "fastify-authjs";
import { withSessionList } from "fastify-authjs/adapters";
import { testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { locationOf, oauthApp, pathOf, startSignIn } from "../../support/oauth_client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";
import {
  type Browsers,
  isSignedIn,
  problemsIn,
  type SignOutOptions,
  type SignOutSetup,
  withSignOut,
} from "../../support/sign_out.ts";

const URI = "/auth/backchannel-logout/op";
const EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** The key of the provider, with which the tests sign tokens, too. */
const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
const JWK = { ...await exportJWK(privateKey), use: "sig", alg: "RS256", kid: "signing" };

const FEATURES: Configuration = {
  features: { backchannelLogout: { enabled: true } },
  jwks: { keys: [JWK] } as NonNullable<Configuration["jwks"]>,
};

const listed: SignOutOptions["adapter"] = (adapter, { sessions }) =>
  withSessionList(adapter, (userId) => [...sessions.values()].filter((row) => row.userId === userId));

function withLogout(
  options: SignOutOptions,
  run: (setup: SignOutSetup) => Promise<void>,
): Promise<void> {
  const { config, client, atProvider, adapter } = options;
  return withSignOut({
    ...options,
    atProvider: { ...FEATURES, ...atProvider },
    client: {
      backchannel_logout_uri: `http://localhost${URI}`,
      backchannel_logout_session_required: true,
      ...client,
    },
    config: {
      providerLogout: { signOut: false, backchannel: true },
      ...(!adapter && { store: memoryStore(), revocable: true }),
      ...config,
    },
  }, run);
}

/** Ends the session at the provider alone: another application of its may have asked for that. */
async function endAtProvider({ op }: SignOutSetup, { atProvider }: Browsers): Promise<void> {
  const question = await atProvider.visit(`${op.issuer}/session/end`);
  await atProvider.visit(question.url, { ...question.form, logout: "yes" });
}

/** Parts of a token that differ from those of a valid one. */
interface TokenParts {
  readonly claims?: Record<string, unknown>;
  readonly header?: Record<string, unknown>;
  readonly key?: Parameters<SignJWT["sign"]>[0];
}

const seconds = () => Math.floor(Date.now() / 1000);

function validClaims(issuer: string): Record<string, unknown> {
  const iat = seconds();
  const events = { [EVENT]: {} };
  return { iss: issuer, aud: "client", iat, exp: iat + 120, jti: randomUUID(), sub: "ada", events };
}

/** Makes a token as the provider would; a claim that is `undefined` is left out. */
function makeToken(issuer: string, { claims, header, key = privateKey }: TokenParts = {}): Promise<string> {
  return new SignJWT({ ...validClaims(issuer), ...claims })
    .setProtectedHeader({ alg: "RS256", kid: "signing", typ: "logout+jwt", ...header }).sign(key);
}

function post(app: FastifyInstance, token: string, headers: Record<string, string> = {}): Promise<Answer> {
  return app.inject({
    method: "POST",
    url: URI,
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    payload: new URLSearchParams({ logout_token: token }).toString(),
  });
}

Deno.test("the provider ends the session that was made from its own, and no other", async () => {
  const ended: unknown[] = [];
  const events: unknown[] = [];
  const storage = new AsyncLocalStorage<boolean>();
  const listener = (message: unknown) => storage.getStore() && events.push(message);
  const config: Partial<FastifyAuthConfig> = { events: { signOut: (message) => void ended.push(message) } };
  subscribe("fastify-authjs:sign-out", listener);
  try {
    await storage.run(true, () =>
      withLogout({ config }, async (setup) => {
        const { lines, delivered, app } = setup;
        const own = await setup.signIn(), other = await setup.signIn();
        const password = new Client(app);
        await password.signIn({ username: "bob", password: "open" });
        const { sub } = (await own.browser.get("/claims")).json();
        await endAtProvider(setup, own);
        assertEquals(delivered.map(({ statusCode, body }) => [statusCode, body]), [[200, ""]]);
        assertMatch(String(delivered[0]!.headers["cache-control"]), /no-store/);
        assertEquals(await isSignedIn(own.browser), false);
        assertEquals([await isSignedIn(other.browser), await isSignedIn(password)], [true, true]);
        assertEquals(ended, [{ token: { sub } }]);
        const [event, ...more] = events as Record<string, unknown>[];
        assertEquals([event!.userId, event!.provider, more], [sub, "op", []]);
        assertEquals(problemsIn(lines), []);
        // The user can sign in again at once.
        assert(await isSignedIn((await setup.signIn()).browser));
      }));
  } finally {
    unsubscribe("fastify-authjs:sign-out", listener);
  }
});

Deno.test("a token without a session ends all sessions of the user that were made with the provider", () =>
  withLogout({ client: { backchannel_logout_session_required: false } }, async (setup) => {
    const own = await setup.signIn(), other = await setup.signIn();
    const password = new Client(setup.app);
    await password.signIn({ username: "ada", password: "open" });
    await endAtProvider(setup, own);
    assertEquals([await isSignedIn(own.browser), await isSignedIn(other.browser)], [false, false]);
    assert(await isSignedIn(password));
    assertEquals(await setup.auth.revokeSession("x"), false);
  }));

Deno.test("with sessions in a database it ends the rows of the session, or of the user", async () => {
  const ended: unknown[] = [];
  const config: Partial<FastifyAuthConfig> = { events: { signOut: (message) => void ended.push(message) } };
  await withLogout({ adapter: listed!, config }, async (setup) => {
    const own = await setup.signIn(), other = await setup.signIn();
    const rows = [...setup.tables.sessions.values()];
    await endAtProvider(setup, own);
    assertEquals(setup.delivered[0]!.statusCode, 200);
    assertEquals([await isSignedIn(own.browser), await isSignedIn(other.browser)], [false, true]);
    assertEquals(ended, [{ session: rows[0] }]);
    assertEquals(problemsIn(setup.lines), []);
  });
  await withLogout(
    { adapter: listed!, client: { backchannel_logout_session_required: false } },
    async (setup) => {
      const own = await setup.signIn(), other = await setup.signIn();
      await endAtProvider(setup, own);
      assertEquals([await isSignedIn(own.browser), await isSignedIn(other.browser)], [false, false]);
      assertEquals(setup.tables.sessions.size, 0);
    },
  );
});

Deno.test("a tenant's sessions end, too, wherever they are kept", async () => {
  for (const adapter of [undefined, listed!]) {
    const options = {
      config: { tenant: "acme", providerLogout: { backchannel: true } },
      ...(adapter && { adapter }),
    };
    await withLogout(options, async (setup) => {
      const own = await setup.signIn(), other = await setup.signIn();
      await endAtProvider(setup, own);
      assertEquals([await isSignedIn(own.browser), await isSignedIn(other.browser)], [false, true]);
      const csrfToken = await other.browser.csrfToken();
      const answer = await other.browser.post("/auth/signout", { csrfToken });
      assertEquals(new URL(locationOf(answer)).origin, setup.op.issuer);
    });
  }
});

Deno.test("with a configuration for each request a provider ends the sessions of the tenant that it asks", async () => {
  await using op = await startOpenIdProvider([{
    client_id: "client",
    client_secret: "secret",
    redirect_uris: ["http://localhost/auth/callback/op"],
  }], FEATURES);
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const providers = [{ ...settings, issuer: op.issuer }] as unknown as FastifyAuthConfig["providers"];
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  // All tenants have one store, or one database.
  for (
    const kept of [{ store: memoryStore(), revocable: true }, {
      adapter: listed!(memoryAdapter(tables), tables),
    }]
  ) {
    const tenants = new Map(["acme", "umbrella"].map((tenant) => [
      tenant,
      testConfig({ tenant, providers, providerLogout: { signOut: false, backchannel: true }, ...kept }),
    ]));
    const auth = createAuth((request: FastifyRequest) => tenants.get(String(request.headers["x-tenant"])));
    await using app = Fastify() as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
    const signIn = async (tenant: string) => {
      const browser = new Client(app, { "x-tenant": tenant });
      const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(browser)));
      await browser.get(pathOf(url));
      return browser;
    };
    const browsers = [await signIn("acme"), await signIn("umbrella")];
    const signedIn = () => Promise.all(browsers.map(isSignedIn));
    assertEquals(await signedIn(), [true, true]);
    const token = await makeToken(op.issuer);
    const statusAt = async (tenant: string) => (await post(app, token, { "x-tenant": tenant })).statusCode;
    assertEquals([await statusAt("acme"), await signedIn()], [200, [false, true]]);
    assertEquals([await statusAt("acme"), await statusAt("other")], [400, 404]);
    assertEquals([await statusAt("umbrella"), await signedIn()], [200, [false, false]]);
  }
});

Deno.test("with sessions in a database a token needs the user, who may be unknown", () =>
  withLogout({ adapter: listed! }, async ({ app, op, signIn }) => {
    const { browser } = await signIn();
    const alone = await post(app, await makeToken(op.issuer, { claims: { sub: undefined, sid: "s" } }));
    assertEquals([alone.statusCode, alone.json().error], [400, "invalid_request"]);
    assertStringIncludes(alone.json().error_description, "'sub'");
    const token = await makeToken(op.issuer, { claims: { sub: "eve" } });
    assertEquals((await post(app, token)).statusCode, 200);
    // There is no store: the process remembers it.
    assertStringIncludes((await post(app, token)).json().error_description, "it was used before");
    assert(await isSignedIn(browser));
  }));

Deno.test("a bearer token ends with the session at the provider", () => {
  const ends = async (setup: SignOutSetup) => {
    const own = await setup.signIn(), other = await setup.signIn();
    const bearerOf = async ({ browser }: Browsers) => {
      const answer = await browser.post("/auth/token", { csrfToken: await browser.csrfToken() });
      return { authorization: `Bearer ${answer.json().access_token}` };
    };
    const [first, second] = [await bearerOf(own), await bearerOf(other)];
    const isValid = async (headers: Record<string, string>) =>
      (await setup.app.inject({ url: "/me", headers })).json().session !== null;
    assertEquals([await isValid(first), await isValid(second)], [true, true]);
    await endAtProvider(setup, own);
    assertEquals([await isValid(first), await isValid(second)], [false, true]);
  };
  return withLogout({ config: { bearer: true } }, ends)
    .then(() => withLogout({ config: { bearer: true }, adapter: listed! }, ends));
});

Deno.test("tokens that are forged, out of date, of another kind or for somebody else are refused", () =>
  withLogout({}, async ({ app, op, signIn, lines }) => {
    const { browser } = await signIn();
    const { privateKey: strange } = await generateKeyPair("RS256");
    const at = (offset: number) => ({ iat: seconds() + offset, exp: seconds() + offset + 120 });
    const refused: [name: string, token: string | Promise<string>][] = [
      ["another key", makeToken(op.issuer, { key: strange })],
      ["no known key", makeToken(op.issuer, { header: { kid: "other" }, key: strange })],
      ["alg none", new UnsecuredJWT(validClaims(op.issuer)).encode()],
      [
        "the client secret as key",
        makeToken(op.issuer, { header: { alg: "HS256" }, key: new TextEncoder().encode("secret".repeat(8)) }),
      ],
      [
        "an algorithm that the provider does not have",
        (async () => {
          const { privateKey } = await generateKeyPair("PS256");
          return await makeToken(op.issuer, { header: { alg: "PS384" }, key: privateKey }).catch(() => "x.y.z");
        })(),
      ],
      ["another issuer", makeToken("https://other.example")],
      ["another audience", makeToken(op.issuer, { claims: { aud: "other" } })],
      ["expired", makeToken(op.issuer, { claims: at(-200) })],
      [
        "old, and never expiring",
        makeToken(op.issuer, { claims: { iat: seconds() - 1000, exp: seconds() + 9e9 } }),
      ],
      ["of the future", makeToken(op.issuer, { claims: at(1000) })],
      ["no iat", makeToken(op.issuer, { claims: { iat: undefined } })],
      ["no exp", makeToken(op.issuer, { claims: { exp: undefined } })],
      ["no jti", makeToken(op.issuer, { claims: { jti: undefined } })],
      ["an empty jti", makeToken(op.issuer, { claims: { jti: "" } })],
      ["no events", makeToken(op.issuer, { claims: { events: undefined } })],
      ["another event", makeToken(op.issuer, { claims: { events: { "https://other.example": {} } } })],
      ["an event that is no object", makeToken(op.issuer, { claims: { events: { [EVENT]: "yes" } } })],
      ["neither sub nor sid", makeToken(op.issuer, { claims: { sub: undefined } })],
      ["a sid that is no text", makeToken(op.issuer, { claims: { sid: 7 } })],
      ["a nonce", makeToken(op.issuer, { claims: { nonce: "n" } })],
      ["another type", makeToken(op.issuer, { header: { typ: "at+jwt" } })],
      [
        "an ID token",
        makeToken(op.issuer, { claims: { events: undefined, nonce: "n" }, header: { typ: "JWT" } }),
      ],
      ["no token", "nothing"],
      ["an empty token", ""],
    ];
    for (const [name, token] of refused) {
      lines.length = 0;
      const answer = await post(app, await token);
      assertEquals([answer.statusCode, answer.json().error], [400, "invalid_request"], name);
      assertMatch(answer.json().error_description, /^The logout token was refused: .{10,}\.$/, name);
      assertMatch(String(answer.headers["cache-control"]), /no-store/);
      const [line, ...more] = lines.filter(({ level }) => level >= 40);
      assertEquals([line?.level, more], [40, []], name);
      const text = await token;
      assert(text.length < 20 || !JSON.stringify(lines).includes(text), name);
    }
    assert(await isSignedIn(browser));
    // A valid one, with the header that older providers write.
    assertEquals((await post(app, await makeToken(op.issuer, { header: { typ: "JWT" } }))).statusCode, 200);
    assertEquals(await isSignedIn(browser), false);
  }));

Deno.test("V5: a logout token is signed with the algorithm that the client is registered for", async () => {
  const pairs = {
    ES256: await generateKeyPair("ES256", { extractable: true }),
    PS256: await generateKeyPair("PS256", { extractable: true }),
  };
  const secret = "secret-of-at-least-32-characters-for-hs256";
  const others = await Promise.all(
    Object.entries(pairs).map(async ([alg, { privateKey }]) => ({
      ...await exportJWK(privateKey),
      kid: alg,
      use: "sig",
    })),
  );
  const accepted = async (registered: string | undefined, listed: string[]) => {
    const statuses: Record<string, number> = {};
    const metadata = async (input: RequestInfo | URL, init?: RequestInit) => {
      const response = await fetch(input, init);
      if (!String(input).includes("/.well-known/")) return response;
      return Response.json({ ...await response.json(), id_token_signing_alg_values_supported: listed });
    };
    await withLogout({
      atProvider: { jwks: { keys: [JWK, ...others] } as NonNullable<Configuration["jwks"]> },
      provider: {
        clientSecret: secret,
        [customFetch]: metadata,
        ...(registered && { client: { id_token_signed_response_alg: registered } }),
      },
    }, async ({ app, op }) => {
      const keys = {
        RS256: privateKey,
        ES256: pairs.ES256.privateKey,
        PS256: pairs.PS256.privateKey,
        HS256: new TextEncoder().encode(secret),
      };
      for (const [alg, key] of Object.entries(keys)) {
        const kid = alg === "RS256" ? "signing" : alg;
        statuses[alg] = (await post(app, await makeToken(op.issuer, { header: { alg, kid }, key }))).statusCode;
      }
    });
    return Object.entries(statuses).filter(([, status]) => status === 200).map(([alg]) => alg);
  };
  const all = ["RS256", "ES256", "PS256", "HS256", "none"];
  assertEquals(await accepted(undefined, all), ["RS256"]);
  assertEquals(await accepted(undefined, []), ["RS256"]);
  assertEquals(await accepted(undefined, ["ES256", "PS256", "HS256"]), ["ES256", "PS256"]);
  for (const alg of ["RS256", "ES256", "PS256", "HS256"]) assertEquals(await accepted(alg, all), [alg]);
});

Deno.test("a token is used once, also where several processes share the store", () =>
  withLogout({}, async ({ app, op, auth, signIn }) => {
    const token = await makeToken(op.issuer);
    assertEquals((await post(app, token)).statusCode, 200);
    const { browser } = await signIn();
    const again = await post(app, token);
    assertEquals(again.json().error_description, "The logout token was refused: it was used before.");
    // Another process: only the store is the same.
    const other = createAuth({ ...auth.config });
    await using second = Fastify() as FastifyInstance;
    await second.register(other.plugin, { prefix: "/auth" });
    assertEquals((await post(second, token)).statusCode, 400);
    const both = await makeToken(op.issuer, { claims: { sub: "nobody" } });
    const statuses = (await Promise.all([post(app, both), post(app, both)])).map(({ statusCode }) => statusCode);
    assertEquals(statuses.sort(), [200, 400]);
    assert(await isSignedIn(browser));
    // A session is ended by whichever process gets the token.
    assertEquals((await post(second, await makeToken(op.issuer))).statusCode, 200);
    assertEquals(await isSignedIn(browser), false);
  }));

Deno.test("a session whose sub is a number is ended, too", () =>
  withLogout({
    config: { callbacks: { jwt: ({ token, account }) => account ? { ...token, sub: 7 as never } : token } },
  }, async ({ app, op, signIn }) => {
    const { browser } = await signIn();
    assert(await isSignedIn(browser));
    assertEquals((await post(app, await makeToken(op.issuer))).statusCode, 200);
    assertEquals(await isSignedIn(browser), false);
  }));

Deno.test("a token that comes late does not end sessions that began since", () =>
  withLogout({}, async ({ app, op, signIn }) => {
    const { browser } = await signIn();
    const late = await makeToken(op.issuer, { claims: { iat: seconds() - 60, exp: seconds() + 60 } });
    assertEquals((await post(app, late)).statusCode, 200);
    assert(await isSignedIn(browser));
  }));

Deno.test("the times of tokens may have fractions of a second", async () => {
  const now = seconds() - 4;
  const keys = [{ ...await exportJWK(publicKey), alg: "RS256", kid: "signing" }];
  await using op = await ScriptedProvider.start({ keys });
  const { app, browser } = await oauthApp({ issuer: op.issuer }, {
    store: memoryStore(),
    revocable: true,
    providerLogout: { signOut: false, backchannel: true },
  });
  await using _app = app;
  const cases = [[0.5, 3, false], [0.5, 0, false], [0.5, 0.2, false], [0, 0.2, false], [1, 0.5, true]] as const;
  for (const [began, ended, isIn] of cases) {
    const sid = randomUUID();
    op.script.claims = { sid, iat: now + began };
    const user = browser();
    await user.get(pathOf(op.authorize(locationOf(await startSignIn(user)))));
    assert(await isSignedIn(user));
    const token = await makeToken(op.issuer, { claims: { sid, iat: now + ended } });
    assertEquals((await post(app, token)).statusCode, 200);
    assertEquals(await isSignedIn(user), isIn, `${began} ${ended}`);
  }
});

Deno.test("a sign-in that is under way while the provider ends its session fails, and is not listed", () => {
  const store = memoryStore();
  const added: string[] = [];
  const config = {
    store: {
      ...store,
      add(key: string, member: string, milliseconds: number) {
        added.push(key.split(":")[0]!);
        return store.add(key, member, milliseconds);
      },
    },
  };
  return withLogout({ config }, async ({ app, op, lines }) => {
    const browser = new Client(app);
    const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(browser)));
    const soon = { iat: seconds() + 20, exp: seconds() + 60 };
    assertEquals((await post(app, await makeToken(op.issuer, { claims: soon }))).statusCode, 200);
    assertStringIncludes(locationOf(await browser.get(pathOf(url))), "error=AccessDenied");
    assertEquals(await isSignedIn(browser), false);
    assertStringIncludes(problemsIn(lines).join(), '"op" has just ended the session');
    assertFalse(added.includes("sessions"), added.join());
  });
});

Deno.test("where the store fails the answer is an error, and the token can be sent again", () => {
  const store = memoryStore();
  let fails = false;
  const failing = {
    ...store,
    members: (key: string) => fails ? Promise.reject(new Error("down")) : store.members(key),
  };
  return withLogout({ config: { store: failing } }, async ({ app, op, signIn, lines }) => {
    const { browser } = await signIn();
    const token = await makeToken(op.issuer);
    fails = true;
    const answer = await post(app, token);
    assertEquals([answer.statusCode, answer.json().error], [400, "temporarily_unavailable"]);
    assertStringIncludes(problemsIn(lines).join(), "members() failed");
    fails = false;
    assertEquals((await post(app, token)).statusCode, 200);
    assertEquals(await isSignedIn(browser), false);
  });
});

Deno.test("sessions that a sign-out or a logout has ended are taken off the index", () => {
  const store = memoryStore();
  const sets = new Set<string>();
  const add: typeof store.add = (key, ...rest) => {
    sets.add(key);
    return store.add(key, ...rest);
  };
  return withLogout({ config: { store: { ...store, add } } }, async ({ app, op, signIn }) => {
    const left = async () =>
      (await Promise.all([...sets].filter((key) => key.startsWith("provider:")).map(store.members))).flat().length;
    const browsers = [await signIn(), await signIn(), await signIn()].map(({ browser }) => browser);
    assertEquals(await left(), 6, "by the user and by the session there");
    await browsers[0]!.signOut();
    assertEquals(await left(), 4);
    const { providerSession } = (await browsers[1]!.get("/claims")).json();
    const { sid } = providerSession as { sid: string };
    assertEquals((await post(app, await makeToken(op.issuer, { claims: { sid } }))).statusCode, 200);
    assertEquals(await Promise.all(browsers.map(isSignedIn)), [false, false, true]);
    assertEquals(await left(), 2);
    assertEquals((await post(app, await makeToken(op.issuer))).statusCode, 200);
    assertEquals(await isSignedIn(browsers[2]!), false);
    assertEquals(await left(), 1, "only the key of the session there, which the token did not name");
  });
});

Deno.test("where the event of the application fails, the sessions have ended all the same", () => {
  // A name that is an everyday matter of a session token is none of an event.
  const signOut = () => {
    throw Object.assign(new Error("no audit"), { name: "JWTExpired" });
  };
  return withLogout({ config: { events: { signOut } } }, async ({ app, op, signIn, lines }) => {
    const first = await signIn(), second = await signIn();
    assertEquals((await post(app, await makeToken(op.issuer))).statusCode, 200);
    assertEquals([await isSignedIn(first.browser), await isSignedIn(second.browser)], [false, false]);
    assertEquals(problemsIn(lines).filter((line) => line.includes("no audit")).length, 2);
  });
});

Deno.test("a session is still found after its token was renewed, and by a jwt callback that makes new claims", () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt: ({ token: { name, sub, iat, exp, jti }, trigger }) =>
      ({ name, sub, iat, exp, jti, n: trigger === undefined ? randomUUID() : "" }) as never,
  };
  return withLogout({ config: { callbacks } }, async (setup) => {
    const { browser, atProvider } = await setup.signIn();
    const before = browser.cookie;
    assert(await isSignedIn(browser));
    assert(browser.cookie !== before);
    await endAtProvider(setup, { browser, atProvider });
    assertEquals(await isSignedIn(browser), false);
  });
});

Deno.test("a provider that publishes no keys ends no session", () => {
  const own: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    if (!String(input).includes("/.well-known/")) return response;
    return Response.json({ ...await response.json(), jwks_uri: undefined });
  };
  return withLogout({ provider: { [customFetch]: own } }, async ({ app, op }) => {
    const answer = await post(app, await makeToken(op.issuer));
    assertEquals(answer.statusCode, 400);
    assertMatch(answer.json().error_description, /publishes no keys/);
  });
});

Deno.test("the route takes only what a provider sends, whoever sends it", () =>
  withLogout({}, async ({ app, op, signIn }) => {
    const { browser } = await signIn();
    const token = await makeToken(op.issuer);
    const send = (url: string, method: "GET" | "POST", type: string, payload: string, headers = {}) =>
      app.inject({ url, method, headers: { "content-type": type, ...headers }, payload });
    const form = "application/x-www-form-urlencoded", body = `logout_token=${token}`;
    const answers: [Promise<Answer>, number][] = [
      [app.inject(URI), 405],
      [send(URI, "POST", "application/json", JSON.stringify({ logout_token: token })), 400],
      [send(URI, "POST", "text/plain", body), 415],
      [send(URI, "POST", form, body, { "content-encoding": "gzip" }), 415],
      [send(URI, "POST", form, "a".repeat(200_000)), 413],
      [send(`${URI}s`, "POST", form, body), 404],
      [send("/auth/backchannel-logout/credentials", "POST", form, body), 404],
      [send(URI, "POST", form, "other=1"), 400],
      [send(URI, "POST", form, "other=1", { accept: "application/json, text/plain, */*" }), 400],
    ];
    for (const [pending, status] of answers) {
      const answer = await pending;
      assertEquals([answer.statusCode, answer.json().error], [status, "invalid_request"]);
      assertEquals(typeof answer.json().error_description, "string");
      assertMatch(String(answer.headers["cache-control"]), /no-store/);
    }
    assert(await isSignedIn(browser));
    // No page of the application sends it, so there is no origin to compare, and no CSRF token.
    const headers = { origin: "https://op.example", "sec-fetch-site": "cross-site" };
    assertEquals((await post(app, token, headers)).statusCode, 200);
    assertEquals(await isSignedIn(browser), false);
  }));

Deno.test("rateLimit counts refused tokens of an address, and not those that are accepted", () => {
  const options = { plugin: rateLimit, address: { max: 3, timeWindow: 60_000 } };
  return withLogout({ config: { rateLimit: options as never } }, async ({ app, op }) => {
    const statuses = async (times: number, make: () => string | Promise<string>) => {
      const all: number[] = [];
      for (let i = 0; i < times; i++) all.push((await post(app, await make())).statusCode);
      return all;
    };
    assertEquals(await statuses(5, () => makeToken(op.issuer)), [200, 200, 200, 200, 200]);
    assertEquals(await statuses(4, () => "forged"), [400, 400, 400, 429]);
    const limited = await post(app, await makeToken(op.issuer));
    assertEquals([limited.statusCode, limited.json().error], [429, "invalid_request"]);
    assertMatch(String(limited.headers["retry-after"]), /^\d+$/);
  });
});

Deno.test("the provider's keys are asked for once", () => {
  const requests: string[] = [];
  const own = (input: RequestInfo | URL, init?: RequestInit) => {
    requests.push(new URL(input instanceof Request ? input.url : input).pathname);
    return fetch(input, init);
  };
  return withLogout({ provider: { [customFetch]: own } }, async ({ app, op }) => {
    for (let i = 0; i < 3; i++) assertEquals((await post(app, await makeToken(op.issuer))).statusCode, 200);
    await post(app, await makeToken(op.issuer, { header: { kid: "unknown" } }));
    assertEquals(requests, ["/.well-known/openid-configuration", "/jwks"]);
  });
});

Deno.test("the route follows the prefix, and is not there without the option", async () => {
  const nested = "/api/v1/auth";
  const client = { backchannel_logout_uri: `http://localhost${nested}/backchannel-logout/op` };
  await withLogout({ prefix: nested, client }, async (setup) => {
    const own = await setup.signIn();
    await endAtProvider(setup, own);
    assertEquals(setup.delivered[0]!.statusCode, 200);
    assertEquals(await isSignedIn(own.browser), false);
  });
  await withSignOut({ config: { store: memoryStore(), revocable: true } }, async ({ app, op, signIn }) => {
    const { browser } = await signIn();
    assertEquals((await browser.get("/claims")).json().providerSession, undefined);
    const answer = await post(app, await makeToken(op.issuer));
    assertEquals([answer.statusCode, answer.json().code], [404, "FST_AUTHJS_NOT_FOUND"]);
  });
});

Deno.test("an adapter that lists no sessions stops the boot, and an id that is not `sub` is warned of", async () => {
  const provider = { id: "op", name: "OP", type: "oidc", clientId: "c", clientSecret: "s" };
  const providers = [{
    ...provider,
    issuer: "https://op.example",
  }] as unknown as FastifyAuthConfig["providers"];
  const auth = createAuth(
    testConfig({
      providers,
      adapter: memoryAdapter(),
      providerLogout: { signOut: false, backchannel: true },
    }),
  );
  const error = await Fastify().register(auth.plugin, { prefix: "/auth" }).then(
    () => undefined,
    (error) => error,
  );
  assert(error instanceof FastifyAuthError);
  assertEquals(error.code, "FST_AUTHJS_ADAPTER_INVALID");
  assertStringIncludes(error.message, "withSessionList(");
  const profile = (claims: { sub: string; name: string }) => ({ id: `own-${claims.sub}`, name: claims.name });
  await withLogout({ adapter: listed!, provider: { profile } }, async ({ signIn, lines }) => {
    await signIn();
    const [warning] = lines.filter(({ level }) => level >= 40);
    assertEquals(warning!.code, "FST_AUTHJS_WARN_PROVIDER_SIGN_OUT");
    assertStringIncludes(warning!.msg, "Return `profile.sub` as `id`");
  });
  // A sign-out of the user needs no such id.
  const settings = {
    config: { providerLogout: true },
    adapter: listed!,
    provider: { profile },
  };
  await withSignOut(settings, async ({ signIn, lines }) => {
    await signIn();
    assertEquals(problemsIn(lines), []);
  });
});

Deno.test("a `jwt` callback that sets a `sub` that is no text lets users sign in: their sessions are not found", () =>
  withLogout(
    { config: { callbacks: { jwt: ({ token }) => ({ ...token, sub: 7 as never }) } } },
    async ({ signIn }) => {
      // It throws unless the user is signed in.
      await signIn();
    },
  ));

Deno.test("the provider ends a session, too, that was kept alive by updates alone", () =>
  withLogout({ config: { session: { maxAge: 3600 } } }, (setup) =>
    withClock(async (clock) => {
      const { browser } = await setup.signIn();
      const csrfToken = await browser.csrfToken();
      const iat = seconds();
      for (let minutes = 0; minutes < 80; minutes += 2) {
        clock.now += 120_000;
        const answer = await browser.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
        assertEquals(answer.statusCode, 200);
      }
      assert(await isSignedIn(browser));
      assert(seconds() - iat >= 80 * 60);
      assertEquals((await post(setup.app, await makeToken(setup.op.issuer))).statusCode, 200);
      assertEquals(await isSignedIn(browser), false);
    })));
