/**
 * The bodies of auth requests: parsed in the scope of the auth routes alone, so that it does not matter which
 * parsers the application has, and flat, so that a credential is always a string.
 *
 * @module
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { FastifyAuthError } from "../errors.ts";

/** Bytes; sign-in forms are far smaller, and Fastify's own limit is ten times this. */
export const BODY_LIMIT = 100 * 1024;

/** A parsed body: strings, and for a session update the `data` the application sends along. */
export type AuthBody = Record<string, unknown>;

type Done = (error: Error | null, body?: unknown) => void;

/** Replaces the inherited parsers, in this scope only, by one for JSON and one for forms. */
export function useAuthBodyParsers(instance: FastifyInstance): void {
  // Rejects "__proto__" and "constructor.prototype" (400).
  const parseJson = instance.getDefaultJsonParser("error", "error");
  const options = { parseAs: "string", bodyLimit: BODY_LIMIT } as const;

  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser("application/json", options, (request, body: string, done: Done) => {
    // A client that sends the header and nothing else forgot its CSRF token, which is what it should be told.
    if (body === "") done(null, {});
    else parseJson(request, body, done);
  });
  instance.addContentTypeParser(
    "application/x-www-form-urlencoded",
    options,
    (_request, body: string, done: Done) => done(null, Object.fromEntries(new URLSearchParams(body))),
  );
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
 * @param request A request parsed in the scope of {@linkcode useAuthBodyParsers}.
 * @param action The auth action: a session update may carry any JSON as `data`.
 * @throws {FastifyAuthError} `FST_AUTHJS_BODY_INVALID` (400) where a value is neither text nor a number or a boolean.
 */
export function authBody(request: FastifyRequest, action: string): AuthBody {
  const body = request.body ?? {};
  if (typeof body !== "object" || Array.isArray(body)) throw invalid("The body must be an object.");
  const fields = Object.entries(body).map(([name, value]) => [
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
