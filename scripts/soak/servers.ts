/** PostgreSQL and Redis for one run of the soak test, on loopback, which can be killed and started again. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import pg from "pg";

const run = promisify(execFile);

/** A server that the test may kill. */
export interface Killable {
  readonly port: number;
  /** Ends it at once, without letting it finish anything. */
  kill(): Promise<void>;
  /** Starts it on the same data, and waits until it answers. */
  start(): Promise<void>;
}

/** What is missing on this machine, in words for the operator; nothing if all is there. */
export function missingServers(): string[] {
  return [
    ...(postgresFolder() === undefined ? ["PostgreSQL (/usr/lib/postgresql/*/bin)"] : []),
    ...(pathOf("redis-server") === undefined ? ["redis-server"] : []),
    ...(process.platform === "win32" ? ["signals, which Windows lacks"] : []),
  ];
}

function pathOf(program: string): string | undefined {
  return (process.env.PATH ?? "").split(":").map((folder) => join(folder, program)).find(existsSync);
}

/** The newest PostgreSQL that Debian's packages have installed, or that of the PATH. */
function postgresFolder(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root).map(Number).sort((one, other) => other - one) : [];
  const folders = versions.map((version) => join(root, `${version}`, "bin"));
  const initdb = pathOf("initdb");
  if (initdb) folders.push(join(initdb, ".."));
  return folders.find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
}

/** A free port of this machine. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Starts PostgreSQL with data of its own. It refuses to run as root, so root starts it as the user `postgres`. */
export async function startPostgres(folder: string): Promise<Killable> {
  const binaries = postgresFolder()!;
  const data = join(folder, "postgres");
  const isRoot = process.getuid?.() === 0;
  const asUser = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : [];
  await chmod(folder, 0o711); // that user passes through it
  await mkdir(data, { mode: 0o700 });
  if (isRoot) {
    const [user, group] = await Promise.all(
      ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, "postgres"])).stdout)),
    );
    await chown(data, user!, group!);
  }
  const command = (program: string, ...args: string[]) => [...asUser, join(binaries, program), ...args];
  const [initdb, ...args] = command(
    "initdb",
    "-D",
    data,
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--auth=trust",
    "--no-sync",
  );
  await run(initdb!, args, { cwd: data });
  const port = await freePort();
  const options = [
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "fsync=off",
    "max_connections=60",
  ];
  const server = command(
    "postgres",
    "-D",
    data,
    "-p",
    `${port}`,
    ...options.flatMap((option) => ["-c", option]),
  );
  // SIGQUIT is PostgreSQL's immediate shutdown: it recovers from its log when it starts again
  return await killable(port, server, data, "SIGQUIT", async () => {
    const client = new pg.Client({ host: "127.0.0.1", port, user: "postgres", database: "postgres" });
    client.on("error", () => {});
    await client.connect();
    await client.end();
  });
}

/** Starts Redis with data of its own, which it keeps when it is killed. */
export async function startRedis(folder: string): Promise<Killable> {
  const data = join(folder, "redis");
  await mkdir(data);
  const port = await freePort();
  const options = [
    "--bind",
    "127.0.0.1",
    "--port",
    `${port}`,
    "--dir",
    data,
    "--save",
    "",
    "--appendonly",
    "yes",
  ];
  return await killable(port, [pathOf("redis-server")!, ...options], data, "SIGKILL", async () => {
    const client = new Redis({ host: "127.0.0.1", port, lazyConnect: true, retryStrategy: () => null });
    client.on("error", () => {});
    try {
      await client.connect();
      await client.ping(); // an error while it reads its data
    } finally {
      client.disconnect();
    }
  });
}

async function killable(
  port: number,
  [program, ...args]: string[],
  cwd: string,
  signal: NodeJS.Signals,
  ask: () => Promise<void>,
): Promise<Killable> {
  let child: ChildProcess | undefined;
  const server: Killable = {
    port,
    async start() {
      child = spawn(program!, args, { cwd, stdio: "ignore" });
      for (let attempt = 0; attempt < 1200; attempt++) {
        if (await ask().then(() => true, () => false)) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error(`${program} did not start`);
    },
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child!.once("exit", resolve));
      child.kill(signal);
      await ended;
    },
  };
  await server.start();
  return server;
}
