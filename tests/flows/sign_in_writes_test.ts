/** A sign-in that fails halfway locks no user out: with adapters that cannot delete, and with passkeys. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import { withAccountList } from "fastify-authjs/adapters";
import process from "node:process";
import { captureLog, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { faultyAdapter } from "../support/faults.ts";
import { identityProvider, signedIn, signInAs } from "../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";
import { emptyTables, webAuthnAdapter, WebAuthnClient, webAuthnConfig } from "../support/webauthn.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";

const ADA = { id: "ada-1", email: "ada@example.com" };

/** `deleteUser()` and `unlinkAccount()`, as a database with foreign keys and no cascade has them. */
function deleting(
  { users, accounts, sessions }: MemoryTables,
): Pick<Adapter, "deleteUser" | "unlinkAccount"> {
  return {
    async deleteUser(id) {
      const isUsed = accounts.some(({ userId }) => userId === id) ||
        [...sessions.values()].some(({ userId }) => userId === id);
      if (isUsed) await Promise.reject(new Error("the user is still referenced"));
      users.delete(id);
    },
    async unlinkAccount({ providerAccountId }) {
      const index = accounts.findIndex((account) => account.providerAccountId === providerAccountId);
      if (index !== -1) accounts.splice(index, 1);
      await Promise.resolve();
    },
  };
}

/** Waits until something holds; for ten seconds at most. */
async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries++) {
    assert(tries < 2000, `${condition}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** An application with an identity provider over tables. */
async function oauthApp(tables: MemoryTables, adapter: Adapter) {
  const faulty = faultyAdapter(adapter);
  const { logger, lines } = captureLog();
  const providers = [identityProvider("one")];
  const app = await testApp(testConfig({ adapter: faulty.adapter, providers, adapterTimeout: 200 }), {
    logger,
  });
  return { ...faulty, app, lines, tables };
}

Deno.test("an adapter that cannot delete has the user give up its address, and the next sign-in makes another", async () => {
  const tables = emptyTables();
  const { app, faults } = await oauthApp(tables, memoryAdapter(tables));
  faults.set("linkAccount", "throws");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  faults.clear();
  const [left] = tables.users.values();
  assert(/^[0-9a-f-]{36}@unfinished\.invalid$/.test(left!.email), left!.email);

  const client = await signedIn(app, "one", ADA);
  assertEquals((await client.get("/me")).json().session.user.email, ADA.email);
  assertEquals([tables.users.size, tables.accounts.length], [2, 1]);
  assertEquals(tables.accounts[0]!.userId === left!.id, false);
});

Deno.test("a user that the database refuses to delete gives up its address as well", async () => {
  const tables = emptyTables();
  const adapter = { ...memoryAdapter(tables), ...deleting(tables) };
  const { app, faults } = await oauthApp(tables, adapter);
  for (const method of ["linkAccount", "deleteUser"]) faults.set(method, "throws");
  await signInAs(new Client(app), "one", ADA);
  faults.clear();
  const client = await signedIn(app, "one", ADA);
  assertEquals((await client.get("/me")).json().session.user.email, ADA.email);
});

Deno.test("a user with a linked account stays, whatever fails afterwards", async () => {
  const tables = emptyTables();
  const { app, faults, calls } = await oauthApp(tables, { ...memoryAdapter(tables), ...deleting(tables) });
  faults.set("createSession", "throws");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  assertEquals([tables.users.size, tables.accounts.length, calls.includes("deleteUser")], [1, 1, false]);
});

Deno.test("that a user is unfinished is in the store before its account is linked", async () => {
  const store = testStore();
  const adapter = memoryAdapter();
  const { linkAccount } = adapter;
  let known = 0;
  adapter.linkAccount = (account) => {
    known = store.values.size;
    return linkAccount(account);
  };
  await using app = await testApp(testConfig({ adapter, store, providers: [identityProvider("one")] }));
  await signedIn(app, "one", ADA);
  assertEquals(known, 2, "the user of the account, and the account of the user");
});

Deno.test("a user that was created although createUser() failed is deleted by its next sign-in", async () => {
  const tables = emptyTables();
  const { app, faults } = await oauthApp(tables, { ...memoryAdapter(tables), ...deleting(tables) });
  faults.set("createUser", "throws afterwards");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  assertEquals(tables.users.size, 1);
  faults.clear();
  const client = await signedIn(app, "one", ADA);
  assertEquals((await client.get("/me")).json().session.user.email, ADA.email);
  assertEquals(tables.users.size, 1);
});

Deno.test("a user that the database did not answer for is deleted once it does, so that another process can sign it in", async () => {
  const tables = emptyTables();
  const adapter = { ...memoryAdapter(tables), ...deleting(tables) };
  const { app, faults, lines } = await oauthApp(tables, adapter);
  for (const method of ["linkAccount", "deleteUser"]) faults.set(method, "hangs");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  const [left] = tables.users.values();
  const said = lines.filter(({ level, msg }) => level === 50 && msg.includes(left!.id));
  assertEquals(said.length, 1);
  assertStringIncludes(said[0]!.msg, "tried again for ten minutes");
  faults.clear();
  await until(() => tables.users.size === 0);

  const other = await oauthApp(tables, adapter);
  const client = await signedIn(other.app, "one", ADA);
  assertEquals((await client.get("/me")).json().session.user.email, ADA.email);
});

Deno.test("a user that could not be deleted at the second attempt either is deleted at a later one", async () => {
  const tables = emptyTables();
  const { app, faults, calls } = await oauthApp(tables, { ...memoryAdapter(tables), ...deleting(tables) });
  for (const method of ["linkAccount", "deleteUser"]) faults.set(method, "hangs");
  await signInAs(new Client(app), "one", ADA);
  await until(() => calls.filter((name) => name === "deleteUser").length >= 2);
  faults.clear();
  await until(() => tables.users.size === 0);
});

Deno.test("a user that is still to be deleted does not keep the process from ending", async () => {
  const tables = emptyTables();
  const { app, faults } = await oauthApp(tables, { ...memoryAdapter(tables), ...deleting(tables) });
  for (const method of ["linkAccount", "deleteUser"]) faults.set(method, "hangs");
  await signInAs(new Client(app), "one", ADA);
  // Of timers those for which a process goes on.
  await until(() => !process.getActiveResourcesInfo().includes("Timeout"));
  assertEquals(tables.users.size, 1);
  faults.clear();
});

/** What other sign-ins do meanwhile to a user that was left. */
const MEANWHILE: Readonly<Record<string, (user: AdapterUser, tables: MemoryTables) => void>> = {
  "whose address was verified since": (user) => user.emailVerified = new Date(),
  "that has an account since": (user, { accounts }) =>
    accounts.push({ userId: user.id, type: "oauth", provider: "two", providerAccountId: "2" }),
};

for (const [what, change] of Object.entries(MEANWHILE)) {
  Deno.test(`a user that was left, and ${what}, stays`, async () => {
    const tables = emptyTables();
    const listed = withAccountList(
      { ...memoryAdapter(tables), ...deleting(tables) },
      (id) => tables.accounts.filter(({ userId }) => userId === id),
    );
    const { app, faults, calls } = await oauthApp(tables, listed);
    for (const method of ["linkAccount", "deleteUser"]) faults.set(method, "hangs");
    await signInAs(new Client(app), "one", ADA);
    const [left] = tables.users.values();
    change(left!, tables);
    faults.clear();
    calls.length = 0;
    await until(() => calls.includes("getUser"));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assertEquals([tables.users.size, calls.includes("deleteUser")], [1, false]);
  });
}

Deno.test("an account that is linked after its user was deleted is unlinked", async () => {
  const tables = emptyTables();
  const { app, faults, calls, release } = await oauthApp(tables, {
    ...memoryAdapter(tables),
    ...deleting(tables),
  });
  faults.set("linkAccount", "is late");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  assertEquals(tables.users.size, 0);
  await release();
  await until(() => tables.accounts.length === 0);
  assertEquals([calls.includes("unlinkAccount"), tables.accounts.length], [true, 0]);
});

Deno.test("where nothing can be taken back the log says which user to delete", async () => {
  const tables = emptyTables();
  const { app, faults, lines } = await oauthApp(tables, memoryAdapter(tables));
  for (const method of ["linkAccount", "updateUser"]) faults.set(method, "throws");
  await signInAs(new Client(app), "one", ADA);
  const [left] = tables.users.values();
  const said = lines.filter(({ level, msg }) => level === 50 && msg.includes(left!.id));
  assertEquals(said.length, 1);
  assertStringIncludes(said[0]!.msg, "Otherwise delete the user from the database");
  assertEquals(JSON.stringify(lines).includes(ADA.email), false);
});

for (const method of ["linkAccount", "createSession", "createAuthenticator"] as const) {
  for (const canDelete of [true, false]) {
    const what = canDelete ? "" : ", with an adapter that cannot delete";
    Deno.test(`passkeys: a user whose registration failed in ${method}() can register again${what}`, async () => {
      const tables = emptyTables();
      const adapter = { ...webAuthnAdapter(tables), ...(canDelete && deleting(tables)) };
      const { faults, ...faulty } = faultyAdapter(adapter);
      const app = await testApp(webAuthnConfig(tables, { adapter: faulty.adapter }));
      const client = new WebAuthnClient(app);
      faults.set(method, "throws");
      const answer = await client.register(new SoftwareAuthenticator("https://app.example"), {
        email: ADA.email,
      });
      assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
      if (canDelete) assertEquals([tables.users.size, tables.accounts.length], [0, 0]);
      assertEquals(tables.sessions.size, 0);
      faults.clear();

      await client.register(new SoftwareAuthenticator("https://app.example"), { email: ADA.email });
      assertEquals((await client.user())?.email, ADA.email);
      // Core stores it before the session is made; a database deletes it with its user.
      assertEquals(tables.authenticators.size, method === "createSession" ? 2 : 1);
    });
  }
}

Deno.test("passkeys: a passkey that was stored before the database failed keeps its user", async () => {
  const tables = emptyTables();
  const { faults, ...faulty } = faultyAdapter({ ...webAuthnAdapter(tables), ...deleting(tables) });
  const app = await testApp(webAuthnConfig(tables, { adapter: faulty.adapter }));
  const client = new WebAuthnClient(app);
  const authenticator = new SoftwareAuthenticator("https://app.example");
  faults.set("createAuthenticator", "throws afterwards");
  assertEquals((await client.register(authenticator, { email: ADA.email })).statusCode, 503);
  faults.clear();
  assertEquals([tables.users.size, tables.accounts.length, tables.authenticators.size], [1, 1, 1]);
  await client.authenticate(authenticator);
  assertEquals((await client.user())?.email, ADA.email);
});

Deno.test("passkeys: a second device that could not be stored is no account, and its user stays", async () => {
  const tables = emptyTables();
  const { faults, ...faulty } = faultyAdapter({ ...webAuthnAdapter(tables), ...deleting(tables) });
  const app = await testApp(webAuthnConfig(tables, { adapter: faulty.adapter }));
  const client = new WebAuthnClient(app);
  await client.register(new SoftwareAuthenticator("https://app.example"), { email: ADA.email });
  faults.set("createAuthenticator", "throws");
  const answer = await client.register(new SoftwareAuthenticator("https://app.example"));
  assertEquals(answer.statusCode, 503);
  assertEquals([tables.users.size, tables.accounts.length, tables.authenticators.size], [1, 1, 1]);
  assertEquals((await client.user())?.email, ADA.email);
});

Deno.test("a logger that throws when a late write cannot be undone ends no process", async () => {
  const tables = emptyTables();
  const { adapter, faults, release } = faultyAdapter({ ...memoryAdapter(tables), ...deleting(tables) });
  let thrown = 0;
  const error = ({ message }: Error) => {
    if (!message.includes("could not be unlinked")) return;
    thrown++;
    throw new Error("The log is full.");
  };
  const providers = [identityProvider("one")];
  const app = await testApp(testConfig({ adapter, providers, adapterTimeout: 200, logger: { error } }));
  faults.set("linkAccount", "is late");
  assertEquals((await signInAs(new Client(app), "one", ADA)).statusCode, 503);
  faults.set("unlinkAccount", "throws");
  await release();
  await until(() => thrown === 1);
});
