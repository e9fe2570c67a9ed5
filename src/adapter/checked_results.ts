/** Checks an adapter's results, with which core goes on as they are. */
import type { VerificationToken } from "@auth/core/adapters";

/** The call of the adapter. */
export interface CheckedCall {
  /** The method's name. */
  readonly name: string;
  /** Its arguments. */
  readonly args: readonly unknown[];
  /** Warns of a mistake in the result; `topic` is the same for the same mistake. */
  readonly warn: (topic: string, message: string) => void;
}

/** Methods whose result core takes an id from: without it the session would be of no user. */
const WRITTEN_KEYS: Readonly<Record<string, string>> = {
  createSession: "sessionToken",
  createUser: "id",
  updateUser: "id",
};

/**
 * The result, if it is what the method is to return.
 *
 * @throws {Error} If core must not go on.
 */
export function checked(call: CheckedCall, result: unknown): unknown {
  const { name, args: [key] } = call;
  const written = WRITTEN_KEYS[name];
  if (written !== undefined) return withKey(written, result);
  if (!isObject(result)) return result;
  if (name === "getSessionAndUser") return ofUser(call, result);
  if (name === "useVerificationToken") return isSameLink(result, key as Link) ? result : null;
  if (name === "getUserByEmail") return ofAddress(result, key);
  return result;
}

function withKey(key: string, result: unknown): unknown {
  const value = isObject(result) ? result[key] : undefined;
  if (value !== undefined && value !== null) return result;
  throw new Error(`its result has no \`${key}\`: have it return the row as it is stored`);
}

/** The rows of a session, unless that of its user is gone: then no user is signed in. */
function ofUser({ warn }: CheckedCall, result: Row): Row | null {
  const missing = ["session", "user"].find((part) => !isObject(result[part]));
  if (missing === undefined) return result;
  warn(
    `getSessionAndUser ${missing}`,
    `The adapter's getSessionAndUser() returned no \`${missing}\`: the session counts as none. Have it return ` +
      "`{ session, user }`, and null where one of them is gone. Delete the sessions of a user with the user.",
  );
  return null;
}

type Link = Partial<VerificationToken>;

/**
 * Whether a sign-in link is the one that was looked for: a key-value store that cuts keys at a character may
 * return another one.
 */
function isSameLink(row: Link, { identifier, token }: Link): boolean {
  return matches(row.token, token) && matches(row.identifier, identifier);
}

/** Some adapters leave columns out, and some sign-in links have no address: what is missing matches. */
function matches(actual: string | undefined, expected: string | undefined): boolean {
  return actual === undefined || expected === undefined || actual === expected;
}

/**
 * The user, whose address must be the one that was looked for. With a collation that ignores accents it may
 * be another one: then the owner of a similar address could sign in as this user.
 */
function ofAddress(user: Row, address: unknown): Row {
  const { email } = user;
  if (typeof email !== "string" || foldAddress(email) === foldAddress(String(address))) return user;
  // Not null: core would create a user, and in a key-value store overwrite the other user's key.
  throw new Error("The adapter's getUserByEmail() answered with a user of another e-mail address.");
}

function foldAddress(email: string): string {
  return email.normalize("NFKC").toLowerCase().trim();
}

type Row = Record<string, unknown>;

function isObject(value: unknown): value is Row {
  return typeof value === "object" && value !== null;
}
