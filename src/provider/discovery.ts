/** Checks the discovery document of a provider (OpenID Connect Discovery 1.0). */
import { invalidProvider } from "../errors.ts";
import { parseJsonObject } from "../utils/decode.ts";

const WELL_KNOWN = "/.well-known/openid-configuration";
const ENDPOINTS = ["authorization_endpoint", "token_endpoint", "userinfo_endpoint"] as const;
const REDIRECTS = [301, 302, 303, 307, 308];

/** Where a redirect within the origin leads: another server could say anything of this one. */
export function discoveryRedirect({ status, headers }: Pick<Response, "status" | "headers">, url: URL) {
  const location = headers.get("location");
  if (!REDIRECTS.includes(status) || location === null || !URL.canParse(location, url)) return undefined;
  const target = new URL(location, url);
  return target.origin === url.origin ? target : undefined;
}

export function isDiscoveryUrl(url: URL): boolean {
  return url.pathname.endsWith(WELL_KNOWN);
}

/**
 * @param url The address below its issuer, which core asks.
 * @param from The address that was asked, which `wellKnown` may have named.
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
  const { issuer: published, id_token_signing_alg_values_supported: algorithms } = document;
  const publisher = url.href.slice(0, url.href.indexOf(WELL_KNOWN));
  // It has to be the one that publishes at this address, against a mix-up attack (section 4.3). A slash at its end,
  // which the address does not show, core would refuse without saying so.
  const isSlashAlone = issuer !== undefined && isSameButForSlash(published, issuer) &&
    new URL(issuer).href !== new URL(String(published)).href;
  if (!isSameButForSlash(published, publisher) || isSlashAlone) {
    throw refuse(`it names the issuer ${JSON.stringify(published)}, so \`issuer\` has to be that one`);
  }
  const plain = ENDPOINTS.find((name) => /^http:/i.test(String(document[name])));
  if (production && plain !== undefined) {
    throw refuse(`its ${plain} is not https, which NODE_ENV=production does not allow`);
  }
  if (!Array.isArray(algorithms)) return text;
  // Core accepts unsigned ID tokens of a provider that advertises `none`, and no token if the list is empty.
  const signed = algorithms.filter((alg) => !/^none$/i.test(String(alg)));
  const id_token_signing_alg_values_supported = signed.length === 0 ? undefined : signed;
  return JSON.stringify({ ...document, id_token_signing_alg_values_supported });
}

/** No server has this name (RFC 6761 section 6.4). */
export const NO_USERINFO = "https://userinfo.invalid/";

/** Core wants a userinfo endpoint in each document, also if it reads the ID token alone (0.41.3). */
export function withUserinfoEndpoint(text: string): string {
  const document = parseJsonObject(text)!;
  return document.userinfo_endpoint ? text : JSON.stringify({ ...document, userinfo_endpoint: NO_USERINFO });
}

function isSameButForSlash(one: unknown, other: string): boolean {
  const [first, second] = [one, other].map((url) =>
    typeof url === "string" && URL.canParse(url) ? new URL(url).href.replace(/(?<!\/)\/+$/, "") : undefined
  );
  return first !== undefined && first === second;
}
