/**
 * Counts the documented symbols of every entry point, members of interfaces and classes included. Fails if fewer
 * than 95 % are documented, if an entry point lacks a module text or an example, or if `deno doc --lint` finds
 * fault with a file of this checkout.
 */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const LEAST_PERCENT = 95;

const root = new URL("../", import.meta.url);

/** What `deno doc --json` says of one thing, as far as it is read here. */
interface DocNode {
  name: string;
  jsDoc?: { doc?: string; tags?: { kind: string }[] };
}

interface Declaration extends DocNode {
  kind: string;
  declarationKind: string;
  location: { filename: string };
  def?: { constructors?: DocNode[]; properties?: DocNode[]; methods?: DocNode[] };
}

interface EntryPoint {
  module_doc?: DocNode["jsDoc"];
  symbols: { name: string; declarations: Declaration[] }[];
}

/** What was found in all entry points together. */
interface Coverage {
  entryPoints: number;
  documented: Set<string>;
  undocumented: Set<string>;
  /** Entry points without a module text or an example. */
  bare: string[];
}

/** Runs `deno doc` on every entry point. */
async function denoDoc(option: "--json" | "--lint"): Promise<{ stdout: string; stderr: string }> {
  const { exports } = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
  const args = ["doc", option, ...Object.values<string>(exports)];
  const options = { cwd: root, maxBuffer: 2 ** 30, env: { ...process.env, NO_COLOR: "1" } };
  return await promisify(execFile)(process.execPath, args, options);
}

async function readEntryPoints(): Promise<Map<string, EntryPoint>> {
  return new Map(Object.entries(JSON.parse((await denoDoc("--json")).stdout).nodes));
}

/** What `deno doc --lint` finds in this checkout. It looks into core's declarations as well, and fails for them. */
async function lint(): Promise<string[]> {
  const { stderr } = await denoDoc("--lint").catch((error) => error);
  const here = fileURLToPath(root);
  const faults: string[] = [];
  for (const [, fault = "", file = "", line] of stderr.matchAll(/^error\[(.*)\n\s*--> (.*?):(\d+)/gm)) {
    if (!file.startsWith(here) || await namesForeignType(file, fault)) continue;
    faults.push(`${file.slice(here.length)}:${line} ${fault.replace("]", "")}`);
  }
  return faults;
}

/** Whether the fault is that a public type names one of another package, which that package exports. */
async function namesForeignType(file: string, fault: string): Promise<boolean> {
  const type = fault.match(/references private type '(\w+)'/)?.[1];
  if (!type) return false;
  const foreign = [`^import [^;]*\\b${type}\\b[^;]* from "[^.]`, `import\\("[^.][^"]*"\\)\\.${type}\\b`];
  return new RegExp(foreign.join("|"), "m").test(await readFile(file, "utf8"));
}

/** Counts what is declared in this checkout: how well core documents what is re-exported is not ours to say. */
function count(entryPoints: Map<string, EntryPoint>): Coverage {
  const coverage: Coverage = { entryPoints: 0, documented: new Set(), undocumented: new Set(), bare: [] };
  for (const [file, { module_doc, symbols }] of entryPoints) {
    coverage.entryPoints++;
    if (!module_doc?.doc || !module_doc.tags?.some(({ kind }) => kind === "example")) {
      coverage.bare.push(file);
    }
    for (const { name, declarations } of symbols) {
      for (const declaration of declarations) countDeclaration({ ...declaration, name }, coverage);
    }
  }
  return coverage;
}

function countDeclaration(declaration: Declaration, { documented, undocumented }: Coverage): void {
  const { kind, declarationKind, location: { filename }, def } = declaration;
  if (kind === "reference" || declarationKind !== "export" || !filename.startsWith(root.href)) return;
  const members = [...def?.constructors ?? [], ...def?.properties ?? [], ...def?.methods ?? []];
  for (const node of [declaration, ...members]) {
    const name = node === declaration ? node.name : `${declaration.name}.${node.name}`;
    (node.jsDoc?.doc ? documented : undocumented).add(`${filename.slice(root.href.length)}: ${name}`);
  }
}

async function main(): Promise<void> {
  const { entryPoints, documented, undocumented, bare } = count(await readEntryPoints());
  const total = documented.size + undocumented.size;
  const percent = 100 * documented.size / total;
  for (const symbol of undocumented) console.log(`no documentation: ${symbol}`);
  for (const file of bare) console.log(`no module text with an example: ${file}`);
  const faults = await lint();
  for (const fault of faults) console.log(`deno doc --lint: ${fault}`);
  console.log(`${documented.size} of ${total} symbols documented (${percent.toFixed(1)} %)`);
  console.log(
    `${entryPoints - bare.length} of ${entryPoints} entry points with a module text and an example`,
  );
  if (percent < LEAST_PERCENT || bare.length > 0 || faults.length > 0) process.exitCode = 1;
}

await main();
