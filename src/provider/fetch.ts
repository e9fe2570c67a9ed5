/**
 * Requests to providers: bounded in time and in size, over TLS in production, discovery documents remembered.
 *
 * @module
 */
import { withDeadline } from "../utils/deadline.ts";
import { checkedDocument, isDiscoveryUrl } from "./discovery.ts";
import { DiscoveryCache } from "./discovery_cache.ts";
import { type ProviderError, readOAuthError, toLoggable } from "./provider_error.ts";
import { FastifyAuthError } from "../errors.ts";
import { isUnreachable, ProviderUnavailable } from "./provider_unavailable.ts";

/** The most bytes of a response that are read; a token response with many claims has some ten thousand. */
export const RESPONSE_LIMIT = 1024 * 1024;

/** What a provider may cost. */
export interface ProviderLimits {
  /** Milliseconds for a request, its body included; 0 for no limit. */
  readonly timeout: number;
  /** Whether requests without TLS are refused. */
  readonly production: boolean;
}

/** `fetch`, or what stands in for it. */
export type Fetch = typeof fetch;

/** A response with these has no body (Fetch Standard, "null body status"). */
const NULL_BODY_STATUS = new Set([101, 204, 205, 304]);

/** They describe bytes on a connection, which the body read here is not. */
const TRANSFER_HEADERS = ["content-encoding", "content-length", "transfer-encoding"];

/**
 * Makes the `fetch` that core uses for one provider.
 *
 * @param provider The provider's id, for messages.
 * @param inner What sends the requests: the provider's `customFetch` or the global `fetch`.
 * @param limits How long and how safe.
 */
export function limitedFetch(provider: string, inner: Fetch, limits: ProviderLimits): Fetch {
  const documents = new DiscoveryCache();

  /** One request, answered in full. */
  const send: Fetch = async (input, init) => {
    const url = urlOf(input);
    const { href } = new URL(url.pathname, url);
    if (limits.production && url.protocol !== "https:") {
      throw new FastifyAuthError(
        "FST_AUTHJS_PROVIDER_INVALID",
        `"${provider}" is not asked at ${href}: NODE_ENV=production does not allow a provider without TLS.`,
      );
    }
    const abort = new AbortController();
    const signal = init?.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal;
    try {
      const response = await withDeadline(
        exchange(inner, input, { ...init, signal }).catch((error) => {
          if (!isUnreachable(error)) throw error;
          throw new ProviderUnavailable(provider, `"${provider}" cannot be reached at ${href}.`, error);
        }),
        limits.timeout,
        () =>
          new ProviderUnavailable(
            provider,
            `"${provider}" did not answer in full within ${limits.timeout} ms at ${href}.`,
          ),
      );
      // Core asks with `redirect: "manual"`. What an application asks by itself through `provider[customFetch]` is
      // left to the application.
      if (init?.redirect !== "manual") return response;
      if (isTokenRequest(init)) return await withStandardError(provider, response, sentParameters(url, init));
      if (isGet(input, init)) await assertNoError(provider, response, href, sentParameters(url, init));
      return response;
    } finally {
      abort.abort();
    }
  };

  return async (input, init) => {
    const url = urlOf(input);
    if (!isDiscoveryUrl(url) || !isGet(input, init)) return await send(input, init);
    const document = await documents.get(url.href, async () => {
      const response = await send(input, { ...init, redirect: "manual" });
      return checkedDocument(await response.text(), url, provider, limits.production);
    });
    return new Response(document, { headers: { "content-type": "application/json" } });
  };
}

/** Sends and reads to the end, so that whoever gets the response waits for nothing any more. */
async function exchange(inner: Fetch, input: Parameters<Fetch>[0], init: RequestInit): Promise<Response> {
  const response = await inner(input, init);
  const { status, statusText } = response;
  const body = await readLimited(response);
  const headers = new Headers(response.headers);
  for (const name of TRANSFER_HEADERS) headers.delete(name);
  return new Response(NULL_BODY_STATUS.has(status) ? null : body, { status, statusText, headers });
}

async function readLimited(response: Response): Promise<Blob> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  // Iterated rather than read with a reader: that is what the bodies of other implementations of fetch can, too.
  const body = response.body as AsyncIterable<Uint8Array<ArrayBuffer>> | null;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > RESPONSE_LIMIT) throw unavailable(`A provider's response has over ${RESPONSE_LIMIT} bytes.`);
    chunks.push(chunk);
  }
  return new Blob(chunks);
}

function urlOf(input: Parameters<Fetch>[0]): URL {
  return new URL(input instanceof Request ? input.url : input);
}

function isGet(input: Parameters<Fetch>[0], init: RequestInit | undefined): boolean {
  const method = init?.method ?? (input instanceof Request ? input.method : "GET");
  return method.toUpperCase() === "GET";
}

/** Whether a code is exchanged for tokens, which only core does. */
function isTokenRequest({ body }: RequestInit): boolean {
  return body instanceof URLSearchParams && body.get("grant_type") === "authorization_code";
}

/** The parameters of a request, the credentials of its `Authorization` header among them. */
function sentParameters(url: URL, { body, headers }: RequestInit): [string, string][] {
  const [scheme = "", credentials = ""] = new Headers(headers).get("authorization")?.split(" ") ?? [];
  const form = body instanceof URLSearchParams ? [...body] : [];
  const password = /^basic$/i.test(scheme) ? decodePassword(credentials) : "";
  return [...url.searchParams, ...form, ["token", credentials], ["password", password]];
}

/** RFC 6749 section 2.3.1: the client's secret is form-encoded, then base64-encoded with its id. */
function decodePassword(credentials: string): string {
  try {
    const [, encoded = ""] = atob(credentials).split(":");
    return new URLSearchParams(`password=${encoded}`).get("password") ?? "";
  } catch {
    return "";
  }
}

/**
 * The response of a token endpoint; an error in the form of RFC 6749 section 5.2, which core can name. Providers answer
 * with other statuses, types and members as well, and where there is a `WWW-Authenticate` header core reads no body.
 */
async function withStandardError(
  provider: string,
  response: Response,
  sent: Iterable<readonly [string, string]>,
): Promise<Response> {
  const answer = await readOAuthError(response);
  const { status } = response;
  const refused = status >= 400 && status < 500;
  if (answer === undefined) {
    // Of a refusal that is a page, as a firewall's, core would say no more than that it is not JSON.
    return refused ? Response.json({}, { status, headers: challengeOf(response) }) : response;
  }
  const { error = String(status), ...rest } = toLoggable(answer, sent);
  const cause: ProviderError = { provider, status, error, ...rest };
  // Core makes the members of some providers' errors (Microsoft's) the options of an `Error`, which keeps a `cause`.
  return Response.json({ error, ...rest, cause }, { status: refused ? status : 400 });
}

function challengeOf({ headers }: Response): Record<string, string> {
  const challenge = headers.get("www-authenticate");
  return challenge === null ? {} : { "www-authenticate": challenge };
}

/** Refuses an error where core would read a profile or a discovery document from it, also from an error page. */
async function assertNoError(
  provider: string,
  response: Response,
  href: string,
  sent: Iterable<readonly [string, string]>,
): Promise<void> {
  const answer = await readOAuthError(response);
  if (response.ok && answer === undefined) return;
  const { status } = response;
  const said = toLoggable(answer ?? {}, sent);
  const cause: ProviderError = { provider, status, ...said };
  const details = [said.error, said.error_description].filter((part) => part !== undefined).join(", ");
  throw unavailable(`"${provider}" answered ${status} at ${href}${details && ` (${details})`}.`, cause);
}

function unavailable(message: string, cause?: ProviderError): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", message, cause && { cause });
}
