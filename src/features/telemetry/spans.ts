/** What the spans of the operations are called, and what they have. */
import { type Attributes, SpanKind } from "@opentelemetry/api";
import type {
  AdapterCallOperation,
  AuthActionOperation,
  Operation,
  ProviderRequestOperation,
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
    ...(provider !== undefined && { "authjs.provider.id": provider }),
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
  result: ({ status }): Attributes => status === undefined ? {} : { "http.response.status_code": status },
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
