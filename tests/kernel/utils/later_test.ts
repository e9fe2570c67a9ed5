import { assertEquals, assertRejects } from "@std/assert";
import { later } from "../../../src/utils/later.ts";

Deno.test("a module that could not be loaded is loaded by the next call", async () => {
  let loads = 0;
  const double = later(() => ++loads === 1 ? Promise.reject(new Error("no")) : Promise.resolve((n: number) => 2 * n));
  await assertRejects(() => double(1), Error, "no");
  assertEquals([await double(1), await double(2)], [2, 4]);
  assertEquals(loads, 2);
});
