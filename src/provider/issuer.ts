/** Checks the issuer in an authorization response (RFC 9207) of a provider that is configured without one. */
import type { ProviderServer } from "./summary.ts";
import type { Fetch } from "./fetch.ts";
import { ProviderUnavailable } from "./provider_unavailable.ts";

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
export async function isIssuerOf(iss: string, server: ProviderServer, send: Fetch): Promise<boolean> {
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
