import type { SessionStore } from "fastify-authjs";
import { and, eq, inArray, lt } from "drizzle-orm";
import type { Connection } from "./connection.ts";

/**
 * The records of sessions in the database, so that every process of the demo knows which were ended. Each row is one
 * thing that is known of a user, and counts until its time is over.
 */
export function databaseSessionStore({ db, tables: { sessionRecords: rows } }: Connection): SessionStore {
  const of = (userId: string, ...names: string[]) => and(eq(rows.userId, userId), inArray(rows.name, names));
  const parse = (value?: string) => value === undefined ? undefined : JSON.parse(value);
  const write = async (userId: string, name: string, value: unknown, milliseconds: number) => {
    const row = { value: JSON.stringify(value), until: new Date(Date.now() + milliseconds) };
    await db.insert(rows).values({ userId, name, ...row })
      .onConflictDoUpdate({ target: [rows.userId, rows.name], set: row });
    await db.delete(rows).where(and(eq(rows.userId, userId), lt(rows.until, new Date())));
  };
  return {
    async get(userId, id) {
      const found = await db.select().from(rows).where(of(userId, `end ${id}`, "epoch", `session ${id}`));
      const valueOf = (name: string) => found.find((row) => row.name === name)?.value;
      return {
        ended: valueOf(`end ${id}`) !== undefined,
        epoch: parse(valueOf("epoch")),
        record: parse(valueOf(`session ${id}`)),
      };
    },
    async list(userId) {
      const found = await db.select().from(rows).where(eq(rows.userId, userId));
      const ended = new Set(found.map(({ name }) => name));
      const records = found.filter(({ name }) => name.startsWith("session "))
        .map(({ value }) => parse(value)).filter(({ id }) => !ended.has(`end ${id}`));
      return { records, epoch: parse(found.find(({ name }) => name === "epoch")?.value) };
    },
    put: (userId, record, milliseconds) => write(userId, `session ${record.id}`, record, milliseconds),
    end: (userId, id, milliseconds) => write(userId, `end ${id}`, true, milliseconds),
    endAll: (userId, epoch, milliseconds) => write(userId, "epoch", epoch, milliseconds),
  };
}
