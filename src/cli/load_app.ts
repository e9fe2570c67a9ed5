/**
 * Loads the module of an application as its own start would, except that nothing listens.
 *
 * Fastify announces each instance on a diagnostics channel, whichever copy of Fastify made it. So the module need not
 * export anything: also `app.listen()` at its end shows the application, and does not listen.
 */
import { channel } from "node:diagnostics_channel";
import { stat } from "node:fs/promises";
import module from "node:module";
import { resolve } from "node:path";
import process from "node:process";
import { setTimeout } from "node:timers";
import { pathToFileURL } from "node:url";
import type { FastifyInstance } from "fastify";

const HOW_TO_EXPORT = "Export the application, or a function that makes it, as in `export default app` or " +
  "`export default async () => app`; a module that makes it when it is loaded needs no export.";

class NoApp extends Error {}

/** Loads a module by its path, and makes its applications ready, within a time in milliseconds. */
export async function loadApp(file: string, timeout: number) {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new NoApp(`There is no file ${file}.`);
  if (found.isDirectory()) throw new NoApp(`${file} is a directory: name the module in it that makes the application.`);
  const { apps, listening, logged } = watchApps();
  const held = holdProcess();
  const within = <Value>(waited: PromiseLike<Value>): Promise<Value> => {
    const late = later(timeout).then(() => {
      throw new NoApp(`${file} was not ready within ${timeout / 1000} seconds: --timeout allows more.`);
    });
    const idle = held.idle().then(() => {
      throw new NoApp(`${file} waits for something that never comes, so it is never ready.`);
    });
    return Promise.race([waited, late, idle, held.failure]);
  };
  let failure: unknown;
  try {
    // Whatever follows `await app.listen()` is not run: an application is complete when it listens.
    const isComplete = await within(Promise.race([importApp(file, apps), listening]));
    // Its `main()` may still connect to a database, before it makes the application or registers plugins.
    const patience = IS_BUN ? Math.min(timeout, 5000) : timeout;
    if (!isComplete) await Promise.race([listening, held.idle(), held.failure, later(patience)]);
    if (apps.length === 0) throw new NoApp(`${file} makes no Fastify application. ${HOW_TO_EXPORT}`);
    for (const app of apps) await within(app.ready());
  } catch (error) {
    if (error instanceof NoApp) {
      held.release();
      throw error;
    }
    failure = error instanceof ProcessExit ? logged() ?? error : error;
  }
  return {
    apps,
    /** Why an application does not start: if it ends the process, what it logged before. */
    failure,
    /** Closes the applications, so that they let go of what they hold. It does not wait for ever. */
    async close() {
      const late = new Promise((resolve) => setTimeout(resolve, 2000));
      await Promise.race([Promise.allSettled(apps.map((app) => app.close())), late]);
      held.release();
    },
  };
}

/** Bun 1.3 forgets a channel, with its subscribers, that nothing refers to. */
const ANNOUNCEMENTS = channel("fastify.initialization");

function watchApps() {
  const apps: FastifyInstance[] = [];
  let error: Error | undefined;
  let listens: (value: true) => void = () => {};
  const listening = new Promise<true>((resolve) => listens = resolve);
  ANNOUNCEMENTS.subscribe((message) => {
    const { fastify } = message as { fastify: FastifyInstance };
    apps.push(fastify);
    // Its own log would be mixed with the report. What it logs before it gives up is the reason.
    Reflect.set(fastify.log, "level", "silent");
    const keep = (...logged: unknown[]) => error = errorIn(logged) ?? error;
    for (const level of ["error", "fatal"]) Reflect.set(fastify.log, level, keep);
    Reflect.set(fastify, "listen", () => {
      listens(true);
      return new Promise(() => {});
    });
    Reflect.set(fastify.server, "listen", () => {
      listens(true);
      return fastify.server;
    });
  });
  return { apps, listening, logged: () => error };
}

/** The error in the arguments of `log.error(error)`, `log.error({ err }, "text")` or `log.error("text")`. */
function errorIn(logged: readonly unknown[]): Error | undefined {
  const { err, error } = Object(logged[0]) as { err?: unknown; error?: unknown };
  const found = [logged[0], err, error].find((value) => value instanceof Error);
  const text = logged.find((value) => typeof value === "string");
  return found ?? (text === undefined ? undefined : new Error(text));
}

/** Imports the module. False if it may still be about to make its application. */
async function importApp(file: string, apps: readonly FastifyInstance[]): Promise<boolean> {
  const { href } = pathToFileURL(resolve(file));
  const module = await import(href);
  // A module of CommonJS has its exports in `default`.
  const exported = typeof module.default === "object" ? module.default?.default ?? module.default : module.default;
  if (typeof exported !== "function") {
    const values = [module, module.default, exported].flatMap((value) => Object.values(Object(value)));
    return [exported, ...values].some((value) => apps.includes(value));
  }
  if (exported.length === 0) await exported();
  // With parameters it is a plugin of fastify-cli, or, beside an application, the handler of a platform.
  else if (apps.length === 0) {
    const { default: Fastify } = await import("fastify");
    await Fastify().register(exported, {});
  }
  return true;
}

/** Bun does not always say that it is about to end, so a timer has to keep it. */
const IS_BUN = "Bun" in globalThis;

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    if (!IS_BUN) timer.unref();
  });
}

/** An application that ends its process, as in `process.exit(1)`. */
class ProcessExit extends Error {
  constructor(code: unknown) {
    super(`it ends the process with exit code ${code ?? process.exitCode ?? 0}. Its output may say why.`);
  }
}

/** Keeps an application from ending the process, and from writing into the report. */
function holdProcess() {
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
    // deno-coverage-ignore Not implemented in Deno 2.8: such an `exit()` ends this process, and its output may say why.
  }
}
