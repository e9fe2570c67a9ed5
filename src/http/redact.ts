/** Keeps codes, tokens, passwords and what errors of databases and mail services repeat out of logs and spans. */
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";

type Serializer = (value: unknown) => unknown;

/** Pino keeps its serializers under this symbol (`pino.symbols.serializersSym`). */
const PINO_SERIALIZERS = Symbol.for("pino.serializers");

/**
 * The serializers of the application, called with a request without secrets, whatever they write of it.
 * @param given Those of a scope, which inherits the others of the scopes around it.
 */
export function redactingSerializers(log: FastifyBaseLogger, given: object | null = null): Record<string, Serializer> {
  const own = (log as { [PINO_SERIALIZERS]?: Record<string, Serializer> })[PINO_SERIALIZERS];
  const onlyTheLine = (request: unknown) => {
    const { method, url } = request as FastifyRequest;
    return { method, url };
  };
  const { req = own?.req ?? onlyTheLine, res = own?.res } = (given ?? {}) as Record<string, Serializer>;
  return Object.assign(Object.create(given), {
    req: (request: unknown) => req(redactRequest(request)),
    ...(res && { res: (reply: unknown) => res(redactReply(reply)) }),
  });
}

const HIDDEN = "[redacted]";

/** The properties of a request that are redacted; `raw` is Node's request. */
const OF_REQUEST: Readonly<Record<string, Serializer>> = {
  body: redactValues,
  cookies: redactValues,
  headers: redactHeaders,
  originalUrl: redactAddress,
  // A URL that was encoded as a whole matches as a parameter of the route.
  params: (params) => mapEntries(params, (_name, value) => redactAddress(value)),
  query: redactValues,
  raw: redactRequest,
  rawHeaders: () => [],
  url: redactAddress,
};

function redactRequest(request: unknown): unknown {
  return redactParts(request, OF_REQUEST);
}

/** A reply, or Node's response (`raw`), which has its head as text once that is sent. */
function redactReply(reply: unknown): unknown {
  const headers = () => redactHeaders((reply as FastifyReply).getHeaders()) as Record<string, unknown>;
  return redactParts(reply, {
    request: redactRequest,
    req: redactRequest,
    raw: redactReply,
    _header: (head) => typeof head === "string" ? HIDDEN : head,
    getHeaders: () => headers,
    getHeader: () => (name: string) => headers()[name.toLowerCase()],
  });
}

/** The object, of which some properties are redacted when they are read; it inherits the others. */
function redactParts(value: unknown, redactions: typeof OF_REQUEST): unknown {
  if (typeof value !== "object" || value === null) return value;
  const parts = value as Record<string, unknown>;
  const redacted = Object.entries(redactions).filter(([name]) => name in parts).map(([name, redact]) => {
    return [name, { get: () => redact(parts[name]), enumerable: Object.hasOwn(parts, name) }];
  });
  return Object.create(parts, Object.fromEntries(redacted));
}

/** What may separate the parameters of a malformed URL from its path; it may be encoded more than once. */
const PARAMETERS = /[?#&;]|%(?:25)*(?:3f|23|26|3b)/i;

function redactAddress(address: unknown): unknown {
  return typeof address === "string" ? redactUrl(address) : address;
}

/** The URL without the values of its parameters. Their names stay, which helps to find mistakes. */
export function redactUrl(address: string): string {
  const [separator = ""] = PARAMETERS.exec(address) ?? [];
  const end = separator === "" ? address.length : address.indexOf(separator);
  const path = address.slice(0, end).replace(/(=|%(?:25)*3d).*$/is, `$1${HIDDEN}`);
  if (separator === "") return path;
  const start = end + separator.length;
  const parameters = address.slice(start).split("&").map((parameter) => {
    const equals = parameter.indexOf("=");
    return equals === -1 ? HIDDEN : `${parameter.slice(0, equals)}=${HIDDEN}`;
  });
  return `${path}${separator}${parameters.join("&")}`;
}

function redactHeaders(headers: unknown): unknown {
  return mapEntries(headers, (name, value) => {
    if (CREDENTIALS.includes(name)) return HIDDEN;
    return ADDRESSES.test(name) ? redactAddress(value) : value;
  });
}

function mapEntries(object: unknown, map: (name: string, value: unknown) => unknown): unknown {
  if (typeof object !== "object" || object === null) return object;
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, map(name, value)]));
}

const CREDENTIALS = ["authorization", "cookie", "set-cookie"];

/** Headers with an address: those of HTTP, and those in which proxies repeat the address of the request. */
const ADDRESSES = /^(?:location|referer|:path|x-envoy-original-path|x-forwarded-uri|x-original-ur[il]|x-rewrite-url)$/;

function redactValues(values: unknown): unknown {
  if (typeof values !== "object" || values === null) return values === undefined ? values : HIDDEN;
  // Without a value, the name itself may be the secret.
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [value === "" ? HIDDEN : name, HIDDEN]));
}

/**
 * A copy of an error and its causes, without the texts in the arguments of the failed call: messages of query builders
 * and mail services repeat what they were called with.
 */
export function redactError(error: unknown, secrets: unknown): Error {
  return copy(error, (text) => redactText(text, secrets));
}

/**
 * What a function of the application threw, without what the user typed (as typed, trimmed, in lower case). If it
 * repeats any of that, the result inherits from what was thrown: its class and status still decide about the answer.
 */
export function withoutTyped(error: unknown, fields: unknown): unknown {
  const texts = textsIn(fields).flatMap((text) => [text, text.trim(), text.trim().toLowerCase()]);
  return withoutTexts(error, texts);
}

function withoutTexts(error: unknown, secrets: readonly string[], depth = 0): unknown {
  if (!(error instanceof Error) || depth > 4) return error;
  const { name, code, message, stack = "", cause } = error as Error & { readonly code?: unknown };
  const own = { message: redactText(message, secrets), stack: redactText(stack, secrets) };
  const inner = withoutTexts(cause, secrets, depth + 1);
  if (own.message === message && own.stack === stack && inner === cause) return error;
  // The getters of a DOMException throw on an object that inherits from it.
  const values = Object.entries({ name, code, ...own, cause: inner });
  return Object.create(error, Object.fromEntries(values.map(([key, value]) => [key, { value }])));
}

export function redactText(text: string, secrets: unknown): string {
  // Cutting out shorter texts would make a message unreadable.
  const texts = textsIn(secrets).filter(({ length }) => length >= 4).sort((a, b) => b.length - a.length);
  return texts.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

function copy(error: unknown, clean: (text: string) => string, depth = 0): Error {
  if (!isError(error)) return new Error(clean(String(error)));
  const result = new Error(clean(error.message));
  if (typeof error.name === "string") result.name = error.name;
  if (typeof error.stack === "string") result.stack = clean(error.stack);
  const { code } = error as { code?: unknown };
  if (typeof code === "string") Object.assign(result, { code });
  if (error.cause !== undefined && depth < 4) result.cause = copy(error.cause, clean, depth + 1);
  return result;
}

/** Some clients of databases throw plain objects, such as those of PostgREST. */
function isError(error: unknown): error is Error {
  return typeof (error as Partial<Error> | null | undefined)?.message === "string";
}

function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > 3) return [];
  return Object.values(value).flatMap((each) => textsIn(each, depth + 1));
}

/** The part of a span of `@opentelemetry/api` that is used. Those of the SDK can be read. */
interface Span {
  setAttribute(name: string, value: string): unknown;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

type SpanHolder = { readonly span?: Span | null };

const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");
const RPC_METADATA = Symbol.for("OpenTelemetry SDK Context Key RPC_METADATA");

/** Attributes with an address, by the semantic conventions, those before 1.20 included. */
const SPAN_ADDRESSES = ["url.full", "url.path", "http.target", "http.url"];

/**
 * Keeps codes, tokens and addresses out of the spans that `@fastify/otel` and `node:http` make of requests, which are
 * found without the packages of OpenTelemetry: its API keeps its state under global symbols.
 *
 * As a hook of each route it runs after all hooks of instances: `@fastify/otel` may be registered after the plugin. The
 * routes redact once more before a reply is sent, since a hook of the application may reply before.
 */
export function redactSpans(scope: FastifyInstance): void {
  const redact = (request: FastifyRequest, _reply: unknown, done: () => void) => {
    redactRequestSpans(request);
    done();
  };
  scope.addHook("onRequest", redact);
  scope.addHook("onRoute", (route) => {
    route.onRequest = [redact, ...[route.onRequest ?? []].flat()];
  });
}

export function redactRequestSpans(request: FastifyRequest): void {
  if (!(API in globalThis || "opentelemetry" in request)) return;
  const { opentelemetry } = request as { opentelemetry?: () => SpanHolder };
  const api = (globalThis as { [API]?: { context?: { active(): { getValue(key: symbol): unknown } } } })[API];
  const active = api?.context?.active();
  const found = [
    typeof opentelemetry === "function" ? opentelemetry.call(request)?.span : undefined,
    active?.getValue(SPAN) as Span | undefined,
    (active?.getValue(RPC_METADATA) as SpanHolder | undefined)?.span,
  ];
  for (const span of new Set(found)) {
    if (typeof span?.setAttribute === "function") redactSpan(span, request);
  }
}

function redactSpan(span: Span, { protocol, host, url }: FastifyRequest): void {
  const { attributes = { "url.full": `${protocol}://${host}${url}`, "url.query": url.split("?")[1] } } = span;
  for (const name of SPAN_ADDRESSES) {
    const value = attributes[name];
    if (typeof value === "string") span.setAttribute(name, redactUrl(value));
  }
  const query = attributes["url.query"];
  if (typeof query === "string" && query !== "") {
    span.setAttribute("url.query", redactUrl(`?${query.replace(/^\?/, "")}`).slice(1));
  }
}
