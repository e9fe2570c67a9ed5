/** Sessions and accounts over `@auth/drizzle-adapter` and `@auth/pg-adapter` on PostgreSQL. */
import { testOutage } from "../../support/database_outage_suite.ts";
import { testDatabase } from "../../support/database_suite.ts";
import { drizzlePg, pgAdapter, serverUrl } from "../../support/databases.ts";

const url = serverUrl("TEST_POSTGRES_URL", "the tests of sessions and accounts on PostgreSQL");
if (url) {
  for (const kind of [drizzlePg(url), pgAdapter(url)]) {
    testDatabase(kind);
    testOutage(kind);
  }
}
