/**
 * Headers that no other hook can override: they are set when the head of a reply is written, by `onHeaders()`
 * of on-headers. By then Node's response has all headers, also those that Fastify or a handler passes to
 * `writeHead()`.
 */
import type { ServerResponse } from "node:http";
import onHeadersUntyped from "on-headers";

/** The head of a reply, as far as it is changed. */
export type Head = Pick<ServerResponse, "getHeader" | "getHeaderNames" | "removeHeader" | "setHeader">;

/** Calls `change` when the head is written. Of several, the one that was given last is called first. */
export const onHeaders = onHeadersUntyped as (response: Head, change: () => void) => void;

/** The values of a header. */
export function valuesOf(head: Head, name: string): string[] {
  return [head.getHeader(name) ?? []].flat().map(String);
}
