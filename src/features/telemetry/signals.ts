/**
 * The spans and the metrics: what they are called, and what they have. No attribute of a metric has more than some
 * hundred values.
 */
import { type Attributes, type Counter, type Histogram, type Meter, SpanKind } from "@opentelemetry/api";
import type {
  AdapterCallOperation,
  AuthActionOperation,
  AuthEvent,
  Operation,
  ProviderRequestOperation,
  SessionReadEvent,
} from "../../types.ts";

/** The spans of one kind of operation. */
export interface SpanDescription<Message extends Operation> {
  readonly kind: SpanKind;
  readonly name: (message: Message) => string;
  /** What is known when it starts, which samplers see. */
  readonly attributes: (message: Message) => Attributes;
  /** What is known when it ends, besides `error.type`. */
  readonly result?: (message: Message) => Attributes;
  /** Whether the operation that failed is an error of the server, and not of its user. */
  readonly isError: (message: Message) => boolean;
}

export const actionSpan: SpanDescription<AuthActionOperation> = {
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
export const providerSpan: SpanDescription<ProviderRequestOperation> = {
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

export const adapterSpan: SpanDescription<AdapterCallOperation> = {
  kind: SpanKind.INTERNAL,
  name: ({ method }) => `authjs.adapter.${method}`,
  attributes: ({ method }) => ({ "authjs.adapter.method": method }),
  isError: () => true,
};

function serverOf(url: string): Attributes {
  const { hostname, port, protocol } = new URL(url);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** The limits of buckets, in seconds, by the semantic conventions for the duration of HTTP requests. */
const REQUESTS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** By those for calls of databases. */
const CALLS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** A read takes some microseconds, unless it asks a database or refreshes tokens. */
const READS = [0.000002, 0.000005, 0.00001, 0.00002, 0.00005, 0.0001, 0.001, 0.01, 0.1, 1, 10];

export class Instruments {
  readonly #actions: Histogram;
  readonly #requests: Histogram;
  readonly #calls: Histogram;
  readonly #reads: Histogram;
  readonly #events: Counter;

  constructor(meter: Meter) {
    const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit: "s", description, advice: { explicitBucketBoundaries } });
    this.#actions = histogram("authjs.action.duration", "Duration of requests to the auth routes.", REQUESTS);
    this.#requests = histogram(
      "authjs.provider.request.duration",
      "Duration of requests to providers.",
      REQUESTS,
    );
    this.#calls = histogram("authjs.adapter.call.duration", "Duration of calls of the adapter.", CALLS);
    this.#reads = histogram("authjs.session.read.duration", "Duration of reads of sessions.", READS);
    this.#events = meter.createCounter("authjs.events", {
      unit: "{event}",
      description: "Events of the audit trail.",
    });
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
