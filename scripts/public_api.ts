/**
 * Writes what users can import, and how large the package is, into `scripts/public_api.txt`. With `--check` it compares
 * that file with today's sources instead: a change of the public API is seen in review, and is never made by accident.
 *
 * A symbol of this checkout has a digest of its declarations, so that any change of a type shows. Providers are left
 * out: their modules are generated, and deno.json lists them.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { buildNpm } from "./build_npm.ts";

/** By how much the packed size may differ from the file, in percent. */
const SIZE_TOLERANCE = 2;

const root = new URL("../", import.meta.url);
const report = new URL("public_api.txt", import.meta.url);

interface Declaration {
  kind: string;
  location: { filename: string };
  def?: Record<string, unknown>;
}

interface EntryPoint {
  symbols: { name: string; declarations: Declaration[] }[];
}

/** What says nothing of a type. */
const IGNORED = new Set(["location", "target", "jsDoc", "resolution", "declarationKind", "hasBody"]);

async function readEntryPoints(): Promise<Map<string, EntryPoint>> {
  const { exports } = JSON.parse(await readFile(new URL("deno.json", root), "utf8"));
  const own = Object.entries<string>(exports).filter(([name]) => !name.startsWith("./providers/"));
  const args = ["doc", "--json", ...own.map(([, file]) => file)];
  const options = { cwd: root, maxBuffer: 2 ** 30, env: { ...process.env, NO_COLOR: "1" } };
  const { nodes } = JSON.parse((await promisify(execFile)(process.execPath, args, options)).stdout);
  return new Map(own.map(([name, file]) => [name, nodes[new URL(file, root).href]]));
}

/** One line: kind, name, members, and the digest of what is declared here. */
function describe({ name, declarations }: EntryPoint["symbols"][number]): string {
  const kinds = [...new Set(declarations.map(({ kind }) => kind))].join(", ");
  const own = declarations.filter(({ location }) => location.filename.startsWith(root.href));
  if (own.length === 0) return `${kinds} ${name} (of a dependency)`;
  const members = [...new Set(own.flatMap(({ def }) => memberNames(def)))];
  const list = members.length > 0 ? ` { ${members.join(", ")} }` : "";
  const text = JSON.stringify(own, (key, value) => IGNORED.has(key) ? undefined : value);
  return `${kinds} ${name}${list} ${createHash("sha256").update(text).digest("hex").slice(0, 8)}`;
}

function memberNames(def: Declaration["def"] = {}): string[] {
  const literal = (def.tsType as { value?: unknown } | undefined)?.value;
  const owner = (typeof literal === "object" && literal !== null && !Array.isArray(literal) ? literal : def) as Record<
    string,
    { name: string; optional?: boolean }[] | undefined
  >;
  const members = [...owner.properties ?? [], ...owner.methods ?? []];
  return members.map(({ name, optional }) => optional ? `${name}?` : name).sort();
}

async function describeAll(): Promise<string> {
  const parts = [...await readEntryPoints()].map(([name, { symbols }]) => {
    const lines = symbols.map((symbol) => `  ${describe(symbol)}\n`).sort();
    return `${name}: ${symbols.length} names\n${lines.join("")}`;
  });
  return parts.join("\n");
}

/** The size of the tarball in bytes. */
async function packedSize(): Promise<number> {
  const directory = await mkdtemp(join(tmpdir(), "fastify-authjs-size-"));
  try {
    await buildNpm("pack", directory);
    const { stdout } = await promisify(execFile)("npm", ["pack", "--dry-run", "--json"], { cwd: directory });
    return JSON.parse(stdout)[0].size;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function check(api: string, size: number): Promise<string[]> {
  const text = await readFile(report, "utf8");
  const [first = "", ...rest] = text.split("\n\n");
  const before = Number(/(\d+) bytes/.exec(first)?.[1]);
  const problems: string[] = [];
  if (!(Math.abs(size - before) <= before * SIZE_TOLERANCE / 100)) {
    problems.push(`The packed package has ${size} bytes, and had ${before}.`);
  }
  const [old, now] = [new Set(rest.join("\n\n").split("\n")), new Set(api.split("\n"))];
  problems.push(...[...old].filter((line) => !now.has(line)).map((line) => `- ${line}`));
  problems.push(...[...now].filter((line) => !old.has(line)).map((line) => `+ ${line}`));
  return problems;
}

const [api, size] = await Promise.all([describeAll(), packedSize()]);
if (process.argv.includes("--check")) {
  const problems = await check(api, size);
  if (problems.length > 0) {
    console.error(
      `${problems.join("\n")}\nIf that is meant: deno task generate:api, and a line in CHANGELOG.md.`,
    );
    process.exit(1);
  }
} else {
  await writeFile(report, `The packed package: ${size} bytes\n\n${api}`);
}
