/**
 * Loads the module of an application as its own start would, except that nothing listens.
 *
 * Fastify announces each instance on a diagnostics channel, whichever copy of Fastify made it. So the module
 * need not export anything: also `app.listen()` at its end shows the application, and does not listen.
 */
import { channel } from "node:diagnostics_channel";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout } from "node:timers";
import { pathToFileURL } from "node:url";
import { type HeldProcess, holdProcess, ProcessExit } from "./held_process.ts";

/** The part of a Fastify instance that is used. */
export interface App {
  listen: (...args: unknown[]) => unknown;
  readonly ready: () => PromiseLike<unknown>;
  readonly close: () => PromiseLike<unknown>;
  readonly log: object;
  readonly server: object;
}

/** What loading gave. */
export interface Loaded {
  /** The applications, in the order they were made. */
  readonly apps: readonly App[];
  /** Why an application does not start: where it ends the process, what it logged before. */
  readonly failure?: unknown;
  /** Closes the applications, so that they let go of what they hold. */
  close(): Promise<void>;
}

const CHANNEL = "fastify.initialization";

const HOW_TO_EXPORT = "Export the application, or a function that makes it, as in `export default app` or " +
  "`export default async () => app`; a module that makes it when it is loaded needs no export.";

/** A module that cannot be checked. */
export class NoApp extends Error {}

/**
 * Loads a module, and makes its applications ready.
 *
 * @param file The path of the module.
 * @param timeout In milliseconds.
 * @throws {NoApp} Where it makes no application, or does not end in time.
 */
export async function loadApp(file: string, timeout: number): Promise<Loaded> {
  await assertFile(file);
  const watched = watchApps();
  const { apps, listening } = watched;
  const held = holdProcess();
  const release = () => {
    held.release();
    watched.stop();
  };
  const close = () => closeApps(apps).finally(release);
  const waiting: Waiting = { file, timeout, held };
  try {
    // Whatever follows `await app.listen()` is not run: an application is complete when it listens.
    const isComplete = await within(waiting, Promise.race([importApp(file, apps), listening]));
    // Its `main()` may still connect to a database, before it makes the application or registers plugins.
    if (!isComplete) await Promise.race([listening, held.idle(), held.failure, later(patience(timeout))]);
    if (apps.length === 0) throw new NoApp(`${file} makes no Fastify application. ${HOW_TO_EXPORT}`);
    for (const app of apps) await within(waiting, app.ready());
    return { apps, close };
  } catch (failure) {
    if (!(failure instanceof NoApp)) {
      return { apps, close, failure: failure instanceof ProcessExit ? watched.logged() ?? failure : failure };
    }
    release();
    throw failure;
  }
}

async function assertFile(file: string): Promise<void> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) throw new NoApp(`There is no file ${file}.`);
  if (found.isDirectory()) {
    throw new NoApp(`${file} is a directory: name the module in it that makes the application.`);
  }
}

/** The applications of the process. */
interface Watched {
  readonly apps: App[];
  /** Resolves to true when one would listen. */
  readonly listening: Promise<true>;
  /** The last error that one logged. */
  readonly logged: () => Error | undefined;
  readonly stop: () => void;
}

function watchApps(): Watched {
  const apps: App[] = [];
  let error: Error | undefined;
  let listens: (value: true) => void = () => {};
  const listening = new Promise<true>((resolve) => listens = resolve);
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: App };
    apps.push(fastify);
    // Its own log would be mixed with the report. What it logs before it gives up is the reason.
    Reflect.set(fastify.log, "level", "silent");
    const keep = (...logged: unknown[]) => error = errorIn(logged) ?? error;
    for (const level of ["error", "fatal"]) Reflect.set(fastify.log, level, keep);
    fastify.listen = () => {
      listens(true);
      return new Promise(() => {});
    };
    Reflect.set(fastify.server, "listen", () => {
      listens(true);
      return fastify.server;
    });
  };
  // Bun 1.3 forgets a channel, with its subscribers, that nothing refers to.
  const announcements = channel(CHANNEL);
  announcements.subscribe(watch);
  return { apps, listening, logged: () => error, stop: () => announcements.unsubscribe(watch) };
}

/** The error in the arguments of `log.error(error)`, `log.error({ err }, "text")` or `log.error("text")`. */
function errorIn(logged: readonly unknown[]): Error | undefined {
  const [first] = logged;
  const { err, error } = Object(first) as { err?: unknown; error?: unknown };
  const found = [first, err, error].find((value) => value instanceof Error);
  const text = logged.find((value) => typeof value === "string");
  return found as Error | undefined ?? (text === undefined ? undefined : new Error(text as string));
}

/** Imports the module. False where it may still be about to make its application. */
async function importApp(file: string, apps: readonly App[]): Promise<boolean> {
  const { href } = pathToFileURL(resolve(file));
  const module = await import(href);
  const exported = exportedBy(module);
  if (typeof exported === "function") {
    // With parameters, beside an application, it is the handler of a platform.
    if (exported.length === 0 || apps.length === 0) await makeApp(exported as Maker);
    return true;
  }
  const values = [module, module.default, exported].flatMap((value) => Object.values(Object(value)));
  return [exported, ...values].some((value) => apps.includes(value as App));
}

type Maker = (...args: unknown[]) => unknown;

/** A module of CommonJS has its exports in `default`. */
function exportedBy(module: Record<string, unknown>): unknown {
  const inner = module.default as Record<string, unknown> | undefined;
  return typeof inner === "object" && inner !== null ? inner.default ?? inner : inner;
}

/**
 * A function without parameters makes the application; one with them is a plugin, as fastify-cli loads it.
 */
async function makeApp(exported: Maker): Promise<void> {
  if (exported.length === 0) {
    await exported();
    return;
  }
  const { default: Fastify } = await import("fastify");
  await Fastify().register(exported as never, {});
}

interface Waiting {
  readonly file: string;
  readonly timeout: number;
  readonly held: HeldProcess;
}

async function within<Value>({ file, timeout, held }: Waiting, waited: PromiseLike<Value>): Promise<Value> {
  const late = later(timeout).then(() => {
    throw new NoApp(`${file} was not ready within ${timeout / 1000} seconds: --timeout allows more.`);
  });
  const idle = held.idle().then(() => {
    throw new NoApp(`${file} waits for something that never comes, so it is never ready.`);
  });
  return await Promise.race([waited, late, idle, held.failure]);
}

/** Bun does not always say that it is about to end, so a timer has to keep it. */
const IS_BUN = "Bun" in globalThis;

function later(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    if (!IS_BUN) timer.unref();
  });
}

/** How long to wait for a module that may do nothing more. */
function patience(timeout: number): number {
  return IS_BUN ? Math.min(timeout, 5000) : timeout;
}

/** Closes applications, but does not wait for ever. */
async function closeApps(apps: readonly App[]): Promise<void> {
  const closing = Promise.allSettled(apps.map((app) => app.close()));
  await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 2000))]);
}
