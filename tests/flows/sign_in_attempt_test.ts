/** What proves which browser, and which user, began a sign-in; and what a sign-in proves of its user. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import { type IssuerUser, startIssuer, type TestIssuer } from "fastify-authjs/testing";
import { SECRET, testApp, testConfig } from "../support/app.ts";
import { ATTEMPT } from "../support/attempts.ts";
import { Client, setCookies } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { locationOf, pathOf, startSignIn } from "../support/oauth_client.ts";
import { emptyTables, ORIGIN, webAuthnAdapter, WebAuthnClient, type WebAuthnTables } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const ADA: IssuerUser = { sub: "ada", name: "Ada", email: "ada@example.com" };
const MALLORY: IssuerUser = { sub: "mallory", name: "Mallory", email: "mallory@example.com" };

interface Scene {
  readonly app: FastifyInstance;
  readonly issuer: TestIssuer;
  readonly tables: WebAuthnTables;
}

type Overrides = Omit<Partial<FastifyAuthConfig>, "providers"> & {
  providers?: (scene: Pick<Scene, "issuer">) => FastifyAuthConfig["providers"];
};

/** Two providers at one issuer, and passkeys. */
async function withScene(
  strategy: "jwt" | "database",
  run: (scene: Scene) => Promise<void>,
  { providers, ...overrides }: Overrides = {},
): Promise<void> {
  await using issuer = await startIssuer();
  const tables = emptyTables();
  const auth = createAuth({
    secret: SECRET,
    trustHost: true,
    providers: providers?.({ issuer }) ??
      [issuer.provider({ id: "home" }), issuer.provider({ id: "work" }), Passkey],
    adapter: webAuthnAdapter(tables),
    experimental: { enableWebAuthn: true },
    session: { strategy },
    stepUp: true,
    ...overrides,
  }) as unknown as AuthObject;
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/vault", { config: { auth: { maxAge: 300 } } }, () => "gold");
  app.post<{ Params: { id: string } }>(
    "/link/:id",
    (request, reply) => auth.linkAccount(request, reply, request.params.id),
  );
  await run({ app, issuer, tables });
}

function attemptTest(name: string, run: (scene: Scene) => Promise<void>): void {
  for (const strategy of ["jwt", "database"] as const) {
    Deno.test(`${strategy} sessions: ${name}`, () => withScene(strategy, run));
  }
}

/** Goes to the provider as a user; returns the path of the callback. */
async function visit(issuer: TestIssuer, address: string, user: IssuerUser): Promise<string> {
  issuer.user = user;
  const response = await fetch(address, { redirect: "manual" });
  await response.body?.cancel();
  return pathOf(response.headers.get("location")!);
}

async function begin({ issuer }: Scene, client: Client, user: IssuerUser, id: string): Promise<string> {
  return await visit(issuer, locationOf(await startSignIn(client, id)), user);
}

async function signIn(scene: Scene, client: Client, user: IssuerUser, id = "home"): Promise<void> {
  await client.get(await begin(scene, client, user, id));
}

const nameOf = async (client: Client) => (await client.get("/auth/session")).json()?.user?.name;

/** All cookies of one browser but that of its session, put into another one. */
function plant(from: Client, into: Client): void {
  for (const [name, value] of from.cookies) {
    if (!name.includes("session-token") && !name.includes("csrf-token")) into.cookies.set(name, value);
  }
}

const providersOf = ({ tables }: Scene, name: string) => {
  const user = [...tables.users.values()].find((each) => each.name === name);
  return tables.accounts.filter(({ userId }) => userId === user?.id).map(({ provider }) => provider).sort();
};

attemptTest("a sign-in that another browser began links nothing to the user of this one", async (scene) => {
  const [victim, attacker] = [new Client(scene.app), new Client(scene.app)];
  await signIn(scene, victim, ADA);
  const sessions = scene.tables.sessions.size;
  const callback = await begin(scene, attacker, MALLORY, "work");
  plant(attacker, victim);
  await victim.get(callback);
  assertEquals(providersOf(scene, "Ada"), ["home"]);
  // Ada's session was replaced.
  assertEquals([await nameOf(victim), scene.tables.sessions.size], ["Mallory", sessions]);
});

attemptTest("an account is linked to the user who began the sign-in, and to no later one", async (scene) => {
  const browser = new Client(scene.app);
  await signIn(scene, browser, ADA);
  await browser.get(await begin(scene, browser, { ...ADA, sub: "ada-at-work" }, "work"));
  assertEquals([providersOf(scene, "Ada"), await nameOf(browser)], [["home", "work"], "Ada"]);

  const bob = { sub: "bob", name: "Bob", email: "bob@example.com" };
  const callback = await begin(scene, browser, MALLORY, "work");
  const another = new Client(scene.app);
  await signIn(scene, another, bob);
  const [[name, value]] = [...another.cookies].filter(([name]) => name.includes("session-token")) as [
    [string, string],
  ];
  browser.cookies.set(name, value);
  await browser.get(callback);
  assertEquals([providersOf(scene, "Bob"), await nameOf(browser)], [["home"], "Mallory"]);
});

attemptTest("a link that another browser began links nothing", async (scene) => {
  const [victim, attacker] = [new Client(scene.app), new Client(scene.app)];
  await signIn(scene, victim, ADA);
  await signIn(scene, attacker, MALLORY);
  const begun = await attacker.request("POST", "/link/work", {
    headers: { "sec-fetch-site": "same-origin" },
  });
  const callback = await visit(scene.issuer, locationOf(begun), { ...MALLORY, sub: "mallory-at-work" });
  plant(attacker, victim);
  assertStringIncludes(locationOf(await victim.get(callback)), "error=SessionRequired");
  assertEquals([providersOf(scene, "Ada"), providersOf(scene, "Mallory")], [["home"], ["home"]]);
});

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`${strategy} sessions: a passkey whose registration another browser began is not added to the user of this one`, () =>
    withScene(strategy, async (scene) => {
      const victim = new WebAuthnClient(scene.app), attacker = new WebAuthnClient(scene.app);
      await victim.register(new SoftwareAuthenticator(ORIGIN), { email: "ada@example.com" });
      const { options } = await attacker.options({ action: "register", email: "mallory@example.com" });
      plant(attacker, victim);
      await victim.send("register", new SoftwareAuthenticator(ORIGIN).create(options));
      const ada = [...scene.tables.users.values()].find(({ email }) => email === "ada@example.com")!;
      assertEquals(scene.tables.accounts.filter(({ userId }) => userId === ada.id).length, 1);
    }, { origin: ORIGIN }));
}

attemptTest(
  "linking an account does not make an old session fresh, a sign-in with it does",
  (scene) =>
    withClock(async (clock) => {
      const browser = new Client(scene.app);
      const vault = async () => (await browser.get("/vault")).statusCode;
      const now = (user: IssuerUser) => ({ ...user, auth_time: Math.floor(clock.now / 1000) });
      await signIn(scene, browser, now(ADA));
      assertEquals(await vault(), 200);

      clock.now += 301_000;
      assertEquals(await vault(), 401);
      const atWork = { ...ADA, sub: "ada-at-work" };
      await signIn(scene, browser, now(atWork), "work");
      assertEquals([providersOf(scene, "Ada"), await nameOf(browser)], [["home", "work"], "Ada"]);
      assertEquals(await vault(), 401);
      await signIn(scene, browser, now(atWork), "work");
      assertEquals(await vault(), 200);
    }),
);

attemptTest("linking an account keeps the row and the end of the session", async (scene) => {
  const browser = new Client(scene.app);
  await signIn(scene, browser, ADA);
  const held = async () => [
    [...scene.tables.sessions.values()].map((row) => ({ ...row })),
    (await browser.get("/auth/session")).json().expires,
  ];
  const before = await held();
  await withClock(async (clock) => {
    clock.now += 3600_000;
    await signIn(scene, browser, { ...ADA, sub: "ada-at-work" }, "work");
    assertEquals([providersOf(scene, "Ada"), await held()], [["home", "work"], before]);
  });
});

attemptTest("linking an account leaves a fresh session fresh", (scene) =>
  withClock(async (clock) => {
    const browser = new Client(scene.app);
    await signIn(scene, browser, { ...ADA, auth_time: Math.floor(clock.now / 1000) });
    await signIn(scene, browser, { ...ADA, sub: "ada-at-work" }, "work");
    assertEquals(providersOf(scene, "Ada"), ["home", "work"]);
    assertEquals((await browser.get("/vault")).statusCode, 200);
  }));

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`${strategy} sessions: adding a passkey does not make an old session fresh, using it does`, () =>
    withClock((clock) =>
      withScene(strategy, async ({ app }) => {
        const browser = new WebAuthnClient(app);
        const vault = async () => (await browser.get("/vault")).statusCode;
        const [first, second] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN, false)];
        await browser.register(first, { email: "ada@example.com" });
        assertEquals(await vault(), 200); // This sign-in created the user.
        clock.now += 301_000;
        assertEquals(await vault(), 401);
        const { options } = await browser.options({ action: "register" });
        assertEquals(locationOf(await browser.send("register", second.create(options))), ORIGIN);
        assertEquals(await vault(), 401);
        await browser.authenticate(second);
        assertEquals(await vault(), 200);
      }, { origin: ORIGIN })
    ));
}

Deno.test("an account that is linked by its address proves nothing of the user it is linked to", () =>
  withClock((clock) =>
    withScene("jwt", async (scene) => {
      const now = (user: IssuerUser) => ({ ...user, auth_time: Math.floor(clock.now / 1000) });
      await signIn(scene, new Client(scene.app), now(ADA));
      const browser = new Client(scene.app);
      const user = { ...ADA, sub: "also ada" };
      await signIn(scene, browser, now(user), "trusted");
      assertEquals([await nameOf(browser), (await browser.get("/vault")).statusCode], ["Ada", 401]);
      await signIn(scene, browser, now(user), "trusted");
      assertEquals((await browser.get("/vault")).statusCode, 200);
    }, {
      providers: ({ issuer }) => [
        issuer.provider({ id: "home" }),
        issuer.provider({ id: "trusted", allowDangerousEmailAccountLinking: true }),
      ],
    })
  ));

const HTTPS = { origin: "https://app.example" };

Deno.test("over https the cookies that prove who began a sign-in are __Host-", () =>
  withScene("jwt", async (scene) => {
    const browser = new Client(scene.app);
    const begun = setCookies(await startSignIn(browser, "home", { callbackUrl: "/page" }));
    const names = begun.map((line) => line.slice(0, line.indexOf("="))).sort();
    assertEquals(
      names.map((name) => ATTEMPT.test(name) ? name.slice(0, -20) : name),
      ["callback-url", "state"].map((name) => `__Host-authjs.${name}`),
    );
    for (const line of begun) assert(/; Path=\/;.*; Secure/.test(line) && !/Domain/i.test(line), line);
    const challenge = setCookies(await new WebAuthnClient(scene.app).askOptions({ email: ADA.email! }));
    assert(challenge[0]?.startsWith("__Host-authjs.state."), challenge.join());
    await browser.get(await visit(scene.issuer, locationOf(await startSignIn(browser, "home")), ADA));
    assertEquals(await nameOf(browser), "Ada");
    assert(browser.cookies.has("__Secure-authjs.session-token"));
  }, HTTPS));

Deno.test("over https a cookie that another host of the domain can set has no sign-in end here", () =>
  withScene("jwt", async (scene) => {
    const [victim, attacker] = [new Client(scene.app), new Client(scene.app)];
    const callback = await begin(scene, attacker, MALLORY, "home");
    for (const [name, value] of attacker.cookies) {
      victim.cookies.set(name.replace("__Host-", "__Secure-"), value); // browsers let no other host set __Host-
    }
    assertStringIncludes(locationOf(await victim.get(callback)), "error=");
    assertEquals(await nameOf(victim), undefined);
  }, HTTPS));

Deno.test("over https a planted cookie does not have the page of a mailed link send its form", async () => {
  await using app = await testApp(testConfig({
    ...HTTPS,
    adapter: webAuthnAdapter(emptyTables()),
    providers: [Nodemailer({ server: "smtp://127.0.0.1", from: "app@example.com", sendVerificationRequest })],
  }));
  let link = "";
  function sendVerificationRequest({ url }: { url: string }) {
    link = url;
  }
  const attacker = new Client(app), victim = new Client(app);
  await startSignIn(attacker, "nodemailer", { email: "mallory@example.com" });
  const sendsItself = async (browser: Client) =>
    (await browser.get(pathOf(link))).body.includes('data-automatic="true"');
  assertEquals(await sendsItself(attacker), true);
  for (const [name, value] of attacker.cookies) {
    victim.cookies.set(name.replace("__Host-", "__Secure-"), value);
  }
  assertEquals(await sendsItself(victim), false);
});

Deno.test("the session cookie is __Host- if the configuration says so", () =>
  withScene("database", async (scene) => {
    const browser = new Client(scene.app);
    await signIn(scene, browser, ADA);
    assert(browser.cookies.has("__Host-session"));
    assertEquals(await nameOf(browser), "Ada");
    await browser.signOut();
    assertEquals([await nameOf(browser), scene.tables.sessions.size], [undefined, 0]);
  }, { ...HTTPS, cookies: { sessionToken: { name: "__Host-session" } } }));

for (const strategy of ["jwt", "database"] as const) {
  for (const state of ["no state", "a state", "the state of the configuration"]) {
    Deno.test(`${strategy} sessions: without checks, a callback with ${state} links nothing to who is signed in`, () =>
      withScene(strategy, async (scene) => {
        const [victim, attacker] = [new Client(scene.app), new Client(scene.app)];
        await signIn(scene, victim, ADA);
        await startSignIn(victim, "open");
        const callback = new URL(await begin(scene, attacker, MALLORY, "open"), "http://localhost");
        if (state === "no state") callback.searchParams.delete("state");
        await victim.get(pathOf(callback.href));
        assertEquals(providersOf(scene, "Ada"), ["home"]);
      }, {
        providers: ({ issuer }) => [
          issuer.provider({ id: "home" }),
          issuer.provider({
            id: "open",
            checks: ["none"],
            ...(state.endsWith("configuration") && { authorization: { params: { state: "known" } } }),
          }),
        ],
      }));
  }
}
