/** The bodies of auth requests: parsed by parsers of our own, and flat, so that a credential is always a string. */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Buffer } from "node:buffer";
import { nextTick } from "node:process";
import { Readable } from "node:stream";
import { FastifyAuthError } from "../errors.ts";
import { keepBody } from "./auth_route.ts";

/** Bytes; sign-in forms are far smaller, and Fastify's own limit is ten times this. */
const BODY_LIMIT = 100 * 1024;

/** Fields, as usual of form parsers, and levels of objects: serializing thousands overflows the stack. */
const FIELD_LIMIT = 1_000, DEPTH_LIMIT = 64;

/** A parsed body: strings, and in a session update any JSON as `data`. */
export type AuthBody = Record<string, unknown>;

/** Throws what is wrong with a body. */
type Parse = (bytes: Buffer, request: FastifyRequest) => unknown;

export function useAuthBodyParsers(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addHook("preParsing", (request, _reply, payload, done) => {
    // A hook of the application may have replaced the stream.
    const isRead = payload === request.raw && (request.raw as ReadRequest).readableEnded;
    done(null, isRead ? replay(request) : payload);
  });
  instance.addContentTypeParser("*", ({ headers }, _payload, done) => {
    // The parameters of a type may have anything.
    const [type = ""] = headers["content-type"]?.split(";", 1) ?? [];
    const sent = type ? `Its Content-Type, ${JSON.stringify(type.slice(0, 100))},` : "No Content-Type";
    const message = `${sent} is none that is accepted: send application/json, application/x-www-form-urlencoded or ` +
      "multipart/form-data.";
    done(new FastifyAuthError("FST_AUTHJS_BODY_INVALID", message, { statusCode: 415 }));
  });
  const parsers: Record<string, Parse> = {
    "application/json": jsonParser(instance),
    "application/x-www-form-urlencoded": parseForm,
  };
  const options = { parseAs: "buffer", bodyLimit: BODY_LIMIT } as const;
  for (const [contentType, parse] of Object.entries(parsers)) {
    instance.addContentTypeParser(contentType, options, (request, bytes: Buffer, done) => {
      let body: unknown;
      try {
        body = keepBody(request, parse(bytes, request));
      } catch (error) {
        return done(error as Error);
      }
      done(null, body);
    });
  }
  instance.addContentTypeParser("multipart/form-data", options, (request, bytes: Buffer, done) => {
    // `done()` runs the handler: what Fastify throws there must not become a rejection.
    parseMultipart(bytes, request).then(
      (body) => nextTick(done, null, keepBody(request, body)),
      (error) => nextTick(done, error),
    );
  });
}

/** Fastify's own parser, which refuses "__proto__" and "constructor.prototype" (400). */
function jsonParser(instance: FastifyInstance): Parse {
  const parseJson = instance.getDefaultJsonParser("error", "error");
  return (bytes, request) => {
    // The error is then the missing CSRF token, which says more than "invalid JSON".
    if (bytes.length === 0) return {};
    let parsed: { error: Error | null; body: unknown } | undefined;
    parseJson(request, bytes.toString(), (error, body) => parsed = { error, body });
    const { error, body } = parsed!;
    // Older versions of Fastify give an error of the JSON parser, without a code.
    if (error !== null) throw "code" in error ? error : invalid("The body is not valid JSON.");
    assertNotDeep(body);
    return body;
  };
}

function parseForm(bytes: Buffer): AuthBody {
  const text = bytes.toString();
  if (/^\s*\{.*\}\s*$/s.test(text)) {
    throw invalid("The body is JSON, and is sent as a form: set its Content-Type to application/json.");
  }
  const fields = new URLSearchParams(text);
  assertNotMany(fields.size);
  return Object.fromEntries(fields);
}

function assertNotDeep(value: unknown, levels = DEPTH_LIMIT): void {
  if (typeof value !== "object" || value === null) return;
  if (levels === 0) throw invalid(`The body is nested more than ${DEPTH_LIMIT} deep.`);
  for (const each of Object.values(value)) assertNotDeep(each, levels - 1);
}

function assertNotMany(fields: number): void {
  if (fields > FIELD_LIMIT) throw invalid(`The body has more than ${FIELD_LIMIT} fields.`);
}

async function parseMultipart(bytes: Buffer, { headers }: FastifyRequest): Promise<AuthBody> {
  const contentType = headers["content-type"]!;
  // A boundary has 70 characters at most (RFC 2046 section 5.1.1). Deno takes the square of the length to read it.
  if (contentType.length > 200) throw invalid("The Content-Type is too long.");
  const form = await new Response(bytes as BodyInit, { headers: { "content-type": contentType } }).formData()
    .catch(() => {
      throw invalid("The body is not valid multipart/form-data.");
    });
  const fields = [...form];
  assertNotMany(fields.length);
  for (const [name, value] of fields) {
    if (typeof value !== "string") throw invalid(`The field ${JSON.stringify(name)} must not be a file.`);
  }
  return Object.fromEntries(fields);
}

/**
 * Node's request whose body was read before it got to Fastify: Google Cloud Functions, Firebase and parsers of Express
 * read the stream to its end, and keep what was in it.
 */
interface ReadRequest {
  readonly readableEnded?: boolean;
  /** The body as it was sent. */
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/** A stream of the body that Fastify does not compare with the length that was sent. */
function replay(request: FastifyRequest): Readable {
  const body = readBody(request);
  const receivedEncodedLength = Number(request.headers["content-length"] ?? body.length);
  return Object.assign(Readable.from([body]), { receivedEncodedLength });
}

function readBody({ raw, headers }: FastifyRequest): Buffer {
  const { rawBody, body } = raw as ReadRequest;
  const kept = rawBody ?? body;
  if (kept instanceof Uint8Array) return Buffer.from(kept);
  if (typeof kept === "object" && kept !== null) return Buffer.from(asSent(kept, headers["content-type"]));
  if (typeof kept === "string") return Buffer.from(kept);
  const length = headers["content-length"] ?? headers["transfer-encoding"] ?? "0";
  if (length === "0") return Buffer.alloc(0);
  throw invalid(
    "The body was read before the request got to the auth routes, and is neither in `request.raw.rawBody` nor in " +
      "`request.raw.body`. Leave it there, or let the auth routes read it.",
  );
}

function asSent(body: object, contentType = ""): string {
  assertNotDeep(body);
  if (!/^\s*application\/x-www-form-urlencoded\b/i.test(contentType)) return JSON.stringify(body);
  const fields = new URLSearchParams();
  for (const [name, value] of Object.entries(body)) {
    for (const text of [value].flat()) {
      if (typeof text !== "string") throw noText(name);
      fields.append(name, text);
    }
  }
  return fields.toString();
}

/** Refuses compressed bodies (415): unpacked, their size has no limit. */
export function assertPlainEncoding(request: FastifyRequest): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  throw new FastifyAuthError("FST_AUTHJS_ENCODING_UNSUPPORTED", "Send the body without a Content-Encoding.");
}

/** The body for core: only strings, as a form sends them, but for the `data` of a session update. */
export function authBody(parsed: unknown, action: string): AuthBody {
  const body = parsed ?? {};
  if (typeof body !== "object" || Array.isArray(body)) throw invalid("The body must be an object.");
  const fields: AuthBody = { ...body };
  const names = Object.keys(fields);
  assertNotMany(names.length);
  for (const name of names) {
    const value = fields[name];
    const isData = action === "session" && name === "data";
    if (!isData && typeof value !== "string") fields[name] = toText(name, value);
  }
  return fields;
}

function toText(name: string, value: unknown): string {
  if (typeof value !== "number" && typeof value !== "boolean") throw noText(name);
  // Parsing has rounded it: the text would differ from what was sent.
  if (Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER) {
    throw invalid(`The number in ${JSON.stringify(name)} is too large to be exact: send it as a string.`);
  }
  return String(value);
}

function noText(name: string): FastifyAuthError {
  return invalid(`The field ${JSON.stringify(name)} must be a string.`);
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_BODY_INVALID", message);
}
