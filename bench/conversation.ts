/**
 * The processes that are measured, and the one that loads them: each answers a line with a line.
 *
 * @module
 */
import { type ChildProcessByStdio, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import type { Extent } from "./effort.ts";
import { directory, type Runtime } from "./setup.ts";

/** A process that answers a line with a line. */
export class Conversation {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  /** Until the process is gone. */
  readonly ended: Promise<void>;

  constructor({ command: [program, ...args] }: Runtime, ...parameters: string[]) {
    this.#child = spawn(program!, [...args, ...parameters], {
      cwd: directory,
      env: { ...process.env, NODE_ENV: "production" },
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.ended = new Promise((resolve) => this.#child.once("exit", () => resolve()));
  }

  /** The number of the process. */
  get id(): number {
    return this.#child.pid!;
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

/** Which of an application's cookies is sent: that of its user, none, or a forged one. */
export type Cookie = "cookie" | "anonymous" | "forged" | "forgedChunks";

/** The server of one contestant. */
export class Server {
  readonly #conversation: Conversation;
  /** Without a path. */
  readonly url: string;
  readonly cookies: Readonly<Record<Cookie, string>>;

  constructor(
    conversation: Conversation,
    { port, ...cookies }: { port: number } & Record<Cookie, string>,
  ) {
    this.#conversation = conversation;
    this.url = `http://127.0.0.1:${port}`;
    this.cookies = cookies;
  }

  /** Starts one of `measured/apps/` in a process of its own. */
  static start(runtime: Runtime, app: string, parameter = ""): Promise<Server> {
    return Server.of(new Conversation(runtime, "serve.js", app, parameter));
  }

  /** The server of a process that runs `serve.js`, once it listens. */
  static async of(conversation: Conversation): Promise<Server> {
    return new Server(conversation, await conversation.listen());
  }

  /** Resident memory in bytes, and the microseconds of CPU since the start. */
  used(): Promise<{ memory: number; cpu: number }> {
    return this.#conversation.ask("used?");
  }

  end(): void {
    this.#conversation.end();
  }
}

/** A request, as the generator sends it. */
export interface LoadRequest {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What a server is asked. */
export interface Asked {
  /** Sent in turn. */
  readonly requests: readonly LoadRequest[];
  /** Whether each request has the session cookie of another user. */
  readonly manyUsers?: boolean;
  /** The status of every answer. */
  readonly status: number;
}

/** What a server is sent in a round. */
export type Order = Extent & Asked & {
  readonly connections: number;
  /** Seconds until a request has failed; ten by default. */
  readonly timeout?: number;
};

/** What a server did in a round. */
export interface Load {
  readonly requests: number;
  /** Requests a second. */
  readonly perSecond: number;
  /** Resident memory in bytes after it. */
  readonly memory: number;
  /** Microseconds of the server's CPU for a request. */
  readonly cpu: number;
}

/** What the generator answers. */
interface Answered {
  readonly requests: number;
  readonly perSecond: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly failed: number;
}

/** The load generator. */
export class Generator {
  readonly #conversation: Conversation;

  constructor(node: Runtime) {
    this.#conversation = new Conversation(node, "load.js");
  }

  /** @throws {Error} Where a request failed, or an answer has another status. */
  async load(server: Server, order: Order): Promise<Load> {
    const before = await server.used();
    const { requests, perSecond } = await this.send(server, order);
    const { memory, cpu } = await server.used();
    return { requests, perSecond, memory, cpu: (cpu - before.cpu) / requests };
  }

  /**
   * The same, where nothing else is asked of the server.
   *
   * @throws {Error} Where a request failed, or an answer has another status.
   */
  async send(
    server: Server,
    { status, ...order }: Order,
  ): Promise<Pick<Load, "requests" | "perSecond">> {
    const { requests, perSecond, statuses, failed } = await this.#conversation.ask<Answered>(
      { url: server.url, ...order },
    );
    const others = Object.keys(statuses).filter((each) => each !== `${status}`);
    if (failed > 0 || others.length > 0 || requests === 0) {
      throw new Error(
        `${
          order.requests[0]!.path
        } of ${server.url} had to answer ${status}: of ${requests} requests ${failed} ` +
          `failed, and the statuses are ${JSON.stringify(statuses)}`,
      );
    }
    return { requests, perSecond };
  }

  end(): void {
    this.#conversation.end();
  }
}
