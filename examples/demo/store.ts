import type { Store } from "fastify-authjs";
import { and, eq, gt, inArray, lte, type SQL } from "drizzle-orm";
import type { Connection } from "./connection.ts";

/**
 * What the processes of the demo share, in the database. A row is the value of a key, a lock with its owner, or a member
 * of a set, and counts until its time is over.
 */
export function databaseStore({ db, tables: { shared: rows } }: Connection): Store {
  const write = async (key: string, member: string, value: string, milliseconds: number, replaced?: SQL) => {
    const row = { value, until: new Date(Date.now() + milliseconds) };
    const change = { target: [rows.key, rows.member], set: row, ...(replaced && { setWhere: replaced }) };
    return await db.insert(rows).values({ key, member, ...row }).onConflictDoUpdate(change).returning();
  };
  const read = (...keys: string[]) =>
    db.select().from(rows).where(and(inArray(rows.key, keys), gt(rows.until, new Date())));
  return {
    async get(keys) {
      const found = await read(...keys.map((key) => `value:${key}`));
      return keys.map((key) => found.find((row) => row.key === `value:${key}`)?.value);
    },
    async set(key, value, milliseconds) {
      await write(`value:${key}`, "", value, milliseconds);
      await db.delete(rows).where(lte(rows.until, new Date()));
    },
    async lock(key, owner, milliseconds) {
      const written = await write(`lock:${key}`, "", owner, milliseconds, lte(rows.until, new Date()));
      return written.length > 0;
    },
    async unlock(key, owner) {
      await db.delete(rows).where(and(eq(rows.key, `lock:${key}`), eq(rows.value, owner)));
    },
    members: async (key) => (await read(`set:${key}`)).map(({ member }) => member),
    add: async (key, member, milliseconds) => void await write(`set:${key}`, member, "", milliseconds),
    async remove(key, member) {
      await db.delete(rows).where(and(eq(rows.key, `set:${key}`), eq(rows.member, member)));
    },
  };
}
