/** Runs the loopback OpenID provider of the fixtures. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A provider that listens until it is disposed of. */
export interface IdentityProvider extends AsyncDisposable {
  issuer: string;
}

/** Starts the provider and waits until it listens. */
export async function startIdentityProvider(node: string, project: string): Promise<IdentityProvider> {
  const child = spawn(node, ["identity_provider.mjs"], {
    cwd: project,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const issuer = await Promise.race([readIssuer(child), once(child, "exit").then(() => undefined)]);
  if (!issuer) throw new Error("The loopback OpenID provider ended before it listened");
  return {
    issuer,
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, "exit");
    },
  };
}

async function readIssuer({ stdout }: ChildProcess): Promise<string | undefined> {
  if (!stdout) return undefined;
  for await (const line of createInterface({ input: stdout })) {
    // It also prints warnings about its own configuration
    if (line.startsWith("http://")) return line;
  }
}
