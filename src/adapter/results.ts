/** Checks an adapter's results, with which core goes on as they are, and makes Dates of their points in time. */
import { lazyPattern } from "../utils/later.ts";
import { toDate } from "./dates.ts";

export interface AdapterCall {
  readonly name: string;
  readonly args: readonly unknown[];
  /** Warns of a mistake in the result; `topic` is the same for the same mistake. */
  readonly warn: (topic: string, message: string) => void;
}

type Row = Record<string, unknown>;

/** Methods whose result core takes an id from: without it the session would be of no user. */
const KEYS: Readonly<Record<string, string>> = {
  createSession: "sessionToken",
  createUser: "id",
  getUser: "id",
  getUserByAccount: "id",
  getUserByEmail: "id",
  updateUser: "id",
};

const READERS: Readonly<Record<string, (result: Row, call: AdapterCall) => unknown>> = {
  createUser: withVerifiedDate,
  getUser: withVerifiedDate,
  getUserByAccount: withVerifiedDate,
  updateUser: withVerifiedDate,
  getUserByEmail: (user, call) => withVerifiedDate(requireAddress(user, call.args[0]), call),
  createSession: withAskedExpiry,
  updateSession: withAskedExpiry,
  getSessionAndUser: sessionAndUser,
  // `liveRows()` refuses rows without `expires`: none of them would be listed or ended.
  listSessionsByUserId: (rows, call) =>
    Array.isArray(rows) ? rows.map((row) => row?.expires === undefined ? row : withExpiry(row, call)) : rows,
  useVerificationToken: (link, call) =>
    isSameLink(link, call.args[0] as Row) ? withExpiry(link, call, "the sign-in link") : null,
};

/** Without a date a session or a sign-in link counts as expired, and an address as not verified. */
export function readResult(call: AdapterCall, result: unknown): unknown {
  const key = KEYS[call.name];
  if (key !== undefined && (isRow(result) ? result[key] : undefined) == undefined) {
    const none = call.name.startsWith("get") ? ", or null if there is none" : "";
    throw new Error(`its result has no \`${key}\`: have it return the row as it is stored${none}`);
  }
  const read = READERS[call.name];
  return isRow(result) && read !== undefined ? read(result, call) : result;
}

/** The rows of a session, unless that of its user is gone: then no user is signed in. */
function sessionAndUser(result: Row, call: AdapterCall): Row | null {
  const { session, user } = result;
  if (isRow(session) && isRow(user)) {
    const dated = { session: withExpiry(session, call), user: withVerifiedDate(user, call) };
    return dated.session === session && dated.user === user ? result : { ...result, ...dated };
  }
  const missing = isRow(session) ? "user" : "session";
  call.warn(
    `getSessionAndUser ${missing}`,
    `The adapter's getSessionAndUser() returned no \`${missing}\`: the session counts as none. Have it return ` +
      "`{ session, user }`, and null if one of them is gone. Delete the sessions of a user with the user.",
  );
  return null;
}

/**
 * Whether a sign-in link is the one that was looked for: a key-value store that cuts keys at a character may return
 * another one. Some adapters leave columns out, and some links have no address: what is missing matches.
 */
function isSameLink(row: Row, asked: Row): boolean {
  return ["token", "identifier"].every((name) =>
    row[name] === asked[name] || [row[name], asked[name]].includes(undefined)
  );
}

/** If a collation ignores accents, the owner of a similar address could sign in as this user. */
function requireAddress(user: Row, address: unknown): Row {
  const { email } = user;
  const fold = (text: string) => text.normalize("NFKC").toLowerCase().trim();
  if (typeof email !== "string" || fold(email) === fold(String(address))) return user;
  // Not null: core would create a user, and in a key-value store overwrite the other user's key.
  throw new Error("The adapter's getUserByEmail() answered with a user of another e-mail address.");
}

/** A session that was just written expires when it was told to. */
function withAskedExpiry(row: Row, { args: [asked] }: AdapterCall): Row {
  return withField(row, "expires", toDate(row.expires) ?? toDate((asked as Row).expires));
}

function withExpiry(row: Row, call: AdapterCall, what = "the session"): Row {
  const date = toDate(row.expires);
  if (date === undefined) warnOfValue(call, "expires", row.expires, `${what} counts as expired`);
  return withField(row, "expires", date ?? new Date(0));
}

/** Some schemas keep a boolean here, which stays. */
function withVerifiedDate(user: Row, call: AdapterCall): Row {
  const { emailVerified: value } = user;
  if (value === null || value === undefined || typeof value === "boolean") return user;
  const date = toDate(value) ?? null;
  if (date === null) warnOfValue(call, "emailVerified", value, "the address counts as not verified");
  return withField(user, "emailVerified", date);
}

function warnOfValue({ name, warn }: AdapterCall, field: string, value: unknown, effect: string): void {
  const given = `The adapter's ${name}() returned ${describeShape(value)} as \`${field}\``;
  warn(
    `${name} ${field}`,
    `${given}, which is no date: ${effect}. Have the adapter return a Date, ISO 8601 text (UTC if it names no ` +
      "zone) or milliseconds since 1970.",
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

/** A copy with another value in one field, of the same class; the adapter may still use the row itself. */
function withField(row: Row, field: string, value: unknown): Row {
  if (row[field] === value) return row;
  const copy = Object.create(Object.getPrototypeOf(row), Object.getOwnPropertyDescriptors(row)) as Row;
  return Object.defineProperty(copy, field, { value, enumerable: true, writable: true, configurable: true });
}
