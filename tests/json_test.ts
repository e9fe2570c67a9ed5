import { assert, assertEquals, assertThrows } from "@std/assert";
import { throughJson } from "../src/utils/json.ts";
import fc from "./support/property.ts";

const roundTrip = (value: unknown) => JSON.parse(JSON.stringify(value));

/** Values that JSON changes or leaves out. */
const ODD = fc.constantFrom<unknown>(
  undefined,
  () => 1,
  Symbol("a"),
  -0,
  NaN,
  Infinity,
  new Date(0),
  new Map(),
  {
    toJSON: () => "text",
  },
);

Deno.test("property: throughJson gives what a round trip through JSON gives, keys in their order", () => {
  const values = fc.object({ maxDepth: 6, values: [fc.anything(), ODD], withNullPrototype: true });
  fc.assert(
    fc.property(values, (value) => {
      let expected: unknown;
      try {
        expected = roundTrip(value);
      } catch {
        return void assertThrows(() => throughJson(value));
      }
      const copy = throughJson(value);
      assertEquals(JSON.stringify(copy), JSON.stringify(expected));
      assertEquals(copy, expected);
    }),
    { numRuns: 2000 },
  );
});

Deno.test("throughJson shares nothing with the value", () => {
  const value = { user: { name: "Ada", roles: ["admin", { at: 1 }] }, expires: "x" };
  const copy = throughJson(value) as typeof value;
  assertEquals(copy, value);
  assert(copy !== value && copy.user !== value.user && copy.user.roles !== value.user.roles);
  assert(copy.user.roles[1] !== value.user.roles[1]);
});

Deno.test("throughJson reads lists with holes, members named __proto__, classes and deep objects as JSON does", () => {
  class Point {
    x = 1;
    get y() {
      return 2;
    }
  }
  // deno-lint-ignore no-sparse-arrays
  const values = [{ list: [1, , undefined] }, JSON.parse('{"__proto__":{"a":1}}'), { p: new Point() }, {
    a: { b: { c: { d: { e: { f: 1 } } } } },
  }];
  for (const value of values) {
    assertEquals(JSON.stringify(throughJson(value)), JSON.stringify(roundTrip(value)));
  }
});

Deno.test("throughJson takes no member that all objects were given", () => {
  Object.defineProperty(Object.prototype, "extra", { value: "x", enumerable: true, configurable: true });
  try {
    assertEquals(Object.keys(throughJson({ user: { name: "Ada" } }) as object), ["user"]);
  } finally {
    delete (Object.prototype as { extra?: string }).extra;
  }
});
