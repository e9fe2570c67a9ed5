/**
 * The `fetch` for requests to a provider: limited in time and size, over TLS in production, with a cache for
 * discovery documents, and with errors that core can name.
 */
import { LRUCache } from "lru-cache";
import { checkAnswer, tokenAnswer } from "./answers.ts";
import { BufferedResponse } from "./buffered_response.ts";
import { checkedDocument, discoveryRedirect, isDiscoveryUrl } from "./discovery.ts";
import { FastifyAuthError } from "../errors.ts";
import type { ProviderError } from "./provider_error.ts";
import { ProviderUnavailable, waitForProvider } from "./provider_unavailable.ts";
import { isCodeExchange, isServerMetadata, isTokenRequest, observedExchange } from "./observed_exchange.ts";
import { discoveryUrl } from "./summary.ts";
import { variableOf } from "./settings.ts";
import { providerRequests } from "../telemetry/operations.ts";

/** The most bytes of a response. A token response with many claims has some ten thousand. */
const RESPONSE_LIMIT = 1024 * 1024;

/** The most discovery documents that are kept of a provider: one for many tenants has one for each. */
const DOCUMENTS = 100;

/** How long one is kept, in milliseconds: a provider that moves an endpoint keeps the old one for longer. */
const DOCUMENT_LIFETIME = 10 * 60_000;

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
  /** Whether it corrects token responses that depart from the standard (`token.conform`). */
  readonly conforms?: boolean;
}

/**
 * `fetch`, or a function that replaces it. Not `typeof fetch`: if an application loads the types of Node,
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
  { issuer, wellKnown, factoryId = provider, conforms = false }: ConfiguredProvider = {},
): Fetch {
  const documents = new LRUCache<string, string, () => Promise<string>>({
    max: DOCUMENTS,
    ttl: DOCUMENT_LIFETIME,
    ttlResolution: 0, // without a timer for what is rarely read
    fetchMethod: (_url, _stale, { context: load }) => load(),
    ignoreFetchAbort: true, // sign-ins wait for it, also if others have taken its place
  });
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
    const answer = { provider, response, href, sent: () => sentParameters(url, init) };
    if (isTokenRequest(init)) return await tokenAnswer(answer, { isCode: isCodeExchange(init), conforms });
    if (isGet(input, init)) await checkAnswer(answer, isMetadata(url));
    return response;
  };

  return async (input, init) => {
    const asked = urlOf(input);
    if (!isDiscoveryUrl(asked) || !isGet(input, init)) return await send(input, init, asked);
    // Core asks below the issuer, whatever `wellKnown` says.
    const url = configured !== undefined && asked.href === belowIssuer?.href ? configured : asked;
    const load = async () => {
      const setting = url === configured
        ? "`wellKnown`"
        : `\`issuer\` (or ${variableOf(factoryId, "ISSUER")})`;
      const response = await sendForDiscovery(
        setting,
        () => send(url.href, { ...init, redirect: "manual" }, url),
      );
      return checkedDocument(await response.text(), asked, provider, production, issuer, url);
    };
    const document = await documents.fetch(url.href, { context: load }) as string;
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
): Promise<BufferedResponse> {
  const abort = new AbortController();
  const signal = init?.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal;
  try {
    return await waitForProvider(readWhole(inner(input, { ...init, signal }), provider, href, signal), {
      provider,
      timeout,
      unreachable: `"${provider}" cannot be reached at ${href}.`,
      broken: brokenOff(provider, href),
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

async function readWhole(
  responding: Promise<Response>,
  provider: string,
  href: string,
  signal: AbortSignal,
): Promise<BufferedResponse> {
  const response = await responding;
  const { status, statusText } = response;
  const cause: ProviderError = { provider, status };
  // Some sites answer programs with 999, which no `Response` can be made with.
  if (status > 599) {
    throw new ProviderUnavailable(provider, `"${provider}" answered ${status} at ${href}.`, cause);
  }
  const body = await readLimited(response).catch((error) => {
    throw signal.aborted ? error : new ProviderUnavailable(provider, brokenOff(provider, href), error);
  });
  if (body === undefined) {
    const message = `"${provider}" answered at ${href} with over ${RESPONSE_LIMIT} bytes.`;
    throw new ProviderUnavailable(provider, message, cause);
  }
  const { headers } = response;
  const read = new BufferedResponse(NULL_BODY_STATUS.has(status) ? null : body, {
    status,
    statusText,
    headers,
  });
  for (const name of TRANSFER_HEADERS) read.headers.delete(name);
  return read;
}

function brokenOff(provider: string, href: string): string {
  return `"${provider}" broke off its answer at ${href}.`;
}

/** The body; `undefined` if it is too large. */
async function readLimited(response: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // The bodies of some other implementations of fetch can be iterated, but have no reader.
  const body = response.body as AsyncIterable<Uint8Array<ArrayBuffer>> | null;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > RESPONSE_LIMIT) return undefined;
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
