/**
 * Reading the environment: once, only what Auth.js documents, and without asking for permissions.
 *
 * @module
 */
import process from "node:process";

/** A view of the environment in which an empty variable is an unset one. */
export type Environment = Readonly<Record<string, string | undefined>>;

interface DenoPermissions {
  querySync(descriptor: { name: "env"; variable: string }): { state: string };
}

/**
 * Deno would prompt, or throw, where the permission is missing. A configuration that names everything itself
 * must start without it, so an unreadable variable counts as unset.
 */
function isReadable(variable: string): boolean {
  const { Deno: deno } = globalThis as { Deno?: { permissions?: DenoPermissions } };
  if (!deno?.permissions) return true;
  return deno.permissions.querySync({ name: "env", variable }).state === "granted";
}

/** Shells and dotenv files write "unset" as `NAME=`; an empty `AUTH_URL` must not mask `AUTH_TRUST_HOST`. */
function readVariable(name: string): string | undefined {
  if (!isReadable(name)) return undefined;
  const value = process.env[name]?.trim();
  if (!value) return undefined;
  // Auth.js would take the text "false" for a yes.
  if (name === "AUTH_TRUST_HOST" && /^(?:false|0|no|off)$/i.test(value)) return undefined;
  return value;
}

/** The environment, each variable looked up when asked for. */
export const environment: Environment = new Proxy({}, {
  get: (_target, name) => typeof name === "string" ? readVariable(name) : undefined,
});
