/** The `fetch` for requests to a provider: limited, with a cache for discovery documents, and errors core can name. */
import { LRUCache } from "lru-cache";
import { Buffer } from "node:buffer";
import { BufferedResponse, checkAnswer, tokenAnswer } from "./answers.ts";
import { checkedDocument, discoveryRedirect, isDiscoveryUrl, withUserinfoEndpoint } from "./discovery.ts";
import { FastifyAuthError, invalidProvider } from "../errors.ts";
import { redactUrl } from "../http/redact.ts";
import { type ProviderError, ProviderUnavailable, waitForProvider } from "./provider_error.ts";
import { factoryIdOf, type Settings, variableOf } from "./settings.ts";
import { discoveryUrl } from "./summary.ts";
import { errorTypeOf, providerRequests } from "../telemetry/operations.ts";
import type { ProviderEndpoint } from "../types.ts";

/** The most bytes of a response. A token response with many claims has some ten thousand. */
const RESPONSE_LIMIT = 1024 * 1024;

/** The most discovery documents that are kept of a provider: one for many tenants has one for each. */
const DOCUMENTS = 100;

/** How long one is kept, in milliseconds: a provider that moves an endpoint keeps the old one for longer. */
const DOCUMENT_LIFETIME = 10 * 60_000;

export interface ProviderLimits {
  /** Milliseconds for a request and its response; 0 for no limit. */
  readonly timeout: number;
  /** Whether requests without TLS are refused, but for those of the providers in `insecure`. */
  readonly production: boolean;
  readonly insecure?: readonly string[];
}

/** Not `typeof fetch`: with the types of Node that has overloads with an empty type of options on Deno 2.8. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** @param inner Sends the requests: the provider's `customFetch` or the global `fetch`. */
export function limitedFetch(
  provider: string,
  inner: Fetch,
  limits: ProviderLimits,
  settings: Settings = {},
): Fetch {
  const { issuer, wellKnown, token } = settings as { readonly [name: string]: string | undefined };
  // Whether it corrects token responses that depart from the standard.
  const conforms = typeof (Object(token) as Settings).conform === "function";
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
  const isMetadata = (url: URL) => isDiscoveryUrl(url) || isServerMetadata(url) || url.href === configured?.href;

  type Input = Parameters<Fetch>[0];
  const send = async (input: Input, init: RequestInit | undefined, url: URL, isFirst = true): Promise<Response> => {
    const href = `${url.origin}${url.pathname}`;
    if (production && url.protocol !== "https:") {
      throw invalidProvider(
        `"${provider}" is not asked at ${href}: NODE_ENV=production does not allow a provider without TLS. Use ` +
          `https, or on a private network \`insecureProviders: ["${provider}"]\`.`,
      );
    }
    const method = methodOf(input, init);
    const exchanged = () => exchange(provider, href, inner, limits.timeout, input, init);
    const response = providerRequests.isObserved
      ? await observed(provider, url, method, init ?? {}, exchanged)
      : await exchanged();
    // Core's are "manual". An application that uses `provider[customFetch]` reads errors itself.
    if (init?.redirect !== "manual") return response;
    const target = isFirst && method === "GET" && isMetadata(url) ? discoveryRedirect(response, url) : undefined;
    if (target !== undefined) return await send(target.href, init, target, false);
    const answer = { provider, response, href, sent: () => sentParameters(url, init) };
    const grant = grantType(init);
    if (TOKEN_GRANTS.includes(grant)) return await tokenAnswer(answer, grant === "authorization_code", conforms);
    if (method === "GET") await checkAnswer(answer, isMetadata(url));
    return response;
  };

  return async (input, init) => {
    const asked = new URL(input instanceof Request ? input.url : input);
    if (!isDiscoveryUrl(asked) || methodOf(input, init) !== "GET") return await send(input, init, asked);
    // Core asks below the issuer, whatever `wellKnown` says.
    const url = configured !== undefined && asked.href === belowIssuer?.href ? configured : asked;
    const load = async () => {
      const response = await send(url.href, { ...init, redirect: "manual" }, url).catch((error) => {
        if (error instanceof FastifyAuthError && error.code === "FST_AUTHJS_UNAVAILABLE") {
          // An issuer of `apiAccess` is no provider, and has no variable.
          const variable = settings.type && ` (or ${variableOf(factoryIdOf(settings) || provider, "ISSUER")})`;
          const setting = url === configured ? "`wellKnown`" : `\`issuer\`${variable ?? ""}`;
          error.message += ` That is the discovery document of its issuer: check ${setting}, and that this ` +
            "server can reach it.";
        }
        throw error;
      });
      const document = checkedDocument(await response.text(), asked, provider, production, issuer, url);
      return settings.type === "oidc" && settings.idToken !== false ? withUserinfoEndpoint(document) : document;
    };
    const document = await documents.fetch(url.href, { context: load }) as string;
    return new BufferedResponse(document, { headers: { "content-type": "application/json" } });
  };
}

/** RFC 8414 section 3.1. */
function isServerMetadata({ pathname }: URL): boolean {
  return pathname.startsWith("/.well-known/oauth-authorization-server");
}

/** The grants by which a code or a refresh token is exchanged for tokens. */
const TOKEN_GRANTS: readonly unknown[] = ["authorization_code", "refresh_token"];

function grantType({ body }: RequestInit): string | null {
  return body instanceof URLSearchParams ? body.get("grant_type") : null;
}

function toUrl(address: string | undefined): URL | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
}

function methodOf(input: Parameters<Fetch>[0], init: RequestInit | undefined): string {
  return (init?.method ?? (input instanceof Request ? input.method : "GET")).toUpperCase();
}

/** Sends a request and reads the whole response within the timeout. If that fails, the request is aborted. */
async function exchange(
  provider: string,
  href: string,
  inner: Fetch,
  timeout: number,
  ...[input, init]: Parameters<Fetch>
): Promise<BufferedResponse> {
  const abort = new AbortController();
  const signal = init?.signal ? AbortSignal.any([init.signal, abort.signal]) : abort.signal;
  const broken = `"${provider}" broke off its answer at ${href}.`;
  const read = async () => {
    const response = await inner(input, { ...init, signal });
    const { status } = response;
    const cause: ProviderError = { provider, status };
    // Some sites answer programs with 999, which no `Response` can be made with.
    if (status > 599) throw new ProviderUnavailable(provider, `"${provider}" answered ${status} at ${href}.`, cause);
    const body = await readBody(response).catch((error) => {
      throw signal.aborted ? error : new ProviderUnavailable(provider, broken, error);
    });
    if (body !== undefined) return withBody(response, body);
    const tooLarge = `"${provider}" answered at ${href} with over ${RESPONSE_LIMIT} bytes.`;
    throw new ProviderUnavailable(provider, tooLarge, cause);
  };
  try {
    return await waitForProvider(read(), provider, timeout, {
      unreachable: `"${provider}" cannot be reached at ${href}.`,
      broken,
      late: `"${provider}" did not answer in full within ${timeout} ms at ${href}.`,
    });
  } catch (error) {
    abort.abort();
    throw error;
  }
}

/** The body; `undefined` if it is too large. */
async function readBody({ body }: Response): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const reader = body && readerOf(body);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (let read; reader && !(read = await reader.read()).done;) {
    size += read.value.byteLength;
    if (size > RESPONSE_LIMIT) return void await reader.cancel();
    chunks.push(read.value);
  }
  return Buffer.concat(chunks);
}

type Reader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;

/** To iterate takes twice as long, but the bodies of some other implementations of fetch have no reader. */
function readerOf(body: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>): Reader {
  if ("getReader" in body) return body.getReader();
  const iterator = body[Symbol.asyncIterator]();
  return { read: () => iterator.next(), cancel: async () => void await iterator.return?.() };
}

/** A response with one of these statuses has no body (Fetch Standard, "null body status"). */
const NULL_BODY_STATUS = [101, 204, 205, 304];

function withBody({ status, statusText, headers }: Response, body: Uint8Array<ArrayBuffer>) {
  const held = NULL_BODY_STATUS.includes(status) ? null : body;
  const response = new BufferedResponse(held, { status, statusText, headers });
  // They describe the bytes on the connection.
  for (const name of ["content-encoding", "content-length", "transfer-encoding"]) response.headers.delete(name);
  return response;
}

/** The parameters of a request, and the credentials of its `Authorization` header. */
function sentParameters(url: URL, { body, headers }: RequestInit): [string, string][] {
  const [scheme = "", credentials = ""] = new Headers(headers).get("authorization")?.split(" ") ?? [];
  const form = body instanceof URLSearchParams ? [...body] : [];
  // The client secret is form-encoded, then base64-encoded with the client id (RFC 6749 section 2.3.1).
  const [, encoded = ""] = /^basic$/i.test(scheme) ? Buffer.from(credentials, "base64").toString().split(":") : [];
  const password = new URLSearchParams(`password=${encoded}`).get("password")!;
  return [...url.searchParams, ...form, ["token", credentials], ["password", password]];
}

function observed(provider: string, url: URL, method: string, init: RequestInit, ask: () => Promise<BufferedResponse>) {
  const endpoint = endpointOf(url, method, init);
  const message = { provider, endpoint, method, url: redactUrl(`${url.origin}${url.pathname}${url.search}`) };
  return providerRequests.trace(message, ask, {
    end: ({ status }) => status < 400 ? { status } : { status, errorType: String(status) },
    failure: (error) => ({ errorType: reasonOf(error) }),
  });
}

/** What a request is for, by what RFC 6749, 6750, 7009, 7517, 8414 and OpenID Connect Discovery have in it. */
function endpointOf(url: URL, method: string, init: RequestInit): ProviderEndpoint {
  if (TOKEN_GRANTS.includes(grantType(init))) return "token";
  const headers = new Headers(init.headers);
  if (method === "GET") {
    if (isDiscoveryUrl(url) || isServerMetadata(url)) return "discovery";
    if (headers.get("accept")?.includes("application/jwk-set+json")) return "jwks";
  }
  // deno-coverage-ignore An application revokes tokens, by the `customFetch` of a provider
  if (init.body instanceof URLSearchParams && init.body.has("token")) return "revocation";
  return /^(?:bearer|dpop|token) /i.test(headers.get("authorization") ?? "") ? "userinfo" : "other";
}

/** `timeout` or `unreachable` if there was no whole response, in the same words on each runtime. */
function reasonOf(error: unknown): string {
  // deno-coverage-ignore The caller has ended its own request
  if (!(error instanceof ProviderUnavailable)) return errorTypeOf(error);
  if (error.cause === undefined) return "timeout";
  return error.cause instanceof Error ? "unreachable" : errorTypeOf(error);
}
