/**
 * Spans and metrics of OpenTelemetry: an instrumentation, which goes where an application lists its others.
 *
 * It makes spans of requests to the auth routes, of requests to providers and of calls of the adapter, and metrics of
 * these, of reads of sessions and of the events of the audit trail. None has a token, a code, an e-mail address or the
 * id of a user. Requests to providers get no `traceparent` header.
 *
 * Installed with `npm install fastify-authjs fastify @opentelemetry/api` (`pnpm add`, `yarn add`, `bun add`), or with
 * `deno add fastify-authjs@jsr:@fastify-authjs/plugin npm:fastify npm:@opentelemetry/api`. Without an import of this
 * module nothing of OpenTelemetry is loaded.
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
 * @module
 */
import type { Attributes, MeterProvider, Span, TracerProvider } from "@opentelemetry/api";
import { context, createContextKey, metrics, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { channel } from "node:diagnostics_channel";
import { EVENTS } from "../../telemetry/events.ts";
import type { AdapterCallOperation, AuthActionOperation, AuthEvent, Operation } from "../../types.ts";
import type { ProviderRequestOperation, SessionReadEvent } from "../../types.ts";

/** Settings of a {@linkcode FastifyAuthInstrumentation}. */
export interface FastifyAuthInstrumentationConfig {
  /**
   * Whether it is on from the start.
   * @default true
   */
  enabled?: boolean;
  /**
   * Whether requests to providers get spans. Other instrumentations (of `fetch`, of `undici`) then make none of the
   * same requests, and add no `traceparent` header to them. With `false` the requests are left to those; their spans
   * have whole addresses, and some providers get an access token in one.
   * @default true
   */
  providerSpans?: boolean;
}

/** The instrumentation scope. */
const NAME = "fastify-authjs", VERSION = "0.1.0";

/** A key of `@opentelemetry/core`: with it, other instrumentations make no spans, and add no header to requests. */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** One kind of operation, as a span and in a histogram. */
interface Observed<Message extends Operation> {
  readonly channel: string;
  readonly metric: keyof typeof HISTOGRAMS;
  readonly kind: SpanKind;
  name(message: Message): string;
  /** For spans and metrics: none has more than some hundred values. What is known at the start, samplers see. */
  attributes(message: Message): Attributes;
  /** For spans alone. */
  details?(message: Message): Attributes;
  /** Whether an operation that failed is an error of the server, and not of its user. */
  isError(message: Message): boolean;
}

const ACTION: Observed<AuthActionOperation> = {
  channel: "fastify-authjs.action",
  metric: "authjs.action.duration",
  kind: SpanKind.INTERNAL,
  name: ({ action }) => `authjs.${action}`,
  attributes: ({ action, provider }) => ({ "authjs.action": action, "authjs.provider.id": provider }),
  details: ({ providerType }) => ({ "authjs.provider.type": providerType }),
  isError: ({ status = 500 }) => status >= 500,
};

/** An HTTP client span. Its address is without the values of parameters. */
const PROVIDER_REQUEST: Observed<ProviderRequestOperation> = {
  channel: "fastify-authjs.provider-request",
  metric: "authjs.provider.request.duration",
  kind: SpanKind.CLIENT,
  name: ({ method, endpoint }) => endpoint === "other" ? method : `${method} ${endpoint}`,
  attributes: ({ provider, endpoint, status }) => ({
    "authjs.provider.id": provider,
    "authjs.provider.endpoint": endpoint,
    "http.response.status_code": status,
  }),
  details({ method, url }) {
    const { hostname, port, protocol } = new URL(url);
    return {
      "http.request.method": method,
      "url.full": url,
      "server.address": hostname,
      "server.port": Number(port) || (protocol === "https:" ? 443 : 80),
    };
  },
  isError: () => true,
};

const ADAPTER_CALL: Observed<AdapterCallOperation> = {
  channel: "fastify-authjs.adapter-call",
  metric: "authjs.adapter.call.duration",
  kind: SpanKind.INTERNAL,
  name: ({ method }) => `authjs.adapter.${method}`,
  attributes: ({ method }) => ({ "authjs.adapter.method": method }),
  isError: () => true,
};

/** The limits of buckets, in seconds, by the semantic conventions for HTTP requests. */
const REQUESTS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** What each measures, and its limits. */
const HISTOGRAMS = {
  "authjs.action.duration": ["Duration of requests to the auth routes.", REQUESTS],
  "authjs.provider.request.duration": ["Duration of requests to providers.", REQUESTS],
  // As the semantic conventions have it for calls of databases.
  "authjs.adapter.call.duration": ["Duration of calls of the adapter.", [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]],
  // A read takes some microseconds, unless it asks a database or refreshes tokens.
  "authjs.session.read.duration": [
    "Duration of reads of sessions.",
    [0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001, 0.001, 0.01, 0.1, 1, 10],
  ],
} satisfies Record<string, [description: string, explicitBucketBoundaries: number[]]>;

function instrumentsOf(provider: MeterProvider) {
  const meter = provider.getMeter(NAME, VERSION);
  const histograms = Object.entries(HISTOGRAMS).map(([name, [description, explicitBucketBoundaries]]) =>
    [name, meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries } })] as const
  );
  const events = meter.createCounter("authjs.events", { unit: "{event}", description: "Events of the audit trail." });
  return { provider, histograms: new Map(histograms), events };
}

/**
 * Makes spans and metrics of what the plugin does, in all applications of the process. It is an `Instrumentation` of
 * `@opentelemetry/instrumentation`, so `NodeSDK` and `registerInstrumentations()` take it; without either, it uses the
 * global providers of `@opentelemetry/api`, also those that are registered later.
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
  #made: ReturnType<typeof instrumentsOf> | undefined;
  readonly #subscriptions: (() => void)[] = [];

  /** Makes the instrumentation, and enables it. */
  constructor(config: FastifyAuthInstrumentationConfig = {}) {
    this.setConfig(config);
    if (this.#config.enabled) this.enable();
  }

  /** Subscribes. Nothing happens if it is enabled already. */
  enable(): void {
    if (this.#subscriptions.length > 0) return;
    for (const observed of [ACTION, PROVIDER_REQUEST, ADAPTER_CALL]) this.#observe(observed);
    this.#subscribe("fastify-authjs:session-read", ({ strategy, result, duration }: SessionReadEvent) => {
      const attributes = { "authjs.session.strategy": strategy, "authjs.session.result": result };
      this.#instruments.histograms.get("authjs.session.read.duration")!.record(duration, attributes);
    });
    for (const name of EVENTS) {
      // The reason of a session that was ended is none of an error.
      const reasonName = name === "revoke" ? "authjs.revoke.reason" : "error.type";
      this.#subscribe(`fastify-authjs:${name}`, ({ provider, reason }: AuthEvent & { readonly reason?: string }) => {
        const attributes = { "authjs.event": name, "authjs.provider.id": provider, [reasonName]: reason };
        this.#instruments.events.add(1, known(attributes));
      });
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

  /** Those of the provider that is set now: an SDK may be registered after this was made. */
  get #instruments(): ReturnType<typeof instrumentsOf> {
    const provider = this.#meters ?? metrics.getMeterProvider();
    if (this.#made?.provider !== provider) this.#made = instrumentsOf(provider);
    return this.#made;
  }

  #observe(observed: Observed<Operation>): void {
    const running = new WeakMap<Operation, { readonly span: Span | undefined; readonly at: number }>();
    this.#subscribe(`tracing:${observed.channel}:start`, (message: Operation) => {
      const isLeftOut = observed.kind === SpanKind.CLIENT && this.#config.providerSpans === false;
      const span = isLeftOut ? undefined : this.#begin(message, observed);
      running.set(message, { span, at: performance.now() });
    });
    this.#subscribe(`tracing:${observed.channel}:asyncEnd`, (message: Operation) => {
      const begun = running.get(message);
      // It began before this was enabled.
      if (begun === undefined) return;
      const { errorType } = message;
      const attributes = known({ ...observed.attributes(message), "error.type": errorType });
      this.#instruments.histograms.get(observed.metric)!.record((performance.now() - begun.at) / 1000, attributes);
      begun.span?.setAttributes(attributes);
      // Without a description: the log has the message, under the id of the request.
      if (errorType !== undefined && observed.isError(message)) begun.span?.setStatus({ code: SpanStatusCode.ERROR });
      begun.span?.end();
    });
  }

  /** Begins a span, and has the operation run with it as the active one. */
  #begin(message: Operation, observed: Observed<Operation>): Span {
    const active = context.active();
    const tracer = (this.#tracers ?? trace.getTracerProvider()).getTracer(NAME, VERSION);
    const { kind } = observed;
    const attributes = known({ ...observed.attributes(message), ...observed.details?.(message) });
    const span = tracer.startSpan(observed.name(message), { kind, attributes }, active);
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

/** The attributes that have a value: for metrics one without is another set. */
function known(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
