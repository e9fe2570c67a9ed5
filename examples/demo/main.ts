/**
 * The demo, as a program: `npx -y deno@2 task demo`.
 *
 * `PORT` chooses the port (3000), `DEMO_DATA` the folder for its data (`data` beside this file), `DATABASE_URL` a
 * PostgreSQL (`postgres://…`) instead of a file there.
 *
 * @module
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildDemo, type Demo, type DemoOptions, originsOf } from "./app.ts";

const HOST = "localhost";

/** An error that the user of the demo can fix. */
class DemoError extends Error {}

try {
  const port = readPort(process.env.PORT || "3000");
  const dataDir = process.env.DEMO_DATA || fileURLToPath(new URL("./data/", import.meta.url));
  const databaseUrl = readDatabaseUrl(process.env.DATABASE_URL);
  const demo = await build({ dataDir, databaseUrl, logger: { level: "warn" } });
  endOnSignal(demo);
  await listen(demo, port);
  greet(demo, databaseUrl ? describe(databaseUrl) : dataDir);
} catch (error) {
  console.error(`\n  ${error instanceof DemoError ? error.message : `The demo could not start: ${error}`}\n`);
  process.exit(1);
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65535) return port;
  throw new DemoError(`PORT is "${text}", and must be a number from 0 to 65535.`);
}

function readDatabaseUrl(text: string | undefined): string | undefined {
  if (!text || /^postgres(?:ql)?:\/\//.test(text)) return text || undefined;
  throw new DemoError(
    "DATABASE_URL must begin with postgres://; without it the demo keeps its data in a file.",
  );
}

async function build(options: DemoOptions): Promise<Demo> {
  try {
    return await buildDemo(options);
  } catch (error) {
    const { databaseUrl } = options;
    if (!databaseUrl) throw error;
    const { code, message } = error as { code?: string; message: string };
    throw new DemoError(`There is no answer from ${describe(databaseUrl)}: ${message || code}`);
  }
}

/** Where a database is, without the password. */
function describe(url: string): string {
  const { host, pathname } = new URL(url);
  return `PostgreSQL at ${host}${pathname}`;
}

async function listen({ app }: Demo, port: number): Promise<void> {
  try {
    await app.listen({ port, host: HOST });
  } catch (error) {
    await app.close();
    const code = (error as { code?: string }).code;
    if (code === "EADDRINUSE") {
      throw new DemoError(
        `Port ${port} is taken by another program. Choose one that is free: PORT=${port + 1}`,
      );
    }
    if (code === "EACCES") {
      throw new DemoError(`Port ${port} needs privileges. Choose one above 1023: PORT=3000`);
    }
    throw error;
  }
}

function endOnSignal({ app }: Demo): void {
  let ending = false;
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, async () => {
      if (ending) process.exit(130);
      ending = true;
      await app.close();
      console.log("\n  The demo has ended.\n");
      process.exit(0);
    });
  }
}

function greet({ app, issuer }: Demo, data: string): void {
  const [origin] = originsOf(app);
  console.log(`
  Auth.js for Fastify: the demo is running.

    Open       ${origin}
    Password   ada / lovelace
    OpenID     grace / hopper at Loopback ID (${issuer}), katherine / johnson at Loopback Work
    E-mail     any address; it arrives at ${origin}/inbox
    Passkey    add one at ${origin}/passkeys once you are signed in
    Data       ${data}

  Ctrl-C ends it.
`);
}
