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
  context,
  createContextKey,
  type MeterProvider,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type TracerProvider,
} from "@opentelemetry/api";
import { type Channel, channel } from "node:diagnostics_channel";
import type { AuthEvent, Operation, SessionReadEvent } from "../../types.ts";
import { actionSpan, adapterSpan, Instruments, providerSpan, type SpanDescription } from "./signals.ts";

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

/** The name by which its spans and metrics are told from those of others (the instrumentation scope). */
const NAME = "fastify-authjs";

const VERSION = "0.1.0";

/**
 * With this key of `@opentelemetry/core` in the context, other instrumentations make no spans, and add no
 * header to requests.
 */
const SUPPRESS_TRACING = createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING");

/** The channels of the audit trail begin with this. */
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
    this.#subscribe(
      channel("fastify-authjs:session-read"),
      (read) => this.#metrics.read(read as SessionReadEvent),
    );
    for (const name of EVENTS) {
      this.#subscribe(
        channel(`fastify-authjs:${name}`),
        (event) => this.#metrics.event(name, event as AuthEvent),
      );
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
    this.#subscribe(channel(`tracing:${name}:start`), (started) => {
      const message = started as Message;
      const isLeftOut = span.kind === SpanKind.CLIENT && this.#config.providerSpans === false;
      running.set(message, {
        span: isLeftOut ? undefined : this.#begin(message, span),
        at: performance.now(),
      });
    });
    this.#subscribe(channel(`tracing:${name}:asyncEnd`), (ended) => {
      const message = ended as Message;
      const begun = running.get(message);
      // It began before this was enabled.
      if (begun === undefined) return;
      record(message, (performance.now() - begun.at) / 1000);
      begun.span?.setAttributes(span.result?.(message) ?? {});
      const { errorType } = message;
      if (errorType !== undefined) {
        begun.span?.setAttribute("error.type", errorType);
        // Without a description: the log has the message, under the id of the request.
        if (span.isError(message)) begun.span?.setStatus({ code: SpanStatusCode.ERROR });
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

  #subscribe(to: Channel, listener: (message: unknown) => void): void {
    to.subscribe(listener);
    this.#subscriptions.push(() => to.unsubscribe(listener));
  }
}
