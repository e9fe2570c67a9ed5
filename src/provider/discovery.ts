/** Checks the discovery document of a provider (OpenID Connect Discovery 1.0). */
import { invalidProvider } from "../errors.ts";
import { parseJsonObject } from "../utils/decode.ts";

const WELL_KNOWN = "/.well-known/openid-configuration";

const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"] as const;

/**
 * Where a redirect of a document leads within its origin: some servers add a slash to each path. Only these
 * are followed, since another server could say anything of this one.
 */
export function discoveryRedirect(
  { status, headers }: Pick<Response, "status" | "headers">,
  url: URL,
): URL | undefined {
  const location = headers.get("location");
  if (!REDIRECTS.has(status) || location === null || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  return target.origin === url.origin ? target : undefined;
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export function isDiscoveryUrl(url: URL): boolean {
  return url.pathname.endsWith(WELL_KNOWN);
}

/**
 * Checks a document before the cache keeps it.
 *
 * @param url Where the document of its issuer would be.
 * @param production Whether an endpoint must be https.
 * @param issuer The configured one, if there is one.
 * @param from Where it is.
 * @returns The document, without `none` among the signing algorithms.
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID`
 */
export function checkedDocument(
  text: string,
  url: URL,
  provider: string,
  production: boolean,
  issuer?: string,
  from: URL = url,
): string {
  const refuse = (why: string) =>
    invalidProvider(`The discovery document of "${provider}" at ${from.href} is refused: ${why}.`);
  const document = parseJsonObject(text);
  if (document === undefined) throw refuse("it is not a JSON object");
  if (!isIssuerAt(document.issuer, url) || differsInSlash(document.issuer, issuer)) {
    throw refuse(`it names the issuer ${JSON.stringify(document.issuer)}, so \`issuer\` has to be that one`);
  }
  const plain = ENDPOINTS.find((name) => /^http:/i.test(String(document[name])));
  if (production && plain !== undefined) {
    throw refuse(`its ${plain} is not https, which NODE_ENV=production does not allow`);
  }
  return JSON.stringify(withoutUnsigned(document));
}

/** Whether the issuer is the one that publishes at this address (section 4.3): against a mix-up attack. */
function isIssuerAt(issuer: unknown, url: URL): issuer is string {
  if (typeof issuer !== "string" || !URL.canParse(issuer)) return false;
  const expected = url.href.slice(0, url.href.indexOf(WELL_KNOWN));
  return withoutSlash(issuer) === withoutSlash(expected);
}

/**
 * Whether the configured issuer is the published one but for a slash at its end, which the address of the
 * document does not show: core refuses it without saying so.
 */
function differsInSlash(published: string, configured: string | undefined): boolean {
  if (configured === undefined || !URL.canParse(configured)) return false;
  return withoutSlash(published) === withoutSlash(configured) &&
    new URL(published).href !== new URL(configured).href;
}

function withoutSlash(url: string): string {
  return new URL(url).href.replace(/(?<!\/)\/+$/, "");
}

/** Core accepts unsigned ID tokens of a provider that advertises `none`, and no token if the list is empty. */
function withoutUnsigned(document: Record<string, unknown>): Record<string, unknown> {
  const { id_token_signing_alg_values_supported: algorithms, ...others } = document;
  if (!Array.isArray(algorithms)) return document;
  const signed = algorithms.filter((alg) => !/^none$/i.test(String(alg)));
  return signed.length === 0 ? others : { ...others, id_token_signing_alg_values_supported: signed };
}
