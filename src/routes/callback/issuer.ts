/**
 * Compares the issuer of an authorization response or an ID token with the expected one (RFC 9207, OpenID Connect Core
 * section 3.1.3.7).
 */
import { customFetch } from "@auth/core";
import type { ProviderContext } from "../../core/context.ts";
import type { Fetch } from "../../provider/fetch.ts";
import { ProviderUnavailable, toLogText } from "../../provider/provider_error.ts";
import type { ProviderServer } from "../../provider/summary.ts";

/** What is read of oauth4webapi's errors. */
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

/** The problem with an issuer that is not known to be the provider's. */
export function unknownIssuer(id: string, what: string, iss: unknown): string {
  const issuer = quote(iss);
  return `The ${what} of "${id}" names the issuer ${issuer}, and none is configured to compare it with. If ` +
    `it is the provider's own, set \`issuer: ${issuer}\`.`;
}

function quote(issuer: unknown): string {
  return JSON.stringify(toLogText(issuer) ?? null);
}

/**
 * Whether an issuer is the configured provider, by the metadata it publishes: either the document at `wellKnown` names
 * this issuer, or the issuer's own document, on the host of the token endpoint, names the configured endpoints. The
 * issuer of another server, as in a mix-up attack, fails.
 *
 * @throws {ProviderUnavailable} if the provider does not answer.
 */
export async function isIssuerOf(iss: string, { provider: { id, server }, config }: ProviderContext): Promise<boolean> {
  const { [customFetch]: send } = config.coreProviders.get(id) as unknown as { [customFetch]: Fetch };
  const { wellKnown, authorization, token } = server;
  if (wellKnown !== undefined) return (await fetchMetadata(wellKnown, send))?.issuer === iss;
  for (const url of metadataUrls(iss, server)) {
    const metadata = await fetchMetadata(url, send);
    if (metadata?.issuer !== iss) continue;
    return isSameAddress(metadata.authorization_endpoint, authorization) &&
      isSameAddress(metadata.token_endpoint, token);
  }
  return false;
}

/** The addresses of an issuer's documents; none if it is not on the host of the token endpoint. */
function metadataUrls(iss: string, { token = "" }: ProviderServer): string[] {
  if (!URL.canParse(iss) || !URL.canParse(token)) return [];
  const { origin, pathname, search, hash } = new URL(iss);
  if (origin !== new URL(token).origin || search || hash) return [];
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}${path}/.well-known/openid-configuration`,
  ];
}

async function fetchMetadata(url: string, send: Fetch): Promise<Record<string, unknown> | undefined> {
  try {
    const response = await send(url, { headers: { accept: "application/json" }, redirect: "manual" });
    return await response.json() ?? undefined;
  } catch (error) {
    // Some servers have a page at every address: then the metadata are not at this one. Otherwise the caller refuses
    // the response, and logs what to configure.
    const { status } = (error as { cause?: { status?: number } }).cause ?? {};
    if (error instanceof ProviderUnavailable && status !== 200) throw error;
    return undefined;
  }
}

/** Without the query, which may have parameters of the application. */
function isSameAddress(published: unknown, configured = ""): boolean {
  if (typeof published !== "string" || !URL.canParse(published) || !URL.canParse(configured)) return false;
  const [a, b] = [new URL(published), new URL(configured)];
  return a.origin === b.origin && a.pathname === b.pathname;
}
