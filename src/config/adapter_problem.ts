/** Checks at boot that the adapter has the methods which the configuration needs; core does so with each request. */
import type { AuthConfig } from "@auth/core";
import type { Adapter } from "@auth/core/adapters";
import { FastifyAuthError } from "../errors.ts";
import type { ProviderSummary } from "../provider/summary.ts";

type Methods = readonly (keyof Adapter)[];

const OF_SESSIONS: Methods = ["createSession", "getSessionAndUser", "updateSession", "deleteSession"];

/** What core calls if sessions are rows. */
const SESSION_METHODS: Methods = ["createUser", "getUserByEmail", "updateUser", ...OF_SESSIONS];

/** What it calls as well, unless every provider is an e-mail provider. */
const ACCOUNT_METHODS: Methods = ["getUser", "getUserByAccount", "linkAccount"];

const OF_AUTHENTICATORS: Methods = [
  "getAuthenticator",
  "createAuthenticator",
  "listAuthenticatorsByUserId",
  "updateAuthenticatorCounter",
];

/** What a provider needs, by its type. */
const PROVIDER_METHODS: Readonly<Record<string, readonly [name: string, methods: Methods]>> = {
  email: ["e-mail", ["createVerificationToken", "useVerificationToken", "getUserByEmail", "createUser", "updateUser"]],
  webauthn: ["WebAuthn", ["createUser", "getUser", "linkAccount", "getAccount", ...OF_AUTHENTICATORS]],
};

/** Checks that `adapter` is one, also if sessions are in a token and no method is called before a sign-in. */
export function requireAdapter(adapter: unknown): void {
  if (adapter === undefined || adapter === null) return;
  const ofProviders = Object.values(PROVIDER_METHODS).flatMap(([, methods]) => methods);
  const methods = [...SESSION_METHODS, ...ACCOUNT_METHODS, ...ofProviders];
  if (methods.some((name) => typeof (adapter as Adapter)[name] === "function")) return;
  throw new FastifyAuthError(
    "FST_AUTHJS_ADAPTER_INVALID",
    typeof adapter === "function"
      ? "`adapter` is a function: call it, as in `adapter: DrizzleAdapter(db)`."
      : typeof (adapter as { then?: unknown }).then === "function"
      ? "`adapter` is a promise: await it before the configuration is made."
      : "`adapter` has none of the methods of an adapter, such as getUser(). Give the client of a database to an " +
        "adapter, as in `adapter: DrizzleAdapter(db)`.",
  );
}

export function lackingMethods(core: AuthConfig, providers: readonly ProviderSummary[]): string[] {
  const { adapter } = core;
  const needs = providers.flatMap(({ id, type }): [why: string, methods: Methods][] => {
    const [name, methods] = PROVIDER_METHODS[type] ?? [];
    return methods === undefined ? [] : [[`The ${name} provider "${id}"`, methods]];
  });
  if (strategyOf(core) === "database") {
    const onlyMails = providers.length > 0 && providers.every(({ type }) => type === "email");
    const methods = onlyMails ? SESSION_METHODS : [...SESSION_METHODS, ...ACCOUNT_METHODS];
    needs.push(["Keeping sessions in a database", methods]);
  }
  return needs.map(([why, methods]) => [why, methods.filter((method) => !adapter?.[method])] as const)
    .filter(([, missing]) => missing.length > 0)
    .map(([why, missing]) =>
      adapter
        ? `${why} needs these methods of the adapter, which it lacks: ${missing.join(", ")}.`
        : `${why} needs a database: set \`adapter\` (see https://authjs.dev/getting-started/database).`
    );
}

export function strategyOf({ adapter, session }: Pick<AuthConfig, "adapter" | "session">): "jwt" | "database" {
  return session?.strategy ?? (adapter ? "database" : "jwt");
}
