/**
 * Compares the issuer of an authorization response or an ID token with the expected one (RFC 9207, OpenID
 * Connect Core section 3.1.3.7).
 */
import { customFetch } from "@auth/core";
import type { ProviderContext } from "../../core/context.ts";
import { toLogText } from "../../provider/provider_error.ts";
import type { Fetch } from "../../provider/fetch.ts";
import type { ProviderServer } from "../../provider/summary.ts";
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

interface Metadata {
  readonly issuer?: unknown;
  readonly authorization_endpoint?: unknown;
  readonly token_endpoint?: unknown;
}

/**
 * Whether an issuer is the configured provider, by the metadata it publishes: either the document at
 * `wellKnown` names this issuer, or the issuer's own document, on the host of the token endpoint, names the
 * configured endpoints. The issuer of another server, as in a mix-up attack, fails.
 *
 * @throws {ProviderUnavailable} if the provider does not answer.
 */
async function isIssuerOf(iss: string, server: ProviderServer, send: Fetch): Promise<boolean> {
  if (server.wellKnown !== undefined) {
    const metadata = await fetchMetadata(server.wellKnown, send);
    return metadata?.issuer === iss;
  }
  for (const url of metadataUrls(iss, server)) {
    const metadata = await fetchMetadata(url, send);
    if (metadata?.issuer !== iss) continue;
    return isSameAddress(metadata.authorization_endpoint, server.authorization) &&
      isSameAddress(metadata.token_endpoint, server.token);
  }
  return false;
}

/** The addresses of an issuer's documents; none if it is not on the host of the token endpoint. */
function metadataUrls(iss: string, { token }: ProviderServer): string[] {
  if (token === undefined || !URL.canParse(iss) || !URL.canParse(token)) return [];
  const { origin, pathname, search, hash } = new URL(iss);
  if (origin !== new URL(token).origin || search || hash) return [];
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

async function fetchMetadata(url: string, send: Fetch): Promise<Metadata | undefined> {
  try {
    const response = await send(url, { headers: { accept: "application/json" }, redirect: "manual" });
    const metadata: unknown = await response.json();
    return typeof metadata === "object" && metadata !== null ? metadata : undefined;
  } catch (error) {
    // Some servers have a page at every address: then the metadata are not at this one.
    if (
      error instanceof ProviderUnavailable && (error.cause as { status?: number } | undefined)?.status !== 200
    ) {
      throw error;
    }
    // The caller refuses the response, and logs what to configure.
    return undefined;
  }
}

/** Without the query, which may have parameters of the application. */
function isSameAddress(published: unknown, configured: string | undefined): boolean {
  if (typeof published !== "string" || configured === undefined) return false;
  if (!URL.canParse(published) || !URL.canParse(configured)) return false;
  const [a, b] = [new URL(published), new URL(configured)];
  return a.origin === b.origin && a.pathname === b.pathname;
}
