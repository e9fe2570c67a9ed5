/**
 * The `fetch` for requests to a provider: limited in time and size, over TLS in production, with a cache for
 * discovery documents, and with errors that core can name.
 */
import { BufferedResponse } from "./buffered_response.ts";
import { checkedDocument, discoveryRedirect, discoveryUrl, isDiscoveryUrl } from "./discovery.ts";
import { DiscoveryCache } from "./discovery_cache.ts";
import { type ProviderError, readOAuthError, toLoggable, toLogText } from "./provider_error.ts";
import { FastifyAuthError } from "../errors.ts";
import { redactUrl } from "../http/redact.ts";
import { isUnavailableAnswer, ProviderUnavailable, waitForProvider } from "./provider_unavailable.ts";
import { isCodeExchange, isServerMetadata, isTokenRequest, observedExchange } from "./observed_exchange.ts";
import { parseJsonObject } from "../utils/json.ts";
import { variableOf } from "./variables.ts";
import { providerRequests } from "../telemetry/operations.ts";

/** The most bytes of a response. A token response with many claims has some ten thousand. */
const RESPONSE_LIMIT = 1024 * 1024;

/** The limits of requests to providers. */
export interface ProviderLimits {
  /** Milliseconds for a request and its response; 0 for no limit. */
  readonly timeout: number;
  /** Whether requests without TLS are refused. */
  readonly production: boolean;
  /** Ids of providers whose requests may go without TLS all the same. */
  readonly insecure?: readonly string[];
}

/** The configuration of a provider. */
export interface ConfiguredProvider {
  readonly issuer?: string | undefined;
  /** Where its discovery document is, if not below the issuer. */
  readonly wellKnown?: string | undefined;
  /** The id that its factory gives, by which its environment variables are named. */
  readonly factoryId?: string;
}

/**
 * `fetch`, or a function that replaces it. Not `typeof fetch`: where an application loads the types of Node,
 * that has overloads with options of another, empty type on Deno 2.8.
 */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/**
 * Makes the `fetch` that core uses for one provider.
 *
 * @param inner Sends the requests: the provider's `customFetch` or the global `fetch`.
 * @param configured What errors name.
 */
export function limitedFetch(
  provider: string,
  inner: Fetch,
  limits: ProviderLimits,
  { issuer, wellKnown, factoryId = provider }: ConfiguredProvider = {},
): Fetch {
  const documents = new DiscoveryCache();
  const production = limits.production && !limits.insecure?.includes(provider);
  const configured = toUrl(wellKnown);
  const belowIssuer = toUrl(issuer && discoveryUrl(issuer));
  const isMetadata = (url: URL) =>
    isDiscoveryUrl(url) || isServerMetadata(url) || url.href === configured?.href;

  const send = async (
    input: Parameters<Fetch>[0],
    init: RequestInit | undefined,
    url: URL,
    isRedirected = false,
  ): Promise<Response> => {
    const href = `${url.origin}${url.pathname}`;
    if (production && url.protocol !== "https:") {
      throw new FastifyAuthError(
        "FST_AUTHJS_PROVIDER_INVALID",
        `"${provider}" is not asked at ${href}: NODE_ENV=production does not allow a provider without TLS. Use ` +
          `https, or on a private network \`insecureProviders: ["${provider}"]\`.`,
      );
    }
    const exchanged = () => exchange(provider, href, inner, limits.timeout, input, init);
    const response = providerRequests.isObserved
      ? await observedExchange(provider, url, init, methodOf(input, init), exchanged)
      : await exchanged();
    // Core's requests have `redirect: "manual"`. An application that uses `provider[customFetch]` reads
    // errors itself.
    if (init?.redirect !== "manual") return response;
    const target = !isRedirected && isGet(input, init) && isMetadata(url)
      ? discoveryRedirect(response, url)
      : undefined;
    if (target !== undefined) return await send(target.href, init, target, true);
    const sent = () => sentParameters(url, init);
    // What a refresh makes of such an answer is in `refresh_tokens.ts`.
    if (isCodeExchange(init) || isGet(input, init)) await assertAvailable(provider, response, href, sent);
    if (isTokenRequest(init)) return await withStandardError(provider, response, sent);
    if (isGet(input, init)) await assertNoError(provider, response, href, sent);
    return response;
  };

  return async (input, init) => {
    const asked = urlOf(input);
    if (!isDiscoveryUrl(asked) || !isGet(input, init)) return await send(input, init, asked);
    // Core asks below the issuer, whatever `wellKnown` says.
    const url = configured !== undefined && asked.href === belowIssuer?.href ? configured : asked;
    const document = await documents.get(url.href, async () => {
      const setting = url === configured
        ? "`wellKnown`"
        : `\`issuer\` (or ${variableOf(factoryId, "ISSUER")})`;
      const response = await sendForDiscovery(
        setting,
        () => send(url.href, { ...init, redirect: "manual" }, url),
      );
      return checkedDocument(await response.text(), asked, provider, production, issuer, url);
    });
    return new BufferedResponse(document, { headers: { "content-type": "application/json" } });
  };
}

/** Adds to an error which setting the address of the document is made from. */
async function sendForDiscovery(setting: string, send: () => Promise<Response>): Promise<Response> {
  try {
    return await send();
  } catch (error) {
    if (error instanceof FastifyAuthError && error.code === "FST_AUTHJS_UNAVAILABLE") {
      error.message +=
        ` That is the discovery document of its issuer: check ${setting}, and that this server ` +
        "can reach it.";
    }
    throw error;
  }
}

function toUrl(address: string | undefined): URL | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
}

function urlOf(input: Parameters<Fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

/** Sends a request and reads the whole response within the timeout. Afterwards the request is aborted. */
async function exchange(
  provider: string,
  href: string,
  inner: Fetch,
  timeout: number,
  ...[input, init]: Parameters<Fetch>
): Promise<Response> {
  const abort = new AbortController();
  const signal = init?.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal;
  try {
    return await waitForProvider(readWhole(inner(input, { ...init, signal }), provider, href), {
      provider,
      timeout,
      unreachable: `"${provider}" cannot be reached at ${href}.`,
      late: `"${provider}" did not answer in full within ${timeout} ms at ${href}.`,
    });
  } finally {
    abort.abort(OVER);
  }
}

/** Made once: with its stack it costs more than the rest of a request. */
const OVER = new DOMException("The request is over.", "AbortError");

/** A response with one of these statuses has no body (Fetch Standard, "null body status"). */
const NULL_BODY_STATUS = new Set([101, 204, 205, 304]);

/** Headers that describe the bytes on the connection, not the body that was read. */
const TRANSFER_HEADERS = ["content-encoding", "content-length", "transfer-encoding"];

async function readWhole(responding: Promise<Response>, provider: string, href: string): Promise<Response> {
  const response = await responding;
  const { status, statusText } = response;
  // Some sites answer programs with 999, which no `Response` can be made with.
  if (status > 599) throw unavailable(`"${provider}" answered ${status} at ${href}.`, { provider, status });
  const body = await readLimited(response);
  const { headers } = response;
  const read = new BufferedResponse(NULL_BODY_STATUS.has(status) ? null : body, {
    status,
    statusText,
    headers,
  });
  for (const name of TRANSFER_HEADERS) read.headers.delete(name);
  return read;
}

async function readLimited(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // The bodies of some other implementations of fetch can be iterated, but have no reader.
  const body = response.body as AsyncIterable<Uint8Array<ArrayBuffer>> | null;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > RESPONSE_LIMIT) throw unavailable(`A provider's response has over ${RESPONSE_LIMIT} bytes.`);
    chunks.push(chunk);
  }
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function isGet(input: Parameters<Fetch>[0], init: RequestInit | undefined): boolean {
  return methodOf(input, init) === "GET";
}

function methodOf(input: Parameters<Fetch>[0], init: RequestInit | undefined): string {
  return (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
}

/** The parameters of a request, and the credentials of its `Authorization` header. */
function sentParameters(url: URL, { body, headers }: RequestInit): [string, string][] {
  const [scheme = "", credentials = ""] = new Headers(headers).get("authorization")?.split(" ") ?? [];
  const form = body instanceof URLSearchParams ? [...body] : [];
  const password = /^basic$/i.test(scheme) ? decodePassword(credentials) : "";
  return [...url.searchParams, ...form, ["token", credentials], ["password", password]];
}

/**
 * The client secret, which is form-encoded, then base64-encoded with the client id (RFC 6749 section 2.3.1).
 */
function decodePassword(credentials: string): string {
  try {
    const [, encoded = ""] = atob(credentials).split(":");
    return new URLSearchParams(`password=${encoded}`).get("password") ?? "";
  } catch {
    return "";
  }
}

/**
 * The response of a token endpoint, with an error brought into the form of RFC 6749 section 5.2. Core can
 * name only that one: it knows no other status or member, and reads no body where there is a
 * `WWW-Authenticate` header.
 */
async function withStandardError(
  provider: string,
  response: Response,
  sent: () => Iterable<readonly [string, string]>,
): Promise<Response> {
  const oauthError = await readOAuthError(response);
  const { status } = response;
  const refused = status >= 400 && status < 500;
  if (oauthError === undefined) {
    // A refusal that is a page, for example a firewall's: of the page core would report only that it is not
    // JSON.
    return refused
      ? BufferedResponse.json({}, { status, headers: challengeOf(response) })
      : withoutNulls(response);
  }
  const { error = String(status), ...rest } = toLoggable(oauthError, sent());
  const cause: ProviderError = { provider, status, error, ...rest };
  // For Microsoft's providers, core makes these members the options of an `Error`, which keeps only `cause`.
  return BufferedResponse.json({ error, ...rest, cause }, { status: refused ? status : 400 });
}

/**
 * The response without members that are null: so some servers say that there is no refresh token or scope,
 * which oauth4webapi takes for a wrong one.
 */
function withoutNulls(response: Response): Response {
  const body = response.ok && "peek" in response
    ? parseJsonObject((response as BufferedResponse).peek())
    : undefined;
  if (body === undefined || !Object.values(body).includes(null)) return response;
  const members = Object.entries(body).filter(([, value]) => value !== null);
  const { status, headers } = response;
  return new BufferedResponse(JSON.stringify(Object.fromEntries(members)), { status, headers });
}

function challengeOf({ headers }: Response): Record<string, string> {
  const challenge = headers.get("www-authenticate");
  return challenge === null ? {} : { "www-authenticate": challenge };
}

/** @throws {ProviderUnavailable} where the provider answered that it cannot answer now. */
async function assertAvailable(
  provider: string,
  response: Response,
  href: string,
  sent: () => Iterable<readonly [string, string]>,
): Promise<void> {
  if (response.ok) return;
  const oauthError = await readOAuthError(response);
  const { status } = response;
  if (!isUnavailableAnswer(status, oauthError?.error)) return;
  const cause: ProviderError = { provider, status, ...toLoggable(oauthError ?? {}, sent()) };
  throw new ProviderUnavailable(provider, answered(cause, href), cause);
}

/** Refuses an error that core would read as a profile or a discovery document. */
async function assertNoError(
  provider: string,
  response: Response,
  href: string,
  sent: () => Iterable<readonly [string, string]>,
): Promise<void> {
  const oauthError = await readOAuthError(response);
  if (response.ok && oauthError === undefined) return;
  const { status, headers } = response;
  const cause: ProviderError = { provider, status, ...toLoggable(oauthError ?? {}, sent()) };
  throw unavailable(answered(cause, href) + redirection(headers), cause);
}

function answered({ provider, status, error, error_description }: ProviderError, href: string): string {
  const details = [error, error_description].filter((part) => part !== undefined).join(", ");
  return `"${provider}" answered ${status} at ${href}${details && ` (${details})`}.`;
}

/** Where a redirect that is not followed leads. */
function redirection(headers: Headers): string {
  const location = toLogText(headers.get("location"));
  return location === undefined ? "" : ` Its redirect to ${redactUrl(location)} is not followed.`;
}

function unavailable(message: string, cause?: ProviderError): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", message, cause && { cause });
}
