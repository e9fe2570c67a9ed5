/** Binds the application's adapter for core. */
import type { Adapter, AdapterSession } from "@auth/core/adapters";
import { callAdapter } from "./call.ts";

/** How long a call may take by default, in milliseconds. */
export const DEFAULT_ADAPTER_TIMEOUT = 10_000;

/** The methods that only this package calls. */
type OwnMethod = "listAccountsByUserId" | "listSessionsByUserId" | "updateAccount";

/** Every method of the adapter interface. */
export const ADAPTER_METHODS: readonly (keyof Adapter | OwnMethod)[] = [
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
  "listAccountsByUserId",
  "listSessionsByUserId",
  "unlinkAccount",
  "updateAccount",
  "updateAuthenticatorCounter",
  "updateSession",
  "updateUser",
  "useVerificationToken",
];

/**
 * Every method, for adapters that lack some. Core remembers that a configuration of the process had mails or
 * passkeys, and then asks every configuration for their methods; what each really needs is checked at boot.
 */
export const MISSING_METHODS: Adapter = Object.fromEntries(ADAPTER_METHODS.map((method) => [method, () => {
  throw new TypeError(`The adapter has no ${method}()`);
}]));

type Method = (...args: unknown[]) => unknown;

/** How an adapter is called. */
export interface AdapterOptions {
  /**
   * Milliseconds for each call; 0 for no limit.
   *
   * @default 10_000
   */
  readonly timeout?: number | undefined;
  /** Called once for each mistake in the adapter's results, with what to change. */
  readonly warn?: (message: string) => void;
}

/**
 * A plain object with the adapter's methods, each bound and called by {@linkcode callAdapter}. Core sees own
 * properties only, so it would find no methods on an instance of a class.
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
  for (const name of methodNames(adapter)) {
    const call = source[name] as Method;
    bound[name] = (...given: unknown[]) => {
      const args = WRITES_SESSION.has(name) ? given.map(inWholeSeconds) : given;
      return callAdapter({
        name,
        args,
        timeout,
        warn: warnOnce,
        run: () => call.apply(adapter, args),
        ...(name === "updateSession" && { isGone: () => isSessionGone(bound as Adapter, args[0]) }),
      });
    };
  }
  return bound as Adapter;
}

/** Whether there is no such session. */
async function isSessionGone(adapter: Adapter, session: unknown): Promise<boolean> {
  const { sessionToken } = session as AdapterSession;
  return await adapter.getSessionAndUser?.(sessionToken) === null;
}

/** The names of its methods, its own and those of its class. */
export function methodNames(adapter: Adapter): string[] {
  const names = new Set<string>([...Object.keys(adapter), ...ADAPTER_METHODS]);
  const source = adapter as unknown as Record<string, unknown>;
  return [...names].filter((name) => typeof source[name] === "function");
}

/** A copy of an adapter with further methods. Those of a class are bound, since a copy would not have them. */
export function withMethods<A extends Adapter, Methods extends object>(
  adapter: A,
  added: Methods,
): A & Methods {
  const source = adapter as unknown as Record<string, Method>;
  const methods = methodNames(adapter).map((name) => [name, source[name]!.bind(adapter)]);
  return { ...adapter, ...Object.fromEntries(methods), ...added };
}

const WRITES_SESSION = new Set(["createSession", "updateSession"]);

/** Cookies have whole seconds: with a fraction more, the row would outlive its cookie. */
function inWholeSeconds(session: unknown): unknown {
  const { expires } = session as { expires?: unknown };
  if (!(expires instanceof Date)) return session;
  return { ...session as object, expires: new Date(Math.floor(expires.valueOf() / 1000) * 1000) };
}
