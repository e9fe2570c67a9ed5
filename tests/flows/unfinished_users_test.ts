/** A user that a broken-off first sign-in has left: the next one with the same account goes on with it, and no other. */
import { assert, assertEquals, assertFalse, assertNotEquals, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import { captureLog, type LogLine, testApp, testConfig } from "../support/app.ts";
import { type Answer, Client } from "../support/client.ts";
import { type FaultyAdapter, faultyAdapter } from "../support/faults.ts";
import { identityProvider, type Person, signInAs } from "../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";
import { emptyTables } from "../support/webauthn.ts";

const ADA = { id: "ada-1", email: "ada@example.com" };
const MALLORY = { id: "mallory-1", email: ADA.email };

interface Setup extends FaultyAdapter, AsyncDisposable {
  readonly app: FastifyInstance;
  readonly lines: LogLine[];
  readonly tables: MemoryTables;
}

/** An application over tables, which several may share as processes share a database. */
async function over(
  tables: MemoryTables,
  overrides: Partial<FastifyAuthConfig> = {},
  change: (adapter: Adapter) => Adapter = (adapter) => adapter,
): Promise<Setup> {
  const faulty = faultyAdapter(change(memoryAdapter(tables)));
  const { logger, lines } = captureLog();
  const app = await testApp(
    testConfig({
      adapter: faulty.adapter,
      providers: [
        identityProvider("one"),
        identityProvider("two"),
        identityProvider("trusted", { allowDangerousEmailAccountLinking: true }),
      ],
      ...overrides,
    }),
    { logger },
  );
  return { ...faulty, app, lines, tables, [Symbol.asyncDispose]: () => app.close() };
}

/** Leaves a user without an account: neither is the account linked, nor the user deleted. */
async function breakOff({ app, faults }: Setup, person: Person = ADA, provider = "one"): Promise<void> {
  for (const method of ["linkAccount", "deleteUser", "updateUser"]) faults.set(method, "throws");
  assertEquals((await signInAs(new Client(app), provider, person)).statusCode, 503);
  faults.clear();
}

const signIn = ({ app }: Setup, person: Person, provider = "one") => signInAs(new Client(app), provider, person);
const isSignedIn = ({ headers }: Answer) => String(headers.location) === "http://localhost";
const isRefused = ({ headers }: Answer) => String(headers.location).includes("error=OAuthAccountNotLinked");
const ownerOf = ({ tables }: Setup, id: string) =>
  tables.accounts.find(({ providerAccountId }) => providerAccountId === id)?.userId;

Deno.test("U2: the next sign-in with the account goes on with the user that was left", async () => {
  await using setup = await over(emptyTables());
  await breakOff(setup);
  const [left] = setup.tables.users.keys();
  assert(isSignedIn(await signIn(setup, ADA)));
  assertEquals([setup.tables.users.size, ownerOf(setup, ADA.id)], [1, left]);
});

Deno.test("U2: so it does if the adapter's getUser() says of what fails that there is no user", async () => {
  await using setup = await over(emptyTables(), {}, (adapter) => ({ ...adapter, getUser: () => null }));
  await breakOff(setup);
  assert(isSignedIn(await signIn(setup, ADA)));
  assertEquals([setup.tables.users.size, setup.tables.accounts.length], [1, 1]);
});

Deno.test("U2: a user without an address is found by its id", async () => {
  await using setup = await over(emptyTables());
  await breakOff(setup, { id: "1" });
  assert(isSignedIn(await signIn(setup, { id: "1" })));
  assertEquals(setup.tables.users.size, 1);
});

Deno.test("U2: processes that share a store go on with one another's users", async () => {
  const tables = emptyTables();
  const store = testStore();
  await using first = await over(tables, { store });
  await using second = await over(tables, { store });
  await breakOff(first);
  assertFalse([...store.values.values()].some((value) => value.includes([...tables.users.keys()][0]!)));
  assert(isSignedIn(await signIn(second, ADA)));
  assertEquals([tables.users.size, tables.accounts.length], [1, 1]);
});

Deno.test("U2: another account with the same address gets nothing, and the log names the user", async () => {
  for (const store of [undefined, testStore()]) {
    await using setup = await over(emptyTables(), store ? { store } : {});
    await breakOff(setup);
    const [left] = setup.tables.users.keys();
    assert(isRefused(await signIn(setup, MALLORY)));
    assert(isRefused(await signIn(setup, ADA, "two")), "an account of that id at another provider");
    assertEquals(setup.tables.accounts, []);
    const said = setup.lines.filter(({ msg }) => msg.includes("was refused, since the user"));
    assertEquals(said.length, 2);
    assertStringIncludes(said[0]!.msg, left!);
    assertStringIncludes(said[0]!.msg, "its first sign-in was broken off");
    assertFalse(JSON.stringify(setup.lines).includes(ADA.email));
    assert(isSignedIn(await signIn(setup, ADA)));
  }
});

Deno.test("U2: the log names the user also if its accounts cannot be listed", async () => {
  const unlisted = (adapter: Adapter) => withAccountList(adapter, () => Promise.reject(new Error("down")));
  await using setup = await over(emptyTables(), {}, unlisted);
  await breakOff(setup);
  const [left] = setup.tables.users.keys();
  assert(isRefused(await signIn(setup, MALLORY)));
  assert(setup.lines.some(({ msg }) => msg.includes(`was refused, since the user ${left}`)));
});

Deno.test("U2: without a record nothing is taken over: in another process, and after an hour", async () => {
  const tables = emptyTables();
  await using first = await over(tables);
  await using second = await over(tables);
  await breakOff(first);
  const [left] = tables.users.keys();
  assert(isRefused(await signIn(second, ADA)));
  assert(second.lines.some(({ msg }) => msg.includes(left!) && msg.includes("delete the user")));
  const later = performance.now() + 60 * 60_000;
  using _ = stub(performance, "now", () => later);
  assert(isRefused(await signIn(first, ADA)));
  assertEquals([tables.users.size, tables.accounts.length], [1, 0]);
});

/** What happens to a user that was left, before its sign-in is repeated. */
const MEANWHILE: Readonly<Record<string, (setup: Setup) => unknown>> = {
  "its address was verified": ({ tables }) => {
    for (const user of tables.users.values()) user.emailVerified = new Date();
  },
  "another account was linked to it": (setup) => signIn(setup, { id: "3", email: ADA.email }, "trusted"),
  "the application has linked an account to it": ({ tables }) => {
    const [userId] = tables.users.keys();
    tables.accounts.push({ userId: userId!, type: "oauth", provider: "two", providerAccountId: "2" });
  },
};

for (const [what, happen] of Object.entries(MEANWHILE)) {
  Deno.test(`U2: a user that was left stays out of reach, if ${what}`, async () => {
    for (const store of [undefined, testStore()]) {
      const tables = emptyTables();
      await using setup = await over(
        tables,
        store ? { store } : {},
        (adapter) =>
          withAccountList(
            adapter,
            (userId) => tables.accounts.filter((account) => account.userId === userId),
          ),
      );
      await breakOff(setup);
      await happen(setup);
      const before = tables.accounts.length;
      assert(isRefused(await signIn(setup, ADA)));
      assertEquals([tables.users.size, tables.accounts.length], [1, before]);
    }
  });
}

Deno.test("U2: the record goes with the end of the sign-in", async () => {
  for (const store of [undefined, testStore()]) {
    await using setup = await over(emptyTables(), store ? { store } : {});
    assert(isSignedIn(await signIn(setup, ADA)));
    // The user unlinks it, and has no other account.
    setup.tables.accounts.length = 0;
    assert(isRefused(await signIn(setup, ADA)));
  }
});

Deno.test("U2: a record that others have written into the store is none", async () => {
  const tables = emptyTables();
  const store = testStore();
  await using setup = await over(tables, { store });
  await breakOff(setup);
  await signIn(setup, { id: "5", email: "victim@example.com" });
  for (const [key, value] of [...store.values]) {
    for (const other of store.values.keys()) if (other !== key) store.values.set(other, value);
  }
  assert(isRefused(await signIn(setup, ADA)));
});

Deno.test("U2: a first sign-in under way is not taken for one that was broken off", async () => {
  let created = () => {}, finish = () => {};
  const creating = new Promise<void>((resolve) => created = resolve);
  const held = new Promise<void>((resolve) => finish = resolve);
  const events = { createUser: () => (created(), held) };
  await using setup = await over(emptyTables(), { events, adapterTimeout: 200 });
  const first = signIn(setup, ADA);
  await creating;
  assert(isRefused(await signIn(setup, ADA)));
  finish();
  assert(isSignedIn(await first));
  assertNotEquals(ownerOf(setup, ADA.id), undefined);
});
