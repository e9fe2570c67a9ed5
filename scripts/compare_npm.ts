/**
 * Builds the npm package with both builders and compares the two: `deno task compare:npm`, where JSR answers. Two
 * directories as arguments are compared as they are.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { buildNpm } from "./build_npm.ts";
import { compareBuilds } from "./npm_compare.ts";

async function main([one, other]: string[]): Promise<void> {
  if (one && other) return await report(one, other);
  const work = await mkdtemp(join(tmpdir(), "fastify-authjs-builds-"));
  try {
    for (const builder of ["dnt", "pack"] as const) await buildNpm(builder, join(work, builder));
    await report(join(work, "dnt"), join(work, "pack"));
  } finally {
    await rm(work, { recursive: true });
  }
}

async function report(one: string, other: string): Promise<void> {
  const { same, accounted, faults } = await compareBuilds(one, other);
  for (const line of same) console.log(`same       ${line}`);
  for (const line of accounted) console.log(`accounted  ${line}`);
  for (const line of faults) console.log(`DIFFERENT  ${line}`);
  console.log(`${same.length} comparisons, ${accounted.length} known differences, ${faults.length} faults`);
  if (faults.length > 0) process.exitCode = 1;
}

await main(process.argv.slice(2));
