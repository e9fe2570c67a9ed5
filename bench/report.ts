/**
 * The results as Markdown tables.
 *
 * @module
 */
import { CONTESTANTS, type HttpResult } from "./http.ts";
import type { Profile, Shares } from "./profile.ts";
import type { ReadResult } from "./reads.ts";

/** One run of everything on one runtime. */
export interface Pass {
  reads: ReadResult;
  http: Record<string, HttpResult>;
}

/** All that was measured, and on what. */
export interface Measured {
  date: string;
  machine: string;
  versions: Record<string, string>;
  runtimes: { name: string; passes: Pass[] }[];
  profile: Profile;
}

/** How the contestants are called in tables and in the chart. */
export const TITLES: Readonly<Record<string, string>> = {
  "bare": "Fastify, no session",
  "fastify-authjs": "fastify-authjs",
  "fastify-authjs many": "fastify-authjs, 12,000 users",
  "secure-session": "@fastify/secure-session",
  "fastify-jwt": "@fastify/jwt",
  "better-auth-cached": "better-auth, cookie cache",
  "better-auth": "better-auth, memory database",
  "port": "@auth/core for each read",
  "auth-express": "@auth/express",
  "hono-auth-js": "@hono/auth-js",
  "fastify-authjs session": "fastify-authjs",
  "port session": "@auth/core for each read",
  "secure-session anonymous": "@fastify/secure-session, no cookie",
  "secure-session forged": "@fastify/secure-session, a forged cookie",
  "fastify-authjs anonymous": "fastify-authjs, no cookie",
  "fastify-authjs forged": "fastify-authjs, a forged cookie",
  "fastify-authjs forged chunks": "fastify-authjs, sixteen forged chunks",
};

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

const perSecond = ({ http }: Pass, name: string) => http[name]!.perSecond;
const bestBetterAuth = (pass: Pass) =>
  Math.max(perSecond(pass, "better-auth"), perSecond(pass, "better-auth-cached"));
const cpuRatio = ({ http }: Pass, name: string) => http[name]!.cpu / http["fastify-authjs anonymous"]!.cpu;
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
    measure: "HTTP, a route with a session, against Fastify without",
    limit: atLeast(0.55),
    value: ({ http }) => http["fastify-authjs"]!.ofBare,
    digits: 2,
  },
  {
    measure: "HTTP against @auth/express",
    limit: atLeast(20),
    value: (pass) => perSecond(pass, "fastify-authjs") / perSecond(pass, "auth-express"),
    digits: 0,
  },
  {
    measure: "HTTP against the better of better-auth's ways",
    limit: atLeast(8),
    value: (pass) => perSecond(pass, "fastify-authjs") / bestBetterAuth(pass),
    digits: 1,
  },
  {
    measure: "`GET /auth/session` against the whole of core",
    limit: atLeast(7),
    value: (pass) => perSecond(pass, "fastify-authjs session") / perSecond(pass, "port session"),
    digits: 1,
  },
  {
    measure: "CPU of a request with a forged session cookie, against one without a cookie",
    limit: atMost(3),
    value: (pass) => cpuRatio(pass, "fastify-authjs forged"),
    digits: 2,
  },
  {
    measure: "the same, sixteen chunks of 15 KB",
    limit: atMost(5),
    value: (pass) => cpuRatio(pass, "fastify-authjs forged chunks"),
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
    value: ({ http }) => http["fastify-authjs"]!.memory / http.bare!.memory,
    digits: 2,
  },
];

/** The contestants on the route with a session. */
const ON_ROUTE = CONTESTANTS.filter(([, , path]) => path === "/me").map(([name]) => name);
const ON_ENDPOINT = CONTESTANTS.filter(([, , path]) => path === "/auth/session").map(([name]) => name);
const ANY_CLIENT = CONTESTANTS.filter(([, , path]) => path === "/session").map(([name]) => name);

/** Every table, with what they were measured on. */
export function tables(measured: Measured): string {
  return [
    `Measured on ${measured.date}, on ${measured.machine}.`,
    `### Against the targets`,
    targets(measured),
    `### Over HTTP: a route that answers with the session's user`,
    http(measured, ON_ROUTE),
    `### Over HTTP: \`GET /auth/session\``,
    http(measured, ON_ENDPOINT),
    `### Over HTTP: what any client can send, in microseconds of the server's CPU`,
    cpu(measured, ANY_CLIENT),
    `### Resident memory under load, in MB`,
    memory(measured, ON_ROUTE),
    `### One read, in microseconds`,
    reads(measured),
    `### Where the time of a read goes`,
    `A CPU profile on ${measured.profile.runtime}: each function's share of the time, spent in itself.`,
    profile(measured),
    `### Versions`,
    Object.entries(measured.versions).map(([name, version]) => `${name} ${version}`).join(", ") + ".",
  ].join("\n\n");
}

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

/** Each cell: the share of bare Fastify's rate, and requests a second. */
function http({ runtimes }: Measured, names: string[]): string {
  const rows = names.map((name) => [
    TITLES[name]!,
    ...runtimes.map(({ passes }) =>
      passes.map(({ http }) => `${http[name]!.ofBare.toFixed(3)} (${thousands(http[name]!.perSecond)})`).join(
        " / ",
      )
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function memory({ runtimes }: Measured, names: string[]): string {
  const rows = names.map((name) => [
    TITLES[name]!,
    ...runtimes.map(({ passes }) =>
      passes.map(({ http }) => Math.round(http[name]!.memory / 1e6)).join(" / ")
    ),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function cpu({ runtimes }: Measured, names: string[]): string {
  const rows = names.map((name) => [
    TITLES[name]!,
    ...runtimes.map(({ passes }) => passes.map(({ http }) => digits(http[name]!.cpu)).join(" / ")),
  ]);
  return table(["", ...runtimes.map(({ name }) => name)], rows);
}

function reads({ runtimes }: Measured): string {
  const cases: [keyof ReadResult["microseconds"], string][] = [
    ["hand", "decrypting by hand, `node:crypto` and a key made once"],
    ["first", "fastify-authjs, a user not seen before"],
    ["again", "fastify-authjs, a user seen a moment ago"],
    ["callbacks", "the same with callbacks that put the user's id in the session"],
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
