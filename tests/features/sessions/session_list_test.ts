/** The queries of docs/sessions.md, over the adapters that they are for. */
import { assert, assertEquals } from "@std/assert";
import { createAuth } from "fastify-authjs";
import { withSessionList } from "fastify-authjs/adapters";
import { urlOf } from "../../adapters/adapter_case.ts";
import { ADAPTER_CASES } from "../../adapters/cases.ts";
import { testConfig } from "../../support/app.ts";
import { ADA, BOB, COOKIE, reader } from "../../support/database_setup.ts";
import { identityProvider, signedIn } from "../../support/identity.ts";
import { sessionsApp } from "../../support/sessions_app.ts";

const IDS = [
  "drizzle-libsql",
  "kysely-better-sqlite3",
  "prisma-postgresql",
  "sequelize-postgresql",
  "pg-postgresql",
];

for (const adapterCase of ADAPTER_CASES.filter(({ id }) => IDS.includes(id))) {
  const url = urlOf(adapterCase);
  if (url === undefined) continue;
  Deno.test({
    name: `${adapterCase.adapter} on ${adapterCase.database} lists and ends the sessions of a user`,
    // Some drivers close their connections after they have said so.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await using database = await adapterCase.open(url);
      let ended: string | undefined;
      const adapter = withSessionList(database.adapter, async (userId) => {
        const rows = await database.listSessions!(userId);
        if (ended !== undefined) await database.adapter.deleteSession!(ended);
        return rows;
      });
      const profile = ({ id, name, email }: typeof ADA) => ({ id, name, email });
      const auth = createAuth(testConfig({ adapter, providers: [identityProvider("one", { profile })] }));
      await using app = await sessionsApp(auth);
      const [laptop, phone] = [await signedIn(app, "one", ADA), await signedIn(app, "one", ADA)];
      const bob = await signedIn(app, "one", BOB);
      const [own, other, ...more] = (await laptop.get("/sessions")).json();
      assertEquals([own.current, other.current, more.length], [true, false, 0]);
      assert(Date.parse(own.expires) > Date.now(), own.expires);
      // The session signs out at the same moment: some adapters call it an error that the row is gone.
      ended = phone.cookies.get(COOKIE);
      assertEquals(await auth.revokeSession(other.id), true);
      ended = undefined;
      assertEquals([await reader(laptop), await reader(phone), await reader(bob)], [
        ADA.email,
        null,
        BOB.email,
      ]);
      const { user } = (await adapter.getSessionAndUser!(laptop.cookies.get(COOKIE)!))!;
      await auth.revokeSessions(String(user.id));
      assertEquals([await reader(laptop), await reader(bob)], [null, BOB.email]);
    },
  });
}
