/**
 * Two processes of an application on the npm package, with PostgreSQL and Redis, under mixed requests of many users,
 * while faults are injected: `deno task soak`. Ends with the checks, each passed or failed.
 *
 * It sends `--requests=200000` by default. `--minutes=5` ends it after that time, building and settling included.
 * `--package=<directory>` takes a package that is built already. `--report` writes docs/reliability.md and its figures.
 */
import { cp, mkdtemp, rm } from "node:fs/promises";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import pg from "pg";
import { PG_ADAPTER_TABLES } from "../../tests/support/tables.ts";
import { AppProcess } from "./app_process.ts";
import { checksOf, type Measured } from "./checks.ts";
import { Balancer } from "./client.ts";
import { startFaultProxy } from "../../tests/support/fault_proxy.ts";
import { FAULTS, type Surroundings } from "./faults.ts";
import { startProvider } from "./provider.ts";
import { machineOf, writeReport } from "./report.ts";
import { freePort, type Killable, missingServers, startPostgres, startRedis } from "./servers.ts";
import { Tally } from "./tally.ts";
import { User } from "./user.ts";

const USERS = 600;
/** Requests at the same time. */
const CONCURRENCY = 24;
const WARM_UP_MS = 12_000;
/** Longer than the time-outs of the application. */
const FAULT_MS = 6_500;
/** From the end of a fault to the next: longer than what a fault explains. */
const BETWEEN_MS = 11_000;
/** The same in a run that is to send so many requests. */
const BETWEEN_IN_FULL_MS = 40_000;
/** Until idle connections are closed. */
const SETTLE_MS = 9_000;

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const { values: options } = parseArgs({
  args: process.argv.slice(2),
  options: {
    requests: { type: "string" },
    minutes: { type: "string" },
    package: { type: "string" },
    report: { type: "boolean", default: false },
  },
});

/** Builds the package and installs it beside what the application needs. */
async function install(folder: string): Promise<void> {
  const root = pathOf("../..");
  const run = promisify(execFile);
  if (options.package === undefined) await run(process.execPath, ["task", "build:npm"], { cwd: root });
  await cp(pathOf("application"), folder, { recursive: true });
  const { stdout } = await run("npm", ["pack", "--json", `--pack-destination=${folder}`], {
    cwd: options.package ?? join(root, "npm"),
  });
  const tarball = join(folder, JSON.parse(stdout)[0].filename);
  await run("npm", ["install", "--no-package-lock", "--no-audit", "--no-fund", tarball], { cwd: folder });
}

async function createTables(port: number): Promise<void> {
  const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
  await client.connect();
  await client.query(PG_ADAPTER_TABLES);
  await client.end();
}

/** Injects the faults one after the other, over and over, until the load is to end. */
async function injectFaults(surroundings: Surroundings, tally: Tally, load: Load): Promise<void> {
  const between = options.requests !== undefined || options.minutes === undefined ? BETWEEN_IN_FULL_MS : BETWEEN_MS;
  for (let round = 0;; round++) {
    const fault = FAULTS[round % FAULTS.length]!;
    if (load.isOver(FAULT_MS + between)) return;
    console.log(`${seconds(Date.now() - tally.started)} s, ${tally.requests} requests: ${fault.name}`);
    const window = tally.openWindow(fault.name, !fault.isStoreGone);
    await fault.begin(surroundings);
    await pause(FAULT_MS);
    await fault.end(surroundings);
    tally.closeWindow(window);
    await pause(between);
    load.gauges.push(await gauge(surroundings.processes, tally));
  }
}

/** What the processes need at a time of the run. */
async function gauge(processes: readonly AppProcess[], tally: Tally): Promise<Measured["gauges"][number]> {
  const { requests } = tally;
  return { requests, processes: await Promise.all(processes.map((process) => process.gauge())) };
}

/** When the load ends, and what was measured in it. */
interface Load {
  readonly gauges: Measured["gauges"];
  /** Whether enough was sent, or no time is left for what takes so many milliseconds. */
  isOver(milliseconds: number): boolean;
}

const seconds = (milliseconds: number) => Math.round(milliseconds / 1000);

async function soak(folder: string, deadline: number | undefined): Promise<Measured> {
  await install(folder);
  const servers: Killable[] = [];
  // Of the processes, the application's end with their input
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(
      signal,
      () => void Promise.all(servers.map((server) => server.kill())).then(() => process.exit(1)),
    );
  }
  const processes: AppProcess[] = [];
  const provider = await startProvider();
  const postgres = await startPostgres(folder);
  servers.push(postgres);
  const proxy = await startFaultProxy(postgres.port);
  try {
    const redis = await startRedis(folder);
    servers.push(redis);
    await createTables(postgres.port);
    const ports = [await freePort(), await freePort()];
    const start = (index: number) =>
      AppProcess.start(folder, {
        NODE_ENV: "production",
        PORT: `${ports[index]}`,
        AUTH_SECRET: "the-secret-of-the-soak-test-is-no-secret",
        AUTH_URL: "http://app.test",
        DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        ISSUER: provider.url,
        MAILBOX: `${provider.url}/mail`,
      });
    processes.push(await start(0), await start(1));

    const tally = new Tally();
    const endings: Surroundings["endings"] = [];
    const surroundings = { postgres, redis, proxy, provider, processes, endings, restart: start };
    const balancer = new Balancer(processes, tally);
    const requested = Number(options.requests ?? (deadline === undefined ? 200_000 : Infinity));
    const gauges: Measured["gauges"] = [];
    const load: Load = {
      gauges,
      isOver: (milliseconds) =>
        // Every fault at least once
        tally.windows.length >= FAULTS.length &&
        (tally.requests >= requested || Date.now() + milliseconds + SETTLE_MS >= (deadline ?? Infinity)),
    };
    let isOver = false;
    const users = Array.from({ length: USERS }, (_, index) => new User(index, balancer, provider));
    const run = async (index: number) => {
      await pause(index * 200); // not all at once
      while (!isOver) {
        const user = users.splice(Math.floor(Math.random() * users.length), 1)[0]!;
        await user.act();
        users.push(user);
      }
    };
    const workers = Array.from({ length: CONCURRENCY }, (_, index) => run(index));
    await pause(WARM_UP_MS);
    gauges.push(await gauge(processes, tally));
    await injectFaults(surroundings, tally, load);
    isOver = true;
    await Promise.all(workers);
    const milliseconds = Date.now() - tally.started;
    await pause(SETTLE_MS);
    const end = await gauge(processes, tally);
    for (const process of processes) endings.push(await process.stop());
    const { refreshes, reused } = provider;
    for (const _ of reused.filter((time) => tally.windowAt(time)?.storeAnswers !== false)) {
      tally.find("a refresh token was used twice", "while the store answered");
    }
    return {
      tally,
      gauges,
      end,
      endings,
      milliseconds,
      refreshes,
      reused: reused.length,
      machine: await machineOf(),
    };
  } finally {
    for (const process of processes) if (process.isUp) await process.stop();
    await proxy[Symbol.asyncDispose]();
    for (const server of servers) await server.kill();
    await provider.close();
  }
}

const missing = missingServers();
if (missing.length > 0) {
  console.log(`Not run, for want of ${missing.join(" and ")}.`);
  if (process.env.CI) console.log("\n0 passed, 1 failed");
  process.exit(process.env.CI ? 1 : 0);
}
const deadline = options.minutes === undefined ? undefined : Date.now() + Number(options.minutes) * 60_000;
const folder = await mkdtemp(join(tmpdir(), "fastify-authjs-soak-"));
try {
  const measured = await soak(folder, deadline);
  const checks = checksOf(measured);
  if (options.report) await writeReport(measured, checks);
  console.log(
    `\n${checks.map(({ passed, name, shown }) => `${passed ? "ok    " : "FAILED"} ${name}: ${shown}`).join("\n")}`,
  );
  const failed = checks.filter(({ passed }) => !passed).length;
  console.log(`\n${checks.length - failed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
} finally {
  await rm(folder, { recursive: true, force: true });
}
