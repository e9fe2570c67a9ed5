/**
 * Drives every adapter over its database and records what was found in `tests/adapters/results.json`, which
 * `docs/adapters.md` is made from. All servers have to run: see CONTRIBUTING.md.
 *
 * @module
 */
import { urlOf } from "../tests/adapters/adapter_case.ts";
import { ADAPTER_CASES } from "../tests/adapters/cases.ts";
import { drive } from "../tests/adapters/drive.ts";
import type { Recorded } from "../tests/adapters/results.ts";

const results = new URL("../tests/adapters/results.json", import.meta.url);

/** The versions in the lock file. */
async function versions(): Promise<Record<string, string>> {
  const lock = JSON.parse(await Deno.readTextFile(new URL("./packages/deno.lock", import.meta.url)));
  const names = [...new Set(ADAPTER_CASES.map(({ adapter }) => adapter))];
  const found = Object.entries<string>(lock.specifiers).flatMap(([specifier, resolved]) => {
    const name = names.find((name) => specifier.startsWith(`npm:${name}@`));
    return name === undefined ? [] : [[name, resolved.replace(/_.*/, "")]];
  });
  return Object.fromEntries(found);
}

const cases: Record<string, Recorded> = {};
for (const adapterCase of ADAPTER_CASES) {
  const { id, adapter, database, server } = adapterCase;
  const url = urlOf(adapterCase);
  if (url === undefined) throw new Error(`${server} is not set.`);
  const { failures, byAdapter, longTokens, keepsLinks, short, unindexed } = await drive(adapterCase, url);
  console.log(`${id}: ${byAdapter} at once`, failures);
  cases[id] = { adapter, database, byAdapter, longTokens, keepsLinks, short, unindexed };
}
await Deno.writeTextFile(results, `${JSON.stringify({ versions: await versions(), cases }, null, 2)}\n`);
Deno.exit();
