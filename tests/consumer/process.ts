/** Runs the programs that the consumer checks are made of. */
import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import type { Result } from "./matrix.ts";

const MAX_OUTPUT = 2 ** 28;
const MAX_MILLISECONDS = 45 * 60_000;

/** How a program is run. */
export interface RunOptions {
  cwd: string;
  env?: Record<string, string>;
}

/** Runs a program to its end and gives what it printed. Throws, with all that it printed, when it fails. */
export async function run(command: string, args: string[], { cwd, env }: RunOptions): Promise<string> {
  const options = { cwd, env: { ...process.env, ...env }, maxBuffer: MAX_OUTPUT, timeout: MAX_MILLISECONDS };
  // npm and npx are scripts on Windows, which only a shell starts
  const shell = process.platform === "win32" && /^np[mx]$/.test(command);
  try {
    return (await promisify(execFile)(command, args, { ...options, shell })).stdout;
  } catch (error) {
    const { stdout = "", stderr = "", message } = error as Error & { stdout?: string; stderr?: string };
    throw new Error([`${command} ${args.join(" ")}`, stdout, stderr || message].join("\n"));
  }
}

/** Runs a fixture, which prints its {@link Result} as JSON on its last line. */
export async function runFixture(command: string, args: string[], options: RunOptions): Promise<Result> {
  const output = (await run(command, args, options)).trim();
  return JSON.parse(output.slice(output.lastIndexOf("\n") + 1));
}
