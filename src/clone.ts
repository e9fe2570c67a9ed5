/**
 * Copies of configuration data that core may write to.
 *
 * @module
 */

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Copies plain objects and arrays all the way down, symbol keys included (`customFetch` is one). Functions and
 * instances of classes stay what they are: a mail transport or a key is used, never written to.
 */
export function clonePlain<T>(value: T, seen: Map<object, unknown> = new Map()): T {
  if (typeof value !== "object" || value === null) return value;
  if (!Array.isArray(value) && !isPlainObject(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known as T;

  const copy: Record<PropertyKey, unknown> = Array.isArray(value) ? [] as never : {};
  seen.set(value, copy);
  for (const key of Reflect.ownKeys(value)) {
    if (Array.isArray(value) && key === "length") continue;
    copy[key] = clonePlain((value as Record<PropertyKey, unknown>)[key], seen);
  }
  return copy as T;
}
