/** What is made of an adapter: bound to its object, limited in time, its arguments kept out of the log, and its results checked. */
import {
  assert,
  assertEquals,
  assertFalse,
  assertRejects,
  assertStrictEquals,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Adapter } from "@auth/core/adapters";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
import Fastify from "fastify";
import { createAuth, FastifyAuth, FastifyAuthError } from "fastify-authjs";
import { createStorage } from "unstorage";
import { bindAdapter } from "../../../src/adapter/bind.ts";
import { signInMemory, UnfinishedUsers } from "../../../src/adapter/sign_in_turns.ts";
import { redactError } from "../../../src/http/redact.ts";
import { placeOf } from "../../../src/store/sealed_value.ts";
import { testApp, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

/** An adapter with one method that does as told. */
const adapterOf = (methods: Record<string, (...args: never[]) => unknown>) => methods as unknown as Adapter;

Deno.test("an adapter may be an instance of a class, and its methods may be synchronous", async () => {
  class Users {
    #rows = new Map([["1", { id: "1", email: "ada@example.com", emailVerified: null }]]);
    getUser(id: string) {
      return this.#rows.get(id) ?? null;
    }
  }
  const bound = bindAdapter(new Users() as unknown as Adapter);
  assertEquals(Object.keys(bound), ["getUser"]);
  assertEquals((await bound.getUser!("1"))?.email, "ada@example.com");
  assertEquals(await bound.getUser!("2"), null);
});

Deno.test("a call that takes too long is given up, and one that fails fails alike, sync or async", async () => {
  const hanging = bindAdapter(adapterOf({ getUser: () => new Promise(() => {}) }), { timeout: 10 });
  const error = await assertRejects(
    () => Promise.resolve(hanging.getUser!("1")),
    FastifyAuthError,
    "getUser()",
  );
  assertEquals((error as FastifyAuthError).code, "FST_AUTHJS_UNAVAILABLE");

  const failures = [() => Promise.reject(new Error("down")), () => {
    throw new Error("down");
  }];
  for (const getUser of failures) {
    assertEquals((await causeOf(bindAdapter(adapterOf({ getUser })).getUser!("1"))).message, "down");
  }
});

/** Why a call fails. */
async function causeOf(call: unknown): Promise<Error & { code?: string; detail?: string }> {
  const error = await assertRejects(() => Promise.resolve(call), FastifyAuthError) as Error;
  return error.cause as Error;
}

Deno.test("an error's message, stack and causes lose what the method was called with", async () => {
  const cause = Object.assign(new Error('duplicate key: "ada@example.com"'), {
    code: "23505",
    detail: "ada",
  });
  const createUser = (user: { email: string }) => {
    throw new Error(`Failed query: insert into "user"\nparams: ${user.email},secret-token-1`, { cause });
  };
  const bound = bindAdapter(adapterOf({ createUser }));
  const user = { id: "1", email: "ada@example.com", emailVerified: null, name: "secret-token-1" };
  const error = await causeOf(bound.createUser!(user));
  assertEquals(error.message, 'Failed query: insert into "user"\nparams: [redacted],[redacted]');
  assertFalse(/ada@example|secret-token/.test(`${error.stack}`));
  const inner = error.cause as Error & { code?: string; detail?: string };
  assertEquals([inner.message, inner.code, inner.detail], [
    'duplicate key: "[redacted]"',
    "23505",
    undefined,
  ]);
});

Deno.test("what is no error becomes one", () => {
  assertEquals(redactError("no such token: abcdef", "abcdef").message, "no such token: [redacted]");
  assertEquals(redactError(undefined, []).message, "undefined");
  const loop = new Error("a");
  loop.cause = loop;
  assertEquals(redactError(loop, []).message, "a");
});

Deno.test("what clients of databases throw as a plain object keeps its message and code", async () => {
  const thrown = {
    code: "42501",
    message: "permission denied for ada@example.com",
    details: null,
    hint: null,
  };
  const bound = bindAdapter(adapterOf({ getUserByEmail: () => Promise.reject(thrown) }));
  const error = await causeOf(bound.getUserByEmail!("ada@example.com"));
  assertEquals([error.message, error.code], ["permission denied for [redacted]", "42501"]);
});

Deno.test("a look-up that returns undefined has found nothing, nor has one with another falsy result", async () => {
  for (const nothing of [undefined, false, 0, ""]) {
    const bound = bindAdapter(adapterOf({ getSessionAndUser: () => nothing, getUser: () => nothing }));
    assertEquals([await bound.getSessionAndUser!("a"), await bound.getUser!("a")], [null, null]);
  }
});

Deno.test("a user that is found has an id, or the look-up has failed: core would sign in a user without one", async () => {
  for (const result of [[], [{ id: "1" }], { rows: [] }, true, { id: null, email: "ada@example.com" }]) {
    const get = () => result;
    const bound = bindAdapter(adapterOf({ getUser: get, getUserByAccount: get, getUserByEmail: get }));
    for (
      const call of [
        bound.getUser!("1"),
        bound.getUserByAccount!({ provider: "one", providerAccountId: "1" }),
        bound.getUserByEmail!("ada@example.com"),
      ]
    ) assertStringIncludes((await causeOf(call)).message, "its result has no `id`");
  }
  const bound = bindAdapter(adapterOf({ getUser: () => ({ id: 0 }), getUserByEmail: () => null }));
  assertEquals([await bound.getUser!("0"), await bound.getUserByEmail!("a")], [{ id: 0 } as never, null]);
});

Deno.test("a session whose user is gone is none, and that is said once", async () => {
  const session = { sessionToken: "token", userId: "1", expires: new Date(Date.now() + 60_000) };
  const warnings: string[] = [];
  const bound = bindAdapter(adapterOf({ getSessionAndUser: () => ({ session, user: null }) }), {
    warn: (message) => warnings.push(message),
  });
  assertEquals(await bound.getSessionAndUser!("token"), null);
  assertEquals(await bound.getSessionAndUser!("token"), null);
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!, "getSessionAndUser() returned no `user`");
});

Deno.test("a user without a session is none, and the warning names what is missing", async () => {
  const user = { id: "1", email: "ada@example.com", emailVerified: null };
  const warnings: string[] = [];
  const bound = bindAdapter(adapterOf({ getSessionAndUser: () => ({ session: null, user }) }), {
    warn: (message) => warnings.push(message),
  });
  assertEquals(await bound.getSessionAndUser!("token"), null);
  assertStringIncludes(warnings[0]!, "getSessionAndUser() returned no `session`");
});

Deno.test("a session whose user is gone passes no guard", async () => {
  const adapter = memoryAdapter();
  const user = await adapter.createUser({ id: "1", email: "ada@example.com", emailVerified: null });
  const expires = new Date(Date.now() + 1e9);
  const session = await adapter.createSession({ sessionToken: "token", userId: user.id, expires });
  let found: unknown = { session, user };
  const auth = createAuth(testConfig({
    adapter: { ...adapter, getSessionAndUser: () => found } as Adapter,
    session: { strategy: "database" },
    providers: [],
  }));
  await using app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/guarded", { onRequest: auth.requireSession() }, () => "in");
  const headers = { cookie: "authjs.session-token=token" };
  assertEquals((await app.inject({ url: "/guarded", headers })).statusCode, 200);
  found = { session, user: null };
  assertEquals((await app.inject({ url: "/guarded", headers })).statusCode, 401);
  const answer = await app.inject({ url: "/auth/session", headers });
  assertEquals([answer.body, setCookies(answer).length], ["null", 1]);
});

Deno.test("a write whose result has no key is an error: core would go on without one", async () => {
  const written = { id: "1", email: "ada@example.com", emailVerified: null };
  const session = { sessionToken: "token", userId: "1", expires: new Date() };
  for (const result of [undefined, null, true, { changes: 1 }]) {
    const bound = bindAdapter(
      adapterOf({ createUser: () => result, updateUser: () => result, createSession: () => result }),
    );
    for (
      const [call, key] of [
        [bound.createUser!(written), "id"],
        [bound.updateUser!(written), "id"],
        [bound.createSession!(session), "sessionToken"],
      ] as const
    ) assertStringIncludes((await causeOf(call)).message, `its result has no \`${key}\``);
  }
  const bound = bindAdapter(adapterOf({ createUser: () => ({ ...written, id: 0 }), linkAccount: () => {} }));
  assertEquals(((await bound.createUser!(written)) as { id: unknown }).id, 0);
  assertEquals(await bound.linkAccount!({} as never), undefined);
});

Deno.test("a row that is gone is no failure of what ends it, nor of the renewal of its session", async () => {
  const gone = () => Promise.reject(Object.assign(new Error("Record to delete does not exist."), { code: "P2025" }));
  const bound = bindAdapter(adapterOf({
    deleteSession: gone,
    deleteUser: gone,
    unlinkAccount: gone,
    updateSession: gone,
    updateUser: gone,
  }));
  assertEquals(await bound.deleteSession!("token"), null);
  assertEquals(await bound.deleteUser!("1"), null);
  assertEquals(await bound.unlinkAccount!({ provider: "a", providerAccountId: "b" }), null);
  assertEquals(await bound.updateSession!({ sessionToken: "token" }), null);
  await assertRejects(() => Promise.resolve(bound.updateUser!({ id: "1" })), FastifyAuthError);
});

Deno.test("a renewal that fails for any reason is none where there is no such session any more", async () => {
  const session = { sessionToken: "token" };
  const stored = { session: { ...session, userId: "1", expires: new Date() }, user: { id: "1" } };
  const cannotRead = new TypeError("Cannot read properties of null (reading 'assign')");
  const down = Object.assign(new Error("down"), { code: "ECONNREFUSED" });
  const renew = async (error: Error, getSessionAndUser?: () => unknown) => {
    const methods = { updateSession: () => Promise.reject(error), getSessionAndUser };
    return await bindAdapter(adapterOf(methods as never)).updateSession!(session);
  };
  assertEquals(await renew(cannotRead, () => null), null);
  assertEquals(await renew(cannotRead, () => undefined), null);
  const failing: [Error, (() => unknown)?][] = [
    [cannotRead, () => stored],
    [cannotRead, () => Promise.reject(down)],
    [cannotRead],
    [down, () => null],
  ];
  for (const [error, get] of failing) {
    const { cause } = await assertRejects(() => renew(error, get), FastifyAuthError) as Error;
    assertEquals((cause as Error).message, error.message);
  }
});

Deno.test("a sign-out succeeds where the row of the session is gone", async () => {
  const adapter = memoryAdapter();
  const deleteSession = () =>
    Promise.reject(Object.assign(new Error("Record to delete does not exist."), { code: "P2025" }));
  await using app = await testApp(testConfig({
    adapter: { ...adapter, deleteSession } as Adapter,
    session: { strategy: "database" },
    providers: [],
  }));
  const client = new Client(app);
  client.cookies.set("authjs.session-token", "gone");
  assertEquals((await client.signOut()).statusCode, 302);
  assertFalse(client.cookies.has("authjs.session-token"));
});

Deno.test("a key that no row can have is not found", async () => {
  const reject = (error: unknown) => () => Promise.reject(error);
  const dataException = Object.assign(new Error("invalid byte sequence"), { code: "22021" });
  const wrapped = new Error("Failed query", { cause: dataException });
  const unstorage = new Error('[unstorage] Invalid key: "user:session:.."');
  for (const error of [dataException, wrapped, unstorage]) {
    const bound = bindAdapter(
      adapterOf({
        getSessionAndUser: reject(error),
        deleteSession: reject(error),
        createUser: reject(error),
      }),
    );
    assertEquals(await bound.getSessionAndUser!("\0"), null);
    assertEquals(await bound.deleteSession!("\0"), null);
    // A write that fails has failed.
    await assertRejects(() => Promise.resolve(bound.createUser!({} as never)), Error);
  }
  const down = Object.assign(new Error("terminating connection"), { code: "57P01" });
  const bound = bindAdapter(adapterOf({ getSessionAndUser: reject(down), getUserByAccount: reject(down) }));
  assertStringIncludes((await causeOf(bound.getSessionAndUser!("a"))).message, "terminating");
  const account = { provider: "a", providerAccountId: "b" };
  assertStringIncludes((await causeOf(bound.getUserByAccount!(account))).message, "terminating");
});

Deno.test("a user of another address than the one asked for is an error", async () => {
  const stored = { id: "1", email: "Ada@example.com", emailVerified: null };
  const bound = bindAdapter(adapterOf({ getUserByEmail: () => stored }));
  assertStrictEquals(
    await bound.getUserByEmail!("ada@example.com"),
    stored,
    "letter case is the store's affair",
  );
  assertStringIncludes((await causeOf(bound.getUserByEmail!("áda@example.com"))).message, "another e-mail");
});

Deno.test("a sign-in token of another row than the one asked for is none", async () => {
  const expires = new Date(Date.now() + 60_000);
  const row = { identifier: "ada@example.com", token: "hash", expires };
  const bound = bindAdapter(adapterOf({ useVerificationToken: () => row }));
  const use = (identifier: string, token: string) => bound.useVerificationToken!({ identifier, token });
  assertStrictEquals(await use("ada@example.com", "hash"), row);
  assertEquals(await use("ada@example.com", "other"), null);
  assertEquals(await use("eve@example.com", "hash"), null);
  // An adapter may look tokens up without the address, or leave columns out.
  assertStrictEquals(await bound.useVerificationToken!({ token: "hash" } as never), row);
  const sparse = bindAdapter(
    adapterOf({ useVerificationToken: () => ({ identifier: "ada@example.com", expires }) }),
  );
  assert(await sparse.useVerificationToken!({ identifier: "ada@example.com", token: "hash" }));
});

Deno.test("a store that cuts its keys signs no user in as another, even under an application's own rules for addresses", async () => {
  const links: string[] = [];
  const adapter = UnstorageAdapter(createStorage()) as Adapter;
  const victim = await adapter.createUser!({ id: "", email: "ada@example.com", emailVerified: new Date() });
  await using app = await testApp(testConfig({
    adapter,
    providers: [{
      id: "mail",
      name: "Mail",
      type: "email",
      normalizeIdentifier: (typed) => typed,
      sendVerificationRequest: ({ url }) => void links.push(url),
    }],
  }));
  const mallory = new Client(app);
  // The store's key ends at the "?": any token fits, and the user behind the rest of the address is found.
  const email = "ada@example.com?.evil.example";
  await mallory.post("/auth/signin/mail", { csrfToken: await mallory.csrfToken(), email });
  await mallory.confirm(`/auth/callback/mail?${new URLSearchParams({ email, token: "guessed" })}`);
  assertEquals((await mallory.get("/me")).json(), { session: null });
  for (const link of links) await mallory.confirm(new URL(link).pathname + new URL(link).search);
  assertEquals((await mallory.get("/me")).json(), { session: null });
  assertEquals((await adapter.getUserByEmail!("ada@example.com"))?.id, victim.id);
});

Deno.test("the application's own error handler answers for a database that is down, and the cookie is cleared", async () => {
  const adapter = memoryAdapter();
  const config = testConfig({
    adapter: { ...adapter, deleteSession: (): Promise<void> => Promise.reject(new Error("down")) },
    session: { strategy: "database" },
    providers: [],
  });
  const user = await adapter.createUser({ id: "1", email: "ada@example.com", emailVerified: null });
  await adapter.createSession({
    sessionToken: "token",
    userId: user.id,
    expires: new Date(Date.now() + 1e9),
  });
  await using app = Fastify();
  app.setErrorHandler<FastifyAuthError>((error, _request, reply) =>
    reply.code(503).type("text/plain").send(`sorry: ${error.code}`)
  );
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const client = new Client(app);
  client.cookies.set("authjs.session-token", "token");
  const answer = await client.signOut();
  assertEquals([answer.statusCode, answer.body], [503, "sorry: FST_AUTHJS_UNAVAILABLE"]);
  assertFalse(client.cookies.has("authjs.session-token"));
});

Deno.test("UnfinishedUsers names the user of an account until it is finished, for an hour, and drops the oldest", async () => {
  const left = new UnfinishedUsers(signInMemory(), (key) => placeOf(key, "unfinished user"));
  const account = (id: number) => ({ provider: "one", providerAccountId: String(id) });
  for (let id = 0; id <= 1000; id++) await left.add(account(id), `user ${id}`);
  assertEquals(await left.find(account(0)), undefined);
  assertEquals([await left.find(account(1)), await left.find(account(1000))], ["user 1", "user 1000"]);
  assertEquals(await left.find({ provider: "two", providerAccountId: "1" }), undefined);
  await left.delete("user 1");
  assertEquals(await left.find(account(1)), undefined);
  const later = performance.now() + 60 * 60_000;
  using _ = stub(performance, "now", () => later);
  assertEquals(await left.find(account(1000)), undefined);
});
