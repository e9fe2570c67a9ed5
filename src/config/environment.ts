/** Reads environment variables without making Deno ask for a permission. */
import process from "node:process";
import type { Environment } from "../provider/settings.ts";

/** Without the permission Deno prompts or throws; a configuration that sets everything in code starts without it. */
function isReadable(variable: string): boolean {
  const { Deno: deno } = globalThis as {
    Deno?: { permissions?: { querySync(descriptor: { name: "env"; variable: string }): { state: string } } };
  };
  return !deno?.permissions || deno.permissions.querySync({ name: "env", variable }).state === "granted";
}

/** Dotenv files unset a variable with `NAME=`, and an empty `AUTH_URL` must not hide `AUTH_TRUST_HOST`. */
function readVariable(name: string): string | undefined {
  if (!isReadable(name)) return undefined;
  const value = process.env[name]?.trim();
  if (!value) return undefined;
  // Core would read the text "false" as true.
  if (name === "AUTH_TRUST_HOST" && /^(?:false|0|no|off)$/i.test(value)) return undefined;
  return value;
}

export const environment: Environment = new Proxy({}, {
  get: (_target, name) => readVariable(String(name)),
});
