/** The object of a configuration: what its members are, and the type of its session. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import {
  type AuthObject,
  type ConfigForRequest,
  createAuth,
  FastifyAuth,
  type FastifyAuthConfig,
  FastifyAuthError,
  getSession,
  type InferSession,
  type JsonOf,
  type JWT,
  requireSession,
  type Session,
  type TenantAuthObject,
  type User,
} from "fastify-authjs";
import { passwordProvider, SECRET, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";

const MINE = { username: "ada", password: "open" };

/** Members of a configuration that needs nothing of the environment. */
const SETTINGS = { providers: [passwordProvider()], secret: SECRET, trustHost: true };

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;

function holds<_Statement extends true>(): void {}

Deno.test("createAuth() has the plugin, getSession() and requireSession() of one configuration", async () => {
  const auth = createAuth(SETTINGS);
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", { onRequest: auth.requireSession() }, (request) => auth.getSession(request));
  app.get("/admin", { onRequest: auth.requireSession({ roles: "admin" }) }, () => "");

  const client = new Client(app);
  assertEquals((await client.get("/me")).statusCode, 401);
  await client.signIn(MINE);
  assertEquals((await client.get("/me")).json().user.name, "ada");
  assertEquals((await client.get("/admin")).statusCode, 403);
});

Deno.test("the functions that take a configuration reach the object's instance", async () => {
  let reads = 0;
  const config = testConfig({
    callbacks: {
      session({ session }) {
        reads++;
        return session;
      },
    },
  });
  const auth = createAuth(config);
  await using app = Fastify() as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", { onRequest: [auth.requireSession(), requireSession(config)] }, async (request) => {
    return await auth.getSession(request) === await getSession(request, config);
  });

  const client = new Client(app);
  await client.signIn(MINE);
  assertEquals((await client.get("/me")).json(), true);
  assertEquals(reads, 1);
  assert(auth.config === config);
});

Deno.test("the functions of the object can be taken out of it", async () => {
  const { plugin, getSession } = createAuth(SETTINGS);
  await using app = Fastify() as FastifyInstance;
  await app.register(plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ name: (await getSession(request))?.user.name ?? null }));

  const client = new Client(app);
  assertEquals((await client.get("/me")).json(), { name: null });
  await client.signIn(MINE);
  assertEquals((await client.get("/me")).json(), { name: "ada" });
});

Deno.test("createAuth() refuses what is no configuration", () => {
  for (const wrong of [undefined, null, "config", Fastify()]) {
    const error = assertThrows(() => createAuth(wrong as never), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
});

Deno.test("the type of the session is what callbacks.session returns", async () => {
  const auth = createAuth({
    ...SETTINGS,
    callbacks: {
      jwt: ({ token }) => ({ ...token, since: 1 }),
      session: ({ session, token }) => ({
        ...session,
        since: new Date(Number(token.since)),
        isAdmin: () => true,
        user: { ...session.user, id: token.sub ?? "", roles: ["admin"] },
      }),
    },
  });
  type Own = InferSession<typeof auth>;
  holds<Same<Own["user"]["id"], string>>();
  holds<Same<Own["user"]["roles"], string[]>>();
  holds<Same<Own["since"], string>>();
  holds<Same<Own["expires"], string>>();
  holds<Same<"isAdmin" extends keyof Own ? true : false, false>>();
  auth.requireSession({ authorize: ({ user }) => user.roles.includes("admin") });
  // @ts-expect-error the callback returns no such member
  auth.requireSession({ authorize: ({ user }) => user.groups });

  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => {
    const session = await auth.getSession(request);
    return { id: session?.user.id.length, roles: session?.user.roles.join(), since: session?.since };
  });
  const client = new Client(app);
  await client.signIn(MINE);
  const { id, roles, since } = (await client.get("/me")).json();
  assert(id > 0);
  assertEquals([roles, since], ["admin", "1970-01-01T00:00:00.001Z"]);
});

Deno.test("a mistake in the configuration of createAuth() is an error of the option, and of nothing else", () => {
  createAuth({
    providers: [],
    // @ts-expect-error there is no such option
    secrte: "x".repeat(32),
  });
  createAuth({
    providers: [],
    // @ts-expect-error it is true or false
    stepUp: "yes",
  });
  createAuth({
    providers: [],
    callbacks: {
      // @ts-expect-error there is no such callback
      sesion: () => null,
    },
  });
  createAuth({
    providers: [],
    callbacks: {
      // @ts-expect-error a session is an object
      session: () => 5,
    },
  });
});

Deno.test("createAuth() of a function is the object of tenants, and of a configuration it is not", () => {
  const config: FastifyAuthConfig = testConfig();
  holds<Same<keyof AuthObject, keyof ReturnType<typeof ofConfig>>>();
  holds<Same<keyof TenantAuthObject, keyof ReturnType<typeof ofFunction>>>();
  holds<Same<keyof TenantAuthObject, keyof ReturnType<typeof ofPromise>>>();
  holds<Same<keyof TenantAuthObject, keyof ReturnType<typeof ofNamed>>>();
  holds<Same<InferSession<ReturnType<typeof withRole>>["user"], { id: string; role: string }>>();
  const ofConfig = () => createAuth(config);
  const ofFunction = () => createAuth(() => config);
  const ofPromise = () => createAuth((request) => Promise.resolve(request.host === "acme" ? config : null));
  const ofNamed = () => createAuth(((request) => request.host === "acme" ? config : undefined) as ConfigForRequest);
  const withRole = () =>
    createAuth(({ host }) => ({
      ...config,
      tenant: host,
      callbacks: { session: ({ session: { expires } }) => ({ user: { id: "1", role: "admin" }, expires }) },
    }));
  assertEquals("config" in ofConfig(), true);
  assertEquals(["config" in ofFunction(), "forConfig" in ofFunction()], [false, true]);
});

Deno.test("an asynchronous callback says the type as well", () => {
  const auth = createAuth({
    ...SETTINGS,
    callbacks: {
      session: async ({ session }) => ({ ...session, teams: await Promise.resolve([1, 2]) }),
    },
  });
  holds<Same<InferSession<typeof auth>["teams"], number[]>>();
});

Deno.test("without a callback, and for a FastifyAuthConfig, the session is a Session with a user", () => {
  type Default = Session & { user: User };
  const plain = createAuth(SETTINGS);
  const declared = createAuth(testConfig());
  holds<Same<InferSession<typeof plain>, Default>>();
  holds<Same<InferSession<typeof declared>, Default>>();
  holds<Same<typeof plain, AuthObject>>();
  const config: FastifyAuthConfig = plain.config;
  assert(config !== undefined);
});

/** JSON asks what `toJSON()` returns for no other. */
interface Chain {
  at: Date;
  toJSON(): Chain;
}

Deno.test("JsonOf is what JSON delivers", () => {
  holds<Same<JsonOf<{ a: Date; b: { c: Date[] } }>, { a: string; b: { c: string[] } }>>();
  holds<Same<JsonOf<{ a: string | null; b: () => void }>, { a: string | null }>>();
  holds<Same<JsonOf<unknown>, unknown>>();
  holds<Same<JsonOf<URL | { id: { toHex(): string; toJSON(): string } }>, string | { id: string }>>();
  holds<Same<JsonOf<Chain>, { at: string }>>();
  holds<Same<JWT["sub"], string | undefined>>();
});
