/** Headers that no other hook can override. */
import type { FastifyReply } from "fastify";

/** The headers of a reply that are about to be written. */
export interface LateHeaders {
  set(name: string, value: string): void;
  remove(name: string): void;
}

/**
 * Calls `change` when the headers of the reply are written: after every `onSend` hook of any scope, and after
 * the headers of a `Response` that a handler returned.
 */
export function beforeHeaders(reply: FastifyReply, change: (headers: LateHeaders) => void): void {
  const raw = reply.raw as { writeHead: (...args: unknown[]) => unknown };
  const writeHead = raw.writeHead;
  raw.writeHead = function (...args) {
    // Fastify passes the headers as an argument, or has set them one by one where it sends a stream. What a
    // handler passes that took over the reply (`reply.hijack()`) is added to those that are set here.
    const passed = typeof args.at(-1) === "object" && !reply.sent;
    change({
      set: (name, value) => void (passed ? reply.header(name, value) : reply.raw.setHeader(name, value)),
      remove(name) {
        reply.removeHeader(name);
        // Older versions of Fastify do not remove headers of Node's response.
        reply.raw.removeHeader(name);
      },
    });
    return writeHead.apply(this, args);
  };
}
