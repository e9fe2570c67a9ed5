/** The library behind `startIssuer()`. */
import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import * as library from "oauth2-mock-server";
import { loadMockServer } from "../../src/testing/issuer_service.ts";

Deno.test("without oauth2-mock-server startIssuer() says what to install", async () => {
  const error = await assertRejects(
    () => loadMockServer(() => import("oauth2-mock-server-that-is-not-installed" as string)),
    Error,
  );
  assertEquals((error as { code?: string }).code, "FST_AUTHJS_CONFIG_INVALID");
  assertMatch(error.message, /npm install --save-dev oauth2-mock-server.*on Node 20, `oauth2-mock-server@8`/);
});

Deno.test("oauth2-mock-server has the parts that are used, by its own types", async () => {
  const used: Awaited<ReturnType<typeof loadMockServer>> = library;
  assertEquals((await loadMockServer()).OAuth2Server, used.OAuth2Server);
});
