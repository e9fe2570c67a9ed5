/**
 * What an adapter returns, with Dates where Auth.js means them: core and our own reading of sessions compare these and
 * look at nothing else.
 *
 * @module
 */
import { toDate } from "./dates.ts";

/** What was called and what it was given. */
export interface DatedCall {
  /** The method's name. */
  readonly name: string;
  /** Its arguments. */
  readonly args: readonly unknown[];
  /** Told of what cannot be read as a date, and what to change; `about` is the same for the same mistake. */
  readonly warn: (about: string, message: string) => void;
}

type Row = Record<string, unknown>;

/** The methods that return a user. */
const USER_METHODS = new Set(["createUser", "getUser", "getUserByEmail", "getUserByAccount", "updateUser"]);

/**
 * The result with Dates in it: itself, where it has them already.
 *
 * A session or a sign-in link whose end cannot be read is over, and an address not verified; what a method was asked to
 * write it has written.
 */
export function withDates(call: DatedCall, result: unknown): unknown {
  if (!isRow(result)) return result;
  const { name, args } = call;
  if (USER_METHODS.has(name)) return verified(result, call);
  if (name === "getSessionAndUser") {
    const { session, user } = result;
    const dated = isRow(session)
      ? replaced(session, "expires", ended(session, call, "the session"))
      : session;
    const known = isRow(user) ? verified(user, call) : user;
    return dated === session && known === user ? result : { ...result, session: dated, user: known };
  }
  if (name === "createSession" || name === "updateSession") {
    const asked = (args[0] as Row | undefined)?.expires;
    return replaced(result, "expires", toDate(result.expires) ?? toDate(asked) ?? result.expires);
  }
  if (name === "useVerificationToken") {
    return replaced(result, "expires", ended(result, call, "the sign-in link"));
  }
  return result;
}

function ended({ expires }: Row, call: DatedCall, what: string): Date {
  const date = toDate(expires);
  if (date === undefined) warn(call, "expires", expires, `${what} counts as expired`);
  return date ?? new Date(0);
}

/** Some schemas say only whether an address is verified, which has nothing to do with dates. */
function verified(user: Row, call: DatedCall): Row {
  const { emailVerified: value } = user;
  if (value === null || value === undefined || typeof value === "boolean") return user;
  const date = toDate(value) ?? null;
  if (date === null) warn(call, "emailVerified", value, "the address counts as not verified");
  return replaced(user, "emailVerified", date);
}

function warn({ name, warn }: DatedCall, field: string, value: unknown, effect: string): void {
  warn(
    `${name} ${field}`,
    `The adapter's ${name}() returned ${describe(value)} as \`${field}\`, which is no date: ${effect}. ` +
      "Have the adapter return a Date, ISO 8601 text (UTC where it names no zone) or milliseconds since 1970.",
  );
}

/** The shape of a value: where columns are mixed up it may be a secret. */
function describe(value: unknown): string {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") {
    return value === null ? "null" : `a value of type ${typeof value}`;
  }
  const shape = String(value).slice(0, 40).replace(/\p{N}/gu, "0").replace(/\p{L}/gu, "x");
  return `a ${typeof value} like ${JSON.stringify(shape)}`;
}

function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null;
}

/** A copy with one field replaced: the row may be the adapter's own, and of a class. */
function replaced(row: Row, field: string, value: unknown): Row {
  if (row[field] === value) return row;
  const copy = Object.create(Object.getPrototypeOf(row), Object.getOwnPropertyDescriptors(row)) as Row;
  return Object.defineProperty(copy, field, { value, enumerable: true, writable: true, configurable: true });
}
