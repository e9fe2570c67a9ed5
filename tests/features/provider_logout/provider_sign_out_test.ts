/** Signing out at the OpenID Provider, too (RP-Initiated Logout 1.0), with a real provider. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify from "fastify";
import { createAuth, customFetch, type FastifyAuthConfig, FastifyAuthError, memoryStore } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, formIn, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { withEnvironment } from "../../support/environment.ts";
import { locationOf, pathOf } from "../../support/oauth_client.ts";
import {
  type Browsers,
  isKnownAtProvider,
  isSignedIn,
  problemsIn,
  type SignOutOptions,
  type SignOutSetup,
  withSignOut,
} from "../../support/sign_out.ts";

const withProvider = (options: SignOutOptions, run: (setup: SignOutSetup) => Promise<void>) =>
  withSignOut({ ...options, config: { providerLogout: true, ...options.config } }, run);

/** Signs out with the form of the built-in page. */
async function signOutByPage(browser: Client, callbackUrl = "/bye"): Promise<Answer> {
  const page = await browser.get(`/auth/signout?callbackUrl=${encodeURIComponent(callbackUrl)}`);
  const { action, fields } = formIn(page);
  return await browser.post(action, fields);
}

/** Confirms the sign-out at the provider, and comes back. */
async function goThrough(answer: Answer, { browser, atProvider }: Browsers): Promise<Answer> {
  const question = await atProvider.visit(locationOf(answer));
  const { url } = await atProvider.visit(question.url, { ...question.form, logout: "yes" });
  return await browser.get(pathOf(url));
}

const parameters = (answer: Answer) => Object.fromEntries(new URL(locationOf(answer)).searchParams);

/** A `fetch` that changes the provider's discovery document. */
function changingMetadata(change: (metadata: Record<string, unknown>) => unknown) {
  return async (input: RequestInfo | URL, init?: RequestInit) => {
    const response = await fetch(input, init);
    if (!String(input).includes("/.well-known/")) return response;
    return Response.json(change(await response.json()));
  };
}

Deno.test("the sign-out page also ends the session at the provider, and leads back to the callback URL", () =>
  withProvider({}, async (setup) => {
    const own = await setup.signIn(), other = await setup.signIn();
    assert(await isKnownAtProvider(setup, own));
    const answer = await signOutByPage(own.browser, "/bye");
    // The session here has ended, whatever the user does at the provider.
    assertEquals(await isSignedIn(own.browser), false);
    const { id_token_hint, state, ...rest } = parameters(answer);
    assertEquals(rest, {
      client_id: "client",
      post_logout_redirect_uri: "http://localhost/auth/signed-out",
    });
    assertMatch(id_token_hint!, /^ey[\w-]+\.ey[\w-]+\.[\w-]+$/);
    assertMatch(state!, /^[\w-]{20,}$/);
    assertMatch(String(answer.headers["cache-control"]), /no-store/);
    const back = await goThrough(answer, own);
    assertEquals([back.statusCode, locationOf(back)], [302, "http://localhost/bye"]);
    assertEquals([...own.browser.cookies.keys()].filter((name) => name.includes("signed-out")), []);
    assertEquals(await isKnownAtProvider(setup, own), false);
    // Another browser of the same user stays signed in.
    assert(await isSignedIn(other.browser));
    assert(await isKnownAtProvider(setup, other));
    assertEquals(problemsIn(setup.lines), []);
  }));

Deno.test("auth.signOut() leads to the provider, or gives its address to the route", () =>
  withProvider({}, async ({ op, signIn }) => {
    const first = await signIn();
    const answer = await first.browser.request("POST", "/leave", { json: { callbackUrl: "/done" } });
    assertEquals(new URL(locationOf(answer)).origin, op.issuer);
    assertEquals(await isSignedIn(first.browser), false);
    assertEquals(locationOf(await goThrough(answer, first)), "http://localhost/done");
    const second = await signIn();
    const { url } = (await second.browser.request("POST", "/quit")).json();
    assertEquals(new URL(url).origin, op.issuer);
    const third = await signIn();
    const local = await third.browser.request("POST", "/leave", { json: { providerLogout: false } });
    assertEquals(new URL(locationOf(local)).origin, "http://localhost");
    assertEquals(await isSignedIn(third.browser), false);
  }));

Deno.test("with `byDefault: false` only auth.signOut() asks for it, and without the option it is refused", async () => {
  await withProvider({ config: { providerLogout: { byDefault: false } } }, async ({ op, signIn }) => {
    const { browser } = await signIn();
    assertEquals(locationOf(await signOutByPage(browser)), "http://localhost/bye");
    const second = await signIn();
    const answer = await second.browser.request("POST", "/leave", { json: { providerLogout: true } });
    assertEquals(new URL(locationOf(answer)).origin, op.issuer);
  });
  await withSignOut({}, async ({ signIn, lines }) => {
    const { browser } = await signIn();
    assertEquals((await browser.get("/claims")).json().providerSession, undefined);
    const refused = await browser.request("POST", "/leave", { json: { providerLogout: true } });
    assertEquals(refused.statusCode, 500);
    assertMatch(JSON.stringify(lines), /signOut\(\).*needs `providerLogout` in the configuration/);
    assert(await isSignedIn(browser));
    assertEquals((await browser.get("/auth/signed-out")).statusCode, 404);
  });
  const providerLogout = { signOut: false, backchannel: true };
  const config = { providerLogout, store: memoryStore(), revocable: true };
  await withProvider({ config }, async ({ signIn, lines }) => {
    const { browser } = await signIn();
    assertEquals((await browser.request("POST", "/leave", { json: { providerLogout: true } })).statusCode, 500);
    assertMatch(JSON.stringify(lines), /signOut\(\).*without `signOut: false`/);
    assert(await isSignedIn(browser));
  });
});

Deno.test("the ID token is in no session, and callbacks and updates do not lose it", () => {
  const config: Partial<FastifyAuthConfig> = {
    callbacks: {
      jwt: ({ token: { name, sub, iat, exp, jti } }) => ({ name, sub, iat, exp, jti }) as never,
      session: ({ session, token }) => ({ ...session, ...token, user: { ...session.user, token } }) as never,
    },
  };
  return withProvider({ config }, async ({ signIn }) => {
    const { browser } = await signIn();
    const idToken = (await browser.get("/claims")).json().providerSession.idToken;
    assertMatch(idToken, /^ey/);
    const csrfToken = await browser.csrfToken();
    const bodies = [
      await browser.get("/me"),
      await browser.get("/auth/session"),
      await browser.request("POST", "/auth/session", { json: { csrfToken, data: { name: "Eve" } } }),
      await browser.request("POST", "/update"),
    ].map(({ body }) => body);
    for (const body of bodies) {
      assertStringIncludes(body, "Ada");
      assertEquals([body.includes(idToken), body.includes("providerSession")], [false, false]);
    }
    assertEquals((await browser.get("/claims")).json().providerSession.idToken, idToken);
    assertEquals(parameters(await signOutByPage(browser)).id_token_hint, idToken);
  });
});

Deno.test("with `idTokenHint: false` no ID token is kept or sent, and the log has no warning", () =>
  withProvider({ config: { providerLogout: { idTokenHint: false } } }, async ({ signIn, lines }) => {
    const own = await signIn();
    assertEquals((await own.browser.get("/claims")).json().providerSession, { provider: "op" });
    const answer = await signOutByPage(own.browser);
    assertEquals(Object.keys(parameters(answer)), ["client_id", "post_logout_redirect_uri", "state"]);
    assertEquals(locationOf(await goThrough(answer, own)), "http://localhost/bye");
    assertEquals(problemsIn(lines), []);
  }));

Deno.test("a session that began with a password ends here alone", () =>
  withProvider({}, async ({ app, lines }) => {
    const browser = new Client(app);
    await browser.signIn({ username: "bob", password: "open" });
    assertEquals(locationOf(await signOutByPage(browser)), "http://localhost/bye");
    assertEquals(await isSignedIn(browser), false);
    assertEquals(locationOf(await signOutByPage(browser)), "http://localhost/bye", "without a session, too");
    assertEquals(problemsIn(lines), []);
  }));

Deno.test("a sign-out that fails does not lead to the provider", async () => {
  let fails = false;
  const redirect = ({ url }: { url: string }) => {
    if (fails) throw new Error("boom");
    return url;
  };
  await withProvider({ config: { callbacks: { redirect } } }, async ({ signIn, op }) => {
    const { browser } = await signIn();
    const csrfToken = await browser.csrfToken();
    fails = true;
    const answer = await browser.post("/auth/signout", { csrfToken, callbackUrl: "/bye" });
    assert(!locationOf(answer).startsWith(op.issuer), locationOf(answer));
  });
});

Deno.test("a sign-out without the CSRF token ends nothing", () =>
  withProvider({}, async ({ op, signIn }) => {
    const { browser } = await signIn();
    const answer = await browser.post("/auth/signout", { callbackUrl: "/bye" });
    assert(!locationOf(answer).startsWith(op.issuer));
    assert(await isSignedIn(browser));
  }));

Deno.test("a provider without end_session_endpoint, or with one that is no http address, is not asked", async () => {
  const endpoints = [undefined, "javascript:alert(1)", "/session/end"];
  for (const end_session_endpoint of endpoints) {
    const own = changingMetadata((metadata) => ({ ...metadata, end_session_endpoint }));
    await withProvider({ provider: { [customFetch]: own } }, async ({ signIn, lines }) => {
      for (let i = 0; i < 2; i++) {
        const { browser } = await signIn();
        assertEquals(locationOf(await signOutByPage(browser)), "http://localhost/bye");
        assertEquals(await isSignedIn(browser), false);
      }
      const [warning, ...more] = lines.filter(({ level }) => level >= 40);
      assertEquals([warning!.code, more], ["FST_AUTHJS_WARN_PROVIDER_SIGN_OUT", []]);
      assertStringIncludes(warning!.msg, '"op" publishes no end_session_endpoint');
    });
  }
});

Deno.test("in production the end_session_endpoint needs https, unless `insecureProviders` has the provider", () =>
  withProvider({}, async ({ signIn }) => {
    const endpoint = "http://op.example/end";
    const own = () => Promise.resolve(Response.json({ issuer: "https://op.example", end_session_endpoint: endpoint }));
    const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
    const providers = [
      { ...settings, issuer: "https://op.example", [customFetch]: own },
    ] as unknown as FastifyAuthConfig["providers"];
    const signOut = async (config: Partial<FastifyAuthConfig>) => {
      const { browser } = await signIn();
      const { logger, lines } = captureLog();
      await using app = await testApp(testConfig({ providers, providerLogout: true, ...config }), {
        logger,
      });
      const here = new Client(app);
      for (const [name, value] of browser.cookies) here.cookies.set(name, value);
      return { to: locationOf(await signOutByPage(here)), log: problemsIn(lines).join() };
    };
    await withEnvironment({ NODE_ENV: "production" }, async () => {
      const refused = await signOut({});
      assertEquals(refused.to, "http://localhost/bye");
      assertStringIncludes(refused.log, '"op" publishes no end_session_endpoint over https');
      const allowed = await signOut({ insecureProviders: ["op"] });
      assertEquals(new URL(allowed.to).host, "op.example");
    });
    assertEquals(new URL((await signOut({})).to).host, "op.example");
  }));

Deno.test("while the provider does not answer, the session here ends all the same, and the log says so", () =>
  withClock(async (clock) => {
    let isDown = false;
    const own = (input: RequestInfo | URL, init?: RequestInit) =>
      isDown
        ? Promise.reject(Object.assign(new TypeError("fetch failed"), { code: "ECONNREFUSED" }))
        : fetch(input, init);
    await withProvider({ provider: { [customFetch]: own } }, async ({ signIn, lines }) => {
      const { browser } = await signIn();
      isDown = true;
      // The document of the sign-in is kept for ten minutes.
      clock.now += 11 * 60_000;
      assertEquals(locationOf(await signOutByPage(browser)), "http://localhost/bye");
      assertEquals(await isSignedIn(browser), false);
      assertStringIncludes(problemsIn(lines).join(), '"op" cannot be reached');
    });
  }));

Deno.test("a return with another state, or in another browser, leads to the application's origin", () =>
  withProvider({}, async ({ app, signIn, lines }) => {
    const { browser } = await signIn();
    const { state } = parameters(await signOutByPage(browser));
    const held = browser.cookies.get("authjs.signed-out")!;
    // Neither the state nor the address can be read or changed in the cookie.
    assertEquals([held.includes(state!), held.includes("bye")], [false, false]);
    const back = async (query: string, cookie?: string) => {
      const other = new Client(app);
      if (cookie !== undefined) other.cookies.set("authjs.signed-out", cookie);
      return locationOf(await other.get(`/auth/signed-out${query}`));
    };
    assertEquals(await back(`?state=${state}`, held), "http://localhost/bye");
    assertEquals(await back(""), "http://localhost");
    assertEquals(problemsIn(lines), []);
    assertEquals(await back(`?state=${state}`), "http://localhost");
    assertEquals(await back("?state=other", held), "http://localhost");
    assertEquals(await back("", held), "http://localhost");
    assertEquals(await back(`?state=${state}`, `${held.slice(0, -4)}AAAA`), "http://localhost");
    assertEquals(problemsIn(lines).length, 4);
    assert(problemsIn(lines).every((line) => line.includes("with the state of another one, or without")));
  }));

Deno.test("a callback URL that is not allowed is not returned to", () =>
  withProvider({}, async ({ signIn }) => {
    const own = await signIn();
    const csrfToken = await own.browser.csrfToken();
    const answer = await own.browser.post("/auth/signout", {
      csrfToken,
      callbackUrl: "https://evil.example/",
    });
    assertEquals(parameters(answer).post_logout_redirect_uri, "http://localhost/auth/signed-out");
    assertEquals(locationOf(await goThrough(answer, own)), "http://localhost");
  }));

Deno.test("a script gets the address of the provider as JSON", () =>
  withProvider({}, async ({ op, signIn }) => {
    const { browser } = await signIn();
    const csrfToken = await browser.csrfToken();
    const headers = { "x-auth-return-redirect": "1" };
    const answer = await browser.post("/auth/signout", { csrfToken, callbackUrl: "/bye" }, headers);
    assertEquals([answer.statusCode, new URL(answer.json().url).origin], [200, op.issuer]);
    assert(setCookies(answer).some((line) => /^authjs\.signed-out=.*HttpOnly/i.test(line)));
  }));

Deno.test("a session in a database knows its provider, and takes the ID token from the account", () =>
  withProvider({
    adapter: (adapter, { accounts }) =>
      withAccountList(adapter, (userId) => accounts.filter((row) => row.userId === userId)),
  }, async (setup) => {
    const first = await setup.signIn(), second = await setup.signIn();
    assertEquals([setup.tables.sessions.size, setup.tables.accounts.length], [2, 1]);
    // The hint is of the first session, and the provider ends that of the browser.
    const answer = await signOutByPage(second.browser);
    assertEquals(parameters(answer).id_token_hint, setup.tables.accounts[0]!.id_token);
    assertEquals(setup.tables.sessions.size, 1);
    assertEquals(locationOf(await goThrough(answer, second)), "http://localhost/bye");
    assertEquals(await isKnownAtProvider(setup, second), false);
    assert(await isSignedIn(first.browser));
    setup.tables.users.set("id-bob", { id: "id-bob", name: "bob", email: "bob@example.com", emailVerified: null });
    const password = new Client(setup.app);
    await password.signIn({ username: "bob", password: "open" });
    assert(await isSignedIn(password));
    assertEquals(locationOf(await signOutByPage(password)), "http://localhost/bye", "after a password, too");
    // A row of an earlier build does not name its provider.
    const [row] = setup.tables.sessions.values();
    setup.tables.sessions.set("row", { ...row!, sessionToken: "row" });
    const earlier = new Client(setup.app);
    earlier.cookies.set("authjs.session-token", "row");
    assertEquals(locationOf(await signOutByPage(earlier)), "http://localhost/bye");
    assertEquals(problemsIn(setup.lines), []);
  }));

Deno.test("a session in a database whose browser signs in again keeps its provider", () =>
  withProvider({ adapter: (adapter) => adapter }, async ({ op, signIn, tables, lines }) => {
    const { browser, atProvider } = await signIn();
    const csrfToken = await browser.csrfToken();
    const { url } = await atProvider.visit(locationOf(await browser.post("/auth/signin/op", { csrfToken })));
    await browser.get(pathOf(url));
    assertEquals(tables.sessions.size, 1);
    const answer = await signOutByPage(browser);
    assertEquals(new URL(locationOf(answer)).origin, op.issuer);
    // This adapter does not list accounts.
    assertEquals(parameters(answer).id_token_hint, undefined);
    assertStringIncludes(problemsIn(lines).join(), "add it with `withAccountList()`");
  }));

Deno.test("settings that cannot work stop the boot", async () => {
  const provider = { id: "op", name: "OP", type: "oidc", clientId: "c", clientSecret: "s" };
  const oidc = [{ ...provider, issuer: "https://op.example" }] as unknown as FastifyAuthConfig["providers"];
  const refusals: [Partial<FastifyAuthConfig>, string][] = [
    [{ providers: [passwordProvider()], providerLogout: true }, "needs a provider of OpenID Connect"],
    [{ providers: oidc, providerLogout: "yes" as never }, "must be true, false or an object"],
    [
      { providers: oidc, providerLogout: { default: true } as never },
      "providerLogout.default` is no option",
    ],
    [{ providers: oidc, providerLogout: { byDefault: 1 as never } }, "must be true or false"],
    [{ providers: oidc, providerLogout: { backchannel: true } }, "needs a `store` and `revocable: true`"],
    [
      { providers: oidc, providerLogout: { backchannel: true }, store: memoryStore() },
      "needs a `store` and `revocable: true`",
    ],
    [{ providers: oidc, providerLogout: { backchannel: 1 as never } }, "must be true or false"],
    [{ providers: oidc, providerLogout: { signOut: false } }, "does nothing"],
    [{ providers: oidc, providerSignOut: true } as never, "write `providerLogout: true`"],
    [{ providers: oidc, backchannelLogout: true } as never, "write `providerLogout: { backchannel: true }`"],
  ];
  for (const [config, message] of refusals) {
    const auth = createAuth(testConfig(config));
    const register = async () => await Fastify().register(auth.plugin, { prefix: "/auth" });
    await assertRejects(register, FastifyAuthError, message);
  }
  await using app = await testApp(testConfig({ providers: oidc, providerLogout: false }));
  assertEquals((await app.inject("/auth/signed-out")).statusCode, 404);
});
