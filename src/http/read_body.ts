/**
 * Bodies that were read before the request got to Fastify: Google Cloud Functions, Firebase and parsers of
 * Express read the stream to its end, and keep what was in it on Node's request.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import { FastifyAuthError } from "../errors.ts";

/** Node's request, with what platforms and parsers add to it. */
interface ReadRequest {
  readonly readableEnded?: boolean;
  /** The body as it was sent. */
  readonly rawBody?: unknown;
  /** The body, parsed or not. */
  readonly body?: unknown;
}

/**
 * Has the parsers of this scope read a body again that something else has read. Without it they would wait
 * for a stream that has ended.
 */
export function acceptReadBodies(scope: FastifyInstance): void {
  scope.addHook("preParsing", (request, _reply, payload, done) => {
    // A hook of the application may have replaced the stream.
    const read = payload === request.raw && (request.raw as ReadRequest).readableEnded === true;
    if (!read) return done(null, payload);
    let body: Buffer;
    try {
      body = readBody(request);
    } catch (error) {
      return done(error as Error);
    }
    done(null, toPayload(body, request));
  });
}

/** A stream of the body that Fastify does not compare with the length that was sent. */
function toPayload(body: Buffer, { headers }: FastifyRequest): Readable {
  const length = Number(headers["content-length"] ?? body.length);
  return Object.assign(Readable.from([body]), { receivedEncodedLength: length });
}

/** @throws {FastifyAuthError} `FST_AUTHJS_BODY_INVALID` (400) if the body is lost. */
function readBody({ raw, headers }: FastifyRequest): Buffer {
  const { rawBody, body } = raw as ReadRequest;
  const kept = rawBody ?? body;
  if (typeof kept === "string") return Buffer.from(kept);
  if (kept instanceof Uint8Array) return Buffer.from(kept);
  if (typeof kept === "object" && kept !== null) return Buffer.from(serialize(kept, headers["content-type"]));
  const isEmpty = headers["content-length"] === "0" ||
    (headers["content-length"] ?? headers["transfer-encoding"]) === undefined;
  if (isEmpty) return Buffer.alloc(0);
  throw invalid(
    "The body was read before the request got to the auth routes, and is neither in `request.raw.rawBody` nor in " +
      "`request.raw.body`. Leave it there, or let the auth routes read it.",
  );
}

/** A parsed body as it may have been sent. */
function serialize(body: object, contentType = ""): string {
  if (!/^\s*application\/x-www-form-urlencoded\b/i.test(contentType)) return toJson(body);
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const text of [value].flat()) {
      if (typeof text !== "string") throw invalid(`The field ${JSON.stringify(name)} must be a string.`);
      fields.append(name, text);
    }
  }
  return fields.toString();
}

function toJson(body: object): string {
  try {
    return JSON.stringify(body);
  } catch {
    throw invalid("The body is nested too deep.");
  }
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_BODY_INVALID", message);
}
