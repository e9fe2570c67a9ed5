/**
 * Checks at boot that the adapter has the methods which the configuration needs; core checks them with each
 * request.
 */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthConfig } from "../types.ts";
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

/** The methods that are missing, as an error. */
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
 * With sessions in a database the tokens of providers are in the rows of accounts, which core's adapters do
 * not update.
 */
export function tokenRowProblem(core: AuthConfig): FastifyAuthError | undefined {
  if (strategyOf(core) === "jwt") return undefined;
  const missing = Object.entries(TOKEN_METHODS).filter(([method]) => !(method in (core.adapter ?? {})));
  if (missing.length === 0) return undefined;
  return new FastifyAuthError(
    "FST_AUTHJS_ADAPTER_INVALID",
    "`refreshTokens` with sessions in a database keeps the tokens in the rows of accounts, and the adapter has no " +
      `${missing.map(([method]) => `\`${method}()\``).join(" and no ")}. Add ${
        missing.map(([, helper]) => `\`${helper}\``).join(" and ")
      }, or set \`session: { strategy: "jwt" }\`.`,
  );
}

/** How the methods are added. */
const TOKEN_METHODS = {
  listAccountsByUserId: "withAccountList(adapter, query)",
  updateAccount: "withAccountUpdate(adapter, update)",
};

/** Where sessions are kept. */
export function strategyOf(
  { adapter, session }: Pick<AuthConfig, "adapter" | "session">,
): "jwt" | "database" {
  return session?.strategy ?? (adapter ? "database" : "jwt");
}

/**
 * After a sign-in with credentials core sets a JWT as session token, also with the database strategy, where
 * it is then looked up as the key of a row and never found.
 */
export function strategyProblem(
  core: AuthConfig,
  providers: readonly ProviderSummary[],
  { credentialsDatabaseSessions: inDatabase, jwt }: Pick<
    FastifyAuthConfig,
    "credentialsDatabaseSessions" | "jwt"
  >,
): FastifyAuthError | undefined {
  if (strategyOf(core) === "jwt") return inDatabase ? unusedProblem() : undefined;
  const credentials = providers.find(({ type }) => type === "credentials");
  // The application's own `encode` may store the session.
  if (credentials === undefined || inDatabase || jwt?.encode) return;
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `The credentials provider "${credentials.id}" cannot keep its sessions in a database without ` +
      "`credentialsDatabaseSessions: true`: sign-in would succeed and the session stay empty. Set that, if " +
      'authorize() returns users of the adapter, or `session: { strategy: "jwt" }`; users and accounts stay ' +
      "in the database.",
  );
}

function unusedProblem(): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    "`credentialsDatabaseSessions` needs sessions in a database: set `adapter`, and " +
      '`session: { strategy: "database" }`, or remove the option.',
  );
}
