/**
 * Compares the issuer of an authorization response or an ID token with the expected one (RFC 9207, OpenID
 * Connect Core section 3.1.3.7).
 */
import { customFetch } from "@auth/core";
import type { ProviderContext } from "../../core/context.ts";
import { toLogText } from "../../provider/provider_error.ts";
import type { Fetch } from "../../provider/fetch.ts";
import { isIssuerOf } from "../../provider/issuer.ts";
import { ProviderUnavailable } from "../../provider/provider_unavailable.ts";

/** A provider of the resolved configuration. */
interface ResolvedProvider {
  readonly [customFetch]: Fetch;
}

/**
 * Checks the `iss` of an authorization response for a provider without a configured issuer, for which core
 * compares a placeholder.
 *
 * @returns The `issuer` for core, if it is the provider's; a `problem` if it is not; a `failure`
 * if the provider does not answer; nothing if there is nothing to check.
 */
export async function checkIssuer(
  { provider: { id, server }, config }: ProviderContext,
  iss: unknown,
): Promise<{ issuer?: string; problem?: string; failure?: ProviderUnavailable }> {
  if (server.issuer !== undefined || typeof iss !== "string" || iss === "") return {};
  const own = config.coreProviders.get(id) as unknown as ResolvedProvider;
  try {
    if (!await isIssuerOf(iss, server, own[customFetch])) {
      return { problem: unknownIssuer(id, "callback", iss) };
    }
  } catch (error) {
    if (error instanceof ProviderUnavailable) return { failure: error };
    throw error;
  }
  return { issuer: iss };
}

/** The properties of oauth4webapi's errors that are read. */
interface IssuerMismatch extends Error {
  readonly code?: string;
  readonly cause?: {
    readonly expected?: unknown;
    readonly claim?: string;
    readonly claims?: { readonly iss?: unknown };
    readonly parameters?: URLSearchParams;
  };
}

/** The problem, if an error of core's is about an unexpected issuer. */
export function issuerProblem({ cause }: Error, { provider }: ProviderContext): string | undefined {
  const { err } = (cause ?? {}) as { err?: IssuerMismatch };
  const { expected, claim, claims, parameters } = err?.cause ?? {};
  const { id, server } = provider;
  if (err?.code === "OAUTH_JWT_CLAIM_COMPARISON_FAILED" && claim === "iss" && server.issuer === undefined) {
    return unknownIssuer(id, "ID token", claims?.iss);
  }
  if (err?.code !== "OAUTH_INVALID_RESPONSE") return undefined;
  if (/^response parameter "iss" \(issuer\) missing/.test(err.message)) {
    return `The callback of "${id}" names no issuer, which its metadata promise (RFC 9207).`;
  }
  if (!/^unexpected "iss"/.test(err.message)) return undefined;
  return `The callback of "${id}" names the issuer ${quote(parameters?.get("iss"))} (RFC 9207), and ` +
    `${quote(expected)} is expected: the two have to be the same to the letter.`;
}

function unknownIssuer(id: string, what: string, iss: unknown): string {
  return `The ${what} of "${id}" names the issuer ${
    quote(iss)
  }, and none is configured to compare it with. If it is ` +
    `the provider's own, set \`issuer: ${quote(iss)}\`.`;
}

function quote(issuer: unknown): string {
  return JSON.stringify(toLogText(issuer) ?? null);
}
