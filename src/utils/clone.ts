/** Copies of data that core may write to. */

function isPlainObject(value: object): boolean {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Copies plain objects and arrays deeply, with symbol keys such as `customFetch`. Functions and instances of
 * classes, such as mail transports and keys, are not copied.
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

/**
 * Merges as core merges the `options` of a provider: deeply, and arrays by index.
 *
 * @param target Is written to and returned.
 * @param source Overrides `target`, except if it is `undefined`.
 */
export function mergeAsCore<T extends object>(target: T, source: object): T {
  const merged = target as Record<string, unknown>;
  for (const [key, value] of Object.entries(source)) {
    if (typeof value !== "object" || value === null) {
      if (value !== undefined) merged[key] = value;
      continue;
    }
    const known = merged[key];
    const into = typeof known === "object" && known !== null ? known : Array.isArray(value) ? [] : {};
    merged[key] = mergeAsCore(into, value);
  }
  return target;
}
