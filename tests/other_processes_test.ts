/** Several processes without a `refreshLock` are warned about, where one of them can know of another. */
import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type FastifyAuthConfig, memorySessionStore, type SessionRecord } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "./support/app.ts";
import { Client } from "./support/client.ts";
import { withClock } from "./support/clock.ts";
import { withEnvironment } from "./support/environment.ts";
import { memoryAdapter } from "./support/memory_adapter.ts";
import { memoryLock } from "./support/memory_lock.ts";

const CODE = "FST_AUTHJS_WARN_REFRESH_LOCK";
const MINUTE = 60_000;
const refreshing: Partial<FastifyAuthConfig> = { callbacks: { jwt: ({ token }) => token } };

/** The warnings of an application that starts as this process of several under PM2. */
async function warningsAt(index: string, overrides: Partial<FastifyAuthConfig>): Promise<string[]> {
  return await withEnvironment({ NODE_APP_INSTANCE: index }, async () => {
    const { logger, lines } = captureLog();
    await using _app = await testApp(testConfig(overrides), { logger });
    return lines.filter(({ code, level }) => code === CODE && level === 40).map(({ msg }) => msg);
  });
}

Deno.test("of several processes under PM2 the second warns that a refreshLock is missing, and says what to set", async () => {
  const [message, ...others] = await warningsAt("1", refreshing);
  assertStringIncludes(message!, "redisLock(client)");
  assertStringIncludes(message!, "PM2");
  assertEquals(others, []);
  for (const index of ["0", "2"]) assertEquals(await warningsAt(index, refreshing), []);
  assertEquals((await warningsAt("1", { refreshTokens: true })).length, 1);
});

Deno.test("there is no warning with a refreshLock, with false, and where no session is refreshed", async () => {
  for (
    const overrides of [
      { ...refreshing, refreshLock: memoryLock() },
      { ...refreshing, refreshLock: false as const },
      {},
      { ...refreshing, adapter: memoryAdapter(), providers: [] },
    ]
  ) assertEquals(await warningsAt("1", overrides), [], JSON.stringify(Object.keys(overrides)));
});

if (!process.versions.deno && !process.versions.bun) {
  Deno.test("of the workers of a cluster the second warns that a refreshLock is missing", async () => {
    const script = fileURLToPath(new URL("./support/cluster_process.ts", import.meta.url));
    const flags = process.execArgv.filter((flag) => !/^--test/.test(flag));
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script]);
    assertEquals(JSON.parse(stdout), [CODE]);
  });
}

/** The session store of two processes. */
function sharedStore() {
  const store = memorySessionStore();
  const written: [user: string, record: SessionRecord, life: number][] = [];
  const put: typeof store.put = (...args) => {
    written.push(args);
    return store.put(...args);
  };
  return {
    written,
    store: { ...store, put },
    /** Has another process write the record that was written last. */
    async writeElsewhere(): Promise<void> {
      const [user, record, life] = written.at(-1)!;
      await store.put(user, { ...record, process: "another", lastSeenAt: Date.now() }, life);
    },
  };
}

Deno.test("another process that goes on using the session store is warned about once", async () => {
  await withClock(async (clock) => {
    const { store, written, writeElsewhere } = sharedStore();
    const { logger, lines } = captureLog();
    const warnings = () => lines.filter(({ code }) => code === CODE).map(({ msg }) => msg);
    await using app = await testApp(testConfig({ ...refreshing, sessionStore: store }), { logger });
    const client = new Client(app);
    const read = async () => assertEquals((await client.get("/me")).json().session.user.name, "ada");
    await client.signIn({ username: "ada", password: "open" });
    await read();

    // A restart: the old process is still there for a moment
    clock.now = performance.timeOrigin + 9 * MINUTE;
    await writeElsewhere();
    await read();
    clock.now += 20 * MINUTE;
    await read();
    assert(written.length > 1, "this process goes on writing, too");
    assertEquals(warnings(), []);

    await writeElsewhere();
    await read();
    await read();
    assertEquals(warnings().length, 1);
    assertStringIncludes(warnings()[0]!, "another process uses the session store");
  });
});

Deno.test("records name their process only where that could warn", async () => {
  for (const refreshLock of [undefined, memoryLock(), false as const]) {
    const { store, written } = sharedStore();
    const config = { ...refreshing, sessionStore: store, ...(refreshLock !== undefined && { refreshLock }) };
    await using app = await testApp(testConfig(config));
    await new Client(app).signIn({ username: "ada", password: "open" });
    const [, record] = written[0]!;
    if (refreshLock === undefined) assertStringIncludes(record.process!, `${process.pid}-`);
    else assertFalse("process" in record);
  }
});
