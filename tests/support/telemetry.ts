/**
 * An SDK of OpenTelemetry in memory, for tests: what an application would export.
 *
 * @module
 */
import { type Context, context, type ContextManager, ROOT_CONTEXT } from "@opentelemetry/api";
import { MeterProvider, MetricReader, type ResourceMetrics } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { AsyncLocalStorage } from "node:async_hooks";

/** Keeps the context, as `@opentelemetry/context-async-hooks` does. */
class AsyncContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();
  active = () => this.#storage.getStore() ?? ROOT_CONTEXT;
  with =
    ((active: Context, run: (...given: unknown[]) => unknown, self: unknown, ...given: unknown[]) =>
      this.#storage.run(active, () => run.apply(self, given))) as ContextManager["with"];
  bind = <T>(_active: Context, target: T) => target;
  enable = () => this;
  disable = () => this;
}

/** Keeps the context of OpenTelemetry in the work of a test. */
export async function withContext(run: () => Promise<void>): Promise<void> {
  if (!context.setGlobalContextManager(new AsyncContext())) throw new Error("There is a context manager.");
  try {
    await run();
  } finally {
    context.disable();
  }
}

/** Reads the metrics when a test asks. */
class Reader extends MetricReader {
  protected override onForceFlush = () => Promise.resolve();
  protected override onShutdown = () => Promise.resolve();
}

/** A value of a metric, with what tells it from the others. */
export interface MetricPoint {
  readonly name: string;
  readonly unit: string;
  readonly attributes: Record<string, unknown>;
  /** How many values were recorded, or the sum of a counter. */
  readonly count: number;
}

/** Everything that was recorded. */
export class Recorder {
  readonly #exporter = new InMemorySpanExporter();
  readonly #reader = new Reader();
  /** For an instrumentation. */
  readonly tracerProvider: BasicTracerProvider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(this.#exporter)],
  });
  /** For an instrumentation. */
  readonly meterProvider: MeterProvider = new MeterProvider({ readers: [this.#reader] });

  /** The spans that have ended, in the order they did. */
  get spans(): ReadableSpan[] {
    return this.#exporter.getFinishedSpans();
  }

  /** Forgets the spans. */
  reset(): void {
    this.#exporter.reset();
  }

  /** All metrics, as they are exported. */
  async metrics(): Promise<ResourceMetrics> {
    const { resourceMetrics, errors } = await this.#reader.collect();
    if (errors.length > 0) throw errors[0];
    return resourceMetrics;
  }

  /** The values of all metrics. */
  async points(): Promise<MetricPoint[]> {
    const { scopeMetrics } = await this.metrics();
    return scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ descriptor: { name, unit }, dataPoints }) =>
        dataPoints.map(({ attributes, value }) => ({
          name,
          unit,
          attributes,
          count: typeof value === "number" ? value : value.count,
        }))
      )
    );
  }

  /** What is exported, as text. */
  async text(): Promise<string> {
    const spans = this.spans.map(({ name, attributes, events, links, status }) => ({
      name,
      attributes,
      events,
      links,
      status,
    }));
    return JSON.stringify({ spans, metrics: await this.metrics() });
  }
}
