/**
 * Spans and metrics of OpenTelemetry: an instrumentation, which goes where an application lists its others.
 *
 * It makes spans of requests to the auth routes, of requests to providers and of calls of the adapter, and
 * metrics of these, of reads of sessions and of the events of the audit trail. None has a token, a code, an
 * e-mail address or the id of a user. Requests to providers get no `traceparent` header.
 *
 * Installed with `npm install fastify-authjs fastify @opentelemetry/api` (`pnpm add`, `yarn add`, `bun add`),
 * or with `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify npm:@opentelemetry/api`. Without an
 * import of this module nothing of OpenTelemetry is loaded.
 *
 * @example
 * ```ts
 * import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
 *
 * // Beside the others: new NodeSDK({ instrumentations: [new FastifyOtelInstrumentation(), instrumentation] }).start();
 * const instrumentation = new FastifyAuthInstrumentation();
 * console.assert(instrumentation.getConfig().enabled);
 * instrumentation.disable();
 * ```
 *
 * @module
 */
import {
  type Attributes,
  context,
  type Counter,
  createContextKey,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type TracerProvider,
} from "@opentelemetry/api";
import { channel } from "node:diagnostics_channel";
import type {
  AdapterCallOperation,
  AuthActionOperation,
  AuthEvent,
  Operation,
  ProviderRequestOperation,
  SessionReadEvent,
} from "../../types.ts";

/** Settings of a {@linkcode FastifyAuthInstrumentation}. */
export interface FastifyAuthInstrumentationConfig {
  /**
   * Whether it is on from the start.
   *
   * @default true
   */
  enabled?: boolean;
  /**
   * Whether requests to providers get spans. Other instrumentations (of `fetch`, of `undici`) then make none
   * of the same requests, and add no `traceparent` header to them. With `false` the requests are left to
   * those; their spans have whole addresses, and some providers get an access token in one.
   *
   * @default true
   */
  providerSpans?: boolean;
}

/** The instrumentation scope. */
const NAME = "fastify-authjs", VERSION = "0.1.0";

/** A key of `@opentelemetry/core`: with it, other instrumentations make no spans, and add no header to requests. */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

const EVENTS = ["sign-in", "sign-in-failure", "sign-out", "link", "unlink", "revoke", "access-refused"];

/**
 * Makes spans and metrics of what the plugin does, in all applications of the process. It is an
 * `Instrumentation` of `@opentelemetry/instrumentation`, so `NodeSDK` and `registerInstrumentations()` take
 * it; without either, it uses the global providers of `@opentelemetry/api`, also those that are registered
 * later.
 *
 * @example
 * ```ts
 * import { FastifyAuthInstrumentation } from "fastify-authjs/opentelemetry";
 *
 * const instrumentation = new FastifyAuthInstrumentation({ providerSpans: false });
 * console.assert(instrumentation.instrumentationName === "fastify-authjs");
 * instrumentation.disable();
 * ```
 */
export class FastifyAuthInstrumentation {
  /** The name of the instrumentation scope. */
  readonly instrumentationName: string = NAME;
  /** The version of the package. */
  readonly instrumentationVersion: string = VERSION;
  #config: FastifyAuthInstrumentationConfig = {};
  #tracers: TracerProvider | undefined;
  #meters: MeterProvider | undefined;
  #instruments: { readonly of: MeterProvider; readonly made: Instruments } | undefined;
  readonly #subscriptions: (() => void)[] = [];

  /**
   * Makes the instrumentation, and enables it.
   *
   * @param config What it leaves out.
   */
  constructor(config: FastifyAuthInstrumentationConfig = {}) {
    this.setConfig(config);
    if (this.#config.enabled) this.enable();
  }

  /** Subscribes. Nothing happens if it is enabled already. */
  enable(): void {
    if (this.#subscriptions.length > 0) return;
    this.#observe("fastify-authjs.action", actionSpan, (...ended) => this.#metrics.action(...ended));
    this.#observe(
      "fastify-authjs.provider-request",
      providerSpan,
      (...ended) => this.#metrics.request(...ended),
    );
    this.#observe("fastify-authjs.adapter-call", adapterSpan, (...ended) => this.#metrics.call(...ended));
    this.#subscribe("fastify-authjs:session-read", (read: SessionReadEvent) => this.#metrics.read(read));
    for (const name of EVENTS) {
      this.#subscribe(`fastify-authjs:${name}`, (event: AuthEvent) => this.#metrics.event(name, event));
    }
  }

  /** Unsubscribes. What is under way is not ended. */
  disable(): void {
    for (const unsubscribe of this.#subscriptions.splice(0)) unsubscribe();
  }

  /** Sets what makes the spans, in place of the global one. */
  setTracerProvider(provider: TracerProvider): void {
    this.#tracers = provider;
  }

  /** Sets what makes the metrics, in place of the global one. */
  setMeterProvider(provider: MeterProvider): void {
    // The global one may be replaced later: `registerInstrumentations()` sets what there is before an SDK.
    this.#meters = provider === metrics.getMeterProvider() ? undefined : provider;
  }

  /** Sets what it leaves out. `enabled` is only read when it is made. */
  setConfig(config: FastifyAuthInstrumentationConfig): void {
    this.#config = { enabled: true, providerSpans: true, ...config };
  }

  /** What it leaves out. */
  getConfig(): FastifyAuthInstrumentationConfig {
    return this.#config;
  }

  /** The metrics of the provider that is set now: an SDK may be registered after this was made. */
  get #metrics(): Instruments {
    const of = this.#meters ?? metrics.getMeterProvider();
    if (this.#instruments?.of !== of) {
      this.#instruments = { of, made: new Instruments(of.getMeter(NAME, VERSION)) };
    }
    return this.#instruments.made;
  }

  #observe<Message extends Operation>(
    name: string,
    span: SpanDescription<Message>,
    record: (message: Message, seconds: number) => void,
  ): void {
    const running = new WeakMap<Message, { readonly span: Span | undefined; readonly at: number }>();
    this.#subscribe(`tracing:${name}:start`, (message: Message) => {
      const isLeftOut = span.kind === SpanKind.CLIENT && this.#config.providerSpans === false;
      const begun = isLeftOut ? undefined : this.#begin(message, span);
      running.set(message, { span: begun, at: performance.now() });
    });
    this.#subscribe(`tracing:${name}:asyncEnd`, (message: Message) => {
      const begun = running.get(message);
      // It began before this was enabled.
      if (begun === undefined) return;
      record(message, (performance.now() - begun.at) / 1000);
      begun.span?.setAttributes({ ...span.result?.(message), ...errorOf(message.errorType) });
      // Without a description: the log has the message, under the id of the request.
      if (message.errorType !== undefined && span.isError(message)) {
        begun.span?.setStatus({ code: SpanStatusCode.ERROR });
      }
      begun.span?.end();
    });
  }

  /** Begins a span, and has the operation run with it as the active one. */
  #begin<Message extends Operation>(
    message: Message,
    { kind, name, attributes }: SpanDescription<Message>,
  ): Span {
    const active = context.active();
    const tracer = (this.#tracers ?? trace.getTracerProvider()).getTracer(NAME, VERSION);
    const span = tracer.startSpan(name(message), { kind, attributes: attributes(message) }, active);
    const within = trace.setSpan(active, span);
    const inner = kind === SpanKind.CLIENT ? within.setValue(SUPPRESS_TRACING, true) : within;
    const { run: outer = (work) => work() } = message;
    message.run = (work) => outer(() => context.with(inner, work));
    return span;
  }

  #subscribe<Message>(name: string, listen: (message: Message) => void): void {
    const to = channel(name), listener = (message: unknown) => listen(message as Message);
    to.subscribe(listener);
    this.#subscriptions.push(() => to.unsubscribe(listener));
  }
}

/** The spans of one kind of operation. No attribute of a metric has more than some hundred values. */
interface SpanDescription<Message extends Operation> {
  readonly kind: SpanKind;
  readonly name: (message: Message) => string;
  /** What is known when it starts, which samplers see. */
  readonly attributes: (message: Message) => Attributes;
  /** What is known when it ends, besides `error.type`. */
  readonly result?: (message: Message) => Attributes;
  /** Whether the operation that failed is an error of the server, and not of its user. */
  readonly isError: (message: Message) => boolean;
}

const actionSpan: SpanDescription<AuthActionOperation> = {
  kind: SpanKind.INTERNAL,
  name: ({ action }) => `authjs.${action}`,
  attributes: ({ action, provider, providerType }) => ({
    "authjs.action": action,
    ...providerOf(provider),
    ...(providerType !== undefined && { "authjs.provider.type": providerType }),
  }),
  isError: ({ status = 500 }) => status >= 500,
};

/** An HTTP client span. Its address is without the values of parameters. */
const providerSpan: SpanDescription<ProviderRequestOperation> = {
  kind: SpanKind.CLIENT,
  name: ({ method, endpoint }) => endpoint === "other" ? method : `${method} ${endpoint}`,
  attributes: ({ provider, endpoint, method, url }) => ({
    "authjs.provider.id": provider,
    "authjs.provider.endpoint": endpoint,
    "http.request.method": method,
    "url.full": url,
    ...serverOf(url),
  }),
  result: statusOf,
  isError: () => true,
};

const adapterSpan: SpanDescription<AdapterCallOperation> = {
  kind: SpanKind.INTERNAL,
  name: ({ method }) => `authjs.adapter.${method}`,
  attributes: ({ method }) => ({ "authjs.adapter.method": method }),
  isError: () => true,
};

function serverOf(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** The limits of buckets, in seconds, by the semantic conventions for HTTP requests and calls of databases. */
const REQUESTS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const CALLS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** A read takes some microseconds, unless it asks a database or refreshes tokens. */
const READS = [0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001, 0.001, 0.01, 0.1, 1, 10];

class Instruments {
  readonly #actions: Histogram;
  readonly #requests: Histogram;
  readonly #calls: Histogram;
  readonly #reads: Histogram;
  readonly #events: Counter;

  constructor(meter: Meter) {
    const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries } });
    this.#actions = histogram("authjs.action.duration", "Duration of requests to the auth routes.", REQUESTS);
    const requests = "Duration of requests to providers.";
    this.#requests = histogram("authjs.provider.request.duration", requests, REQUESTS);
    this.#calls = histogram("authjs.adapter.call.duration", "Duration of calls of the adapter.", CALLS);
    this.#reads = histogram("authjs.session.read.duration", "Duration of reads of sessions.", READS);
    const description = "Events of the audit trail.";
    this.#events = meter.createCounter("authjs.events", { unit: "{event}", description });
  }

  action({ action, provider, errorType }: AuthActionOperation, seconds: number): void {
    this.#actions.record(seconds, {
      "authjs.action": action,
      ...providerOf(provider),
      ...errorOf(errorType),
    });
  }

  request(message: ProviderRequestOperation, seconds: number): void {
    this.#requests.record(seconds, {
      ...providerOf(message.provider),
      "authjs.provider.endpoint": message.endpoint,
      ...statusOf(message),
      ...errorOf(message.errorType),
    });
  }

  call({ method, errorType }: AdapterCallOperation, seconds: number): void {
    this.#calls.record(seconds, { "authjs.adapter.method": method, ...errorOf(errorType) });
  }

  read({ strategy, result, duration }: SessionReadEvent): void {
    this.#reads.record(duration, { "authjs.session.strategy": strategy, "authjs.session.result": result });
  }

  /** @param name The channel, without its prefix. */
  event(name: string, event: AuthEvent & { readonly reason?: string }): void {
    this.#events.add(1, { "authjs.event": name, ...providerOf(event.provider), ...reasonOf(name, event) });
  }
}

function statusOf({ status }: ProviderRequestOperation): Attributes {
  return status === undefined ? {} : { "http.response.status_code": status };
}

function providerOf(provider: string | undefined): Attributes {
  return provider === undefined ? {} : { "authjs.provider.id": provider };
}

function errorOf(errorType: string | undefined): Attributes {
  return errorType === undefined ? {} : { "error.type": errorType };
}

/** Why it failed; the reason of a session that was ended is none of an error. */
function reasonOf(name: string, { reason }: { readonly reason?: string }): Attributes {
  if (name !== "revoke") return errorOf(reason);
  return reason === undefined ? {} : { "authjs.revoke.reason": reason };
}
