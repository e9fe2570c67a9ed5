//? credentials
import { createHash, timingSafeEqual } from "node:crypto";
import { eq } from "drizzle-orm"; //? database
import type { Database } from "./database.ts"; //? database
import { setting } from "./environment.ts";
import { users } from "./schema.ts"; //? database

//? database
/**
 * The user with this address and password, or null. So far there is one, whose
 * password is in the environment; put those of yours into a table, hashed with
 * scrypt.
 */
export async function checkPassword(
  { orm }: Database,
  email: string,
  password: string,
) {
  if (!isAdmin(email, password)) return null;
  const [known] = await orm.select().from(users).where(eq(users.email, email));
  if (known) return known;
  const added = await orm.insert(users).values({ email, name: "Admin" })
    .returning();
  return added[0] ?? null;
}
//? end
//? !database
//| /**
//|  * The user with this address and password, or null. So far there is one, in the
//|  * environment; put the passwords of yours into a database, hashed with scrypt.
//|  */
//| export function checkPassword(email: string, password: string) {
//|   if (!isAdmin(email, password)) return null;
//|   return { id: email, email, name: "Admin" };
//| }
//? end

/** A hash, so that a comparison takes as long for every password. */
function hashed(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function isAdmin(email: string, password: string): boolean {
  const correct = timingSafeEqual(
    hashed(password),
    hashed(setting("ADMIN_PASSWORD")),
  );
  return correct && email === setting("ADMIN_EMAIL");
}
//? end
