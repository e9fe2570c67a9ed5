/**
 * How many instructions the contestants take, counted by valgrind. Other than times, counts of equal work differ by a
 * few per cent, also on a busy machine; those of a start by more. They are of user space: the kernel's are not in them, and
 * neither is waiting.
 *
 * Deno is not among the runtimes: its program has no names of functions, by which compiling and collecting garbage are
 * told from the rest.
 *
 * @module
 */
import process from "node:process";
import type { Count } from "./callgrind.ts";
import { type Asked, Generator, type Server } from "./conversation.ts";
import { askedOf, assertAnswers, type Contestant, type ContestantName, CONTESTANTS } from "./http.ts";
import {
  CONFIGURATIONS,
  CONNECTIONS,
  CONTESTANTS as OPERATIONS_CONTESTANTS,
  type OperationsContestant,
  operationsWith,
  prepare,
  type Prepared,
} from "./operations.ts";
import type { Runtime } from "./setup.ts";
import { type StartName, STARTS } from "./start.ts";
import { Callgrind, INSTALL_VALGRIND, valgrindVersion } from "./valgrind.ts";

/** The contestants whose reads are counted, bare Fastify first. */
export const READS = [
  "bare",
  "own",
  "typical",
  "guarded",
  "secureSession",
  "anonymous",
  "forged",
  "forgedChunks",
] as const satisfies ContestantName[];

/** All that is counted on a runtime: instructions for a request, and for a start. */
export interface Counts {
  readonly reads: Record<typeof READS[number], Count>;
  readonly operations: Record<string, Record<OperationsContestant, Count>>;
  readonly start: Record<StartName, Count>;
}

/** What was counted, when and with what. */
export interface Instructions {
  readonly date: string;
  /** The version of valgrind. */
  readonly valgrind: string;
  readonly runtimes: readonly { readonly name: string; readonly passes: readonly Counts[] }[];
}

/** Of each kind of request, how many come before those that are counted. One server answers several kinds. */
export const WARM_UP = { reads: 10_000, operations: 1000 } as const;

/** Of each kind of request, how many are counted. */
export const COUNTED = { reads: 1000, operations: 200 } as const;

const OPERATORS = Object.keys(OPERATIONS_CONTESTANTS) as OperationsContestant[];

/** How many programs run at a time. */
const AT_ONCE = 2;

/** Seconds for a request, which takes up to a hundred times as long as without valgrind. */
const TIMEOUT = 300;

/** One program that is run. */
interface Job {
  readonly title: string;
  readonly run: (callgrind: Callgrind) => Promise<void>;
}

/**
 * Counts on each runtime, as often as there are passes.
 *
 * @param onPass Gets what was counted so far, after each of the passes.
 * @throws {Error} Where valgrind is not installed.
 */
export async function countInstructions(
  runtimes: readonly Runtime[],
  node: Runtime,
  passes: number,
  onPass: (instructions: Instructions) => Promise<void>,
): Promise<void> {
  const valgrind = await valgrindVersion();
  if (valgrind === undefined) throw new Error(INSTALL_VALGRIND);
  const counted = runtimes.map(({ name }) => ({ name, passes: [] as Counts[] }));
  for (let pass = 0; pass < passes; pass++) {
    const inPass = runtimes.map(noCounts);
    const jobs = runtimes.flatMap((runtime, index) => jobsOf(runtime, node, inPass[index]!));
    await runAll(jobs, `pass ${pass + 1} of ${passes}`);
    counted.forEach(({ passes }, index) => passes.push(inPass[index]!));
    await onPass({ date: new Date().toISOString().slice(0, 10), valgrind, runtimes: counted });
  }
}

/** To be filled in, in the order of the tables. */
function noCounts(): Counts {
  const names = CONFIGURATIONS.flatMap(operationsWith);
  return { reads: {}, operations: Object.fromEntries(names.map((name) => [name, {}])), start: {} } as Counts;
}

/** Runs some at a time. Where one fails, or the process is told to end, none of the programs is left. */
async function runAll(jobs: readonly Job[], what: string): Promise<void> {
  await using callgrind = await Callgrind.open();
  const waiting = jobs.values();
  let done = 0;
  const runInTurn = async () => {
    for (const { title, run } of waiting) {
      await run(callgrind);
      console.log(`${new Date().toISOString()} ${what}, ${++done} of ${jobs.length}: ${title}`);
    }
  };
  const { promise: interrupted, reject } = Promise.withResolvers<never>();
  const interrupt = (signal: string) => reject(new Error(`Ended by ${signal}`));
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  try {
    await Promise.race([Promise.all(Array.from({ length: AT_ONCE }, runInTurn)), interrupted]);
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
}

/** The programs that are run for all counts on a runtime, those that take longest first. */
function jobsOf(runtime: Runtime, node: Runtime, counts: Counts): Job[] {
  const operations = CONFIGURATIONS.flatMap((config) =>
    OPERATORS.map((contestant): Job => ({
      title: `${runtime.name}, ${contestant}, operations (${config})`,
      async run(callgrind) {
        const [app, more] = OPERATIONS_CONTESTANTS[contestant];
        const names = operationsWith(config);
        const found = await countRequests(callgrind, runtime, node, [app, `${config}-${more}`], {
          prepare: (server) => Promise.all(names.map((name) => prepare(name, contestant, server))),
          warmUp: WARM_UP.operations,
          counted: COUNTED.operations,
        });
        names.forEach((name, index) => {
          counts.operations[name]![contestant] = found[index]!;
        });
      },
    }))
  );
  const reads = Map.groupBy(READS, (name) => appOf(name).join(" "));
  const readJobs = Array.from(reads.values(), (names): Job => ({
    title: `${runtime.name}, reads (${names.join(", ")})`,
    async run(callgrind) {
      const found = await countRequests(callgrind, runtime, node, appOf(names[0]!), {
        prepare: (server) => Promise.all(names.map((name) => prepareRead(CONTESTANTS[name], server))),
        warmUp: WARM_UP.reads,
        counted: COUNTED.reads,
      });
      names.forEach((name, index) => counts.reads[name] = found[index]!);
    },
  }));
  const start = STARTS.map((name): Job => ({
    title: `${runtime.name}, start (${name})`,
    async run(callgrind) {
      counts.start[name] = await callgrind.countAll(runtime, "start.js", name);
    },
  }));
  return [...operations, ...readJobs, ...start];
}

/** The application of a contestant, and its parameter. */
function appOf(name: typeof READS[number]): [app: string, parameter: string] {
  const { app, parameter = "" }: Contestant = CONTESTANTS[name];
  return [app, parameter];
}

async function prepareRead(contestant: Contestant, server: Server): Promise<Prepared> {
  const assertRight = () => assertAnswers(contestant, server);
  await assertRight();
  return { asked: askedOf(contestant, server), assertRight };
}

/** What a server is asked in turn, and how often. */
interface Conduct {
  readonly prepare: (server: Server) => Promise<readonly Prepared[]>;
  readonly warmUp: number;
  readonly counted: number;
}

/** Counts the instructions for a request of each kind, by a server of its own for all of them. */
async function countRequests(
  callgrind: Callgrind,
  runtime: Runtime,
  node: Runtime,
  [app, parameter]: [app: string, parameter: string],
  { prepare, warmUp, counted }: Conduct,
): Promise<Count[]> {
  const { server, begin, count, end } = await callgrind.start(runtime, app, parameter);
  const generator = new Generator(node);
  try {
    const send = (asked: Asked, amount: number) =>
      generator.send(server, { ...asked, amount, connections: CONNECTIONS, timeout: TIMEOUT });
    for (let turn = 1; turn <= TURNS; turn++) {
      // Anew for each turn: what a sign-in at a provider begins with expires after a quarter of an hour.
      const prepared = await prepare(server);
      // The server is slower from here on. Were it idle for that first, V8 would give up what it has compiled.
      if (turn === TURNS) await begin();
      for (const { asked } of prepared) await send(asked, warmUp / TURNS);
    }
    const counts: Count[] = [];
    for (const { asked, assertRight } of await prepare(server)) {
      let requests = 0;
      const { all, rest } = await count(async () => requests = (await send(asked, counted)).requests);
      await assertRight();
      counts.push({ all: all / requests, rest: rest / requests });
    }
    return counts;
  } finally {
    generator.end();
    await end();
  }
}

/**
 * In how many turns servers are sent the requests before those that are counted: V8 gives up code that another kind of
 * request runs with other types, which then comes in the first ones.
 */
const TURNS = 4;
