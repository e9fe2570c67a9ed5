/**
 * Codes and tokens arrive in the address of a callback, and passwords in its body; the request log would keep them.
 *
 * @module
 */
import type { FastifyBaseLogger } from "fastify";

type Serializer = (value: unknown) => unknown;

/** Pino keeps its serializers under this symbol, registered globally for uses like this one. */
const PINO_SERIALIZERS = Symbol.for("pino.serializers");

/**
 * Serializers for the log of auth routes: the application's own, shown a request without its secrets. So it does
 * not matter what they write, or in which shape.
 *
 * @param log The application's logger.
 */
export function redactingSerializers(log: FastifyBaseLogger): Record<string, Serializer> {
  const own = (log as { [PINO_SERIALIZERS]?: Record<string, Serializer> })[PINO_SERIALIZERS];
  const serialize = own?.req ?? onlyTheLine;
  return { req: (request) => serialize(redactedView(request)) };
}

/** For a logger without serializers: writing out the whole request would not help anyone. */
function onlyTheLine(request: unknown): unknown {
  const { method, url } = request as { method?: string; url?: string };
  return { method, url };
}

const HIDDEN = "[redacted]";

/** What of a request is shown differently; `raw` is Node's request below Fastify's. */
const REDACTED: Readonly<Record<string, (value: unknown) => unknown>> = {
  body: redactValues,
  cookies: redactValues,
  headers: redactHeaders,
  originalUrl: redactAddress,
  params: redactParts,
  query: redactValues,
  raw: redactedView,
  rawHeaders: () => [],
  url: redactAddress,
};

function redactedView(request: unknown): unknown {
  if (typeof request !== "object" || request === null) return request;
  return new Proxy(request, {
    get(target, key) {
      // With the target as `this`: a proxy has none of its private fields.
      const value = Reflect.get(target, key, target);
      if (typeof value === "function") return value.bind(target);
      return typeof key === "string" && Object.hasOwn(REDACTED, key) ? REDACTED[key]!(value) : value;
    },
  });
}

/** Where the parameters of an address begin; without their "?", or with an encoded one, they are part of its path. */
const PARAMETERS = /[?#&;]|%(?:3f|23|26|3b)/i;

/** The names of the parameters stay, for who looks for a mistake; the values go. */
function redactAddress(address: unknown): unknown {
  if (typeof address !== "string") return address;
  const [separator = ""] = PARAMETERS.exec(address) ?? [];
  const end = separator === "" ? address.length : address.indexOf(separator);
  const path = address.slice(0, end).replace(/(=|%3d).*$/is, `$1${HIDDEN}`);
  if (separator === "") return path;
  const start = end + separator.length;
  const parameters = address.slice(start).split("&").map((parameter) => {
    const equals = parameter.indexOf("=");
    return equals === -1 ? HIDDEN : `${parameter.slice(0, equals)}=${HIDDEN}`;
  });
  return `${path}${separator}${parameters.join("&")}`;
}

/** The parameters of a route, decoded: an address that was encoded as a whole is one of them. */
function redactParts(params: unknown): unknown {
  if (typeof params !== "object" || params === null) return params;
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, redactAddress(value)]));
}

function redactHeaders(headers: unknown): unknown {
  if (typeof headers !== "object" || headers === null) return headers;
  const redacted: Record<string, unknown> = { ...headers };
  for (const name of ["authorization", "cookie"]) if (name in redacted) redacted[name] = HIDDEN;
  for (const name of ["referer", ":path"]) {
    if (name in redacted) redacted[name] = redactAddress(redacted[name]);
  }
  return redacted;
}

function redactValues(values: unknown): unknown {
  if (typeof values !== "object" || values === null) return values === undefined ? values : HIDDEN;
  // Without a value the name is all that was sent, and may be what is secret.
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [value === "" ? HIDDEN : name, HIDDEN]),
  );
}
