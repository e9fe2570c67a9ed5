/**
 * The bodies of auth requests. The auth routes have parsers of their own, so that those of the application do
 * not matter, and bodies are flat, so that a credential is always a string.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Buffer } from "node:buffer";
import { setImmediate } from "node:timers";
import { FastifyAuthError } from "../errors.ts";
import { acceptReadBodies } from "./read_body.ts";
import { keepBody } from "./received.ts";

/** Bytes; sign-in forms are far smaller, and Fastify's own limit is ten times this. */
export const BODY_LIMIT = 100 * 1024;

/** Fields of a body; the usual limit of form parsers. */
const FIELD_LIMIT = 1_000;

/** Levels of objects and arrays. Serializing thousands of levels overflows the stack. */
const DEPTH_LIMIT = 64;

/** A parsed body: strings, and in a session update any JSON as `data`. */
export type AuthBody = Record<string, unknown>;

type Done = (error: Error | null, body?: unknown) => void;

/**
 * Replaces the inherited parsers, in this scope only, by one for JSON and one for each encoding of a form:
 * `fetch()` sends a `FormData` as `multipart/form-data`.
 */
export function useAuthBodyParsers(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  acceptReadBodies(instance);
  addParser(instance, "application/json", jsonParser(instance));
  addParser(instance, "application/x-www-form-urlencoded", parseForm);
  addParser(instance, "multipart/form-data", parseMultipart);
}

/** Parses a body. Throws, or rejects, if it is invalid. */
type Parse = (bytes: Buffer, request: FastifyRequest) => unknown;

function addParser(instance: FastifyInstance, contentType: string, parse: Parse): void {
  const options = { parseAs: "buffer", bodyLimit: BODY_LIMIT } as const;
  instance.addContentTypeParser(contentType, options, (request, bytes: Buffer, done: Done) => {
    let body: unknown;
    try {
      body = parse(bytes, request);
    } catch (error) {
      return done(error as Error);
    }
    // Not within the `try`: `done()` runs the handler, whose errors are not ours.
    if (!(body instanceof Promise)) return done(null, keepBody(request, body));
    body.then(
      (fields) => setImmediate(done, null, keepBody(request, fields)),
      (error) => setImmediate(done, error),
    );
  });
}

function jsonParser(instance: FastifyInstance): Parse {
  // Rejects "__proto__" and "constructor.prototype" (400).
  const parseJson = instance.getDefaultJsonParser("error", "error");
  return (bytes, request) => {
    const text = bytes.toString();
    // The error is then the missing CSRF token, which says more than "invalid JSON".
    if (text === "") return {};
    assertShallow(text);
    let result: { error: Error | null; body: unknown } | undefined;
    parseJson(request, text, (error, body) => result = { error, body });
    // Older versions of Fastify give an error of the JSON parser, without a code.
    if (result!.error) throw "code" in result!.error ? result!.error : invalid("The body is not valid JSON.");
    return result!.body;
  };
}

function parseForm(bytes: Buffer): AuthBody {
  const fields = new URLSearchParams(bytes.toString());
  if (fields.size > FIELD_LIMIT) throw tooMany();
  return Object.fromEntries(fields);
}

/** Characters of the Content-Type of a form: a boundary has 70 at most (RFC 2046 section 5.1.1). */
const LONGEST_TYPE = 200;

/** The size of the body bounds its parts, too. */
async function parseMultipart(bytes: Buffer, { headers }: FastifyRequest): Promise<AuthBody> {
  const contentType = headers["content-type"]!;
  // Deno takes the square of its length to read it.
  if (contentType.length > LONGEST_TYPE) throw invalid("The Content-Type is too long.");
  const form = await new Response(bytes as BodyInit, { headers: { "content-type": contentType } }).formData()
    .catch(() => {
      throw invalid("The body is not valid multipart/form-data.");
    });
  const fields = [...form];
  if (fields.length > FIELD_LIMIT) throw tooMany();
  for (const [name, value] of fields) {
    if (typeof value !== "string") throw invalid(`The field ${JSON.stringify(name)} must not be a file.`);
  }
  return Object.fromEntries(fields);
}

/** Counts brackets outside of strings before the text is parsed. */
function assertShallow(json: string): void {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < json.length; i++) {
    const character = json[i];
    if (character === '"') quoted = !quoted;
    else if (quoted) i += character === "\\" ? 1 : 0;
    else if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth--;
    if (depth > DEPTH_LIMIT) throw invalid(`The body is nested more than ${DEPTH_LIMIT} deep.`);
  }
}

/**
 * Refuses compressed bodies: unpacked, their size has no limit.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_ENCODING_UNSUPPORTED` (415).
 */
export function assertPlainEncoding(request: FastifyRequest): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  throw new FastifyAuthError("FST_AUTHJS_ENCODING_UNSUPPORTED", "Send the body without a Content-Encoding.");
}

/**
 * The body for core: only strings, as a form sends them.
 *
 * @param parsed The result of the parsers of {@linkcode useAuthBodyParsers}.
 * @param action The auth action: a session update may carry any JSON as `data`.
 * @throws {FastifyAuthError} `FST_AUTHJS_BODY_INVALID` (400) if a value is neither text nor a number or a
 * boolean.
 */
export function authBody(parsed: unknown, action: string): AuthBody {
  const body = parsed ?? {};
  if (typeof body !== "object" || Array.isArray(body)) throw invalid("The body must be an object.");
  const fields = Object.entries(body);
  if (fields.length > FIELD_LIMIT) throw tooMany();
  for (const field of fields) {
    const [name, value] = field;
    const isData = action === "session" && name === "data";
    if (!isData && typeof value !== "string") field[1] = toText(name, value);
  }
  return Object.fromEntries(fields);
}

function toText(name: string, value: unknown): string {
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw invalid(`The field ${JSON.stringify(name)} must be a string.`);
  // Parsing has rounded it: the text would differ from what was sent.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw invalid(`The number in ${JSON.stringify(name)} is too large to be exact: send it as a string.`);
  }
  return String(value);
}

function tooMany(): FastifyAuthError {
  return invalid(`The body has more than ${FIELD_LIMIT} fields.`);
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_BODY_INVALID", message);
}
