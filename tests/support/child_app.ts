/** An application in a process of its own, which prints `port <number>` once it listens. */
import { type ChildProcess, spawn } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { denoFlags } from "./deno_flags.ts";

/** A process, and the port its application listens on. */
export interface ChildApp {
  readonly child: ChildProcess;
  readonly port: number;
}

/** Starts a script of this folder, with these environment variables beside those of the test. */
export async function startChildApp(script: string, env: Record<string, string> = {}): Promise<ChildApp> {
  const flags = process.versions.deno
    ? ["run", "-A", ...denoFlags()]
    : process.execArgv.filter((flag) => !/^--test/.test(flag));
  const path = fileURLToPath(new URL(script, import.meta.url));
  const child = spawn(process.execPath, [...flags, path], {
    env: { ...process.env, ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const port = await new Promise<number>((resolve, reject) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
      const found = /^port (\d+)$/m.exec(output)?.[1];
      if (found) resolve(Number(found));
    });
    child.once("exit", () => reject(new Error(`The application ended before it listened: ${output}`)));
  });
  return { child, port };
}

/** Ends it by the end of its input, unless it has ended. */
export async function stopChildApp({ child }: ChildApp): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.stdin!.end();
  await ended;
}
