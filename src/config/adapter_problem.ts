/**
 * Checks at boot that the adapter has the methods which the configuration needs; core checks them with each
 * request.
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { FastifyAuthError } from "../errors.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/** The methods that core calls if sessions are rows. */
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

/** Those of them that core does not call if every provider is an e-mail provider. */
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

/**
 * Checks that `adapter` is one, also if sessions are in a token and no method is called before a sign-in.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_ADAPTER_INVALID`.
 */
export function requireAdapter(adapter: unknown): void {
  if (adapter === undefined || adapter === null) return;
  const methods = [...SESSION_METHODS, ...EMAIL_METHODS, ...WEBAUTHN_METHODS];
  if (methods.some((name) => typeof (adapter as Partial<Adapter>)[name] === "function")) return;
  const { then } = adapter as { then?: unknown };
  throw new FastifyAuthError(
    "FST_AUTHJS_ADAPTER_INVALID",
    typeof adapter === "function"
      ? "`adapter` is a function: call it, as in `adapter: DrizzleAdapter(db)`."
      : typeof then === "function"
      ? "`adapter` is a promise: await it before the configuration is made."
      : "`adapter` has none of the methods of an adapter, such as getUser(). Give the client of a database to an " +
        "adapter, as in `adapter: DrizzleAdapter(db)`.",
  );
}

export function lackingMethods(core: AuthConfig, providers: readonly ProviderSummary[]): string | undefined {
  const { adapter } = core;
  const needs: [why: string, methods: readonly (keyof Adapter)[]][] = [];
  for (const { id, type } of providers) {
    if (type === "email") needs.push([`The e-mail provider "${id}"`, EMAIL_METHODS]);
    if (type === "webauthn") needs.push([`The WebAuthn provider "${id}"`, WEBAUTHN_METHODS]);
  }
  if (strategyOf(core) === "database") {
    const accounts = providers.some(({ type }) => type !== "email") || providers.length === 0;
    const methods = SESSION_METHODS.filter((method) => accounts || !ACCOUNT_METHODS.includes(method));
    needs.push(["Keeping sessions in a database", methods]);
  }
  for (const [why, methods] of needs) {
    const missing = methods.filter((method) => !adapter?.[method]);
    if (missing.length === 0) continue;
    return adapter
      ? `${why} needs these methods of the adapter, which it lacks: ${missing.join(", ")}.`
      : `${why} needs a database: set \`adapter\` (see https://authjs.dev/getting-started/database).`;
  }
}

export function strategyOf(
  { adapter, session }: Pick<AuthConfig, "adapter" | "session">,
): "jwt" | "database" {
  return session?.strategy ?? (adapter ? "database" : "jwt");
}
