/** Measures over HTTP: each contestant in a process of its own, and a load generator in another one. */
import { type Loaded, loadInTurns, type Round } from "./rounds.ts";
import { Generator, Server } from "./servers.ts";
import type { Runtime } from "./setup.ts";

interface Contestant {
  /** As in the table and in the chart. */
  readonly title: string;
  /** One of `measured/apps/`. */
  readonly app: string;
  /** What that is started with. */
  readonly parameter?: string;
  /** By default a route that answers with the user. */
  readonly path?: string;
  /** Which of its cookies is sent; by default that of its user. */
  readonly cookie?: "anonymous" | "forged";
  /** The header that it is sent in; by default `cookie`. */
  readonly header?: "authorization" | "cookie";
  /** Whether each request is another user's. */
  readonly manyUsers?: boolean;
}

const bare: Contestant = { title: "Fastify, no session", app: "bare" };
const typical: Contestant = {
  title: "fastify-authjs, callbacks for id and role",
  app: "fastify-authjs",
  parameter: "callbacks",
};
const access = { app: "access-tokens", header: "authorization" } as const;
const anyClient = { title: "fastify-authjs", app: "fastify-authjs", path: "/session" };

/** Contestants that are measured beside each other, with bare Fastify. A few disturb each other less than many. */
export const GROUPS = {
  known: {
    bare,
    own: { title: "fastify-authjs", app: "fastify-authjs" },
    typical,
    guarded: { ...typical, title: "fastify-authjs, callbacks, a guard with roles", path: "/guarded" },
    secureSession: { title: "@fastify/secure-session", app: "secure-session" },
    jwt: { title: "@fastify/jwt", app: "fastify-jwt" },
    jwtCached: { title: "@fastify/jwt, its cache on", app: "fastify-jwt", parameter: "cached" },
    port: { title: "@auth/core for each read", app: "port" },
  },
  slow: {
    bare,
    betterAuthCached: { title: "better-auth, cookie cache", app: "better-auth", parameter: "cached" },
    betterAuth: { title: "better-auth, memory database", app: "better-auth" },
    express: { title: "@auth/express", app: "auth-express" },
  },
  many: {
    bare,
    byHand: { title: "12,000 users, decrypting by hand", app: "by-hand", manyUsers: true },
    typical: { ...typical, manyUsers: true },
  },
  access: {
    jwtCached: { ...access, title: "@fastify/jwt, access tokens, its cache on", parameter: "jwt" },
    own: { ...access, title: "fastify-authjs, access tokens", parameter: "own" },
  },
  anyClient: {
    anonymous: { ...anyClient, cookie: "anonymous" },
    forged: { ...anyClient, cookie: "forged" },
  },
} as const satisfies Record<string, Record<string, Contestant>>;

export type GroupName = keyof typeof GROUPS;

const CONNECTIONS = 32;

/** How many processes each contestant has, one after the other: two of the same program are not equally fast. */
const PROCESSES = 3;

/** Measures a group on one runtime. */
export async function measureGroup(
  group: GroupName,
  runtime: Runtime,
  node: Runtime,
  seconds: number,
): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let i = 0; i < PROCESSES; i++) rounds.push(...await measureProcesses(group, runtime, node, seconds / PROCESSES));
  return rounds;
}

async function measureProcesses(
  group: GroupName,
  runtime: Runtime,
  node: Runtime,
  seconds: number,
): Promise<Round[]> {
  const generator = new Generator(node);
  const loaded: Loaded[] = [];
  try {
    const contestants: Record<string, Contestant> = GROUPS[group];
    for (const [name, contestant] of Object.entries(contestants)) {
      const { app, parameter, path = "/me", cookie: sent = "cookie", header = "cookie", manyUsers = false } =
        contestant;
      const server = await Server.start(runtime, app, parameter);
      const cookie = manyUsers ? "" : server.cookies[sent];
      const requests = [{ path, headers: cookie ? { [header]: cookie } : {} }];
      loaded.push({ name, server, asked: { requests, manyUsers, status: 200, connections: CONNECTIONS } });
      await assertAnswers(contestant, server);
    }
    return await loadInTurns(generator, loaded, seconds);
  } finally {
    for (const { server } of loaded) server.end();
    generator.end();
  }
}

const USER = { name: "Ada Lovelace", email: "ada@example.com", image: "https://example.com/ada.png" };

/** A wrong answer is often a fast one. */
async function assertAnswers(
  { title, app, path = "/me", cookie: sent, header = "cookie" }: Contestant,
  { url, cookies }: Server,
): Promise<void> {
  const ask = async (cookie: string | undefined) => {
    const headers: HeadersInit = cookie ? { [header]: cookie } : {};
    const response = await fetch(`${url}${path}`, { headers, signal: AbortSignal.timeout(30_000) });
    const text = await response.text();
    return { text, isUser: response.ok && Object.values(USER).every((value) => text.includes(value)) };
  };
  const { text, isUser } = await ask(cookies[sent ?? "cookie"]);
  if (isUser !== (sent === undefined)) throw new Error(`${title} answered ${path} with ${text}`);
  if (sent === undefined && app !== "bare" && (await ask(undefined)).isUser) {
    throw new Error(`${title} answers ${path} with a user also without a cookie`);
  }
}
