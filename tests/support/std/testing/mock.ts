/**
 * Stands in for the part of `@std/testing/mock` that the tests use, if JSR cannot be reached.
 *
 * @module
 */
// deno-lint-ignore no-explicit-any -- as in the original: any method of any object
type Method = (...args: any[]) => any;

/** A call of a stub. */
export interface SpyCall {
  args: unknown[];
  returned?: unknown;
}

/** A method that was replaced, until it is restored or disposed of. */
export interface Stub extends Disposable {
  calls: SpyCall[];
  readonly restored: boolean;
  restore(): void;
}

/** Replaces a method of an object by a function. */
export function stub<Self, Property extends keyof Self>(
  self: Self,
  property: Property,
  func: Self[Property] & Method,
): Stub {
  const original = Object.getOwnPropertyDescriptor(self, property);
  const calls: SpyCall[] = [];
  let restored = false;
  const replace = (value: unknown) =>
    Object.defineProperty(self, property, { configurable: true, enumerable: true, writable: true, value });
  replace(function (this: Self, ...args: unknown[]) {
    const returned = func.apply(this, args);
    calls.push({ args, returned });
    return returned;
  });
  const restore = () => {
    if (restored) throw new Error("Cannot restore: instance method already restored");
    restored = true;
    if (original) Object.defineProperty(self, property, original);
    else delete self[property];
  };
  return {
    calls,
    restore,
    get restored() {
      return restored;
    },
    [Symbol.dispose]: () => restored || restore(),
  };
}
