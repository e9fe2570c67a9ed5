/** Several processes without a `store` are warned about, if one of them can know of another. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type FastifyAuthConfig, memoryStore } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "../support/app.ts";
import { withEnvironment } from "../support/environment.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";

const CODE = "FST_AUTHJS_WARN_NO_STORE";
const refreshing: Partial<FastifyAuthConfig> = { callbacks: { jwt: ({ token }) => token } };

/** The warnings of an application that starts as this process of several under PM2. */
async function warningsAt(index: string, overrides: Partial<FastifyAuthConfig>): Promise<string[]> {
  return await withEnvironment({ NODE_APP_INSTANCE: index }, async () => {
    const { logger, lines } = captureLog();
    await using _app = await testApp(testConfig(overrides), { logger });
    return lines.filter(({ code, level }) => code === CODE && level === 40).map(({ msg }) => msg);
  });
}

Deno.test("of several processes under PM2 the second warns that a store is missing, and says what to set", async () => {
  const [message, ...others] = await warningsAt("1", refreshing);
  assertStringIncludes(message!, "redisStore(client)");
  assertStringIncludes(message!, "PM2");
  assertEquals(others, []);
  for (const index of ["0", "2"]) assertEquals(await warningsAt(index, refreshing), []);
  assertEquals((await warningsAt("1", { refreshTokens: true })).length, 1);
  assertEquals((await warningsAt("1", { ...refreshing, store: memoryStore() })).length, 1);
});

Deno.test("there is no warning with a store, with false, and where no session is refreshed", async () => {
  for (
    const overrides of [
      { ...refreshing, store: testStore() },
      { ...refreshing, store: false as const },
      {},
      { ...refreshing, adapter: memoryAdapter(), providers: [] },
    ]
  ) assertEquals(await warningsAt("1", overrides), [], JSON.stringify(Object.keys(overrides)));
});

if (!process.versions.deno && !process.versions.bun) {
  Deno.test("of the workers of a cluster the second warns that a store is missing", async () => {
    const script = fileURLToPath(new URL("../support/cluster_process.ts", import.meta.url));
    const flags = process.execArgv.filter((flag) => !/^--test/.test(flag));
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script]);
    assertEquals(JSON.parse(stdout), [CODE]);
  });
}
