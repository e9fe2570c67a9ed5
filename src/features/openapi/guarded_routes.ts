/** Guarded routes in the documents of `@fastify/swagger`: their `security`, and the answers of the guard. */
import type { FastifyInstance, RouteOptions } from "fastify";
import { authInstance } from "../../instance/auth_instance.ts";
import { cookieSettings } from "../../config/cookies.ts";
import type { Guarding } from "../../guard/guard.ts";
import type { JsonSchema } from "./auth_routes.ts";

/** An instance with the decorator of `@fastify/swagger`, which makes the document. */
interface Documented {
  swagger: (options?: { yaml?: boolean }) => unknown;
}

/** Marks a guarded route in its schema, and so its operation, by its index in the list of guarded routes. */
const MARK = "x-fastify-authjs";

/** Alternatives, each with the schemes that are required together. */
type Security = Record<string, string[]>[];

interface Operation {
  [MARK]?: string;
  operationId?: string;
  security?: Security;
  responses: Record<string, unknown>;
}

type Scheme = Readonly<Record<string, string>>;
type Schemes = Record<string, Scheme>;

/** Of version 2.0 with `securityDefinitions`, or a later one with `components`. */
interface Document {
  swagger?: string;
  paths?: Record<string, Record<string, Operation>>;
  security?: Security;
  securityDefinitions?: Schemes;
  components?: { securitySchemes?: Schemes };
}

type GuardedRoute = Readonly<{ scope: FastifyInstance; guards: readonly Guarding[] }>;

/**
 * Describes the guards of routes in the documents of their scopes. Routes are only marked, and the finished document is
 * completed: `@fastify/swagger` wants a scheme before a route that names it, and a `transform` may want other schemas.
 */
export function describeGuards(
  routes: Iterable<readonly [RouteOptions, FastifyInstance]>,
  guardsOf: (route: RouteOptions, scope: FastifyInstance) => readonly Guarding[],
): void {
  const guarded: GuardedRoute[] = [];
  for (const [route, scope] of routes) {
    const guards = guardsOf(route, scope);
    if (guards.length === 0) continue;
    route.schema = { ...route.schema, [MARK]: String(guarded.length) } as object;
    guarded.push({ scope, guards });
  }
  for (const owner of new Set(guarded.map(({ scope }) => ownerOf(scope)))) {
    const generate = owner.swagger;
    owner.swagger = (options) => {
      const document = generate() as Document;
      complete(document, guarded);
      return options?.yaml ? toYaml(document) : document;
    };
  }
}

function ownerOf(scope: object): Documented {
  return Object.hasOwn(scope, "swagger") ? scope as Documented : ownerOf(Object.getPrototypeOf(scope));
}

function complete(document: Document, routes: readonly GuardedRoute[]): void {
  const isOld = document.swagger !== undefined;
  // A new object: the given one is the application's.
  const schemes = { ...(isOld ? document.securityDefinitions : document.components?.securitySchemes) };
  const paths = Object.values(document.paths ?? {});
  for (const { get, head } of paths) {
    // With an `operationId`, `@fastify/swagger` has a copy of the HEAD route that Fastify adds to a GET.
    if (get?.[MARK] && head?.operationId === `${get.operationId}-head`) head[MARK] = get[MARK];
  }
  // One operation may stand for several methods.
  const marked = new Set(paths.flatMap((path) => Object.values(path)).filter((each) => each?.[MARK]));
  for (const operation of marked) {
    const { scope, guards } = routes[Number(operation[MARK])]!;
    delete operation[MARK];
    operation.security ??= requirement(guards, scope, document, schemes);
    operation.responses = { ...refusals(guards, isOld), ...operation.responses };
  }
  if (marked.size === 0) return;
  if (isOld) document.securityDefinitions = schemes;
  else document.components = { ...document.components, securitySchemes: schemes };
}

/** Requires the sessions of these guards, besides what the document requires of every operation. */
function requirement(
  guards: readonly Guarding[],
  { initialConfig }: FastifyInstance,
  { swagger, security = [] }: Document,
  schemes: Schemes,
): Security {
  const write = swagger === undefined ? (scheme: Scheme) => ({ ...scheme }) : asHeader;
  /** The key of a scheme: of one that is the same, or a new one. */
  const add = (name: string, scheme: Scheme): string => {
    let key = name.replace(/[^\w.-]/g, "_");
    while (key in schemes && !areSame(schemes[key]!, write(scheme))) key += "_";
    schemes[key] ??= write(scheme);
    return key;
  };
  const addCookie = (name: string): string => {
    const description = `The session cookie, \`${name}\`, which a sign-in sets.`;
    const scheme = { type: "apiKey", in: "cookie", name, description };
    // That of the application may have another key.
    return Object.keys(schemes).find((key) => areSame(schemes[key]!, scheme)) ?? add(name, scheme);
  };
  // A proxy with TLS may be in front of a server without.
  const required: Security = (initialConfig.https ? [true] : [false, true]).map((secure) =>
    Object.fromEntries(guards.map(({ source }) => [addCookie(sessionCookie(source, secure)), []]))
  );
  // A request has one `Authorization` header, which is for one configuration.
  const { source, security: [way] } = guards[0]!, isOnly = guards.length === 1;
  if (isOnly && typeof source !== "function" && authInstance(source).hooks.some(({ findToken }) => findToken)) {
    const description = "A session token, which `POST token` of the auth routes issues.";
    required.push({ [add("authjs.bearer", { type: "http", scheme: "bearer", description })]: [] });
  }
  if (isOnly && way !== undefined) {
    if (way.isAlone) required.length = 0;
    schemes[way.name] ??= write(way.scheme);
    required.push({ [way.name]: [] });
  }
  const alternatives = (security.length === 0 ? [{}] : security).flatMap((outer) =>
    required.map((inner) => ({ ...outer, ...inner }))
  );
  return [...new Map(alternatives.map((each) => [JSON.stringify(each), each])).values()];
}

function sessionCookie(source: Guarding["source"], secure: boolean): string {
  if (typeof source === "function") return cookieSettings("sessionToken", { cookieTenant: "{tenant}" }, secure).name;
  const { core, origin } = authInstance(source).config;
  return cookieSettings("sessionToken", core, origin?.secure ?? secure).name;
}

/** A scheme of version 2.0: it has no others, and all cookies are one header. */
function asHeader({ in: place, description }: Scheme): Scheme {
  return {
    type: "apiKey",
    in: "header",
    name: place === "cookie" ? "Cookie" : "Authorization",
    description: description!,
  };
}

function areSame(one: Scheme, other: Scheme): boolean {
  return ["type", "in", "name", "scheme"].every((field) => one[field] === other[field]);
}

function refusals(guards: readonly Guarding[], isOld: boolean): Record<string, unknown> {
  const codes = [...new Set(guards.flatMap(({ codes }) => codes))];
  const scopes = guards.flatMap(({ security }) => security).flatMap(({ scopes }) => scopes);
  const needed = scopes.length > 0 ? ` An access token needs the scopes ${scopes.join(", ")}.` : "";
  const respond = (description: string, ...codes: string[]) => {
    const schema = errorSchema(...codes);
    return { description, ...(isOld ? { schema } : { content: { "application/json": { schema } } }) };
  };
  const [why, where] = codes.length > 0
    ? ["There is no session, or the user has to sign in again", "do so"]
    : ["There is no session", "the sign-in page"];
  const unauthenticated = `${why}. A browser that requests a page is redirected to ${where} instead (302).`;
  return {
    401: respond(unauthenticated, "FST_AUTHJS_UNAUTHENTICATED", ...codes),
    403: respond(`The signed-in user may not use this route.${needed}`, "FST_AUTHJS_FORBIDDEN"),
    503: respond("The database of the sessions failed.", "FST_AUTHJS_UNAVAILABLE"),
  };
}

/** The shape of an error with one of these codes, as Fastify sends it. */
function errorSchema(...codes: readonly string[]): JsonSchema {
  const properties = {
    statusCode: { type: "integer" },
    code: { type: "string", enum: codes },
    error: { type: "string" },
    message: { type: "string" },
  };
  return { type: "object", required: Object.keys(properties), properties };
}

/** Writes a value as YAML 1.2, of which JSON is a part: in blocks, with JSON's scalars. */
function toYaml(value: unknown): string {
  return `${blockOf(JSON.parse(JSON.stringify(value)), "").trimStart()}\n`;
}

function blockOf(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
    return ` ${JSON.stringify(value)}`;
  }
  const inner = `${indent}  `;
  const blocks = Array.isArray(value)
    ? value.map((item) => `-${blockOf(item, inner)}`)
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${blockOf(item, inner)}`);
  return blocks.map((block) => `\n${indent}${block}`).join("");
}
