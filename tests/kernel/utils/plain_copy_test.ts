/** Copies of data: what JSON makes of them, and nothing that the original and its copy share. */
import { assert, assertEquals, assertStrictEquals, assertThrows } from "@std/assert";
import fc from "../../support/property.ts";
import { plainCopy } from "../../../src/utils/plain_copy.ts";

const throughJson = (value: unknown) => {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
};

Deno.test("a copy of data is what JSON makes of it", () => {
  const any = fc.anything({ withDate: true, withMap: true, withTypedArray: true, withNullPrototype: true });
  fc.assert(
    fc.property(any, (value) => {
      const expected = throughJson(value);
      assertEquals(JSON.stringify(plainCopy(value)), JSON.stringify(expected));
      assertEquals(plainCopy(value), expected);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("a copy of data has what JSON has in place of what it cannot hold", () => {
  class User {
    name = "Ada";
    get secret() {
      return "of the prototype";
    }
  }
  const values = [
    { at: new Date(0) },
    { a: undefined, b: () => 1, c: Symbol("c"), [Symbol("d")]: 1 },
    { a: NaN, b: -Infinity, c: -0, d: 0, e: [undefined, NaN] },
    { toJSON: () => ({ other: true }) },
    { user: { toJSON: () => "Ada" } },
    { user: new User() },
    { map: new Map([[1, 2]]), set: new Set([1]) },
    JSON.parse('{"__proto__":{"admin":true},"a":1}'),
    { user: JSON.parse('{"__proto__":{"admin":true}}') },
    { one: { two: { three: { four: { five: [1] } } } } },
    Object.defineProperty({ a: 1 }, "hidden", { value: 2 }),
    {
      get now() {
        return 1;
      },
    },
  ];
  for (const value of values) {
    const [copy, expected] = [plainCopy(value), throughJson(value)];
    assertEquals(copy, expected);
    assertEquals(JSON.stringify(copy), JSON.stringify(expected));
    assert(!("admin" in copy));
  }
});

Deno.test("a copy of data shares no object with it", () => {
  const value = { user: { roles: ["admin"], address: { city: { name: "London" } } } };
  const copy = plainCopy(value);
  assertEquals(copy, value);
  assert(copy.user !== value.user);
  assert(copy.user.roles !== value.user.roles);
  assert(copy.user.address.city !== value.user.address.city);
});

Deno.test("a cycle and a BigInt cannot be copied as JSON", () => {
  const cycle: Record<string, unknown> = { user: { name: "Ada" } };
  (cycle.user as Record<string, unknown>).session = cycle;
  assertThrows(() => plainCopy(cycle), TypeError, "circular");
  assertThrows(() => plainCopy({ user: { id: 1n } }), TypeError, "BigInt");
});

Deno.test("a function copies what is not plain data", () => {
  const at = new Date(0);
  const copy = plainCopy({ sub: "1", at, list: [at], none: NaN }, structuredClone);
  assertEquals(copy, { sub: "1", at, list: [at], none: NaN });
  assert(copy.at !== at);
  assertStrictEquals(copy.at.getTime(), 0);
});
