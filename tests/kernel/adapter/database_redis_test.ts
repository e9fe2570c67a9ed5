/** Sessions and accounts over `@auth/unstorage-adapter` on Redis. */
import { testOutage } from "../../support/database_outage_suite.ts";
import { testDatabase } from "../../support/database_suite.ts";
import { serverUrl, unstorageRedis } from "../../support/databases.ts";

const url = serverUrl("TEST_REDIS_URL", "the tests of sessions and accounts on Redis");
if (url) {
  testDatabase(unstorageRedis(url));
  testOutage(unstorageRedis(url));
}
