/** The processes that are measured, and the one that loads them: each answers a line with a line. */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { directory, type Runtime } from "./setup.ts";

/** A process that answers a line with a line. */
class Conversation {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;

  constructor({ command: [program, ...args] }: Runtime, ...parameters: string[]) {
    this.#child = spawn(program!, [...args, ...parameters], {
      cwd: directory,
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async listen<T>(): Promise<T> {
    const { done, value } = await this.#lines.next();
    if (done) throw new Error(`${this.#child.spawnargs.join(" ")} ended`);
    return JSON.parse(value);
  }

  async ask<T>(question: unknown): Promise<T> {
    this.#child.stdin.write(`${JSON.stringify(question)}\n`);
    return await this.listen();
  }

  end(): void {
    this.#child.stdin.end();
    this.#child.kill();
  }
}

/** What an application prints once it listens: its port, and cookies by name. */
type Started = { readonly port: number } & Readonly<Record<string, string>>;

export class Server {
  readonly #conversation: Conversation;
  readonly url: string;
  /** Cookie headers: `cookie` is that of its user. */
  readonly cookies: Readonly<Record<string, string>>;

  private constructor(conversation: Conversation, { port, ...cookies }: Started) {
    this.#conversation = conversation;
    this.url = `http://127.0.0.1:${port}`;
    this.cookies = cookies;
  }

  /** Starts one of `measured/apps/` in a process of its own. */
  static async start(runtime: Runtime, app: string, parameter = ""): Promise<Server> {
    const conversation = new Conversation(runtime, "serve.js", app, parameter);
    return new Server(conversation, await conversation.listen());
  }

  /** Microseconds of CPU since the start. */
  async cpu(): Promise<number> {
    return await this.#conversation.ask("cpu?");
  }

  end(): void {
    this.#conversation.end();
  }
}

export interface LoadRequest {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a server is asked. */
interface Asked {
  readonly requests: readonly LoadRequest[];
  /** Whether each request has the session cookie of another user. */
  readonly manyUsers?: boolean;
  readonly status: number;
  readonly connections: number;
}

/** For how long a server is asked: for so many seconds, or until each request was sent so often. */
type Extent = { readonly seconds: number } | { readonly turns: number };

export interface Load {
  readonly perSecond: number;
  /** Microseconds of the server's CPU for a request. */
  readonly cpu: number;
}

interface Answered {
  readonly requests: number;
  readonly perSecond: number;
  readonly statuses: readonly string[];
  readonly failed: number;
}

export class Generator {
  readonly #conversation: Conversation;

  constructor(node: Runtime) {
    this.#conversation = new Conversation(node, "load.js");
  }

  /** @throws {Error} If a request failed, or an answer has another status. */
  async load(server: Server, { status, ...asked }: Asked, extent: Extent): Promise<Load> {
    const before = await server.cpu();
    const order = { url: server.url, ...asked, ...extent };
    const { requests, perSecond, statuses, failed } = await this.#conversation.ask<Answered>(order);
    const others = statuses.filter((each) => each !== `${status}`);
    if (failed > 0 || others.length > 0 || requests === 0) {
      const what = `${asked.requests[0]!.path} of ${server.url}`;
      throw new Error(`${what}: ${failed} of ${requests} failed, and not all have ${status}: ${statuses}`);
    }
    return { perSecond, cpu: (await server.cpu() - before) / requests };
  }

  end(): void {
    this.#conversation.end();
  }
}
