/**
 * Tests the package that is published: builds and packs it, installs the tarball into fresh projects as a user does,
 * and runs every check there. Ends with a matrix of runtime by check and exits with 1 when anything failed.
 *
 * - `--dist=<directory>` tests the tarball of an earlier build instead; any other option is the build's.
 * - `--own-tests=20,26` runs the project's own tests on these releases of Node. The default is 24.
 * - `--tests=jwe,session` runs only those of these files.
 * - `--short` leaves the other runtimes, package managers, bundlers and compilers, new projects, the upgrade and the
 *   slowest tests to `deno task weekly`.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import {
  buildTarball,
  findTarball,
  install,
  makeProject,
  makeWorkDirectory,
  measure,
  readManifest,
} from "./consumer.ts";
import { checkBundles } from "./bundles.ts";
import { startIdentityProvider } from "./identity_provider.ts";
import { checkLayout, LAYOUTS } from "./layouts.ts";
import { Matrix } from "./matrix.ts";
import { checkNewProjects } from "./new_project.ts";
import { prepareOwnTests, runOwnTests } from "./own_tests.ts";
import { checkAttw, checkContents, checkFootprint, checkPeers, checkPublint } from "./package_checks.ts";
import { run, runFixture } from "./process.ts";
import { findRuntimes, type Runtime } from "./runtimes.ts";
import { checkOldestTypes, checkTypes, RESOLUTIONS } from "./types.ts";
import { checkUpgrade, EARLIER } from "./upgrade.ts";

/** The oldest compiler for an app of ES modules, and for one of CommonJS, each under an alias. */
const OLDEST_COMPILERS = [
  { compiler: "typescript-oldest", version: "5.0", app: "app.ts" },
  { compiler: "typescript-commonjs", version: "5.8", app: "app.cts" },
];

/** The compilers that apps use: the last of TypeScript's own, and the native one, under an alias. */
const COMPILERS = { "typescript": "typescript@5", "typescript-native": "typescript-native@npm:typescript@7" };

/** The next major of Fastify, before it is out. */
const NEXT_FASTIFY = "6.0.0-alpha.4";

const matrix = new Matrix();

async function main(): Promise<void> {
  const dist = option("dist");
  const ownTests = option("own-tests") ?? "24";
  const short = process.argv.includes("--short");
  const work = await makeWorkDirectory();
  try {
    const tarball = dist ? await findTarball(dist) : await buildTarball(process.argv.slice(2).filter(isOfBuild));
    const runtimes = await findRuntimes(short ? [...ownTests.split(","), "24"] : undefined);
    const tools = runtimes.find(({ name }) => name.startsWith("Node 24"));
    if (!tools) throw new Error("Node 24 runs the tools of this project, and cannot be had here");

    const project = await makeProject(join(work, "app"));
    await checkPackage(project, tarball);
    await checkRuntimes(runtimes, tools.command, project);
    await checkFastify(tools, work, tarball, NEXT_FASTIFY);
    if (short) {
      await checkTypesOfApps(tools.command, project, { typescript: COMPILERS.typescript });
    } else {
      const { peerDependencies } = await readManifest(project, "fastify-authjs");
      await checkFastify(tools, work, tarball, peerDependencies.fastify!.replace("^", ""));
      await checkUpgradeFrom(tools, project, work, tarball);
      await matrix.check(
        tools.name,
        "init",
        () => checkNewProjects(tools.command, project, work, tarball),
      );
      await checkBundles(matrix, tools.command, work, tarball);
      await checkLayouts(runtimes, project, work, tarball);
      await checkTools(tools.command, project, await makeProject(join(work, "tools")), tarball);
    }
    await checkOwnTests(runtimes, project, ownTests.split(","), short, option("tests")?.split(","));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  const { passed, failed } = matrix.totals();
  console.log(`\n${matrix}\n\n${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

function option(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(`--${name}=`.length);
}

function isOfBuild(arg: string): boolean {
  return !/^--(?:dist=|own-tests=|tests=|short$)/.test(arg);
}

/** Installs the tarball beside Fastify and looks at what was installed. */
async function checkPackage(project: string, tarball: string): Promise<void> {
  await install(project, ["fastify@5"]);
  const before = await measure(project);
  await install(project, [tarball]);
  await matrix.check("package", "size", async () => checkFootprint(before, await measure(project)));
  await matrix.check("package", "contents", () => checkContents(project));
  await matrix.check("package", "peers", () => checkPeers(project));
}

/** Uses the installed package on every runtime: sign-in with what it brings itself, then all of it, peers added. */
async function checkRuntimes(runtimes: Runtime[], node: string, project: string): Promise<void> {
  await install(project, ["oidc-provider@9"]);
  await using provider = await startIdentityProvider(node, project);
  const env = { ISSUER: provider.issuer };
  const check = async (column: string, ...fixture: string[]) => {
    for (const { name, command, args } of runtimes) {
      await matrix.check(
        name,
        column,
        () => runFixture(command, [...args, ...fixture], { cwd: project, env }),
      );
    }
  };
  await check("password", "sign_in.mjs", "password");
  await check("OIDC", "sign_in.mjs", "oidc");
  await check("command", "command.mjs");
  await check("no issuer", "issuer.mjs", "missing");
  await install(project, await optionalPeers(project));
  await check("import", "every_export.mjs");
  await check("require", "every_export.cjs");
  await check("issuer", "issuer.mjs");
}

/** Signs in to an app with another Fastify: the oldest that package.json allows, and the next one. */
async function checkFastify(
  { command }: Runtime,
  work: string,
  tarball: string,
  version: string,
): Promise<void> {
  const project = await makeProject(join(work, `fastify-${version}`));
  // The peer range gets the next one once it is out.
  await install(project, [`fastify@${version}`, tarball, "oidc-provider@9"], ["--legacy-peer-deps"]);
  await using provider = await startIdentityProvider(command, project);
  const env = { ISSUER: provider.issuer };
  for (const [column, method] of [["password", "password"], ["OIDC", "oidc"]] as const) {
    const check = () => runFixture(command, ["sign_in.mjs", method], { cwd: project, env });
    await matrix.check(`Fastify ${version}`, column, check);
  }
}

/** Runs the tarball beside an earlier build; the project has an OpenID provider. */
async function checkUpgradeFrom({ name, command }: Runtime, project: string, work: string, tarball: string) {
  await using provider = await startIdentityProvider(command, project);
  await matrix.check(
    name,
    `upgrade from ${EARLIER}`,
    () => checkUpgrade(command, work, tarball, provider.issuer),
  );
}

/** Installs the tarball with other package managers, and compiles an app against it; Deno compiles it, too. */
async function checkLayouts(
  runtimes: Runtime[],
  project: string,
  work: string,
  tarball: string,
): Promise<void> {
  const manifest = await readManifest(project, "fastify-authjs");
  const layouts = Object.entries(LAYOUTS).map(([name, layout]) => {
    const directory = join(work, name.replaceAll(" ", "-"));
    return matrix.check(name, "types", () => checkLayout(layout, directory, tarball, manifest));
  });
  const deno = runtimes.filter(({ name }) => name.startsWith("Deno")).map(({ name, command }) =>
    matrix.check(name, "types", async () => {
      await run(command, ["check", "types/app.ts"], { cwd: project });
      return { passed: 1, failed: [] };
    })
  );
  await Promise.all([...layouts, ...deno]);
}

/** Runs the project's own tests on some releases of Node. */
async function checkOwnTests(
  runtimes: Runtime[],
  project: string,
  releases: string[],
  short: boolean,
  names: string[] | undefined,
): Promise<void> {
  const tests = await prepareOwnTests(project, short, names);
  for (const release of releases) {
    const runtime = runtimes.find(({ name }) => name.startsWith(`Node ${release}.`));
    if (!runtime) throw new Error(`--own-tests names Node ${release}, which cannot be had here`);
    await matrix.check(runtime.name, "own tests", () => runOwnTests(runtime.command, tests));
  }
}

/** The peers that one kind of provider each needs, at the ranges that package.json allows. */
async function optionalPeers(project: string): Promise<string[]> {
  const { peerDependencies, peerDependenciesMeta } = await readManifest(project, "fastify-authjs");
  return Object.keys(peerDependenciesMeta).map((name) => `${name}@${peerDependencies[name]}`);
}

/** Compiles apps against the installed package. */
async function checkTypesOfApps(node: string, project: string, compilers: Record<string, string>) {
  await install(project, ["@types/node@22", ...Object.values(compilers)]);
  for (const compiler of Object.keys(compilers)) {
    const name = `TypeScript ${(await readManifest(project, compiler)).version}`;
    for (const resolution of Object.keys(RESOLUTIONS) as (keyof typeof RESOLUTIONS)[]) {
      await matrix.check(name, resolution, () => checkTypes(node, compiler, resolution, project));
    }
  }
}

/** Compiles apps with every compiler, and lets the packagers' linters look at the tarball. */
async function checkTools(node: string, project: string, tools: string, tarball: string): Promise<void> {
  await checkTypesOfApps(node, project, COMPILERS);
  await install(
    project,
    OLDEST_COMPILERS.map(({ compiler, version }) => `${compiler}@npm:typescript@${version}`),
  );
  for (const { compiler, app } of OLDEST_COMPILERS) {
    const name = `TypeScript ${(await readManifest(project, compiler)).version}`;
    await matrix.check(name, "NodeNext", () => checkOldestTypes(node, compiler, app, project));
  }
  await install(tools, ["publint@0.3", "@arethetypeswrong/cli@0.18"]);
  await matrix.check("package", "publint", () => checkPublint(tools, node, tarball));
  await matrix.check("package", "attw", () => checkAttw(tools, node, tarball));
}

await main();
