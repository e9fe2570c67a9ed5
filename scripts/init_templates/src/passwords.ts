//? credentials
import { createHash, randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import process from "node:process";
import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { passwords, users } from "./schema.ts";

const SHORTEST = 12;
const LONGEST = 200;

/** About 0.1 s, and 32 MB: what OWASP recommends for scrypt. */
const COST = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 };

function derive(password: string, salt: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    // The same character may be typed in two ways
    scrypt(password.normalize("NFKC"), salt, 32, COST, (error, key) => {
      if (error) reject(error);
      else resolve(key);
    });
  });
}

async function hash(password: string): Promise<string> {
  const salt = randomBytes(16).toString("base64url");
  const key = Buffer.from(await derive(password, salt)).toString("base64url");
  return `scrypt-15-8-3.${salt}.${key}`;
}

async function matches(password: string, hashed: string): Promise<boolean> {
  const [, salt = "", key = ""] = hashed.split(".");
  const found = await derive(password, salt);
  return timingSafeEqual(found, Buffer.from(key, "base64url"));
}

/** Of no user, so that an unknown address takes as long as a known one. */
const nobody = hash(randomBytes(16).toString("hex"));

/** The user with this address and password, or null. */
export async function checkPassword(
  { orm }: Database,
  email: string,
  password: string,
) {
  if (password.length > LONGEST) return null;
  const [found] = await orm.select().from(users)
    .innerJoin(passwords, eq(passwords.userId, users.id))
    .where(eq(users.email, email.trim().toLowerCase()));
  const correct = await matches(password, found?.password.hash ?? await nobody);
  return found && correct ? found.user : null;
}

/** Why a password cannot be chosen, or undefined. */
export async function problemOf(password: string): Promise<string | undefined> {
  if (password.length < SHORTEST) {
    return `A password has at least ${SHORTEST} characters.`;
  }
  if (password.length > LONGEST) {
    return `A password has at most ${LONGEST} characters.`;
  }
  if (process.env.CHECK_BREACHES === "true" && await isBreached(password)) {
    return "This password is in a list of stolen ones.";
  }
}

/**
 * Asks Have I Been Pwned, which is told five characters of a hash. If it does not
 * answer, the password is taken.
 */
async function isBreached(password: string): Promise<boolean> {
  const digest = createHash("sha1").update(password).digest("hex")
    .toUpperCase();
  const url = `https://api.pwnedpasswords.com/range/${digest.slice(0, 5)}`;
  try {
    const response = await fetch(url, {
      headers: { "add-padding": "true" },
      signal: AbortSignal.timeout(3000),
    });
    const lines = (await response.text()).split(/\r?\n/);
    const line = lines.find((line) => line.startsWith(digest.slice(5)));
    return line !== undefined && !line.endsWith(":0");
  } catch (error) {
    console.warn("Stolen passwords cannot be looked up:", error);
    return false;
  }
}

/** Keeps the password of a user, in place of the one before. */
export async function setPassword(
  { orm }: Database,
  userId: string,
  password: string,
): Promise<void> {
  const hashed = await hash(password);
  await orm.insert(passwords).values({ userId, hash: hashed })
    .onConflictDoUpdate({ target: passwords.userId, set: { hash: hashed } });
}
//? end
