/**
 * The measurements over HTTP: each contestant in a process of its own, and a load generator in another one.
 *
 * @module
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { quiet } from "./measured/quiet.js";
import { directory, type Runtime } from "./setup.ts";
import { median } from "./statistics.ts";

/** How long the load lasts. */
export interface Effort {
  rounds: number;
  /** Of one round for one contestant. */
  seconds: number;
}

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

/** The applications by what is asked of them. */
export const CONTESTANTS: readonly [name: string, app: string, path: string, cookie?: Cookie][] = [
  ["bare", "bare", "/me"],
  ["fastify-authjs", "fastify-authjs", "/me"],
  ["fastify-authjs many", "fastify-authjs", "/me"],
  ["secure-session", "secure-session", "/me"],
  ["fastify-jwt", "fastify-jwt", "/me"],
  ["better-auth-cached", "better-auth-cached", "/me"],
  ["better-auth", "better-auth", "/me"],
  ["port", "port", "/me"],
  ["auth-express", "auth-express", "/me"],
  ["hono-auth-js", "hono-auth-js", "/me"],
  ["fastify-authjs session", "fastify-authjs", "/auth/session"],
  ["port session", "port", "/auth/session"],
  ["secure-session anonymous", "secure-session", "/session", "anonymous"],
  ["secure-session forged", "secure-session", "/session", "forged"],
  ["fastify-authjs anonymous", "fastify-authjs", "/session", "anonymous"],
  ["fastify-authjs forged", "fastify-authjs", "/session", "forged"],
  ["fastify-authjs forged chunks", "fastify-authjs", "/session", "forgedChunks"],
];

/** Which of an application's cookies is sent: by default that of its user. */
type Cookie = "cookie" | "anonymous" | "forged" | "forgedChunks";

const CONNECTIONS = 32;

/** A process that answers a line with a line. */
class Conversation {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor([command, ...args]: string[]) {
    this.#child = spawn(command!, args, {
      cwd: directory,
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })
      [Symbol.asyncIterator]();
  }

  async listen<T>(): Promise<T> {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error(`${this.#child.spawnargs.join(" ")} ended`);
    return JSON.parse(value);
  }

  ask<T>(question: unknown): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    return this.listen();
  }

  end(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }
}

type Address = { port: number } & Record<Cookie, string>;

/** Measures every contestant on one runtime. */
export async function measureHttp(
  runtime: Runtime,
  node: Runtime,
  { rounds, seconds }: Effort,
): Promise<Record<string, HttpResult>> {
  // Each in a process of its own, also an application that is asked for something else: memory must not add up.
  const apps = new Map(
    CONTESTANTS.map(([name, app]) => [name, new Conversation([...runtime.command, "serve.js", app])]),
  );
  const generator = new Conversation([...node.command, "load.js"]);
  try {
    const addresses = new Map<string, Address>();
    for (const [name, app] of apps) addresses.set(name, await app.listen());
    const load = async (
      [name, , path, sent = "cookie"]: typeof CONTESTANTS[number],
      seconds: number,
    ) => {
      const { port, [sent]: cookie } = addresses.get(name)!;
      const url = `http://127.0.0.1:${port}${path}`;
      await assertAnswers(url, cookie, sent === "cookie");
      await quiet();
      const manyUsers = name.endsWith(" many");
      const order = {
        url,
        ...(!manyUsers && { cookie }),
        seconds,
        connections: CONNECTIONS,
      };
      const used = () => apps.get(name)!.ask<{ memory: number; cpu: number }>("used?");
      const before = await used();
      const { requests, perSecond, failed } = await generator.ask<
        { requests: number; perSecond: number; failed: number }
      >(order);
      if (failed > 0) throw new Error(`${name} failed ${failed} requests`);
      const { memory, cpu } = await used();
      return { perSecond, memory, cpu: (cpu - before.cpu) / requests };
    };

    for (const contestant of CONTESTANTS) await load(contestant, 1);
    const results = new Map(CONTESTANTS.map(([name]) => [name, [] as Awaited<ReturnType<typeof load>>[]]));
    for (let round = 0; round < rounds; round++) {
      for (const contestant of CONTESTANTS) {
        results.get(contestant[0])!.push(await load(contestant, seconds));
      }
    }
    const bare = results.get("bare")!;
    return Object.fromEntries([...results].map(([name, loads]) => [name, {
      perSecond: median(loads.map(({ perSecond }) => perSecond)),
      ofBare: median(loads.map(({ perSecond }, round) => perSecond / bare[round]!.perSecond)),
      memory: Math.max(...loads.map(({ memory }) => memory)),
      cpu: median(loads.map(({ cpu }) => cpu)),
    }]));
  } finally {
    for (const app of [...apps.values(), generator]) app.end();
  }
}

/** A wrong answer is often a fast one. */
async function assertAnswers(url: string, cookie: string, signedIn: boolean): Promise<void> {
  const response = await fetch(url, cookie ? { headers: { cookie } } : {});
  const body = await response.json();
  const right = signedIn ? (body.user ?? body).name === "Ada Lovelace" : body.session === null;
  if (!right) throw new Error(`${url} answered ${JSON.stringify(body)}`);
}
