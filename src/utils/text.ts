import { Buffer } from "node:buffer";

/** A copy of a part of a longer text, such as a Cookie header, which V8 would keep in memory as long as the part. */
export function ownString(part: string): string {
  return Buffer.from(part).toString();
}

/** How many letters have to be added, removed or replaced to make one text the other (Levenshtein). */
export function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const replaced = row[j - 1]! + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}

/** An id as a text. Some databases have numbers. */
export function idOf(value: unknown): string | undefined {
  const isId = Number.isFinite(value) || typeof value === "bigint" || (typeof value === "string" && value !== "");
  return isId ? String(value) : undefined;
}
