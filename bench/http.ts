/**
 * The measurements over HTTP: each contestant in a process of its own, and a load generator in another one.
 *
 * @module
 */
import { type Asked, type Cookie, Generator, type Load, Server } from "./conversation.ts";
import { type Effort, type Extent, repeat, warmUp } from "./effort.ts";
import { quiet } from "./measured/quiet.js";
import type { Runtime } from "./setup.ts";
import { median } from "./statistics.ts";

/** What one contestant did. */
export interface HttpResult {
  /** Requests a second: the median of the rounds. */
  perSecond: number;
  /** The median of each round's rate in proportion to that of bare Fastify in the same round. */
  ofBare: number;
  /** Resident memory in bytes, the most that was seen right after a round. */
  memory: number;
  /** Microseconds of CPU that the server takes for a request: the median of the rounds. */
  cpu: number;
}

/** One contestant, and what is asked of it. */
export interface Contestant {
  /** As in tables and in the chart. */
  readonly title: string;
  /** One of `measured/apps/`. */
  readonly app: string;
  /** What that is started with. */
  readonly parameter?: string;
  /** By default a route that answers with the user. */
  readonly path?: string;
  /** Which of its cookies is sent; by default that of its user. */
  readonly cookie?: Cookie;
  /** Whether each request is another user's. */
  readonly manyUsers?: boolean;
}

/** The contestants by name. */
export const CONTESTANTS = {
  bare: { title: "Fastify, no session", app: "bare" },
  own: { title: "fastify-authjs", app: "fastify-authjs" },
  typical: { title: "fastify-authjs, callbacks for id and role", app: "typical" },
  guarded: { title: "fastify-authjs, callbacks, a guard with roles", app: "typical", path: "/guarded" },
  secureSession: { title: "@fastify/secure-session", app: "secure-session" },
  jwt: { title: "@fastify/jwt", app: "fastify-jwt" },
  jwtCached: { title: "@fastify/jwt, its cache on", app: "fastify-jwt", parameter: "cached" },
  betterAuthCached: { title: "better-auth, cookie cache", app: "better-auth-cached" },
  betterAuth: { title: "better-auth, memory database", app: "better-auth" },
  port: { title: "@auth/core for each read", app: "port" },
  express: { title: "@auth/express", app: "auth-express" },
  hono: { title: "@hono/auth-js", app: "hono-auth-js" },
  ownRoute: { title: "fastify-authjs", app: "fastify-authjs", path: "/auth/session" },
  typicalRoute: { title: "fastify-authjs, callbacks for id and role", app: "typical", path: "/auth/session" },
  portRoute: { title: "a port of @auth/core", app: "port", path: "/auth/session" },
  expressRoute: { title: "@auth/express", app: "auth-express", path: "/auth/session" },
  honoRoute: { title: "@hono/auth-js", app: "hono-auth-js", path: "/auth/session" },
  manyByHand: { title: "decrypting by hand", app: "by-hand", manyUsers: true },
  many: { title: "fastify-authjs", app: "fastify-authjs", manyUsers: true },
  manyTypical: { title: "fastify-authjs, callbacks for id and role", app: "typical", manyUsers: true },
  manyCached: {
    title: "the same with a `tokenCacheSize` for all of them",
    app: "typical",
    parameter: "cached",
    manyUsers: true,
  },
  database: { title: "fastify-authjs", app: "database" },
  portDatabase: { title: "@auth/core for each read", app: "port-database" },
  anonymous: {
    title: "fastify-authjs, no cookie",
    app: "fastify-authjs",
    path: "/session",
    cookie: "anonymous",
  },
  forged: {
    title: "fastify-authjs, a forged cookie",
    app: "fastify-authjs",
    path: "/session",
    cookie: "forged",
  },
  forgedChunks: {
    title: "fastify-authjs, sixteen forged chunks",
    app: "fastify-authjs",
    path: "/session",
    cookie: "forgedChunks",
  },
  secureSessionAnonymous: {
    title: "@fastify/secure-session, no cookie",
    app: "secure-session",
    path: "/session",
    cookie: "anonymous",
  },
  secureSessionForged: {
    title: "@fastify/secure-session, a forged cookie",
    app: "secure-session",
    path: "/session",
    cookie: "forged",
  },
} as const satisfies Record<string, Contestant>;

/** The name of a contestant. */
export type ContestantName = keyof typeof CONTESTANTS;

/** What all contestants did on one runtime. */
export type HttpResults = Record<ContestantName, HttpResult>;

/** Contestants that are measured beside each other, in turn. */
interface Group {
  readonly names: readonly ContestantName[];
  /** How often they are measured, in proportion to others: more where a target is near. */
  readonly weight: number;
}

/** Bare Fastify is in each, so that all rates compare. A few servers disturb each other less than thirty do. */
const GROUPS: readonly Group[] = [
  { weight: 3, names: ["bare", "own", "typical", "guarded", "secureSession", "jwt", "jwtCached"] },
  { weight: 1, names: ["bare", "betterAuthCached", "betterAuth", "port", "express", "hono"] },
  { weight: 1, names: ["bare", "ownRoute", "typicalRoute", "portRoute", "expressRoute", "honoRoute"] },
  { weight: 2, names: ["bare", "manyByHand", "many", "manyTypical", "manyCached"] },
  { weight: 1, names: ["bare", "database", "portDatabase"] },
  {
    weight: 1,
    names: ["bare", "anonymous", "forged", "forgedChunks", "secureSessionAnonymous", "secureSessionForged"],
  },
];

const CONNECTIONS = 32;

/**
 * The most seconds of load before the rounds, for each contestant; a third of the group's time where that is less. Fast
 * servers get tens of thousands of requests in that time, after which V8 has compiled most of what they run.
 */
const MOST_WARM_UP = 3;

/** Measures every contestant on one runtime. */
export async function measureHttp(runtime: Runtime, node: Runtime, effort: Effort): Promise<HttpResults> {
  const shareOf = ({ names, weight }: Group) => names.length * weight;
  const all = GROUPS.reduce((sum, group) => sum + shareOf(group), 0);
  const results: Partial<HttpResults> = {};
  for (const group of GROUPS) {
    const seconds = effort.seconds * shareOf(group) / all;
    const share = { ...effort, seconds, warmUp: Math.min(MOST_WARM_UP, seconds / group.names.length / 3) };
    // The tables show what bare Fastify did in the first group.
    Object.assign(results, { ...await measureGroup(group.names, runtime, node, share), ...results });
  }
  return results as HttpResults;
}

async function measureGroup(
  names: readonly ContestantName[],
  runtime: Runtime,
  node: Runtime,
  effort: Effort,
): Promise<Partial<HttpResults>> {
  const generator = new Generator(node);
  const servers = new Map<ContestantName, Server>();
  try {
    // Each in a process of its own, also an application that is asked for something else: memory must not add up.
    for (const name of names) {
      const { app, parameter }: Contestant = CONTESTANTS[name];
      servers.set(name, await Server.start(runtime, app, parameter));
      await assertAnswers(CONTESTANTS[name], servers.get(name)!);
    }
    const load = async (name: ContestantName, extent: Extent) => {
      const server = servers.get(name)!;
      const asked = askedOf(CONTESTANTS[name], server);
      return await generator.load(server, { ...asked, connections: CONNECTIONS, ...extent });
    };
    const rounds: ReadonlyMap<ContestantName, Load>[] = [];
    await repeat(effort, {
      async warmUp() {
        for (const name of names) {
          const { manyUsers }: Contestant = CONTESTANTS[name];
          await warmUp(effort, async (extent) => (await load(name, extent)).requests, manyUsers);
        }
      },
      async round() {
        await quiet();
        const round = new Map<ContestantName, Load>();
        for (const name of names) round.set(name, await load(name, { seconds: effort.load }));
        rounds.push(round);
      },
    });
    const results = names.map((name): [ContestantName, HttpResult] => {
      const loads = rounds.map((round) => round.get(name)!);
      return [name, {
        perSecond: median(loads.map(({ perSecond }) => perSecond)),
        ofBare: median(
          loads.map(({ perSecond }, index) => perSecond / rounds[index]!.get("bare")!.perSecond),
        ),
        memory: Math.max(...loads.map(({ memory }) => memory)),
        cpu: median(loads.map(({ cpu }) => cpu)),
      }];
    });
    return Object.fromEntries(results);
  } finally {
    for (const each of [...servers.values(), generator]) each.end();
  }
}

/** What the server of a contestant is asked. */
export function askedOf(
  { path = "/me", cookie: sent = "cookie", manyUsers = false }: Contestant,
  { cookies }: Server,
): Asked {
  const cookie = manyUsers ? "" : cookies[sent];
  return { requests: [{ path, headers: cookie ? { cookie } : {} }], manyUsers, status: 200 };
}

/** A wrong answer is often a fast one. */
export async function assertAnswers(
  { title, path = "/me", cookie: sent = "cookie" }: Contestant,
  { url, cookies }: Server,
): Promise<void> {
  const { [sent]: cookie } = cookies;
  const signal = () => AbortSignal.timeout(ANSWER_TIMEOUT);
  const response = await fetch(`${url}${path}`, { signal: signal(), headers: cookie ? { cookie } : {} });
  const text = await response.text();
  const expected = sent === "cookie" ? USER : { session: null };
  if (response.status !== 200 || !isSame(text, expected)) {
    throw new Error(`${title} answered ${path} with ${response.status}: ${text}`);
  }
  if (sent !== "cookie") return;
  const refused = await fetch(`${url}${path}`, { signal: signal() });
  const anonymous = await refused.text();
  if (title !== CONTESTANTS.bare.title && refused.ok && isSame(anonymous, USER)) {
    throw new Error(`${title} answers ${path} without a cookie: ${anonymous}`);
  }
}

/** Milliseconds for an answer before the load. */
const ANSWER_TIMEOUT = 30_000;

/** What the routes answer. */
const USER = { name: "Ada Lovelace", email: "ada@example.com", image: "https://example.com/ada.png" };

function isSame(text: string, expected: object): boolean {
  try {
    const answer = JSON.parse(text);
    const body = answer.user ?? answer;
    return Object.entries(expected).every(([name, value]) => body[name] === value);
  } catch {
    return false;
  }
}
