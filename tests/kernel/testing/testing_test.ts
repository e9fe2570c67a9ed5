/** `fastify-authjs/testing`: the requests of signed-in users, and the OpenID Provider for tests. */
import { skipCSRFCheck } from "@auth/core";
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import Fastify from "fastify";
import {
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  getSession,
  memoryStore,
  requireSession,
} from "fastify-authjs";
import Keycloak from "fastify-authjs/providers/keycloak";
import { signedIn, startIssuer } from "fastify-authjs/testing";
import { createRemoteJWKSet, jwtVerify } from "jose";
import { SECRET, testApp, testConfig } from "../../support/app.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ADA = { id: "1", name: "Ada", email: "ada@example.com", image: "https://example.com/ada.png" };

function emptyTables(): MemoryTables {
  return { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
}

/** A configuration whose session shows what the `jwt` callback was given. */
function rolesConfig(): FastifyAuthConfig {
  return testConfig({
    callbacks: {
      jwt: ({ token, user, account, profile, trigger }) =>
        trigger === undefined ? token : {
          ...token,
          seen: { trigger, provider: account?.provider, team: profile?.team, id: user.id },
          roles: (user as { roles?: string[] }).roles,
        },
      session: ({ session, token }) => ({ ...session, seen: token.seen, roles: token.roles, due: token.due }),
    },
  });
}

Deno.test("signedIn(): the application reads the user's session", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  const inject = await signedIn(app, config, { user: ADA });
  const { session } = (await inject("/me")).json();
  assertEquals(session.user, { name: "Ada", email: ADA.email, image: ADA.image });
  assertEquals(inject.user, ADA);
  assertEquals((await app.inject("/me")).json(), { session: null });
  // An object that has the configuration names it, too.
  const other = await signedIn(app, { config }, { user: ADA });
  assertEquals((await other("/me")).json().session.user, session.user);
});

Deno.test("signedIn(): the jwt callback gets the user, the account and the profile of a sign-in", async () => {
  const config = rolesConfig();
  await using app = await testApp(config);
  const user = { ...ADA, roles: ["admin"] };
  const { session } = (await (await signedIn(app, config, { user }))("/me")).json();
  assertEquals(session.roles, ["admin"]);
  assertEquals(session.seen, { trigger: "signIn", provider: "testing", id: "1" });

  const account = { provider: "github", providerAccountId: "7", type: "oauth" as const };
  const other = await signedIn(app, config, { user, account, profile: { team: "blue" }, claims: { due: 1 } });
  const read = (await other("/me")).json().session;
  assertEquals(read.seen, { trigger: "signIn", provider: "github", team: "blue", id: "1" });
  assertEquals(read.due, 1);
});

for (
  const [what, overrides, name, secure] of [
    ["http", {}, "authjs.session-token", undefined],
    ["an https origin", { origin: "https://app.example" }, "__Secure-authjs.session-token", undefined],
    ["https that only requests name", {}, "__Secure-authjs.session-token", true],
    ["a name of its own", { cookies: { sessionToken: { name: "sid" } } }, "sid", undefined],
  ] as const
) {
  Deno.test(`signedIn(): the cookie has the name for ${what}`, async () => {
    const config = testConfig(overrides);
    await using app = await testApp(config, { trustProxy: true });
    const inject = await signedIn(app, config, { user: ADA, ...(secure && { secure }) });
    assertEquals(inject.cookie.split("=")[0], name);
    const headers = { "x-forwarded-proto": secure ? "https" : "http" };
    assertEquals((await inject({ url: "/me", headers })).json().session.user.name, "Ada");
  });
}

Deno.test("signedIn(): a large session is in several cookies", async () => {
  const config = testConfig({
    callbacks: { session: ({ session, token }) => ({ ...session, text: token.text }) },
  });
  await using app = await testApp(config);
  const text = "x".repeat(4000);
  const inject = await signedIn(app, config, { user: ADA, claims: { text } });
  assertMatch(inject.cookie, /^authjs\.session-token\.0=[^;]+; authjs\.session-token\.1=[^;]+$/);
  assertEquals((await inject("/me")).json().session.text, text);
  await assertRejects(
    () => signedIn(app, config, { user: ADA, claims: { text: "x".repeat(9000) } }),
    Error,
    "sessionCookieLimit",
  );
});

Deno.test("signedIn(): guards let the user in by the roles of the session", async () => {
  const config = testConfig({
    callbacks: {
      jwt: ({ token, user }) => user ? { ...token, role: (user as { role?: string }).role } : token,
      session: ({ session, token }) => ({ ...session, user: { ...session.user, role: token.role } }),
    },
  });
  await using app = await testApp(config);
  app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "in");
  const status = async (role?: string) =>
    (await (await signedIn(app, config, { user: { name: "Ada", role } }))("/admin")).statusCode;
  assertEquals([await status("admin"), await status("reader"), await status()], [200, 403, 403]);
  assertEquals((await app.inject("/admin")).statusCode, 401);
});

Deno.test("signedIn(): cookies are kept as in a browser, until the user signs out", async () => {
  const config = testConfig({ session: { updateAge: 0 } });
  await using app = await testApp(config);
  app.get("/echo", (request) => ({ cookie: request.headers.cookie }));
  const inject = await signedIn(app, config, { user: ADA });
  const before = inject.cookie;
  assertEquals((await inject("/me")).json().session.user.name, "Ada");
  assertNotEquals(inject.cookie, before); // renewed
  const own = await inject({ url: "/echo", headers: { Cookie: "theme=dark" }, cookies: { tab: "2" } });
  assertEquals(own.json().cookie, `${inject.cookie}; theme=dark; tab=2`);

  const { csrfToken } = (await inject("/auth/csrf")).json();
  const signedOut = await inject({
    method: "POST",
    url: "/auth/signout",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    payload: `csrfToken=${csrfToken}`,
  });
  assertEquals(signedOut.statusCode, 302);
  assertEquals(inject.cookie.includes("session-token"), false);
  assertEquals((await inject("/me")).json().session, null);
});

Deno.test("signedIn(): two users at a time are two browsers", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  const [ada, bob] = await Promise.all([
    signedIn(app, config, { user: ADA }),
    signedIn(app, config, { user: { name: "Bob" } }),
  ]);
  const names = await Promise.all(
    [ada, bob, ada].map(async (inject) => (await inject("/me")).json().session.user.name),
  );
  assertEquals(names, ["Ada", "Bob", "Ada"]);
});

Deno.test("signedIn(): a session whose end has passed is none", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  const inject = await signedIn(app, config, { user: ADA, expires: new Date(Date.now() - 60_000) });
  assertMatch(inject.cookie, /session-token=/);
  assertEquals((await inject("/me")).json().session, null);

  const tables = emptyTables();
  const inRows = testConfig({
    adapter: memoryAdapter(tables),
    session: { strategy: "database" },
    providers: [],
  });
  await using other = await testApp(inRows);
  const late = await signedIn(other, inRows, { user: ADA, expires: new Date(Date.now() - 60_000) });
  assertEquals([tables.sessions.size, (await late("/me")).json().session], [1, null]);
});

Deno.test("signedIn(): with sessions in a database there are rows, which a sign-out deletes", async () => {
  const tables = emptyTables();
  const config = testConfig({
    adapter: memoryAdapter(tables),
    providers: [],
    session: { strategy: "database" },
  });
  await using app = await testApp(config);
  const { id: _id, ...newcomer } = ADA;
  const inject = await signedIn(app, config, { user: newcomer });
  const [row] = tables.users.values();
  assertEquals([inject.user.id, row?.email, row?.emailVerified], [row!.id, ADA.email, null]);
  assertEquals((await inject("/me")).json().session.user.email, ADA.email);

  // The same user: by the address, and by the id.
  const again = await signedIn(app, config, { user: newcomer });
  const third = await signedIn(app, config, { user: { id: row!.id } });
  assertEquals([again.user.id, third.user.email], [row!.id, ADA.email]);
  assertEquals([tables.users.size, tables.sessions.size], [1, 3]);
  // A new one keeps the id that the test gave it.
  assertEquals(
    (await signedIn(app, config, { user: { id: "bob", email: "bob@example.com" } })).user.id,
    "bob",
  );

  const { csrfToken } = (await inject("/auth/csrf")).json();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  await inject({ method: "POST", url: "/auth/signout", headers, payload: `csrfToken=${csrfToken}` });
  assertEquals(tables.sessions.size, 3);
  assertEquals((await inject("/me")).json().session, null);
});

Deno.test("signedIn(): with sessions in a database the name of a token is the application's", async () => {
  const tables = emptyTables();
  const config = testConfig({
    adapter: memoryAdapter(tables),
    providers: [],
    session: { strategy: "database", generateSessionToken: () => "a-token" },
  });
  await using app = await testApp(config);
  const inject = await signedIn(app, config, { user: ADA });
  assertEquals([[...tables.sessions.keys()], inject.cookie], [["a-token"], "authjs.session-token=a-token"]);
  await assertRejects(
    () => signedIn(app, config, { user: ADA, claims: { due: 1 } }),
    Error,
    '`claims` is for the "jwt" strategy',
  );
});

Deno.test("signedIn(): with a session store the session is listed, and can be ended", async () => {
  const config = testConfig({ store: memoryStore(), revocable: true });
  const auth = createAuth(config);
  await using app = await testApp(config);
  app.get("/sessions", (request) => auth.listSessions(request));
  const [phone, laptop] = [
    await signedIn(app, config, { user: ADA }),
    await signedIn(app, config, { user: ADA }),
  ];
  await signedIn(app, config, { user: ADA, expires: new Date(Date.now() - 60_000) });
  const listed: { id: string; current: boolean }[] = (await laptop("/sessions")).json();
  assertEquals(listed.map(({ current }) => current).sort(), [false, true]);
  await auth.revokeSession(listed.find(({ current }) => !current)!.id);
  assertEquals((await phone("/me")).json().session, null);
  assertEquals((await laptop("/me")).json().session.user.name, "Ada");
});

Deno.test("signedIn(): the tokens of the account are kept as a sign-in keeps them", async () => {
  await using issuer = await startIssuer();
  const config = testConfig({ providers: [issuer.provider()], refreshTokens: true, providerLogout: true });
  const auth = createAuth(config);
  await using app = await testApp(config);
  app.get("/token", (request) => auth.getAccessToken(request, "issuer"));
  app.post("/logout", (request, reply) => auth.signOut(request, reply));
  const inject = await signedIn(app, config, {
    user: ADA,
    account: { provider: "issuer", providerAccountId: "ada", type: "oidc", access_token: "the-token" },
  });
  assertEquals((await inject("/token")).body, "the-token");
  // The provider that the session came from ends its own.
  const left = await inject({ method: "POST", url: "/logout" });
  assertMatch(left.headers.location ?? "", new RegExp(`^${issuer.url}/logout`));
});

Deno.test("signedIn(): the public origin says whether the cookie is one for https", async () => {
  const config = testConfig({ origin: "https://app.example" });
  await using app = await testApp(config);
  const inject = await signedIn(app, config, { user: ADA, secure: false });
  assertMatch(inject.cookie, /^__Secure-/);
  assertEquals((await inject("/me")).json().session.user.name, "Ada");
});

Deno.test("startIssuer(): mistakes get errors that say what to change", async () => {
  await assertRejects(() => startIssuer({ lifetime: "1h" as never }), Error, "`lifetime` of startIssuer()");
  await using issuer = await startIssuer();
  await using app = await testApp(issuerConfig([issuer.provider()]));
  const user = { name: "Ada" } as never;
  await assertRejects(() => issuer.signIn(app, { user }), Error, "The user has no `sub`");
});

Deno.test("startIssuer() and issuer.signIn(): an unknown option is an error", async () => {
  const unknown = (what: string) => `\`scopes\` is no option of ${what}: there are user, `;
  const options = { scopes: [] } as object;
  await assertRejects(() => startIssuer(options), FastifyAuthError, unknown("startIssuer()"));
  await using issuer = await startIssuer();
  await using app = await testApp(issuerConfig([issuer.provider()]));
  await assertRejects(() => issuer.signIn(app, options), FastifyAuthError, unknown("issuer.signIn()"));
});

Deno.test("signedIn(): mistakes get errors that say what to change", async () => {
  const config = testConfig();
  await using app = await testApp(config);
  const call = signedIn as (...args: unknown[]) => Promise<unknown>;
  for (
    const [args, message] of [
      [[{}, config, { user: ADA }], "The first argument is no Fastify application."],
      [[app, undefined, { user: ADA }], "The second argument is no configuration."],
      [[app, config], "The third argument has no `user`."],
      [[app, config, {}], "The third argument has no `user`."],
      [
        [app, config, { user: ADA, claim: {} }],
        "`claim` is no option of signedIn(): there are user, account",
      ],
      [[app, config, { user: ADA, expires: "2030-01-01" }], "`expires` of signedIn() must be a valid Date"],
      [
        [app, config, { user: ADA, expires: new Date("soon") }],
        "`expires` of signedIn() must be a valid Date",
      ],
      [[app, { ...config, secret: "short" }, { user: ADA }], "32 characters"],
      [[app, { ...config, callbacks: { jwt: () => null } }, { user: ADA }], "`callbacks.jwt` returned null"],
      [[app, { ...config, callbacks: { jwt: () => {} } }, { user: ADA }], "`callbacks.jwt` returned undefined"],
    ] as const
  ) await assertRejects(() => call(...args), Error, message);
});

Deno.test("the test kit refuses to work in production", async () => {
  await using app = await testApp(testConfig());
  await withEnvironment({ NODE_ENV: "production" }, async () => {
    const config = testConfig({ origin: "https://app.example" });
    const message = "for tests, and does not work under NODE_ENV=production";
    await assertRejects(() => signedIn(app, config, { user: ADA }), Error, message);
    await assertRejects(() => startIssuer(), Error, message);
  });
});

/** An application that shows the session and the account of its users. */
function issuerConfig(providers: FastifyAuthConfig["providers"], overrides: Partial<FastifyAuthConfig> = {}) {
  return testConfig({
    providers,
    callbacks: {
      jwt: ({ token, account, profile }) => account ? { ...token, account, profile } : token,
      session: ({ session, token }) => ({ ...session, account: token.account, profile: token.profile }),
    },
    ...overrides,
  });
}

Deno.test("startIssuer(): signIn() goes through a whole sign-in", async () => {
  await using issuer = await startIssuer();
  const config = issuerConfig([issuer.provider()]);
  await using app = await testApp(config);
  const ada = await issuer.signIn(app);
  const { session } = (await ada("/me")).json();
  assertEquals([session.user.name, session.user.email], ["Ada", "ada@example.com"]);
  assertEquals([session.account.provider, session.account.providerAccountId], ["issuer", "ada"]);
  assert(issuer.requests.includes("POST /token"));

  const user = { sub: "grace", name: "Grace", groups: ["admirals"] };
  const grace = await issuer.signIn(app, { user, parameters: { acr_values: "mfa pwd" } });
  const { profile } = (await grace("/me")).json().session;
  assertEquals([profile.name, profile.groups, profile.acr], ["Grace", ["admirals"], "mfa"]);
  assertEquals(issuer.user.sub, "ada");

  // Two at the same time.
  const users = [{ sub: "1", name: "One" }, { sub: "2", name: "Two" }];
  const injects = await Promise.all(users.map((user) => issuer.signIn(app, { user })));
  const names = await Promise.all(
    injects.map(async (inject) => (await inject("/me")).json().session.user.name),
  );
  assertEquals(names, ["One", "Two"]);
});

Deno.test("startIssuer(): other providers are led there by their issuer, at any prefix and public path", async () => {
  await using issuer = await startIssuer({ user: { sub: "1", name: "Bob" } });
  const keycloak = Keycloak({ issuer: issuer.url, clientId: "any", clientSecret: "any & all: 100%" });
  const config = issuerConfig([keycloak], { origin: "https://app.example/api/login" });
  await using app = await testApp(config, { prefix: "/login" });
  const inject = await issuer.signIn(app, { provider: "keycloak", prefix: "/login" });
  assertEquals((await inject("/me")).json().session.user.name, "Bob");
});

Deno.test("startIssuer(): an application without CSRF tokens (skipCSRFCheck) signs in, too", async () => {
  await using issuer = await startIssuer();
  await using app = await testApp(issuerConfig([issuer.provider()], { skipCSRFCheck }));
  assertEquals((await (await issuer.signIn(app))("/me")).json().session.user.name, "Ada");
});

Deno.test("startIssuer(): a refused sign-in is an error with what the application answered", async () => {
  await using issuer = await startIssuer();
  const config = issuerConfig([issuer.provider()], { callbacks: { signIn: () => false } });
  await using app = await testApp(config);
  await assertRejects(() => issuer.signIn(app), Error, '403 {"error":"AccessDenied"}');
  await assertRejects(
    () => issuer.signIn(app, { provider: "github" }),
    Error,
    'refused to start it with "github": 404',
  );
  await assertRejects(() => issuer.signIn(app, { prefix: "/login" }), Error, 'no auth routes at "/login"');
  issuer.error = "access_denied";
  await assertRejects(() => issuer.signIn(app), Error, "OAuthCallbackError");
});

Deno.test("startIssuer(): a sign-in that leads to another provider is an error", async () => {
  await using issuer = await startIssuer();
  await using other = await startIssuer();
  await using app = await testApp(issuerConfig([other.provider()]));
  await assertRejects(() => issuer.signIn(app), Error, `and the issuer is ${issuer.url}`);
});

Deno.test("startIssuer(): refresh tokens are there with offline_access, and are used once", async () => {
  await using issuer = await startIssuer({ lifetime: 60 });
  const scope = "openid email offline_access";
  const config = issuerConfig([issuer.provider({ authorization: { params: { scope } } })]);
  await using app = await testApp(config);
  const { account } = (await (await issuer.signIn(app))("/me")).json().session;
  assertEquals(account.expires_in, 60);
  const keys = createRemoteJWKSet(new URL(`${issuer.url}/jwks`));
  const { payload } = await jwtVerify(account.id_token, keys, { issuer: issuer.url, audience: "app" });
  assertEquals([payload.sub, payload.exp! - payload.iat!], ["ada", 60]);
  const refresh = async (refresh_token: string) => {
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token, client_id: "app" });
    const response = await fetch(`${issuer.url}/token`, { method: "POST", body });
    return await response.json();
  };
  const refreshed = await refresh(account.refresh_token);
  assertNotEquals(refreshed.access_token, account.access_token);
  assertEquals((await refresh(account.refresh_token)).error, "invalid_grant");

  const userinfo = async (token: string) => {
    const response = await fetch(`${issuer.url}/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    return [response.status, (await response.json()).sub];
  };
  assertEquals(await userinfo(refreshed.access_token), [200, "ada"]);
  assertEquals(await userinfo("another"), [401, undefined]);
});

Deno.test("startIssuer(): a code is used once, by the client that has its verifier", async () => {
  await using issuer = await startIssuer();
  const redirect_uri = "http://localhost/callback";
  const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"; // RFC 7636 appendix B
  const code = async () => {
    const query = new URLSearchParams({
      response_type: "code",
      client_id: "app",
      redirect_uri,
      state: "s",
      code_challenge: challenge,
      code_challenge_method: "S256",
    });
    const response = await fetch(`${issuer.url}/authorize?${query}`, { redirect: "manual" });
    await response.body?.cancel();
    const { searchParams } = new URL(response.headers.get("location")!);
    assertEquals([searchParams.get("state"), searchParams.get("iss")], ["s", issuer.url]);
    return searchParams.get("code")!;
  };
  const exchange = async (code: string, changes: Record<string, string> = {}) => {
    const code_verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const form = {
      grant_type: "authorization_code",
      client_id: "app",
      code,
      redirect_uri,
      code_verifier,
      ...changes,
    };
    const response = await fetch(`${issuer.url}/token`, { method: "POST", body: new URLSearchParams(form) });
    await response.body?.cancel();
    return response.status;
  };
  const used = await code();
  assertEquals([await exchange(used), await exchange(used)], [200, 400]);
  assertEquals(await exchange(await code(), { code_verifier: "x".repeat(43) }), 400);
  assertEquals(await exchange(await code(), { redirect_uri: "http://localhost/" }), 400);
});

Deno.test("startIssuer(): a closed issuer can be closed again", async () => {
  const issuer = await startIssuer();
  await issuer.close();
  await issuer.close();
  await issuer[Symbol.asyncDispose]();
  await assertRejects(() => fetch(issuer.url));
});

Deno.test("signedIn(): an application that only reads sessions needs no auth routes", async () => {
  const config = testConfig({ secret: SECRET });
  await using app = Fastify();
  app.get("/me", async (request) => (await getSession(request, config))?.user);
  const inject = await signedIn(app, config, { user: ADA });
  assertEquals((await inject("/me")).json().name, "Ada");
  // And one that is started by the request.
  await using late = Fastify();
  late.register(FastifyAuth(config), { prefix: "/auth" });
  const early = await signedIn(late, config, { user: ADA });
  assertEquals((await early("/auth/session")).json().user.name, "Ada");
});
