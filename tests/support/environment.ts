/**
 * Tests that depend on environment variables.
 *
 * @module
 */
import process from "node:process";

/** Every variable that the plugin or core may look at, besides those of providers. */
const KNOWN = [
  "AUTH_REDIRECT_PROXY_URL",
  "AUTH_SECRET",
  "AUTH_SECRET_1",
  "AUTH_SECRET_2",
  "AUTH_SECRET_3",
  "AUTH_TRUST_HOST",
  "AUTH_URL",
  "CF_PAGES",
  "NODE_ENV",
  "VERCEL",
];

/** Runs something with exactly these variables, and restores what was before. */
export async function withEnvironment<T>(
  variables: Record<string, string>,
  run: () => T | Promise<T>,
): Promise<T> {
  const names = [...new Set([...KNOWN, ...Object.keys(variables)])];
  const before = new Map(names.map((name) => [name, process.env[name]]));
  for (const name of names) setVariable(name, variables[name]);
  try {
    return await run();
  } finally {
    for (const [name, value] of before) setVariable(name, value);
  }
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
