/** Copies of data that core may write to. */

function isPlain(value: unknown): value is Record<PropertyKey, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

/**
 * Copies plain objects and arrays deeply, with symbol keys such as `customFetch`. Functions and instances of
 * classes, such as mail transports and keys, are not copied.
 */
export function clonePlain<T>(value: T, seen: Map<unknown, unknown> = new Map()): T {
  if (!isPlain(value)) return value;
  if (seen.has(value)) return seen.get(value) as T;
  const copy = (Array.isArray(value) ? [] : {}) as Record<PropertyKey, unknown>;
  seen.set(value, copy);
  for (const key of Reflect.ownKeys(value)) copy[key] = clonePlain(value[key], seen);
  return copy as T;
}

/**
 * Merges as core merges the `options` of a provider: deeply, and arrays by index. Unlike there, an instance of a
 * class such as a `CryptoKey` stays one.
 *
 * @param target Is written to and returned.
 * @param source Overrides `target`, except if it is `undefined`.
 */
export function mergeAsCore<T extends object>(target: T, source: object): T {
  const merged = target as Record<string, unknown>;
  for (const [key, value] of Object.entries(source)) {
    if (!isPlain(value)) {
      if (value !== undefined) merged[key] = value;
      continue;
    }
    const known = merged[key];
    const into = typeof known === "object" && known !== null ? known : Array.isArray(value) ? [] : {};
    merged[key] = mergeAsCore(into, value);
  }
  return target;
}
