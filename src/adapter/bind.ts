/**
 * The database adapter as core is given it.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { callAdapter } from "./call.ts";

/** How long an adapter's method may take, in milliseconds, unless the configuration says otherwise. */
export const DEFAULT_ADAPTER_TIMEOUT = 10_000;

/** Every method of the adapter interface. */
const ADAPTER_METHODS: readonly (keyof Adapter)[] = [
  "createAuthenticator",
  "createSession",
  "createUser",
  "createVerificationToken",
  "deleteSession",
  "deleteUser",
  "getAccount",
  "getAuthenticator",
  "getSessionAndUser",
  "getUser",
  "getUserByAccount",
  "getUserByEmail",
  "linkAccount",
  "listAuthenticatorsByUserId",
  "unlinkAccount",
  "updateAuthenticatorCounter",
  "updateSession",
  "updateUser",
  "useVerificationToken",
];

type Method = (...args: unknown[]) => unknown;

/** How an adapter is called. */
export interface AdapterOptions {
  /**
   * Milliseconds for each call; 0 for no limit.
   *
   * @default 10_000
   */
  readonly timeout?: number | undefined;
  /** Told once of each mistake in what the adapter returns, with what to change. */
  readonly warn?: (message: string) => void;
}

/**
 * A plain object with the adapter's methods, each bound and each called with care. Core looks at own properties
 * only, so an adapter that is an instance of a class would have no methods for it.
 *
 * @param adapter The caller's adapter.
 * @param options How it is called.
 */
export function bindAdapter(adapter: Adapter, options: AdapterOptions = {}): Adapter {
  const { timeout = DEFAULT_ADAPTER_TIMEOUT, warn = () => {} } = options;
  const said = new Set<string>();
  const warnOnce = (about: string, message: string) => {
    if (!said.has(about)) warn(message);
    said.add(about);
  };
  const source = adapter as unknown as Record<string, unknown>;
  const bound: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(adapter), ...ADAPTER_METHODS])) {
    const method = source[name];
    if (typeof method !== "function") continue;
    const call = method as Method;
    bound[name] = (...given: unknown[]) => {
      const args = WRITES_SESSION.has(name) ? given.map(inWholeSeconds) : given;
      return callAdapter({ name, args, timeout, warn: warnOnce, run: () => call.apply(adapter, args) });
    };
  }
  return bound as Adapter;
}

const WRITES_SESSION = new Set(["createSession", "updateSession"]);

/** A cookie knows whole seconds only: a row with a fraction more would say that the session outlives its cookie. */
function inWholeSeconds(session: unknown): unknown {
  const { expires } = session as { expires?: unknown };
  if (!(expires instanceof Date)) return session;
  return { ...session as object, expires: new Date(Math.floor(expires.valueOf() / 1000) * 1000) };
}
