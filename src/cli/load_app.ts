/**
 * Loads the module of an application as its own start would, except that nothing listens.
 *
 * Fastify announces each instance on a diagnostics channel, whichever copy of Fastify made it. So the module
 * need not export anything: also `app.listen()` at its end shows the application, and does not listen.
 */
import { channel } from "node:diagnostics_channel";
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The part of a Fastify instance that is used. */
export interface App {
  listen: (...args: unknown[]) => unknown;
  readonly ready: () => PromiseLike<unknown>;
  readonly close: () => PromiseLike<unknown>;
  readonly log: { level?: string };
}

/** What loading gave. */
export interface Loaded {
  /** The applications, in the order they were made. */
  readonly apps: readonly App[];
  /** Why an application does not start. */
  readonly failure?: unknown;
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
  const apps: App[] = [];
  let listens = () => {};
  const listening = new Promise<void>((resolve) => listens = resolve);
  const watch = (message: unknown) => {
    const { fastify } = message as { fastify: App };
    apps.push(fastify);
    // Its own log would be mixed with the report.
    fastify.log.level = "silent";
    fastify.listen = () => {
      listens();
      return new Promise(() => {});
    };
  };
  await access(file).catch(() => {
    throw new NoApp(`There is no file ${file}.`);
  });
  // Bun 1.3 forgets a channel, with its subscribers, that nothing refers to.
  const announcements = channel(CHANNEL);
  announcements.subscribe(watch);
  try {
    // Whatever follows `await app.listen()` is not run: an application is complete when it listens.
    await within(timeout, file, Promise.race([importApp(file, apps), listening]));
    for (const app of apps) await within(timeout, file, app.ready());
    return { apps };
  } catch (failure) {
    if (failure instanceof NoApp) throw failure;
    return { apps, failure };
  } finally {
    announcements.unsubscribe(watch);
  }
}

async function importApp(file: string, apps: readonly App[]): Promise<void> {
  const { href } = pathToFileURL(resolve(file));
  const exported = exportedBy(await import(href));
  if (typeof exported === "function") await makeApp(exported as Maker);
  if (apps.length === 0) throw new NoApp(`${file} makes no Fastify application. ${HOW_TO_EXPORT}`);
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

async function within(timeout: number, file: string, waited: PromiseLike<unknown>): Promise<void> {
  const signal = AbortSignal.timeout(timeout);
  const late = new Promise<never>((_resolve, reject) => {
    signal.onabort = () =>
      reject(new NoApp(`${file} was not ready within ${timeout / 1000} seconds: --timeout allows more.`));
  });
  await Promise.race([waited, late]);
}

/** Closes applications, so that they let go of what they hold, but does not wait for ever. */
export async function closeApps(apps: readonly App[]): Promise<void> {
  const closing = Promise.allSettled(apps.map((app) => app.close()));
  await Promise.race([closing, new Promise((resolve) => setTimeout(resolve, 2000))]);
}
