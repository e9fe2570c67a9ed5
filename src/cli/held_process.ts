/** Keeps an application that is being loaded from ending the process, and from writing into the report. */
import module from "node:module";
import process from "node:process";

/** An application that ends its process, as in `process.exit(1)`. */
export class ProcessExit extends Error {
  constructor(code: unknown) {
    super(`it ends the process with exit code ${code ?? process.exitCode ?? 0}. Its output may say why.`);
  }
}

export function holdProcess() {
  let fail = (_error: unknown): void => {};
  const failure = new Promise<never>((_resolve, reject) => fail = reject);
  failure.catch(() => {}); // not each caller waits for it
  for (const event of ["uncaughtException", "unhandledRejection"]) {
    // An application that listens itself decides what such an error means.
    process.on(event, (error: unknown) => process.listenerCount(event) === 1 && fail(error));
  }
  const exit = (code?: unknown): never => {
    const ending = new ProcessExit(code);
    fail(ending);
    throw ending; // what follows a call must not run
  };
  // The standard output is for the report alone.
  const print = (...values: unknown[]) => console.error(...values);
  const { Deno: deno } = globalThis as { Deno?: object };
  const restore = [
    replace(process, "exit", exit),
    deno && replace(deno, "exit", exit),
    replace(process.stdout, "write", process.stderr.write.bind(process.stderr)),
    ...["log", "info", "debug"].map((name) => replace(console, name, print)),
  ];
  syncExports();
  return {
    /** Rejects if the application would end the process, or an error of it would. */
    failure,
    /** Resolves when nothing is left to wait for, which would end the process, too. */
    idle: () => new Promise<void>((resolve) => process.once("beforeExit", () => resolve())),
    release() {
      for (const each of restore) each?.();
      syncExports();
    },
  };
}

/** @returns What undoes it. */
function replace(owner: object, name: string, stand: unknown): () => void {
  const original = Reflect.get(owner, name);
  Reflect.set(owner, name, stand);
  return () => Reflect.set(owner, name, original);
}

/** For `import { exit } from "node:process"`. */
function syncExports(): void {
  try {
    module.syncBuiltinESMExports();
  } catch {
    // Not implemented in Deno 2.8: such an `exit()` ends this process, and its output may say why.
  }
}
