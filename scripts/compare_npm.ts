/**
 * Compares what the two builders make of the sources, before modules are joined: `deno task compare:npm npm` the build in
 * `npm/` with one of `deno pack`'s, `deno task compare:npm` two new ones. Where JSR does not answer, TypeScript's compiler
 * stands for dnt, which runs it (`npm_tsc.ts`).
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { buildModules, MODULES } from "./build_npm.ts";
import { jsrAnswers } from "./deno.ts";
import { compareBuilds } from "./npm_compare.ts";

async function main([built]: string[]): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "fastify-authjs-builds-"));
  try {
    const [own, pack] = [join(work, "own"), join(work, "pack")];
    await Promise.all([
      buildModules("pack", pack),
      built ? undefined : buildModules(await jsrAnswers() ? "dnt" : "tsc", own),
    ]);
    await report(built ? resolve(built, MODULES) : own, pack);
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
