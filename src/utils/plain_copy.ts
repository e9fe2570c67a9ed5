/** Deep copies of data, such as the claims of a token. */

/** How many levels of objects are copied here: a session with its user, and claims with what is in them. */
const LEVELS = 3;

/**
 * A copy of what JSON keeps of a value. Sessions are mostly plain objects with texts, numbers, booleans and null, which
 * are copied without making a text of them: that would take several times as long. Throws what `copyOther` throws.
 * @param copyOther Copies everything else, such as arrays, dates and cycles.
 */
export function plainCopy<T>(value: T, copyOther: (value: unknown) => unknown = throughJson, levels = LEVELS): T {
  if (typeof value === "string" || typeof value === "boolean" || value === null || value === undefined) return value;
  // JSON has no NaN, infinity or -0.
  if (typeof value === "number" && Number.isFinite(value) && value !== 0) return value;
  const isPlain = levels > 0 && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype &&
    !("toJSON" in value) && !Object.hasOwn(value, "__proto__");
  if (!isPlain) return copyOther(value) as T;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const kept = plainCopy((value as Record<string, unknown>)[key], copyOther, levels - 1);
    if (kept !== undefined) copy[key] = kept;
  }
  return copy as T;
}

/** A copy, or `undefined` if there can be none: JSON holds no BigInt and no cycle, a structured clone no function. */
export function tryCopy<T>(value: T, copyOther?: (value: unknown) => unknown): T | undefined {
  try {
    return plainCopy(value, copyOther);
  } catch {
    return undefined;
  }
}

function throughJson(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? undefined : JSON.parse(text);
}
