/**
 * The database adapter as core is given it, and what a configuration needs of it.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { callAdapter } from "./call.ts";
import { FastifyAuthError } from "../errors.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/** How long an adapter's method may take, in milliseconds, unless the configuration says otherwise. */
export const DEFAULT_ADAPTER_TIMEOUT = 10_000;

/** What core calls for each purpose; it finds out only when a request comes, we say so at boot. */
const SESSION_METHODS = [
  "createUser",
  "getUser",
  "getUserByEmail",
  "getUserByAccount",
  "updateUser",
  "linkAccount",
  "createSession",
  "getSessionAndUser",
  "updateSession",
  "deleteSession",
] as const satisfies readonly (keyof Adapter)[];

/** Among them, those that core calls for nothing but accounts at providers, which a sign-in by e-mail has not. */
const ACCOUNT_METHODS: readonly (keyof Adapter)[] = ["getUser", "getUserByAccount", "linkAccount"];

const EMAIL_METHODS = [
  "createVerificationToken",
  "useVerificationToken",
  "getUserByEmail",
  "createUser",
  "updateUser",
] as const satisfies readonly (keyof Adapter)[];

const WEBAUTHN_METHODS = [
  "createUser",
  "getUser",
  "linkAccount",
  "getAccount",
  "getAuthenticator",
  "createAuthenticator",
  "listAuthenticatorsByUserId",
  "updateAuthenticatorCounter",
] as const satisfies readonly (keyof Adapter)[];

/** Every method of the adapter interface. */
const ADAPTER_METHODS: readonly (keyof Adapter)[] = [
  ...new Set<keyof Adapter>([
    ...SESSION_METHODS,
    ...EMAIL_METHODS,
    ...WEBAUTHN_METHODS,
    "deleteUser",
    "unlinkAccount",
  ]),
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

/** What the configuration needs of the adapter and does not get. */
export function adapterProblem(
  core: AuthConfig,
  providers: readonly ProviderSummary[],
): FastifyAuthError | undefined {
  const { adapter, session } = core;
  const needs: [why: string, methods: readonly (keyof Adapter)[]][] = [];
  for (const { id, type } of providers) {
    if (type === "email") needs.push([`The e-mail provider "${id}"`, EMAIL_METHODS]);
    if (type === "webauthn") needs.push([`The WebAuthn provider "${id}"`, WEBAUTHN_METHODS]);
  }
  if (session?.strategy === "database" || (adapter && session?.strategy === undefined)) {
    const accounts = providers.some(({ type }) => type !== "email") || providers.length === 0;
    const methods = SESSION_METHODS.filter((method) => accounts || !ACCOUNT_METHODS.includes(method));
    needs.push(["Keeping sessions in a database", methods]);
  }

  for (const [why, methods] of needs) {
    const missing = methods.filter((method) => !adapter?.[method]);
    if (missing.length === 0) continue;
    return new FastifyAuthError(
      "FST_AUTHJS_ADAPTER_INVALID",
      adapter
        ? `${why} needs these methods of the adapter, which it lacks: ${missing.join(", ")}.`
        : `${why} needs a database: set \`adapter\` (see https://authjs.dev/getting-started/database).`,
    );
  }
}

/**
 * Core puts a JWT into the cookie after a password sign-in, whatever the strategy; with the other one it is then
 * looked up as a database key and never found.
 */
export function strategyProblem(
  { adapter, session }: AuthConfig,
  providers: readonly ProviderSummary[],
  jwt: AuthConfig["jwt"],
): FastifyAuthError | undefined {
  const strategy = session?.strategy ?? (adapter ? "database" : "jwt");
  const credentials = providers.find(({ type }) => type === "credentials");
  // Who encodes tokens themselves may well store them.
  if (strategy === "jwt" || credentials === undefined || jwt?.encode) return;
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `The credentials provider "${credentials.id}" cannot keep its sessions in a database: sign-in would succeed and ` +
      'the session stay empty. Set `session: { strategy: "jwt" }`; users and accounts stay in the database.',
  );
}
