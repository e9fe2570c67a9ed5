/** One process of the application under test. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { createInterface } from "node:readline";

/** What a process says of itself. */
export interface Gauge {
  /** Bytes after a garbage collection. */
  readonly heapUsed: number;
  readonly rss: number;
  readonly external: number;
  /** Open file descriptors; only Linux says how many. */
  readonly descriptors?: number;
  readonly unhandledRejections: number;
  readonly uncaughtExceptions: number;
  readonly processWarnings: number;
  /** Lines of the log with something like a session token. */
  readonly loggedTokens: number;
  /** Lines of the log at `warn` and above, by what they say. */
  readonly logged: Readonly<Record<string, number>>;
}

/** How a process ended. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly milliseconds: number;
  /** What it said last, if it closed. */
  readonly last: Partial<Gauge> & { closed?: boolean };
}

/** A process that listens. */
export class AppProcess {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #waiting: ((answer: never) => void)[];
  readonly #ended: Promise<[code: number | null, signal: string | null]>;
  /** Whether it takes requests, as a load balancer would see it. */
  isUp = true;
  /** Whether it was told to end. */
  isStopping = false;

  private constructor(child: ChildProcess, port: number, waiting: ((answer: never) => void)[]) {
    this.#child = child;
    this.port = port;
    this.#waiting = waiting;
    this.#ended = new Promise((resolve) =>
      child.once("exit", (code, signal) => {
        this.isUp = false;
        resolve([code, signal]);
      })
    );
  }

  /** Starts one in a folder with the installed package. */
  static async start(folder: string, environment: Record<string, string>): Promise<AppProcess> {
    const child = spawn("node", ["--expose-gc", "main.mjs"], {
      cwd: folder,
      env: { ...process.env, ...environment },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const waiting: ((answer: never) => void)[] = [];
    const listening = new Promise<{ port: number }>((resolve, reject) => {
      waiting.push(resolve as (answer: never) => void);
      child.once("exit", () => reject(new Error("The application ended before it listened.")));
    });
    createInterface({ input: child.stdout! }).on(
      "line",
      (line) => waiting.shift()?.(JSON.parse(line) as never),
    );
    const { port } = await listening;
    return new AppProcess(child, port, waiting);
  }

  #ask<T>(command: object): Promise<T> {
    const answer = new Promise<T>((resolve) => this.#waiting.push(resolve as (answer: never) => void));
    const ended = this.#ended.then(() => Promise.reject(new Error("The application has ended.")));
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    return Promise.race([answer, ended]);
  }

  gauge(): Promise<Gauge> {
    return this.#ask({ command: "gauge" });
  }

  /** Sets its clock so many milliseconds ahead, or behind. */
  async shiftClock(milliseconds: number): Promise<void> {
    await this.#ask({ command: "clock", milliseconds });
  }

  /** Sends SIGTERM and waits for its end, at most half a minute. */
  async stop(): Promise<Ending> {
    const begun = Date.now();
    this.isStopping = true;
    const last = new Promise<Ending["last"]>((resolve) => this.#waiting.push(resolve as (answer: never) => void));
    process.kill(this.#child.pid!, "SIGTERM"); // kill() of Deno's child would close its output, too
    const timer = setTimeout(() => process.kill(this.#child.pid!, "SIGKILL"), 30_000);
    const [code, signal] = await this.#ended;
    clearTimeout(timer);
    return {
      code,
      signal,
      milliseconds: Date.now() - begun,
      last: await Promise.race([last, pause(500).then(() => ({}))]),
    };
  }
}

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
