/** The providers that may be reached without TLS in production. */
import { FastifyAuthError } from "../errors.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { Notice } from "./notices.ts";

/**
 * Checks `insecureProviders`.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if it is not an array of ids of the providers.
 */
export function requireInsecureProviders(
  value: unknown,
  providers: readonly ProviderSummary[],
): readonly string[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid("must be an array of provider ids");
  const ids = providers.map(({ id }) => id);
  const unknown = value.find((id) => !ids.includes(id));
  if (unknown === undefined) return value;
  throw invalid(
    `has ${JSON.stringify(unknown)}, which is no provider. There are: ${ids.join(", ") || "none"}`,
  );
}

function invalid(problem: string): FastifyAuthError {
  return new FastifyAuthError(
    "FST_AUTHJS_CONFIG_INVALID",
    `\`insecureProviders\` ${problem}. Write it as \`insecureProviders: ["keycloak"]\`.`,
  );
}

/** A warning for each of them in production. */
export function insecureWarnings(
  providers: readonly ProviderSummary[],
  insecure: readonly string[],
): Notice[] {
  return providers.filter(({ id }) => insecure.includes(id)).map(({ id, server, urls }) => ({
    code: "FST_AUTHJS_WARN_TLS",
    message:
      `The provider "${id}" may be reached without TLS (${server.issuer ?? urls[0] ?? "no address"}), by ` +
      "`insecureProviders`: an attacker who can change traffic on the way to it can sign in as any of its users.",
  }));
}
