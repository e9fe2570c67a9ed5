/** Binds the application's adapter: calls have a deadline, no secrets in their errors, and a result that is checked. */
import type { Adapter } from "@auth/core/adapters";
import { redactError } from "../http/redact.ts";
import { adapterCalls } from "../telemetry/operations.ts";
import { boundMethods } from "../utils/methods.ts";
import { withDeadline } from "../utils/time.ts";
import { AdapterFailure, failureKind, isMissingRow } from "./failure.ts";
import { type AdapterCall, readResult } from "./results.ts";

export const DEFAULT_ADAPTER_TIMEOUT = 10_000;

const ADAPTER_METHODS = [
  ...["createUser", "getUser", "getUserByAccount", "getUserByEmail", "updateUser", "deleteUser"],
  ...["getAccount", "linkAccount", "unlinkAccount", "listAccountsByUserId", "updateAccount"],
  ...["createSession", "getSessionAndUser", "updateSession", "deleteSession", "listSessionsByUserId"],
  ...["createVerificationToken", "useVerificationToken"],
  ...["createAuthenticator", "getAuthenticator", "listAuthenticatorsByUserId", "updateAuthenticatorCounter"],
  ...["updateAuthenticator", "deleteAuthenticator"],
];

/**
 * Every method, for adapters that lack some. Core remembers that a configuration of the process had mails or passkeys,
 * and then asks every configuration for their methods; what each really needs is checked at boot.
 */
export const MISSING_METHODS: Adapter = Object.fromEntries(ADAPTER_METHODS.map((method) => [method, () => {
  // deno-coverage-ignore Core looks whether it is there, and calls what the boot has found
  throw new TypeError(`The adapter has no ${method}()`);
}]));

type Method = (...args: unknown[]) => unknown;

/** Its methods, on a plain object, since core sees own properties only. They throw an {@linkcode AdapterFailure}. */
export function bindAdapter(
  adapter: Adapter,
  options: { readonly timeout?: number | undefined; readonly warn?: (message: string) => void } = {},
): Adapter {
  const { timeout = DEFAULT_ADAPTER_TIMEOUT, warn: tell = () => {} } = options;
  const said = new Set<string>();
  const warn = (topic: string, message: string) => {
    if (!said.has(topic)) tell(message);
    said.add(topic);
  };
  const bound: Record<string, Method> = {};
  for (const [name, method] of Object.entries(methodsOf(adapter))) {
    bound[name] = async (...given) => {
      const args = WRITES_SESSION.test(name) ? given.map(inWholeSeconds) : given;
      const call = () => {
        const result = callMethod({ name, args, warn }, method, bound);
        const late = () => new AdapterFailure(name, "unanswered", { timeout, late: result });
        return withDeadline(result, timeout, late);
      };
      if (!adapterCalls.isObserved) return await call();
      const failure = (error: unknown) => ({ errorType: (error as AdapterFailure).kind });
      return await adapterCalls.trace({ method: name }, call, { failure });
    };
  }
  return bound;
}

/** Methods whose key comes from the client, or from `authorize()`: one that no row can have is "not found". */
const LOOKUPS = /^(?:get\w+|deleteSession|useVerificationToken)$/;

/** Methods for which a row that is gone is no failure: it was to be deleted, or its session has ended. */
const ENDINGS = /^(?:deleteSession|deleteUser|unlinkAccount|updateSession)$/;

const WRITES_SESSION = /^(?:create|update)Session$/;

async function callMethod(call: AdapterCall, method: Method, bound: Record<string, Method>): Promise<unknown> {
  const { name, args } = call;
  try {
    const result = await method(...args);
    // Some adapters return what their query gives for no row.
    return !result && LOOKUPS.test(name) ? null : readResult(call, result);
  } catch (error) {
    if (LOOKUPS.test(name) && isImpossibleKey(args, error)) return null;
    // Another request was faster, or the row was deleted elsewhere.
    if (ENDINGS.test(name) && isMissingRow(error)) return null;
    // The adapter for MikroORM fails so. After the error of a database it is not asked again.
    if (name === "updateSession" && error instanceof TypeError) {
      const { sessionToken } = args[0] as { sessionToken: string };
      const found = await Promise.resolve(bound.getSessionAndUser?.(sessionToken)).catch(() => undefined);
      if (found === null) return null;
    }
    throw new AdapterFailure(name, failureKind(error), { cause: redactError(error, args) });
  }
}

/**
 * Whether the database refused the key itself. SQL databases answer with a "data exception" (for a cookie of "%00"),
 * unstorage with a message (for ".."), and some drivers refuse `undefined` (a sign-in link without its address).
 */
function isImpossibleKey([key]: readonly unknown[], error: unknown): boolean {
  if (key instanceof Object && "identifier" in key && key.identifier === undefined) return true;
  const { code, message, cause } = Object(error) as { code?: unknown; message?: string; cause?: unknown };
  const codes = [code, (Object(cause) as { code?: unknown }).code];
  return codes.some((each) => /^22[0-9A-Z]{3}$/.test(String(each))) || /^\[unstorage\] Invalid key/.test(message ?? "");
}

/** Cookies have whole seconds: with a fraction more, the row would outlive its cookie. */
function inWholeSeconds(session: unknown): unknown {
  const { expires } = session as { expires?: unknown };
  if (!(expires instanceof Date)) return session;
  return { ...session as object, expires: new Date(Math.floor(expires.valueOf() / 1000) * 1000) };
}

/** The methods of an adapter, also those that only it knows. */
function methodsOf(adapter: Adapter): Record<string, Method> {
  const names = [...Object.keys(adapter), ...ADAPTER_METHODS] as (keyof Adapter)[];
  return boundMethods(adapter, names) as Record<string, Method>;
}

/** A copy of an adapter with further methods. Those of a class are bound: a copy would not have them. */
export function withMethods<A extends Adapter, Methods extends object>(adapter: A, added: Methods): A & Methods {
  return { ...adapter, ...methodsOf(adapter), ...added };
}

/** A function for each method that is to do more: it is given the method, and makes the one in its place. */
type Wrappers<A> = { [Name in keyof A]?: (method: NonNullable<A[Name]>) => A[Name] };

/** A copy of a bound adapter with methods replaced. What it lacks it still lacks. */
export function wrapMethods<A extends Adapter>(adapter: Adapter, wrappers: Wrappers<A>): Adapter {
  const copy = { ...adapter } as Record<string, unknown>;
  for (const [name, wrap] of Object.entries(wrappers as Record<string, (method: unknown) => unknown>)) {
    if (copy[name] !== undefined) copy[name] = wrap(copy[name]);
  }
  return copy;
}
