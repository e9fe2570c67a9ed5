/**
 * Keeps codes, tokens and addresses out of the spans of OpenTelemetry. `@fastify/otel` and the
 * instrumentation of `node:http` write the address of a request into their spans before it gets to the auth
 * routes.
 *
 * Spans are found without the packages of OpenTelemetry: its API keeps its state under global symbols, so
 * that several copies of it share one.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { redactUrl } from "./redact.ts";

/** The part of a span that is used (`Span` of `@opentelemetry/api`). */
interface Span {
  setAttribute(name: string, value: string): unknown;
  /** Spans of the SDK can be read. */
  readonly attributes?: Readonly<Record<string, unknown>>;
}

interface Holder {
  readonly span?: Span | null;
}

const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");
const RPC_METADATA = Symbol.for("OpenTelemetry SDK Context Key RPC_METADATA");

/** Attributes with an address, by the semantic conventions, those before 1.20 included. */
const ADDRESSES = ["url.full", "url.path", "http.target", "http.url"];

/**
 * Redacts the spans of all requests in this scope. As a hook of each route it runs after all hooks of
 * instances: `@fastify/otel` may be registered after the plugin. Hooks of the application may reply before any hook of
 * the scope runs, so the routes redact once more before a reply is sent.
 */
export function redactSpans(scope: FastifyInstance): void {
  scope.addHook("onRequest", redact);
  scope.addHook("onRoute", (route) => {
    route.onRequest = [redact, ...[route.onRequest ?? []].flat()];
  });
}

function redact(request: FastifyRequest, _reply: unknown, done: () => void): void {
  redactRequestSpans(request);
  done();
}

export function redactRequestSpans(request: FastifyRequest): void {
  if (!(API in globalThis || "opentelemetry" in request)) return;
  for (const span of spansOf(request)) redactSpan(span, request);
}

function spansOf(request: FastifyRequest): Set<Span> {
  const { opentelemetry } = request as { opentelemetry?: () => Holder };
  const api = (globalThis as { [API]?: { context?: { active(): { getValue(key: symbol): unknown } } } })[API];
  const active = api?.context?.active();
  const found = [
    typeof opentelemetry === "function" ? opentelemetry.call(request)?.span : undefined,
    active?.getValue(SPAN) as Span | undefined,
    (active?.getValue(RPC_METADATA) as Holder | undefined)?.span,
  ];
  return new Set(found.filter((span) => typeof span?.setAttribute === "function") as Span[]);
}

function redactSpan(span: Span, { protocol, host, url }: FastifyRequest): void {
  const { attributes = { "url.full": `${protocol}://${host}${url}`, "url.query": url.split("?")[1] } } = span;
  for (const name of ADDRESSES) {
    const value = attributes[name];
    if (typeof value === "string") span.setAttribute(name, redactUrl(value));
  }
  const query = attributes["url.query"];
  if (typeof query === "string" && query !== "") {
    span.setAttribute("url.query", redactUrl(`?${query.replace(/^\?/, "")}`).slice(1));
  }
}
