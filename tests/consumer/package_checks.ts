/** Checks what the package is made of: its files, its peers, its manifest and its size. */
import { readdir, readFile } from "node:fs/promises";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { type Footprint, readManifest } from "./consumer.ts";
import type { Result } from "./matrix.ts";
import { run } from "./process.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/**
 * What installing the package may add to a Fastify app: core and its five dependencies are most of it; lru-cache is 0.8 MB,
 * of which an application loads 50 KB, and the source maps and the sources are 2 MB, of which it loads nothing.
 */
const MAX_PACKAGES = 14;
const MAX_MEGABYTES = 9.5;

/** Tests. */
const STRANGERS = /(?:^|\/)tests?\/|_test\./;

/**
 * Everything that an entry point or a source map names is there, the papers are inside, and nothing that belongs to this
 * checkout is.
 */
export async function checkContents(project: string): Promise<Result> {
  const directory = join(project, "node_modules/fastify-authjs");
  const paths = (await readdir(directory, { recursive: true })).map((file) => file.replaceAll("\\", "/"));
  const files = paths.filter((file) => !file.startsWith("node_modules/"));
  const { exports, bin } = await readManifest(project, "fastify-authjs");
  const named = Object.values(exports).flatMap((target) => typeof target === "string" ? target : Object.values(target));
  const papers = ["README.md", "LICENSE", "CHANGELOG.md"];
  const expected = [...papers, ...[...named, ...Object.values(bin)].map((path) => path.replace("./", ""))];
  const failed = expected.filter((file) => !files.includes(file)).map((file) => `${file} is missing`);
  const sources = new Set<string>();
  for (const file of files.filter((file) => file.endsWith(".map"))) {
    const map: { sources: string[] } = JSON.parse(await readFile(join(directory, file), "utf8"));
    for (const source of map.sources) sources.add(posix.join(posix.dirname(file), source));
  }
  failed.push(...[...sources].filter((file) => !files.includes(file)).map((file) => `${file} is missing`));
  const isStrange = (file: string) => STRANGERS.test(file) || (/(?<!\.d)\.ts$/.test(file) && !sources.has(file));
  failed.push(...files.filter(isStrange).map((file) => `${file} is inside`));
  const modules = files.filter((file) =>
    /^esm\/.*\.js$/.test(file) && !file.startsWith("esm/shared/") && !expected.includes(file)
  );
  failed.push(...modules.map((file) => `${file} is a module that was not joined to others`));
  for (const file of files.filter((file) => /\.(?:js|ts|json|map)$/.test(file))) {
    if ((await readFile(join(directory, file), "utf8")).includes(root)) {
      failed.push(`${file} names this checkout`);
    }
  }
  return { passed: expected.length + sources.size - failed.length, failed };
}

/** Optional peers that core does not have. */
const OWN_PEERS: ReadonlySet<string> = new Set([
  "@fastify/rate-limit",
  "@opentelemetry/api",
  "oauth2-mock-server",
  "react",
]);

/** Core names no major version after 8; the tests of mails run with later ones. */
const LATER_THAN_CORE: ReadonlySet<string> = new Set(["nodemailer"]);

/** The plugin verifies passkeys itself, with a later major version: core's packages for them are never loaded. */
const REPLACED: ReadonlySet<string> = new Set(["@simplewebauthn/browser", "@simplewebauthn/server"]);

/** The other optional peers are those of the installed core, at the same ranges: core loads them. */
export async function checkPeers(project: string): Promise<Result> {
  const own = await readManifest(project, "fastify-authjs");
  const core = await readManifest(project, "@auth/core");
  const optional = Object.keys(own.peerDependenciesMeta).filter((name) => !OWN_PEERS.has(name));
  const result: Result = { passed: 0, failed: [] };
  for (const name of new Set([...optional, ...Object.keys(core.peerDependencies)])) {
    if (REPLACED.has(name)) continue;
    const [range, coreRange] = [own.peerDependencies[name], core.peerDependencies[name]];
    const isLater = LATER_THAN_CORE.has(name) && range?.startsWith(`${coreRange} || `);
    if (optional.includes(name) && (range === coreRange || isLater)) result.passed++;
    else result.failed.push(`${name} is a peer at ${range}, core's is at ${coreRange}`);
  }
  return result;
}

/** Compares an app before and after the package was installed into it. */
export function checkFootprint(before: Footprint, after: Footprint): Result {
  const packages = after.packages - before.packages;
  const megabytes = (after.bytes - before.bytes) / 1e6;
  const note = `+${packages} packages, +${megabytes.toFixed(2)} MB`;
  const failed = [];
  if (packages > MAX_PACKAGES) failed.push(`${note}: more than ${MAX_PACKAGES} packages`);
  if (megabytes > MAX_MEGABYTES) failed.push(`${note}: more than ${MAX_MEGABYTES} MB`);
  return { passed: 2 - failed.length, failed, note };
}

/** Runs publint on the tarball; its suggestions count as failures. */
export async function checkPublint(tools: string, node: string, tarball: string): Promise<Result> {
  await run(node, [join(tools, "node_modules/publint/src/cli.js"), "run", tarball, "--strict"], {
    cwd: tools,
  });
  return { passed: 1, failed: [] };
}

/**
 * Runs "are the types wrong" on the tarball. Its profile for packages that are ES modules only excuses two findings:
 * "CJS resolves to ESM", written before Node could require() them (the checks above do), and that resolution by the
 * rules of Node 10, which know no `exports`, finds no subpath.
 */
export async function checkAttw(tools: string, node: string, tarball: string): Promise<Result> {
  const cli = join(tools, "node_modules/@arethetypeswrong/cli/dist/index.js");
  await run(node, [cli, tarball, "--profile", "esm-only", "--format", "ascii"], { cwd: tools });
  return { passed: 1, failed: [] };
}
