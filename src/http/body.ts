/**
 * The bodies of auth requests: parsed in the scope of the auth routes alone, so that it does not matter which
 * parsers the application has, and flat, so that a credential is always a string.
 *
 * @module
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { FastifyAuthError } from "../errors.ts";
import { receiveBody } from "./received.ts";

/** Bytes; sign-in forms are far smaller, and Fastify's own limit is ten times this. */
export const BODY_LIMIT = 100 * 1024;

/** Fields of a body; the usual limit of form parsers. */
const FIELD_LIMIT = 1_000;

/** Objects and arrays within one another. Of thousands, writing them down again overflows the stack. */
const DEPTH_LIMIT = 64;

/** A parsed body: strings, and for a session update the `data` the application sends along. */
export type AuthBody = Record<string, unknown>;

type Done = (error: Error | null, body?: unknown) => void;

/** Replaces the inherited parsers, in this scope only, by one for JSON and one for forms. */
export function useAuthBodyParsers(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  addParser(instance, "application/json", jsonParser(instance));
  addParser(instance, "application/x-www-form-urlencoded", parseForm);
}

/** Turns a text into a body, or throws. */
type Parse = (text: string, request: FastifyRequest) => unknown;

function addParser(instance: FastifyInstance, contentType: string, parse: Parse): void {
  const options = { parseAs: "string", bodyLimit: BODY_LIMIT } as const;
  instance.addContentTypeParser(contentType, options, (request, text: string, done: Done) => {
    let body: unknown;
    try {
      body = parse(text, request);
    } catch (error) {
      return done(error as Error);
    }
    receiveBody(request, body);
    // A copy, which hooks may write to. Outside of the `try`: Fastify goes on to the handler, whose errors are not ours.
    done(null, structuredClone(body));
  });
}

function jsonParser(instance: FastifyInstance): Parse {
  // Rejects "__proto__" and "constructor.prototype" (400).
  const parseJson = instance.getDefaultJsonParser("error", "error");
  return (text, request) => {
    // A client that sends the header and nothing else forgot its CSRF token, which is what it should be told.
    if (text === "") return {};
    assertShallow(text);
    let result: { error: Error | null; body: unknown } | undefined;
    parseJson(request, text, (error, body) => result = { error, body });
    if (result!.error) throw result!.error;
    return result!.body;
  };
}

function parseForm(text: string): AuthBody {
  const fields = new URLSearchParams(text);
  assertFew(fields.size);
  return Object.fromEntries(fields);
}

/** Counts brackets outside of strings, so that no parser has to be trusted with what is refused. */
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

function assertFew(fields: number): void {
  if (fields > FIELD_LIMIT) throw invalid(`The body has more than ${FIELD_LIMIT} fields.`);
}

/**
 * Refuses compressed bodies: read as plain they are noise, unpacked they have no limit.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_ENCODING_UNSUPPORTED` (415).
 */
export function assertPlainEncoding(request: FastifyRequest): void {
  const encoding = request.headers["content-encoding"];
  if (encoding === undefined || encoding.toLowerCase() === "identity") return;
  throw new FastifyAuthError("FST_AUTHJS_ENCODING_UNSUPPORTED", "Send the body without a Content-Encoding.");
}

/**
 * The body as core may see it: strings alone, as a form sends them.
 *
 * @param parsed What the parsers of {@linkcode useAuthBodyParsers} made of it.
 * @param action The auth action: a session update may carry any JSON as `data`.
 * @throws {FastifyAuthError} `FST_AUTHJS_BODY_INVALID` (400) where a value is neither text nor a number or a boolean.
 */
export function authBody(parsed: unknown, action: string): AuthBody {
  const body = parsed ?? {};
  if (typeof body !== "object" || Array.isArray(body)) throw invalid("The body must be an object.");
  const entries = Object.entries(body);
  assertFew(entries.length);
  const fields = entries.map(([name, value]) => [
    name,
    action === "session" && name === "data" ? value : toText(name, value),
  ]);
  return Object.fromEntries(fields);
}

/** The text that a form would send. */
function toText(name: string, value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  if (typeof value !== "number") throw invalid(`The field ${JSON.stringify(name)} must be a string.`);
  // Parsing has rounded it: the text would be another one than was meant.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    throw invalid(`The number in ${JSON.stringify(name)} is too large to be exact: send it as a string.`);
  }
  return String(value);
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_BODY_INVALID", message);
}
