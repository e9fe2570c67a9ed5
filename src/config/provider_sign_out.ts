/** The options `providerSignOut` and `backchannelLogout`. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError } from "../errors.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { FastifyAuthOptions } from "../types.ts";

/** How sign-outs end the session at the OpenID Provider. */
export interface ProviderSignOutSettings {
  /** Whether every sign-out does, also the one of the built-in page. */
  readonly byDefault: boolean;
  /** Whether ID tokens are kept for that. */
  readonly keepsIdTokens: boolean;
}

/** Whether a provider can end sessions of its users: one of OpenID Connect that has an issuer. */
export function isOpenIdProvider({ type, server }: ProviderSummary): boolean {
  return type === "oidc" && server.issuer !== undefined;
}

/**
 * The settings of a configuration; `undefined` if sign-outs are local.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
 */
export function providerSignOutSettings(
  option: FastifyAuthOptions["providerSignOut"],
): ProviderSignOutSettings | undefined {
  if (option === undefined || option === false) return undefined;
  if (option === true) return { byDefault: true, keepsIdTokens: true };
  if (typeof option !== "object" || option === null || Array.isArray(option)) {
    throw invalid("`providerSignOut` must be true, false or an object such as `{ byDefault: false }`.");
  }
  const { byDefault = true, idTokenHint = true, ...others } = option;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalid(`\`providerSignOut.${unknown}\` is no option: there are byDefault, idTokenHint.`);
  }
  if (typeof byDefault !== "boolean" || typeof idTokenHint !== "boolean") {
    throw invalid("`byDefault` and `idTokenHint` of `providerSignOut` must be true or false.");
  }
  return { byDefault, keepsIdTokens: idTokenHint };
}

/** Why the options cannot work. */
export function providerSignOutProblem(
  { providerSignOut, backchannelLogout, store, revocable }: FastifyAuthOptions,
  { adapter, session }: AuthConfig,
  providers: readonly ProviderSummary[],
): FastifyAuthError | undefined {
  const option = backchannelLogout ? "backchannelLogout" : providerSignOut ? "providerSignOut" : undefined;
  if (option === undefined) return undefined;
  if (!providers.some(isOpenIdProvider)) {
    return invalid(
      `\`${option}\` needs a provider of OpenID Connect (\`type: "oidc"\`) with an \`issuer\`: add one, or remove ` +
        "the option.",
    );
  }
  if (!backchannelLogout) return undefined;
  const strategy = session?.strategy ?? (adapter ? "database" : "jwt");
  if (strategy === "jwt") {
    return store && revocable ? undefined : invalid(
      "`backchannelLogout` needs a `store` and `revocable: true`, since a session in a JWT is valid until it " +
        'expires: set redisStore() of "fastify-authjs/redis" or memoryStore(), or keep sessions in a database.',
    );
  }
  if (adapter !== undefined && "listSessionsByUserId" in adapter) return undefined;
  return new FastifyAuthError(
    "FST_AUTHJS_ADAPTER_INVALID",
    "`backchannelLogout` needs the adapter's listSessionsByUserId(), without which the sessions of a user are not " +
      "found. Add it with `withSessionList(adapter, (userId) => …)`.",
  );
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message);
}
