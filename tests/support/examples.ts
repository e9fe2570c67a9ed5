/**
 * Runs the examples: in this process, or as programs of their own.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { FastifyInstance } from "fastify";
import { Client } from "./client.ts";
import { overHttp, type Send } from "./http_transport.ts";

/** What the examples take from the environment. */
export const ENVIRONMENT = {
  AUTH_SECRET: "a-secret-for-the-examples-of-32-characters",
  AUTH_TRUST_HOST: "true",
};

/** Releases of NestJS, with the Fastify that each brings along. */
export const NEST = {
  12: {
    "@nestjs/common": "12.5.1",
    "@nestjs/core": "12.5.1",
    "@nestjs/platform-fastify": "12.5.0",
    fastify: "5.12.8",
  },
  11: {
    "@nestjs/common": "11.2.10",
    "@nestjs/core": "11.2.10",
    "@nestjs/platform-fastify": "11.2.8",
    fastify: "5.11.3",
  },
};

/** Writes a configuration of Deno for the example of NestJS: decorators as Nest needs them, and one release of it. */
export async function writeNestConfig(release: keyof typeof NEST, file: string): Promise<void> {
  const root = new URL("../../", import.meta.url);
  const own: Record<"exports" | "compilerOptions", Record<string, string>> = JSON.parse(
    await readFile(new URL("deno.json", root), "utf8"),
  );
  const packages: Record<"imports", Record<string, string>> = JSON.parse(
    await readFile(new URL("scripts/packages/deno.json", root), "utf8"),
  );
  const fromNpm = Object.entries(packages.imports).filter(([, target]) => target.startsWith("npm:"));
  const ours = Object.entries(own.exports).map(([name, path]) => [
    `fastify-authjs${name.slice(1)}`,
    new URL(path, root).href,
  ]);
  const pinned = Object.entries({ "reflect-metadata": "0.2.2", rxjs: "7.8.2", ...NEST[release] });
  const imports = {
    ...Object.fromEntries(fromNpm),
    ...Object.fromEntries(ours),
    ...Object.fromEntries(pinned.map(([name, version]) => [name, `npm:${name}@${version}`])),
  };
  const compilerOptions = {
    ...own.compilerOptions,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  await writeFile(file, JSON.stringify({ imports, compilerOptions }));
}

/** A browser that sends its requests in some way. */
export function browserOver(send: Send, headers: Record<string, string> = {}): Client {
  return new Client({ inject: send } as unknown as FastifyInstance, headers);
}

/** How long a program may take until it listens, in milliseconds: with its packages it loads for a minute at worst. */
const START_MS = 240_000;

/** A program that listens, and says where. */
export interface Program extends AsyncDisposable {
  readonly origin: string;
  readonly send: Send;
  /** What it has written so far. */
  readonly output: () => string;
}

/** Runs Deno in a folder of the checkout, until it writes the address at which it listens. */
export async function runProgram(
  args: string[],
  environment: Record<string, string> = {},
  cwd: string = fileURLToPath(new URL("../../", import.meta.url)),
): Promise<Program> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...ENVIRONMENT, ...environment, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // so that what it starts ends with it
  });
  const dispose = () => end(child);
  let output = "";
  const keep = (chunk: { toString(): string }) => void (output += chunk.toString());
  for (const stream of [child.stdout, child.stderr]) stream.on("data", keep);
  try {
    const origin = await addressOf(child, () => output);
    return { origin, send: overHttp(origin), output: () => output, [Symbol.asyncDispose]: dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

function addressOf(child: ChildProcess, output: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const read = () => {
      const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(output()) ?? [];
      if (address) resolve(address);
    };
    child.stdout!.on("data", read);
    child.stderr!.on("data", read);
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`It ended with ${code} before it listened:\n${output()}`)));
    const late = () =>
      reject(new Error(`It has not said where it listens in ${START_MS / 1000} seconds:\n${output()}`));
    setTimeout(late, START_MS).unref();
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  process.kill(-child.pid!, "SIGKILL");
  await ended;
}

/** A folder that is there until the end of its block. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), "authjs-example-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
