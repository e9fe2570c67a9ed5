/** Common plugins and options of Fastify beside the plugin: docs/compatibility.md shows what is run here. */
import { assertEquals } from "@std/assert";
import { OPTION_ROWS } from "../support/compatibility/options.ts";
import { PLUGIN_ROWS } from "../support/compatibility/plugins.ts";
import { runRow } from "../support/compatibility/run.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";

for (const row of [...OPTION_ROWS, ...PLUGIN_ROWS]) {
  Deno.test(`compatibility: every step works with ${row.name}`, async () => {
    await using provider = await ScriptedProvider.start();
    const outcome = await runRow(row, provider);
    assertEquals(Object.entries(outcome).filter(([, failure]) => failure !== undefined), []);
  });
}
