/** Objects in JSON, from outside and as they would arrive there. */

/** Parses JSON; `undefined` for any other text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses a JSON object; `undefined` for any other text. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a parsed value is an object, and no array. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** How deep objects and lists are copied without JSON: a session with its user, and what the user has. */
const LEVELS = 4;

/** Stands for a value that only JSON itself can copy. */
const COMPLEX = Symbol("complex");

/**
 * A value as it would arrive in JSON: dates are texts, functions are gone. Plain objects are copied without
 * JSON, which takes three times as long.
 *
 * @throws {TypeError} for what JSON cannot hold: a BigInt, a cycle.
 */
export function throughJson(value: object): unknown {
  const copy = objectsInherit() ? COMPLEX : copyPlain(value, LEVELS);
  return copy === COMPLEX ? JSON.parse(JSON.stringify(value)) : copy;
}

function copyPlain(value: unknown, levels: number): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value + 0 : null; // JSON has no -0.
    case "object":
      if (value === null) return null;
      if (levels === 0 || "toJSON" in value) return COMPLEX;
      return Array.isArray(value) ? copyList(value, levels - 1) : copyMembers(value, levels - 1);
    case "bigint":
      return COMPLEX;
    default:
      return undefined;
  }
}

/** Whether code has given all objects another enumerable member, which is none of their own. */
function objectsInherit(): boolean {
  for (const _inherited in {}) return true;
  return false;
}

function copyMembers(value: object, levels: number): unknown {
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return COMPLEX;
  const copy: Record<string, unknown> = {};
  // Members are read faster in such a loop than by their names in an array. All are the value's own.
  for (const key in value) {
    if (key === "__proto__") return COMPLEX;
    const own = (value as Record<string, unknown>)[key];
    const member = typeof own === "string" ? own : copyPlain(own, levels);
    if (member === COMPLEX) return COMPLEX;
    if (member !== undefined) copy[key] = member;
  }
  return copy;
}

function copyList(list: readonly unknown[], levels: number): unknown {
  const copy: unknown[] = [];
  for (let index = 0; index < list.length; index++) {
    const item = copyPlain(list[index], levels);
    if (item === COMPLEX) return COMPLEX;
    copy.push(item ?? null);
  }
  return copy;
}
