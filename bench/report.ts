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
};

/** A row of the table of targets. */
interface Target {
  measure: string;
  target: (runtime: string) => string;
  value: (pass: Pass) => number;
  /** Whether the target is met, which is printed beside it. */
  met: (value: number, runtime: string) => boolean;
  digits: number;
  unit: string;
}

const perSecond = ({ http }: Pass, name: string) => http[name]!.perSecond;
const bestBetterAuth = (pass: Pass) =>
  Math.max(
    perSecond(pass, "better-auth"),
    perSecond(pass, "better-auth-cached"),
  );
const isDeno = (runtime: string) => runtime.startsWith("Deno");
const atLeast = (limit: number) => (value: number) => value >= limit;
const atMost = (limit: number) => (value: number) => value <= limit;

const TARGETS: Target[] = [
  {
    measure: "a read, 16 in flight, against the whole of core: a user seen a moment ago",
    target: (runtime) => isDeno(runtime) ? "≥ 18 ×" : "≥ 40 ×",
    value: ({ reads }) => reads.ratios.portOverAgain,
    met: (value, runtime) => value >= (isDeno(runtime) ? 18 : 40),
    digits: 0,
    unit: " ×",
  },
  {
    measure: "the same, a user not seen before",
    target: (runtime) => isDeno(runtime) ? "≥ 18 ×" : "≥ 40 ×",
    value: ({ reads }) => reads.ratios.portOverFirst,
    met: (value, runtime) => value >= (isDeno(runtime) ? 18 : 40),
    digits: 0,
    unit: " ×",
  },
  {
    measure: "the same, decrypted by hand",
    target: () => "",
    value: ({ reads }) => reads.ratios.portOverHand,
    met: () => true,
    digits: 0,
    unit: " ×",
  },
  {
    measure: "a read against decrypting by hand: a user seen a moment ago",
    target: () => "≤ 1.4 ×",
    value: ({ reads }) => reads.ratios.againOverHand,
    met: atMost(1.4),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "the same, a user not seen before",
    target: () => "≤ 1.4 ×",
    value: ({ reads }) => reads.ratios.firstOverHand,
    met: atMost(1.4),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "signed out, no cookie",
    target: () => "≤ 2 µs",
    value: ({ reads }) => reads.microseconds.signedOut,
    met: atMost(2),
    digits: 2,
    unit: " µs",
  },
  {
    measure: "HTTP, a route with a session, against Fastify without",
    target: () => "≥ 0.55 ×",
    value: ({ http }) => http["fastify-authjs"]!.ofBare,
    met: atLeast(0.55),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "HTTP against @auth/express",
    target: () => "≥ 20 ×",
    value: (pass) => perSecond(pass, "fastify-authjs") / perSecond(pass, "auth-express"),
    met: atLeast(20),
    digits: 0,
    unit: " ×",
  },
  {
    measure: "HTTP against the better of better-auth's ways",
    target: () => "≥ 8 ×",
    value: (pass) => perSecond(pass, "fastify-authjs") / bestBetterAuth(pass),
    met: atLeast(8),
    digits: 1,
    unit: " ×",
  },
  {
    measure: "`GET /auth/session` against the whole of core",
    target: () => "≥ 7 ×",
    value: (pass) =>
      perSecond(pass, "fastify-authjs session") /
      perSecond(pass, "port session"),
    met: atLeast(7),
    digits: 1,
    unit: " ×",
  },
  {
    measure: "a read with 80 providers configured, against one",
    target: () => "1 ×",
    value: ({ reads }) => reads.ratios.providersGrowth,
    met: atMost(1.1),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "a session in 3 cookies against one: a user seen a moment ago",
    target: () => "≤ 3 ×",
    value: ({ reads }) => reads.ratios.chunksAgainGrowth,
    met: atMost(3),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "the same, a user not seen before",
    target: () => "≤ 3 ×",
    value: ({ reads }) => reads.ratios.chunksGrowth,
    met: atMost(3),
    digits: 2,
    unit: " ×",
  },
  {
    measure: "the same, decrypted by hand",
    target: () => "",
    value: ({ reads }) => reads.ratios.handChunksGrowth,
    met: () => true,
    digits: 2,
    unit: " ×",
  },
  {
    measure: "resident memory under load against Fastify without a session",
    target: () => "≤ 1.2 ×",
    value: ({ http }) => http["fastify-authjs"]!.memory / http.bare!.memory,
    met: atMost(1.2),
    digits: 2,
    unit: " ×",
  },
];

/** Every table, with what they were measured on. */
export function tables(measured: Measured): string {
  return [
    `Measured on ${measured.date}, on ${measured.machine}.`,
    `### Against the targets`,
    targets(measured),
    `### Over HTTP: a route that answers with the session's user`,
    http(
      measured,
      CONTESTANTS.filter(([, , path]) => path === "/me").map(([name]) => name),
    ),
    `### Over HTTP: \`GET /auth/session\``,
    http(
      measured,
      CONTESTANTS.filter(([, , path]) => path !== "/me").map(([name]) => name),
    ),
    `### Resident memory under load, in MB`,
    memory(
      measured,
      CONTESTANTS.filter(([, , path]) => path === "/me").map(([name]) => name),
    ),
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
  const rows = TARGETS.map(({ measure, target, value, met, digits, unit }) => [
    measure,
    [...new Set(runtimes.map(({ name }) => target(name)))].join("; "),
    ...runtimes.map(({ name, passes }) => {
      const values = passes.map(value);
      const misses = values.some((found) => !met(found, name));
      return `${values.map((found) => found.toFixed(digits)).join(" / ")}${unit}${misses ? " ✗" : ""}`;
    }),
  ]);
  return table(
    ["measure", "target", ...runtimes.map(({ name }) => name)],
    rows,
  );
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

function reads({ runtimes }: Measured): string {
  const cases: [keyof ReadResult["microseconds"], string][] = [
    ["hand", "decrypting by hand, `node:crypto` and a key made once"],
    ["first", "fastify-authjs, a user not seen before"],
    ["again", "fastify-authjs, a user seen a moment ago"],
    [
      "callbacks",
      "the same with callbacks that put the user's id in the session",
    ],
    ["signedOut", "fastify-authjs, no cookie"],
    ["parallel", "fastify-authjs, a user not seen before, 16 in flight"],
    ["parallelAgain", "fastify-authjs, a user seen a moment ago, 16 in flight"],
    ["port", "the whole of core, 16 in flight"],
    [
      "portCallbacks",
      "the whole of core with the same callbacks, 16 in flight",
    ],
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
