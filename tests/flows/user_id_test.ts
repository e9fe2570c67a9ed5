/** The id of a user who signs in at a provider, and is in no database: the same one each time. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { identityProvider, type Person, signInAs } from "../support/identity.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { OPENID_CLIENT } from "../support/oauth_client.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { ALL_CHECKS, signInThrough } from "../support/scripted_sign_in.ts";
import { sessionsApp } from "../support/sessions_app.ts";

const ADA: Person = { id: "1", name: "Ada" };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Callbacks that show the id in the session. */
const SHOWN: NonNullable<FastifyAuthConfig["callbacks"]> = {
  session: ({ session: { user, expires }, token }) => ({
    user: { id: token.sub ?? "", name: user.name ?? null },
    expires,
  }),
};

/** The id of a person who signs in with a new browser. */
async function idOf(
  person: Person,
  overrides: Partial<FastifyAuthConfig>,
  provider = "one",
): Promise<string> {
  const auth: AuthObject = createAuth(testConfig({ callbacks: SHOWN, ...overrides }) as FastifyAuthConfig);
  await using app = Fastify() as unknown as FastifyInstance & AsyncDisposable;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", (request) => auth.getSession(request));
  const client = new Client(app);
  await signInAs(client, provider, person);
  return (await client.get("/me")).json().user.id;
}

const signsIn = (id: string, options: Record<string, unknown> = {}): Partial<FastifyAuthConfig> => ({
  providers: [identityProvider(id, options)],
});

Deno.test("U1: without an adapter a user has the same id with each sign-in, and no other user has it", async () => {
  const id = await idOf(ADA, signsIn("one"));
  assertMatch(id, UUID);
  assertEquals(id, "a7f508cd-52db-8253-b02d-34eb7c6383a5", "users that an earlier version has signed in");
  // On another day, by another process, after the user got another name.
  assertEquals(await idOf({ ...ADA, name: "Countess" }, signsIn("one")), id);
  const others = [
    await idOf({ id: "2" }, signsIn("one")),
    await idOf(ADA, signsIn("two"), "two"),
    await idOf(ADA, signsIn("one", { issuer: "https://a.example" })),
    await idOf(ADA, signsIn("one", { issuer: "https://b.example" })),
    await idOf(ADA, { ...signsIn("one"), tenant: "acme" }),
    await idOf(ADA, { ...signsIn("one"), tenant: "umbrella" }),
  ];
  assertEquals(new Set([id, ...others]).size, 7);
});

Deno.test("U1: one issuer under two ids has the same users", async () => {
  const issuer = "https://id.example";
  const [one, two] = [
    await idOf(ADA, signsIn("one", { issuer })),
    await idOf(ADA, signsIn("two", { issuer }), "two"),
  ];
  assertEquals(one, two);
});

Deno.test("U1: parts of the id that run together are not one user", async () => {
  const [one, two] = [
    await idOf({ id: "23" }, signsIn("one", { issuer: "https://id.example/1" })),
    await idOf({ id: "3" }, signsIn("one", { issuer: "https://id.example/12" })),
  ];
  assertNotEquals(one, two);
  assertNotEquals(
    await idOf({ id: "b" }, { ...signsIn("one"), tenant: "a" }),
    await idOf({ id: "ab" }, signsIn("one")),
  );
});

Deno.test("U1: the signIn callback has the id before it, and may set another", async () => {
  const seen: unknown[] = [];
  const id = await idOf(ADA, signsIn("one"));
  const own = await idOf(ADA, {
    ...signsIn("one"),
    callbacks: {
      ...SHOWN,
      signIn({ user, account }) {
        seen.push(user.id, account?.providerAccountId);
        user.id = "mine";
        return true;
      },
      jwt({ token, user }) {
        if (user) seen.push(user.id);
        return token;
      },
    },
  });
  assertEquals([own, seen], ["mine", [id, "1", "mine"]]);
});

Deno.test("U1: ids that are numbers are those that are texts", async () => {
  assertEquals(await idOf({ id: 1 as never }, signsIn("one")), await idOf(ADA, signsIn("one")));
});

Deno.test("U1: a user without an id at the provider is another one each time, as in Auth.js", async () => {
  const nobody = { name: "nobody" } as Person;
  assertNotEquals(await idOf(nobody, signsIn("one")), await idOf(nobody, signsIn("one")));
});

Deno.test("U1: with an adapter the id is that of the row", async () => {
  const tables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = memoryAdapter(tables);
  const id = await idOf({ ...ADA, email: "ada@example.com" }, {
    ...signsIn("one"),
    adapter: { ...adapter, createUser: (user) => adapter.createUser({ ...user, id: "row" }) },
    session: { strategy: "jwt" },
  });
  assertEquals(id, "row");
});

Deno.test("U1: a user of an OpenID Provider sees the sessions of two devices, and ends them all", async () => {
  await using provider = await ScriptedProvider.start({});
  const { issuer } = provider;
  const auth: AuthObject = createAuth(testConfig({
    providers: [{ ...OPENID_CLIENT, issuer, checks: ALL_CHECKS }] as unknown as FastifyAuthConfig["providers"],
    store: memoryStore(),
    revocable: true,
    callbacks: SHOWN,
  }) as FastifyAuthConfig);
  await using app = await sessionsApp(auth) as FastifyInstance & AsyncDisposable;
  const devices = [new Client(app), new Client(app)];
  for (const device of devices) await signInThrough(device, provider);
  for (const device of devices) {
    const sessions = (await device.get("/sessions")).json();
    assertEquals(sessions.map(({ current }: { current: boolean }) => current), [true, false]);
  }
  const { session } = (await devices[0]!.get("/me")).json();
  await auth.revokeSessions(session.user.id);
  for (const device of devices) assertEquals((await device.get("/me")).json().session, null);
});
