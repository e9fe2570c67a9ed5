/**
 * Headers that hold whatever other hooks do.
 *
 * @module
 */
import type { FastifyReply } from "fastify";

/** Sets a header of the reply that is being written. */
export type SetHeader = (name: string, value: string) => void;

/**
 * Calls `change` when the headers of the reply are written: after every `onSend` hook, in whatever scope and order it was
 * added, and after the headers of a `Response` that a handler returned.
 *
 * @param reply The reply; only this one is watched.
 * @param change Sets headers; it may also use `reply.removeHeader()`.
 */
export function beforeHeaders(reply: FastifyReply, change: (set: SetHeader) => void): void {
  const raw = reply.raw as { writeHead: (...args: unknown[]) => unknown };
  const writeHead = raw.writeHead;
  raw.writeHead = function (...args) {
    // Fastify passes the reply's headers, or has set them one by one where a stream is sent.
    const passed = typeof args.at(-1) === "object";
    change((name, value) => void (passed ? reply.header(name, value) : reply.raw.setHeader(name, value)));
    return writeHead.apply(this, args);
  };
}
