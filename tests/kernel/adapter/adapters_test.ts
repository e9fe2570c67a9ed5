/** The published adapters of Auth.js over real databases: twelve steps, and what `docs/adapters.md` says of each. */
import { assert, assertEquals } from "@std/assert";
import { type Server, urlOf } from "../../adapters/adapter_case.ts";
import { ADAPTER_CASES } from "../../adapters/cases.ts";
import { drive } from "../../adapters/drive.ts";
import { RESULTS } from "../../adapters/results.ts";
import { serverUrl } from "../../support/databases.ts";

const NOT_RUN: Record<Server, string> = {
  TEST_POSTGRES_URL: "the tests of adapters on PostgreSQL",
  TEST_MARIADB_URL: "the tests of adapters on MariaDB",
  TEST_REDIS_URL: "the tests of adapters on Redis",
};

for (const [server, what] of Object.entries(NOT_RUN)) serverUrl(server, what);

for (const adapterCase of ADAPTER_CASES) {
  const url = urlOf(adapterCase);
  if (url === undefined) continue;
  Deno.test({
    name: `${adapterCase.adapter} on ${adapterCase.database}: the twelve steps, and what is documented`,
    // Some drivers close their connections after they have said so.
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      const result = await drive(adapterCase, url);
      const { failures, byPlugin, byProcesses, byAdapter, fixed, changed, ...found } = result;
      assertEquals(failures, {});
      assertEquals({ byPlugin, byProcesses }, { byPlugin: 1, byProcesses: 1 });
      if (changed) assertEquals(changed, { byAdapter: 1, keepsLinks: true });
      assertEquals(fixed, { longTokens: true, short: [], unindexed: [] });

      const { byAdapter: recorded, adapter, database, ...facts } = RESULTS.cases[adapterCase.id]!;
      assertEquals(found, facts);
      assertEquals({ adapter, database }, { adapter: adapterCase.adapter, database: adapterCase.database });
      // How many requests get one link in two steps is a matter of chance.
      assert(recorded > 1 || byAdapter === 1, `${byAdapter} requests were given one link`);
    },
  });
}

Deno.test("every adapter that is driven is documented, and no other", () => {
  assertEquals(Object.keys(RESULTS.cases), ADAPTER_CASES.map(({ id }) => id));
});
