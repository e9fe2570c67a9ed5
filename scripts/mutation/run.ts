/**
 * Tries whether tests fail if the code is wrong: `deno task mutation`. It changes one place of the sessions,
 * the tokens, the guards or the sign-in at a time, in a copy of the checkout, and runs the tests that call
 * the function there.
 *
 * What survives and is not in `survivors.txt` is an error. Of each kind of change about as many are tried,
 * `--count=400` together; `--seed=1` chooses them, each by its id, so that a sample changes as little as the
 * code. `--only` takes those with a text in their id. Results are kept in `--directory`, by default one for
 * temporary files, and a run goes on with those of an earlier one. So are the functions that each test calls:
 * remove the directory after larger changes.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { availableParallelism, constants, setPriority, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Mutant, mutantsOf } from "./mutants.ts";
import { type Baseline, Tree } from "./tree.ts";

const SOURCES = [
  "src/session",
  "src/store",
  "src/jwt",
  "src/guard",
  "src/adapter",
  "src/core",
  "src/routes/callback",
  "src/actions",
];
/** They need a browser, a server or a build, or look at neither sessions nor sign-ins. */
const OTHER_TESTS = new RegExp(
  "_browser_|/(?:bundle|cli|demo|examples|init|nginx|npm|request_cost|site|start)_" +
    "|/database_(?:libsql|outage|postgres|processes|redis)_",
);
/** How long the tests for a mutant take together at most, on the sources as they are. */
const MOST_MS = 120_000;

/** What became of a mutant. */
interface Result {
  readonly id: string;
  readonly status: "killed" | "survived" | "invalid";
  /** A digest of its file; if it survived, of the tests, too. */
  readonly of: string;
}

const { values: { seed, count, only, directory } } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    count: { type: "string", default: "400" },
    only: { type: "string", default: "" },
    directory: { type: "string", default: join(tmpdir(), "fastify-authjs-mutation") },
  },
});
const resultsFile = join(directory, "results.jsonl");
const baselinesFile = join(directory, "baselines.json");
const kept = (file: string) => existsSync(file) ? Deno.readTextFileSync(file) : "";
const digest = (text: string) => createHash("sha256").update(text).digest("hex").slice(0, 16);

setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
mkdirSync(directory, { recursive: true });
/** As many as there are processors: a mutant is tried in each. */
const trees = Array.from(
  { length: availableParallelism() },
  (_, index) => new Tree(fileURLToPath(new URL("../../", import.meta.url)), join(directory, `${index + 1}`)),
);
const tree = trees[0]!;
const sources = new Map(SOURCES.flatMap((each) => tree.sources(each)));
const testFiles = new Map(tree.sources("tests"));
const tests = digest([...testFiles.values()].join(""));

/** All mutants: those of each kind in turn, in an order that depends on nothing but the seed and the ids. */
function inOrder(): Mutant[] {
  const all = [...sources].flatMap(([file, text]) => mutantsOf(file, text)).filter(({ id }) => id.includes(only));
  const rank = ({ id }: Mutant) => digest(`${seed} ${id}`);
  const kinds = [...Map.groupBy(all, ({ kind }) => kind).values()]
    .map((mutants) => mutants.sort((a, b) => rank(a) < rank(b) ? -1 : 1));
  return all.flatMap((_, turn) => kinds.flatMap((mutants) => mutants[turn] ?? []));
}

/** Works on each item, in a tree of its own. */
async function forEach<Item>(items: Iterable<Item>, work: (item: Item, tree: Tree) => Promise<void>): Promise<void> {
  const left = Iterator.from(items);
  await Promise.all(trees.map(async (tree) => {
    for (const item of left) await work(item, tree);
  }));
}

async function findBaselines(): Promise<Baseline[]> {
  const known: Baseline[] = JSON.parse(kept(baselinesFile) || "[]");
  await forEach(testFiles.keys(), async (file, tree) => {
    const isWanted = /^tests\/.*_test\.ts$/.test(file) && !OTHER_TESTS.test(file);
    if (!isWanted || known.some((each) => each.file === file)) return;
    const baseline = await tree.baseline(file);
    known.push(baseline);
    console.log(`${file}: ${baseline.milliseconds} ms`);
    Deno.writeTextFileSync(baselinesFile, JSON.stringify(known));
  });
  return known.filter(({ file }) => testFiles.has(file));
}

/** Of the calls of functions of this name the share that each test makes, and of all places that have the word. */
function sharesOf(name: string): number[] {
  const ofAll = (counts: number[]) => {
    const all = counts.reduce((sum, each) => sum + each, 0) || 1;
    return counts.map((each) => each / all);
  };
  const calls = ofAll(
    baselines.map(({ calls }) =>
      Object.keys(calls).reduce((sum, key) => key.endsWith(` ${name}`) ? sum + calls[key]! : sum, 0)
    ),
  );
  const words = ofAll(
    baselines.map(({ file }) => testFiles.get(file)!.split(/\W+/).filter((each) => each === name).length),
  );
  return calls.map((each, i) => each + words[i]!);
}

/**
 * The tests that call the function, or else use the file: first those that are named after the file, or call most of
 * what the change names.
 */
function testsFor({ file, within, kind, id }: Mutant): Baseline[] {
  const callsIt = ({ calls }: Baseline) => calls[`${file} ${within}`] !== undefined;
  const usesFile = ({ calls }: Baseline) => Object.keys(calls).some((each) => each.startsWith(`${file} `));
  const named = `${within} ${id.slice(id.indexOf(kind) + kind.length)}`;
  const shares = [...new Set(named.match(/#?\w+/g))].map(sharesOf);
  const ranked = baselines.map((each, i) => {
    const isNamed = each.file.includes(basename(file, ".ts"));
    const weight = shares.reduce((sum, share) => sum + share[i]!, isNamed ? 1 : Number.EPSILON);
    return { each, rank: weight / each.milliseconds };
  }).sort((a, b) => b.rank - a.rank).map(({ each }) => each);
  let left = MOST_MS;
  return ranked.filter(baselines.some(callsIt) ? callsIt : usesFile)
    .filter(({ milliseconds }) => milliseconds <= left && ((left -= milliseconds), true));
}

const baselines = await findBaselines();
const typeChecks = tree.typeCheck(sources);

async function attempt(mutant: Mutant, tree: Tree): Promise<Result["status"]> {
  const { file, text } = mutant;
  if (!typeChecks(file, text)) return "invalid";
  const chosen = testsFor(mutant);
  Deno.writeTextFileSync(tree.path(file), text);
  let passes = true;
  // One by one: a change that has a test wait for good is found out soon.
  for (const each of chosen) passes &&= await tree.passes(each.file, 4 * each.milliseconds + 10_000);
  Deno.writeTextFileSync(tree.path(file), sources.get(file)!);
  return passes ? "survived" : "killed";
}

/** Why survivors stay: an id, and a line with the reason. */
const judged = Deno.readTextFileSync(new URL("survivors.txt", import.meta.url))
  .matchAll(/^(src\S+ .*)\n {2}(equivalent|accepted): \S/gm);
const reasons = new Map([...judged].map(([, id, reason]) => [id!, reason as "equivalent" | "accepted"]));
const results: Result[] = kept(resultsFile).split("\n").filter(Boolean).map((line) => JSON.parse(line));
const counts = { killed: 0, equivalent: 0, accepted: 0, survived: 0, invalid: 0 };
const survivors: string[] = [];
const tried = () => counts.killed + counts.equivalent + counts.accepted + counts.survived;
await forEach(inOrder(), async (mutant, tree) => {
  if (tried() >= Number(count)) return;
  const { id } = mutant;
  const source = digest(sources.get(mutant.file)!);
  let status = results.findLast((each) => each.id === id && [source, source + tests].includes(each.of))
    ?.status;
  if (status === undefined) {
    status = await attempt(mutant, tree);
    const result: Result = { id, status, of: status === "survived" ? source + tests : source };
    Deno.writeTextFileSync(resultsFile, JSON.stringify(result) + "\n", { append: true });
    console.log(`${tried()} ${status}: ${id}`);
  }
  const outcome = status === "survived" ? reasons.get(id) ?? status : status;
  counts[outcome]++;
  if (outcome === "survived") survivors.push(id);
});

const all = tried();
const percentOf = (mutants: number) => `${(100 * counts.killed / mutants).toFixed(1)} %`;
console.log(`\nseed ${seed}, ${all} mutants:`, counts);
console.log(`killed: ${percentOf(all)}, without equivalent ones ${percentOf(all - counts.equivalent)}`);
if (survivors.length > 0) console.log(`\nNot in scripts/mutation/survivors.txt:\n${survivors.join("\n")}`);
Deno.exitCode = survivors.length > 0 ? 1 : 0;
