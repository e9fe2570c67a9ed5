import { Buffer } from "node:buffer";
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";

const derive = promisify<string, Uint8Array, number, Uint8Array>(scrypt);
const KEY_LENGTH = 32;

/** Hashes a password for the database, as `salt.key`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  const key = await derive(password, salt, KEY_LENGTH);
  return `${salt.toString("base64url")}.${Buffer.from(key).toString("base64url")}`;
}

/** Whether the password is the one that was hashed. */
export async function verifyPassword(password: string, hash: string): Promise<boolean> {
  const [salt = "", key = ""] = hash.split(".").map((part) => Buffer.from(part, "base64url"));
  return timingSafeEqual(await derive(password, salt as Uint8Array, KEY_LENGTH), key as Uint8Array);
}
