/**
 * The results as Markdown tables.
 *
 * @module
 */
import { type Contestant, type ContestantName, CONTESTANTS, type HttpResults } from "./http.ts";
import type { Count } from "./callgrind.ts";
import { COUNTED, type Counts, type Instructions, READS, WARM_UP } from "./instructions.ts";
import { MORE, type OperationResult } from "./operations.ts";
import type { Profile, Shares } from "./profile.ts";
import type { ReadResult } from "./reads.ts";
import type { Start, StartName } from "./start.ts";

/** One run of everything on one runtime. */
export interface Pass {
  reads: ReadResult;
  http: HttpResults;
  operations: OperationResult;
  start: Record<StartName, Start>;
}

/** All that was measured, and on what. */
export interface Measured {
  date: string;
  machine: string;
  versions: Record<string, string>;
  runtimes: { name: string; passes: Pass[] }[];
  profile: Profile;
  /** Where they were counted at all. */
  instructions?: Instructions;
}

/** What a figure should be. */
interface Limit {
  text: string;
  met: (value: number) => boolean;
}

const atLeast = (limit: number): Limit => ({ text: `≥ ${limit} ×`, met: (value) => value >= limit });
const atMost = (limit: number, unit = "×"): Limit => ({
  text: `≤ ${limit} ${unit}`,
  met: (value) => value <= limit,
});
/** Beside the others to compare with. */
const NO_LIMIT: Limit = { text: "", met: () => true };

/** A row of the table of targets. */
interface Target {
  measure: string;
  limit: Limit;
  /** Where it is another one on Deno. */
  onDeno?: Limit;
  value: (pass: Pass) => number;
  digits: number;
  /** @default "×" */
  unit?: string;
}

const ofBare = ({ http }: Pass, name: ContestantName) => http[name].ofBare;
const bestBetterAuth = (pass: Pass) => Math.max(ofBare(pass, "betterAuth"), ofBare(pass, "betterAuthCached"));
const cpuOver = ({ http }: Pass, name: ContestantName, other: ContestantName) =>
  http[name].cpu / http[other].cpu;
/** The operation that comes off worst. */
const worstOperation = ({ operations }: Pass, [over, under]: ["own", "port"] | ["ownWithMore", "own"]) =>
  Math.max(...Object.values(operations).map((operation) => operation[over] / operation[under]));
const limitOn = ({ limit, onDeno }: Target, runtime: string) =>
  runtime.startsWith("Deno") ? onDeno ?? limit : limit;

const TARGETS: Target[] = [
  {
    measure: "a read, 16 in flight, against the whole of core: a user seen a moment ago",
    limit: atLeast(40),
    onDeno: atLeast(18),
    value: ({ reads }) => reads.ratios.portOverAgain,
    digits: 0,
  },
  {
    measure: "the same, a user not seen before",
    limit: atLeast(40),
    onDeno: atLeast(18),
    value: ({ reads }) => reads.ratios.portOverFirst,
    digits: 0,
  },
  {
    measure: "the same, decrypted by hand",
    limit: NO_LIMIT,
    value: ({ reads }) => reads.ratios.portOverHand,
    digits: 0,
  },
  {
    measure: "a read against decrypting by hand: a user seen a moment ago",
    limit: atMost(1.4),
    value: ({ reads }) => reads.ratios.againOverHand,
    digits: 2,
  },
  {
    measure: "the same, a user not seen before",
    limit: atMost(1.4),
    value: ({ reads }) => reads.ratios.firstOverHand,
    digits: 2,
  },
  {
    measure: "signed out, no cookie",
    limit: atMost(2, "µs"),
    value: ({ reads }) => reads.microseconds.signedOut,
    digits: 2,
    unit: "µs",
  },
  {
    measure: "a read under the instrumentation for OpenTelemetry, without an SDK, against one without",
    limit: NO_LIMIT,
    value: ({ reads }) => reads.ratios.observedGrowth,
    digits: 2,
  },
  {
    measure: "HTTP, a route with a session, against Fastify without",
    limit: atLeast(0.55),
    value: (pass) => ofBare(pass, "own"),
    digits: 2,
  },
  {
    measure: "the same with callbacks for id and role",
    limit: atLeast(0.65),
    value: (pass) => ofBare(pass, "typical"),
    digits: 2,
  },
  {
    measure: "the same against @fastify/secure-session",
    limit: atLeast(1),
    value: (pass) => ofBare(pass, "typical") / ofBare(pass, "secureSession"),
    digits: 2,
  },
  {
    measure: "the same with a guard that asks for the role, in CPU against without",
    // What two equal measurements may differ by.
    limit: { ...atMost(1.1), text: "1 ×" },
    value: (pass) => cpuOver(pass, "guarded", "typical"),
    digits: 2,
  },
  {
    measure: "12,000 users, callbacks for id and role: CPU against decrypting by hand",
    limit: atMost(1.25),
    value: (pass) => cpuOver(pass, "manyTypical", "manyByHand"),
    digits: 2,
  },
  {
    measure: "the same with a cache for all of them, against Fastify without a session",
    limit: atLeast(0.45),
    value: (pass) => ofBare(pass, "manyCached"),
    digits: 2,
  },
  {
    measure: "HTTP against @auth/express",
    limit: atLeast(20),
    value: (pass) => ofBare(pass, "own") / ofBare(pass, "express"),
    digits: 0,
  },
  {
    measure: "`GET /auth/session` against @auth/express",
    limit: NO_LIMIT,
    value: (pass) => ofBare(pass, "ownRoute") / ofBare(pass, "expressRoute"),
    digits: 0,
  },
  {
    measure: "HTTP against the better of better-auth's ways",
    limit: atLeast(8),
    value: (pass) => ofBare(pass, "own") / bestBetterAuth(pass),
    digits: 1,
  },
  {
    measure: "the operation that takes most CPU in proportion to a port of core",
    limit: atMost(1),
    value: (pass) => worstOperation(pass, ["own", "port"]),
    digits: 2,
  },
  {
    measure: `the operation that grows most with ${MORE} more providers`,
    // The page and the list of providers have a button and an entry for each.
    limit: NO_LIMIT,
    value: (pass) => worstOperation(pass, ["ownWithMore", "own"]),
    digits: 2,
  },
  {
    measure: "start: CPU until it is registered, over Fastify with the port's packages loaded",
    limit: atMost(40, "ms"),
    value: ({ start }) => start.registered.cpu - start.bare.cpu,
    digits: 0,
    unit: "ms",
  },
  {
    // Where the target was set, a port took 223 ms.
    measure: "the same, in proportion to the start of a port of core",
    limit: atMost(0.18),
    value: ({ start }) => (start.registered.cpu - start.bare.cpu) / start.port.cpu,
    digits: 2,
  },
  {
    measure: "CPU of a request with a forged session cookie, against one without a cookie",
    limit: atMost(3),
    value: (pass) => cpuOver(pass, "forged", "anonymous"),
    digits: 2,
  },
  {
    measure: "the same, sixteen chunks of 15 KB",
    limit: atMost(5),
    value: (pass) => cpuOver(pass, "forgedChunks", "anonymous"),
    digits: 2,
  },
  {
    measure: "a read with 80 providers configured, against one",
    // What two equal reads may differ by.
    limit: { ...atMost(1.1), text: "1 ×" },
    value: ({ reads }) => reads.ratios.providersGrowth,
    digits: 2,
  },
  {
    measure: "a session in 3 cookies against one: a user seen a moment ago",
    limit: atMost(3),
    value: ({ reads }) => reads.ratios.chunksAgainGrowth,
    digits: 2,
  },
  {
    measure: "the same, a user not seen before",
    limit: atMost(3),
    value: ({ reads }) => reads.ratios.chunksGrowth,
    digits: 2,
  },
  {
    measure: "the same, decrypted by hand",
    limit: NO_LIMIT,
    value: ({ reads }) => reads.ratios.handChunksGrowth,
    digits: 2,
  },
  {
    measure: "resident memory under load against Fastify without a session",
    limit: atMost(1.2),
    value: ({ http }) => http.own.memory / http.bare.memory,
    digits: 2,
  },
];

const NAMES = Object.keys(CONTESTANTS) as ContestantName[];

/** The contestants whose known user asks a route for the session. */
export const KNOWN_USER = [
  "bare",
  "own",
  "typical",
  "guarded",
  "secureSession",
  "jwt",
  "jwtCached",
  "betterAuthCached",
  "betterAuth",
  "port",
  "express",
  "hono",
] as const satisfies ContestantName[];
const MANY_USERS = NAMES.filter((name) => (CONTESTANTS[name] as Contestant).manyUsers);
const ROUTE = NAMES.filter((name) => (CONTESTANTS[name] as Contestant).path === "/auth/session");
const DATABASE = ["database", "portDatabase"] as const satisfies ContestantName[];
const ANY_CLIENT = NAMES.filter((name) => (CONTESTANTS[name] as Contestant).path === "/session");

/** How a contestant is called. */
export const titleOf = (name: ContestantName): string => CONTESTANTS[name].title;

/** Every table, with what they were measured on. */
export function tables(measured: Measured): string {
  return [
    `Measured on ${measured.date}, on ${measured.machine}.`,
    `### Against the targets`,
    targets(measured),
    `### Over HTTP: a route that answers with the session's user`,
    HTTP_CELLS,
    http(measured, KNOWN_USER),
    `### Over HTTP: \`GET /auth/session\``,
    HTTP_CELLS,
    http(measured, ROUTE),
    `### Over HTTP: 12,000 users in turn`,
    HTTP_CELLS,
    http(measured, MANY_USERS),
    `### Over HTTP: sessions in a database, in memory`,
    HTTP_CELLS,
    http(measured, DATABASE),
    `### Over HTTP: what any client can send, in microseconds of the server's CPU`,
    cpu(measured, ANY_CLIENT),
    `### Operations: the server's CPU against a port of core`,
    `Each cell: the CPU of a request against that of the port, the microseconds of both, and the growth with ${MORE} more ` +
    `providers.`,
    operations(measured),
    `### Start, in milliseconds of CPU (on the clock)`,
    start(measured),
    `### Resident memory under load, in MB`,
    memory(measured, KNOWN_USER),
    `### One read, in microseconds`,
    reads(measured),
    `### Where the time of a read goes`,
    `A CPU profile on ${measured.profile.runtime}: each function's share of the time, spent in itself.`,
    profile(measured),
    ...(measured.instructions ? instructions(measured.instructions) : []),
    `### Versions`,
    Object.entries(measured.versions).map(([name, version]) => `${name} ${version}`).join(", ") + ".",
  ].join("\n\n");
}

const HTTP_CELLS =
  "Each cell: the share of bare Fastify's rate, and microseconds of the server's CPU for a request.";

function targets({ runtimes }: Measured): string {
  const names = runtimes.map(({ name }) => name);
  const rows = TARGETS.map((target) => [
    target.measure,
    [...new Set(names.map((name) => limitOn(target, name).text))].join("; "),
    ...runtimes.map(({ name, passes }) => {
      const values = passes.map(target.value);
      const mark = values.every(limitOn(target, name).met) ? "" : " ✗";
      return `${values.map((value) => value.toFixed(target.digits)).join(" / ")} ${
        target.unit ?? "×"
      }${mark}`;
    }),
  ]);
  return table(["measure", "target", ...names], rows);
}

function http({ runtimes }: Measured, names: readonly ContestantName[]): string {
  const rows = names.map((name) => [
    titleOf(name),
    ...runtimes.map(({ passes }) =>
      passes.map(({ http }) => `${http[name].ofBare.toFixed(3)} (${digits(http[name].cpu)})`).join(" / ")
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function operations({ runtimes }: Measured): string {
  const names = Object.keys(runtimes[0]?.passes[0]?.operations ?? {});
  const rows = names.map((name) => [
    name,
    ...runtimes.map(({ passes }) =>
      passes.map(({ operations: { [name]: operation } }) => {
        const { own, ownWithMore, port } = operation!;
        return `${(own / port).toFixed(2)} (${digits(own)} : ${digits(port)}; × ${
          (ownWithMore / own).toFixed(2)
        })`;
      }).join(" / ")
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

const START_TITLES: Readonly<Record<StartName, string>> = {
  bare: "Fastify, with the port's packages loaded",
  port: "a port of core, its first request answered",
  registered: "fastify-authjs, checked and registered",
  answered: "the same, its first request answered",
};

function start({ runtimes }: Measured): string {
  const rows = (Object.keys(START_TITLES) as StartName[]).map((name) => [
    START_TITLES[name],
    ...runtimes.map(({ passes }) =>
      passes.map(({ start: { [name]: { cpu, clock } } }) => `${cpu.toFixed(0)} (${clock.toFixed(0)})`).join(
        " / ",
      )
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

/** The tables of what was counted. */
function instructions({ date, valgrind, runtimes }: Instructions): string[] {
  const cells = (cell: (counts: Counts) => string) =>
    runtimes.map(({ passes }) => passes.map(cell).join(" / "));
  const head = ["", ...runtimes.map(({ name }) => name)];
  const reads = READS.map((name) => [
    titleOf(name),
    ...cells(({ reads: { [name]: count, bare } }) =>
      `${(bare.rest / count.rest).toFixed(2)} (${kilo(count.rest)}; ${kilo(count.all)})`
    ),
  ]);
  const operations = Object.keys(runtimes[0]?.passes[0]?.operations ?? {}).map((name) => [
    name,
    ...cells(({ operations: { [name]: operation } }) => {
      const { own, ownWithMore, port } = operation!;
      const ratio = (of: keyof Count) => (own[of] / port[of]).toFixed(2);
      const growth = (ownWithMore.rest / own.rest).toFixed(2);
      return `${ratio("rest")} (${kilo(own.rest)} : ${kilo(port.rest)}; × ${growth}; ${ratio("all")})`;
    }),
  ]);
  const start = (Object.keys(START_TITLES) as StartName[]).map((name) => [
    START_TITLES[name],
    ...cells(({ start: { [name]: count } }) => `${mega(count.rest)} (${mega(count.all)})`),
  ]);
  return [
    `### Instructions`,
    `Counted on ${date} with ${valgrind}: what a server does in user space, in all its threads. The kernel's part is not ` +
    `in them, and neither is waiting: they are no times.`,
    `**A read.** Each cell: what bare Fastify takes in proportion, and thousands of instructions for a request, without ` +
    `compiling JavaScript and collecting garbage; after the semicolon with both. Of each kind ${
      thousands(COUNTED.reads)
    } requests were counted, after ${thousands(WARM_UP.reads)}.`,
    table(head, reads),
    `**Operations.** Each cell: against the port of core, thousands of instructions of both, and the growth with ${MORE} ` +
    `more providers, without compiling and collecting; at the end the first proportion with both. Of each operation ${
      thousands(COUNTED.operations)
    } requests were counted, after ${thousands(WARM_UP.operations)}.`,
    table(head, operations),
    `**A start.** Each cell: millions of instructions of the whole process, without compiling and collecting (with both).`,
    table(head, start),
  ];
}

const kilo = (instructions: number) => digits(instructions / 1000);
const mega = (instructions: number) => Math.round(instructions / 1e6).toLocaleString("en");

function memory({ runtimes }: Measured, names: readonly ContestantName[]): string {
  const rows = names.map((name) => [
    titleOf(name),
    ...runtimes.map(({ passes }) =>
      passes.map(({ http }) => Math.round(http[name].memory / 1e6)).join(" / ")
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function cpu({ runtimes }: Measured, names: readonly ContestantName[]): string {
  const rows = names.map((name) => [
    titleOf(name),
    ...runtimes.map(({ passes }) => passes.map(({ http }) => digits(http[name].cpu)).join(" / ")),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function reads({ runtimes }: Measured): string {
  const cases: [keyof ReadResult["microseconds"], string][] = [
    ["hand", "decrypting by hand, `node:crypto` and a key made once"],
    ["first", "fastify-authjs, a user not seen before"],
    ["again", "fastify-authjs, a user seen a moment ago"],
    ["observed", "the same under the instrumentation for OpenTelemetry, without an SDK"],
    ["recorded", "the same with an SDK that counts reads and their times"],
    [
      "callbacks",
      "fastify-authjs, a user seen a moment ago, callbacks that put the user's id in the session",
    ],
    ["signedOut", "fastify-authjs, no cookie"],
    ["parallel", "fastify-authjs, a user not seen before, 16 in flight"],
    ["parallelAgain", "fastify-authjs, a user seen a moment ago, 16 in flight"],
    ["port", "the whole of core, 16 in flight"],
    ["portCallbacks", "the whole of core with the same callbacks, 16 in flight"],
    ["portOne", "the whole of core, one at a time"],
    ["providers", "fastify-authjs, 80 providers"],
    ["portProviders", "the whole of core, 80 providers, 16 in flight"],
    ["handChunks", "decrypting three cookies by hand"],
    ["chunks", "fastify-authjs, three cookies, a user not seen before"],
    ["chunksAgain", "fastify-authjs, three cookies, a user seen a moment ago"],
    ["portChunks", "the whole of core, three cookies, 16 in flight"],
  ];
  const rows = cases.map(([name, title]) => [
    title,
    ...runtimes.map(({ passes }) => passes.map(({ reads }) => digits(reads.microseconds[name])).join(" / ")),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function profile({ profile: { first, again } }: Measured): string {
  const shares = (title: string, shares: Shares) =>
    table([title, "share"], shares.map(([name, share]) => [name, `${(share * 100).toFixed(1)} %`]));
  return [shares("a user not seen before", first), shares("a user seen a moment ago", again)].join("\n\n");
}

const thousands = (value: number) => Math.round(value).toLocaleString("en");
const digits = (value: number) => value < 100 ? value.toFixed(1) : thousands(value);

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(head),
    line(head.map((_, index) => index === 0 ? "---" : "--:")),
    ...rows.map(line),
  ].join("\n");
}
