/** Sessions and accounts over `@auth/drizzle-adapter` on libSQL, which is embedded. */
import { testOutage } from "../../support/database_outage_suite.ts";
import { testDatabase } from "../../support/database_suite.ts";
import { libsql } from "../../support/databases.ts";

testDatabase(libsql);
testOutage(libsql);
