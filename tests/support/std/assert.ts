/**
 * Stands in for the part of `@std/assert` that the tests use, over node:assert, if JSR cannot be reached.
 *
 * Where the two differ this one is the stricter (it tells a null prototype from a plain object, and compares no sets):
 * what passes here passes with the real one.
 *
 * @module
 */
import nodeAssert from "node:assert/strict";
import { inspect } from "node:util";

// deno-lint-ignore no-explicit-any -- as in the original: any constructor, whatever it takes
type AnyConstructor = abstract new (...args: any[]) => any;

export function fail(msg?: string): never {
  throw new nodeAssert.AssertionError({ message: msg ?? "Failed assertion" });
}

export function assert(expr: unknown, msg = "Expected a truthy value"): asserts expr {
  if (!expr) fail(msg);
}

export function assertFalse(
  expr: unknown,
  msg = "Expected a falsy value",
): asserts expr is false | 0 | "" | null | undefined {
  if (expr) fail(msg);
}

/** The real one compares sets with a method that Node 20 lacks. */
function refuseSets(value: unknown): void {
  if (value instanceof Set) throw new TypeError("Compare arrays: on Node 20 @std/assert compares no sets");
  if (Array.isArray(value)) value.forEach(refuseSets);
}

export function assertEquals<T>(actual: T, expected: T, msg?: string): void {
  refuseSets(actual);
  nodeAssert.deepStrictEqual(actual, expected, msg as string);
}

export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void {
  nodeAssert.notDeepStrictEqual(actual, expected, msg as string);
}

export function assertStrictEquals<T>(actual: unknown, expected: T, msg?: string): asserts actual is T {
  nodeAssert.strictEqual(actual, expected, msg as string);
}

export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T> {
  assert(actual !== undefined && actual !== null, msg ?? `Expected a value, got ${actual}`);
}

export function assertInstanceOf<T extends AnyConstructor>(
  actual: unknown,
  expectedType: T,
  msg?: string,
): asserts actual is InstanceType<T> {
  assert(
    actual instanceof expectedType,
    msg ?? `Expected an instance of ${expectedType.name}, got ${show(actual)}`,
  );
}

export function assertMatch(actual: string, expected: RegExp, msg?: string): void {
  assert(expected.test(actual), msg ?? `Expected ${show(actual)} to match ${expected}`);
}

export function assertStringIncludes(actual: string, expected: string, msg?: string): void {
  assert(actual.includes(expected), msg ?? `Expected ${show(actual)} to contain ${show(expected)}`);
}

export function assertGreater<T>(actual: T, expected: T, msg?: string): void {
  assert(actual > expected, msg ?? `Expected ${show(actual)} > ${show(expected)}`);
}

export function assertLess<T>(actual: T, expected: T, msg?: string): void {
  assert(actual < expected, msg ?? `Expected ${show(actual)} < ${show(expected)}`);
}

export function assertArrayIncludes<T>(actual: ArrayLike<T>, expected: ArrayLike<T>, msg?: string): void {
  const missing = Array.from(expected).filter((one) => !Array.from(actual).some((other) => equal(other, one)));
  assert(missing.length === 0, msg ?? `Expected ${show(actual)} to include ${show(missing)}`);
}

/** Every key of `expected` is in `actual`, at any depth; an array matches by its first elements, as in the original. */
export function assertObjectMatch(
  actual: Record<PropertyKey, unknown>,
  expected: Record<PropertyKey, unknown>,
  msg?: string,
): void {
  assert(matches(actual, expected), msg ?? `Expected ${show(actual)} to match ${show(expected)}`);
}

function matches(actual: unknown, expected: unknown): boolean {
  if (!isContainer(actual) || !isContainer(expected)) return equal(actual, expected);
  if (Array.isArray(actual) !== Array.isArray(expected)) return false;
  return Reflect.ownKeys(expected).every((key) =>
    key === "length" && Array.isArray(expected) ? true : key in actual && matches(actual[key], expected[key])
  );
}

const isContainer = (value: unknown): value is Record<PropertyKey, unknown> =>
  Array.isArray(value) || Object.prototype.toString.call(value) === "[object Object]";

export function assertThrows(fn: () => unknown, msg?: string): unknown;
export function assertThrows<E extends Error>(
  fn: () => unknown,
  // deno-lint-ignore no-explicit-any -- as in the original
  ErrorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): E;
export function assertThrows(fn: () => unknown, ...expected: ExpectedError): unknown {
  try {
    fn();
  } catch (error) {
    checkError(error, expected);
    return error;
  }
  fail("Expected function to throw");
}

export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
export function assertRejects<E extends Error>(
  fn: () => PromiseLike<unknown>,
  // deno-lint-ignore no-explicit-any -- as in the original
  ErrorClass: abstract new (...args: any[]) => E,
  msgIncludes?: string,
  msg?: string,
): Promise<E>;
export async function assertRejects(
  fn: () => PromiseLike<unknown>,
  ...expected: ExpectedError
): Promise<unknown> {
  let promise: PromiseLike<unknown>;
  try {
    promise = fn();
  } catch {
    fail("Function throws when expected to reject");
  }
  assert(typeof promise?.then === "function", "Function did not return a promise");
  try {
    await promise;
  } catch (error) {
    checkError(error, expected);
    return error;
  }
  fail("Expected function to reject");
}

type ExpectedError = [
  ErrorClass?: AnyConstructor | string,
  msgIncludes?: string | undefined,
  msg?: string | undefined,
];

function checkError(error: unknown, [expectedType, msgIncludes]: ExpectedError): void {
  if (typeof expectedType !== "function") return;
  assertInstanceOf(error, Error, "A non-Error object was thrown or rejected");
  assertInstanceOf(error, expectedType);
  if (msgIncludes !== undefined) assertStringIncludes(error.message, msgIncludes);
}

function equal(a: unknown, b: unknown): boolean {
  try {
    nodeAssert.deepStrictEqual(a, b);
    return true;
  } catch {
    return false;
  }
}

function show(value: unknown): string {
  return inspect(value, { depth: 6 });
}
