/**
 * Repeatable random input: a test prints its seed, and TEST_SEED repeats the run; `TEST_SEED=random` tries another.
 *
 * @module
 */
import process from "node:process";

/** A seeded source of choices. */
export interface Random {
  /** What to set TEST_SEED to. */
  readonly seed: number;
  /** An integer from 0 up to and without `below`. */
  int(below: number): number;
  /** One of the values. */
  pick<T>(values: readonly T[]): T;
  /** True one time in `times`. */
  oneIn(times: number): boolean;
  /** A text with everything that upsets codecs: quotes, astral characters, lone surrogates, control characters. */
  text(maxLength: number): string;
  /** A JSON value. */
  json(depth?: number): unknown;
}

const CHARACTERS = [..."abcXYZ019 -_.~\"'\\/;=,%+&<>\n\t\0é日本🦕", "\ud800", "\udfff", "\u2028", "\ufeff"];
const KEYS = [
  "a",
  "b",
  "name",
  "email",
  "sub",
  "1",
  "0",
  "-1",
  "",
  "__proto__",
  "constructor",
  "toJSON",
  "ключ",
];

/** The same in each run, so that a failure is one of the change that is tested. */
export const SEED = 20_261_121;

/** The seed that `TEST_SEED` names. */
export function seedOf(given: string | undefined): number {
  return given === "random" ? Date.now() % 2 ** 31 : Number(given ?? SEED);
}

/** Mulberry32: small, good enough to spread test cases. */
export function seededRandom(seed = seedOf(process.env.TEST_SEED)): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  const pick = <T>(values: readonly T[]): T => values[int(values.length)]!;
  const text = (maxLength: number) => Array.from({ length: int(maxLength + 1) }, () => pick(CHARACTERS)).join("");
  const json = (depth = 3): unknown => {
    const kind = int(depth > 0 ? 8 : 6);
    if (kind < 2) return text(12);
    if (kind === 2) return pick([0, -0, 1, -1.5, 1e21, 2 ** 53, 1e-7, int(1e9)]);
    if (kind < 6) return pick([null, true, false, text(3)]);
    if (kind === 6) return Array.from({ length: int(4) }, () => json(depth - 1));
    return Object.fromEntries(Array.from({ length: int(4) }, () => [pick(KEYS), json(depth - 1)]));
  };
  return { seed, int, pick, oneIn: (times) => int(times) === 0, text, json };
}
