/** Keeps an application that is being loaded from ending the process, and from writing into the report. */
import module from "node:module";
import process from "node:process";

/** What keeps an application, until it is released. */
export interface HeldProcess {
  /** Rejects where the application would end the process, or an error of it would. */
  readonly failure: Promise<never>;
  /** Resolves when nothing is left to wait for, which would end the process, too. */
  idle(): Promise<void>;
  /** Makes the process what it was. */
  release(): void;
}

/** An application that ends its process, as in `process.exit(1)`. */
export class ProcessExit extends Error {
  /** @param code The exit code that it chose. */
  constructor(code: unknown) {
    super(`it ends the process with exit code ${code ?? process.exitCode ?? 0}. Its output may say why.`);
  }
}

const FATAL = ["uncaughtException", "unhandledRejection"] as const;

/** Functions that are replaced, and where they are. */
type Replaced = [owner: object, name: string, stand: unknown];

/** Holds the process. */
export function holdProcess(): HeldProcess {
  let fail: (error: unknown) => void = () => {};
  const failure = new Promise<never>((_resolve, reject) => fail = reject);
  failure.catch(() => {}); // not each caller waits for it
  const exit = (code?: unknown): never => {
    const ending = new ProcessExit(code);
    fail(ending);
    throw ending; // what follows a call must not run
  };
  // The standard output is for the report alone.
  const print = (...values: unknown[]) => console.error(...values);
  const { Deno: deno } = globalThis as { Deno?: object };
  const restore = replace([
    [process, "exit", exit],
    ...deno === undefined ? [] : [[deno, "exit", exit] as Replaced],
    [process.stdout, "write", process.stderr.write.bind(process.stderr)],
    ...["log", "info", "debug"].map((name): Replaced => [console, name, print]),
  ]);
  const listeners = FATAL.map((event) => {
    // An application that listens itself decides what such an error means.
    const listener = (error: unknown) => process.listenerCount(event) === 1 && fail(error);
    process.on(event, listener);
    return () => process.removeListener(event, listener);
  });
  return {
    failure,
    idle: () => new Promise((resolve) => process.once("beforeExit", () => resolve())),
    release() {
      restore();
      for (const remove of listeners) remove();
    },
  };
}

function replace(replaced: readonly Replaced[]): () => void {
  const originals = replaced.map(([owner, name]): Replaced => [owner, name, Reflect.get(owner, name)]);
  const assign = (all: readonly Replaced[]) => {
    for (const [owner, name, value] of all) Reflect.set(owner, name, value);
    try {
      module.syncBuiltinESMExports(); // for `import { exit } from "node:process"`
    } catch {
      // Not implemented in Deno 2.8: such an `exit()` ends this process, and its output may say why.
    }
  };
  assign(replaced);
  return () => assign(originals);
}
