/**
 * Programs that run under valgrind's callgrind, which counts their instructions.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { type Count, readCallgrind } from "./callgrind.ts";
import { Conversation, Server } from "./conversation.ts";
import type { Runtime } from "./setup.ts";

const run = promisify(execFile);

/** What a message says where it is not installed. */
export const INSTALL_VALGRIND =
  "Instructions are counted by valgrind: install it, on Debian with `apt-get install valgrind`.";

/**
 * Options of V8. It frees memory of a process that seems to be idle, compiled code among it. Under valgrind each seems so,
 * since V8 goes by the clock.
 */
const V8 = ["--no-memory-reducer"];

/** The version of valgrind, where it is installed. */
export async function valgrindVersion(): Promise<string | undefined> {
  try {
    return (await run("valgrind", ["--version"])).stdout.trim().replace("-", " ");
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENOENT") return undefined;
    throw error;
  }
}

/** A server whose instructions can be counted. */
export interface CountedServer {
  readonly server: Server;
  /** From now on the server is counted, which makes it slower. */
  readonly begin: () => Promise<void>;
  /** Counts what the server does meanwhile. It must have no other work. */
  readonly count: (meanwhile: () => Promise<unknown>) => Promise<Count>;
  /** Ends the server. */
  readonly end: () => Promise<void>;
}

/** Has programs run under callgrind. At its end none of them is left, and nothing that callgrind wrote. */
export class Callgrind implements AsyncDisposable {
  /** Where callgrind writes, and where it is told to begin and to end. */
  readonly #directory: string;
  readonly #running = new Set<Conversation>();
  #started = 0;
  #isOver = false;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async open(): Promise<Callgrind> {
    return new Callgrind(await mkdtemp(join(tmpdir(), "fastify-authjs-callgrind-")));
  }

  /** Starts one of `measured/apps/`. Nothing is counted yet. */
  async start(runtime: Runtime, app: string, parameter = ""): Promise<CountedServer> {
    const { program, read } = this.#run(
      runtime,
      ["--instr-atstart=no"],
      ["serve.js", app, parameter],
    );
    const tell = (...command: string[]) =>
      run("vgdb", [`--pid=${program.id}`, `--vgdb-prefix=${this.#directory}/vgdb`, ...command]);
    return {
      server: await Server.of(program),
      async begin() {
        await tell("instrumentation", "on");
      },
      async count(meanwhile) {
        await tell("zero");
        await meanwhile();
        await tell("dump");
        return await read();
      },
      end: () => this.#end(program),
    };
  }

  /** Counts all that one of the measured programs does. */
  async countAll(runtime: Runtime, ...parameters: string[]): Promise<Count> {
    const { program, read } = this.#run(runtime, [], parameters);
    await program.listen();
    await program.ended;
    this.#running.delete(program);
    return await read();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(Array.from(this.#running, (program) => this.#end(program)));
    await rm(this.#directory, { recursive: true });
  }

  #run(
    { name, command }: Runtime,
    options: string[],
    parameters: string[],
  ): { program: Conversation; read: () => Promise<Count> } {
    if (this.#isOver) throw new Error("No program is started any more");
    const output = join(this.#directory, `${++this.#started}.out`);
    const valgrind = [
      "valgrind",
      "--quiet",
      "--tool=callgrind",
      `--callgrind-out-file=${output}`,
      `--vgdb-prefix=${this.#directory}/vgdb`,
      ...options,
    ];
    const program = new Conversation({ name, command: [...valgrind, ...command, ...V8] }, ...parameters);
    this.#running.add(program);
    return { program, read: () => readNew(output) };
  }

  async #end(program: Conversation): Promise<void> {
    program.end();
    await program.ended;
    this.#running.delete(program);
  }
}

/** Reads what callgrind has written, and removes it: `1.out`, or `1.out.1` where it was told to write. */
async function readNew(output: string): Promise<Count> {
  const directory = join(output, "..");
  const counts: Count[] = [];
  for (const name of await readdir(directory)) {
    if (name !== basename(output) && !name.startsWith(`${basename(output)}.`)) continue;
    const path = join(directory, name);
    counts.push(readCallgrind(await readFile(path, "utf8")));
    await rm(path);
  }
  const sum = (of: keyof Count) => counts.reduce((sum, count) => sum + count[of], 0);
  if (sum("all") === 0) throw new Error(`callgrind has counted nothing in ${output}`);
  return { all: sum("all"), rest: sum("rest") };
}
