/**
 * The command `fastify-authjs`: writes a new project, finds mistakes in the set-up of an application or a deployment,
 * prints the tables of a database, and makes secrets.
 *
 * @example
 * ```sh
 * npx fastify-authjs init my-app --providers github,google
 * npx fastify-authjs doctor app.js
 * npx fastify-authjs doctor --url https://app.example
 * npx fastify-authjs secret >> .env
 * npx fastify-authjs schema drizzle postgres > src/schema.ts
 *
 * deno run -A jsr:@fastify-authjs/plugin/cli doctor app.ts
 * ```
 * @module
 */
import process from "node:process";
import { run } from "./run.ts";

// Without top-level await: runtimes say that they are about to end only once the main module has run.
void main();

async function main(): Promise<void> {
  const { code, output, complaint } = await run(process.argv.slice(2));
  await write(process.stderr, complaint);
  await write(process.stdout, output);
  // An application that was loaded may keep timers and connections.
  process.exit(code);
}

function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve) => stream.write(text && `${text}\n`, () => resolve()));
}
