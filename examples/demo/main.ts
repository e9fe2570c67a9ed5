/**
 * The demo, as a program: `npx -y deno@2 task demo`.
 *
 * `PORT` chooses the port (3000), `DEMO_DATA` the folder for its data (`data` beside this file).
 *
 * @module
 */
import process from "node:process";
import { fileURLToPath } from "node:url";
import { buildDemo, type Demo, originsOf } from "./app.ts";

const HOST = "localhost";

/** Something that whoever started the demo can mend. */
class DemoError extends Error {}

try {
  const port = readPort(process.env.PORT || "3000");
  const dataDir = process.env.DEMO_DATA || fileURLToPath(new URL("./data/", import.meta.url));
  const demo = await buildDemo({ dataDir, logger: { level: "warn" } });
  endOnSignal(demo);
  await listen(demo, port);
  greet(demo, dataDir);
} catch (error) {
  console.error(`\n  ${error instanceof DemoError ? error.message : `The demo could not start: ${error}`}\n`);
  process.exit(1);
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65535) return port;
  throw new DemoError(`PORT is "${text}", and must be a number from 0 to 65535.`);
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

function greet({ app, issuer }: Demo, dataDir: string): void {
  const [origin] = originsOf(app);
  console.log(`
  Auth.js for Fastify: the demo is running.

    Open       ${origin}
    Password   ada / lovelace
    OpenID     grace / hopper, at ${issuer}
    E-mail     any address; it arrives at ${origin}/inbox
    Data       ${dataDir}

  Ctrl-C ends it.
`);
}
