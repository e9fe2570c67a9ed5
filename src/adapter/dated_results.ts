/**
 * Makes Dates of the points in time in an adapter's results: core, and the reading of sessions here, compare
 * Dates only.
 */
import { toDate } from "./dates.ts";
import { lazyPattern } from "../utils/lazy_pattern.ts";

/** A call of the adapter. */
export interface DatedCall {
  /** The method's name. */
  readonly name: string;
  /** Its arguments. */
  readonly args: readonly unknown[];
  /** Warns of a value that is no date; `topic` is the same for the same mistake. */
  readonly warn: (topic: string, message: string) => void;
}

type Row = Record<string, unknown>;

/** The methods that return a user. */
const USER_METHODS = new Set(["createUser", "getUser", "getUserByEmail", "getUserByAccount", "updateUser"]);

/**
 * The result with Dates in it; the same object if it has them already.
 *
 * If a value is no date, a session or a sign-in link counts as expired, and an address as not verified. A
 * session that was just written expires when it was told to.
 */
export function withDates(call: DatedCall, result: unknown): unknown {
  if (!isRow(result)) return result;
  const { name, args } = call;
  if (USER_METHODS.has(name)) return withVerifiedDate(result, call);
  if (name === "getSessionAndUser") {
    const { session, user } = result;
    const datedSession = isRow(session) ? withExpiry(session, call, "the session") : session;
    const datedUser = isRow(user) ? withVerifiedDate(user, call) : user;
    if (datedSession === session && datedUser === user) return result;
    return { ...result, session: datedSession, user: datedUser };
  }
  if (name === "listSessionsByUserId" && Array.isArray(result)) {
    return result.map((row) => isRow(row) ? withExpiry(row, call, "the session") : row);
  }
  if (name === "createSession" || name === "updateSession") {
    const written = (args[0] as Row | undefined)?.expires;
    return withField(result, "expires", toDate(result.expires) ?? toDate(written) ?? result.expires);
  }
  if (name === "useVerificationToken") return withExpiry(result, call, "the sign-in link");
  return result;
}

function withExpiry(row: Row, call: DatedCall, what: string): Row {
  const date = toDate(row.expires);
  if (date === undefined) warnOfValue(call, "expires", row.expires, `${what} counts as expired`);
  return withField(row, "expires", date ?? new Date(0));
}

/** Some schemas keep a boolean here, which stays. */
function withVerifiedDate(user: Row, call: DatedCall): Row {
  const { emailVerified: value } = user;
  if (value === null || value === undefined || typeof value === "boolean") return user;
  const date = toDate(value) ?? null;
  if (date === null) warnOfValue(call, "emailVerified", value, "the address counts as not verified");
  return withField(user, "emailVerified", date);
}

function warnOfValue({ name, warn }: DatedCall, field: string, value: unknown, effect: string): void {
  warn(
    `${name} ${field}`,
    `The adapter's ${name}() returned ${
      describeShape(value)
    } as \`${field}\`, which is no date: ${effect}. ` +
      "Have the adapter return a Date, ISO 8601 text (UTC where it names no zone) or milliseconds since " +
      "1970.",
  );
}

const digits = lazyPattern(String.raw`\p{N}`, "gu");
const letters = lazyPattern(String.raw`\p{L}`, "gu");

/** Describes a value without its letters and digits: if columns are mixed up, it may be a secret. */
function describeShape(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") {
    return value === null ? "null" : `a value of type ${typeof value}`;
  }
  const shape = String(value).slice(0, 40).replace(digits(), "0").replace(letters(), "x");
  return `a ${typeof value} like ${JSON.stringify(shape)}`;
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null;
}

/**
 * A copy with another value in one field. It keeps the row's class; the adapter may still use the row itself.
 */
function withField(row: Row, field: string, value: unknown): Row {
  if (row[field] === value) return row;
  const copy = Object.create(Object.getPrototypeOf(row), Object.getOwnPropertyDescriptors(row)) as Row;
  return Object.defineProperty(copy, field, { value, enumerable: true, writable: true, configurable: true });
}
