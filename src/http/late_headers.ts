/**
 * Headers that no other hook can override: they are set when the head of a reply is written, by `onHeaders()` of
 * on-headers. By then Node's response has all headers, also those that Fastify or a handler passes to `writeHead()`.
 */
import onHeadersUntyped from "on-headers";

/** The head of a reply, as far as it is changed: Node's response, or what stands for it. */
export interface Head {
  getHeader(name: string): unknown;
  getHeaderNames(): string[];
  removeHeader(name: string): void;
  setHeader(name: string, value: string | string[]): unknown;
}

/** Calls `change` when the head is written. Of several, the one that was given last is called first. */
export const onHeaders = onHeadersUntyped as (response: Head, change: () => void) => void;

/** The values of a header. */
export function valuesOf(head: Pick<Head, "getHeader">, name: string): string[] {
  return [head.getHeader(name) ?? []].flat().map(String);
}

/**
 * A reply with a payload that takes the place of its own if the hooks of the application have set certain
 * headers: it is made after them.
 */
export interface LateReply {
  /** Makes the payload; `undefined` if the reply stays as it is. */
  [LATE_PAYLOAD]?: () => Promise<string> | undefined;
}

export const LATE_PAYLOAD: unique symbol = Symbol("fastify-authjs.late-payload");
