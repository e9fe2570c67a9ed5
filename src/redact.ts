/**
 * Codes and tokens arrive in the address of a callback; the request log would keep them.
 *
 * @module
 */
import type { FastifyBaseLogger } from "fastify";

type Serializer = (value: unknown) => unknown;

/** Pino keeps its serializers under this symbol, registered globally for uses like this one. */
const PINO_SERIALIZERS = Symbol.for("pino.serializers");

/**
 * Serializers for the log of auth routes: the application's own, with the query taken out of the address.
 *
 * @param log The application's logger.
 */
export function redactingSerializers(log: FastifyBaseLogger): Record<string, Serializer> {
  const own = (log as { [PINO_SERIALIZERS]?: Record<string, Serializer> })[PINO_SERIALIZERS];
  const serialize = own?.req ?? onlyTheLine;
  return { req: (request) => redactUrls(serialize(request)) };
}

/** For a logger without serializers: writing out the whole request would not help anyone. */
function onlyTheLine(request: unknown): unknown {
  const { method, url } = request as { method?: string; url?: string };
  return { method, url };
}

function redactUrls(serialized: unknown): unknown {
  if (typeof serialized !== "object" || serialized === null) return serialized;
  const entries = Object.entries(serialized).map(([key, value]) => [
    key,
    typeof value === "string" && /url|path/i.test(key) ? redactQuery(value) : value,
  ]);
  return Object.fromEntries(entries);
}

/** The names stay, for who looks for a mistake; the values go. */
function redactQuery(url: string): string {
  return url.replace(/\?.*$/s, (query) => query.replace(/=[^&#]*/g, "=[redacted]"));
}
