/** Guarded routes in the documents of `@fastify/swagger`: their `security`, and the answers of the guard. */
import type { FastifyInstance, RouteOptions } from "fastify";
import { authInstance } from "../../instance/auth_instance.ts";
import { cookieSettings } from "../../config/cookies.ts";
import type { FastifyAuthErrorCode } from "../../errors.ts";
import { errorSchema } from "../../http/error_schema.ts";
import type { Guarding } from "../../guard/guard.ts";
import { toYaml } from "./yaml.ts";

/** What the guards of a route require; empty if it has no guard. */
export type GuardsOf = (route: RouteOptions, scope: FastifyInstance) => readonly Guarding[];

/** The decorator of `@fastify/swagger`, which makes the document. */
const DECORATOR = "swagger";

interface Decorated {
  [DECORATOR]: (options?: { yaml?: boolean }) => unknown;
}

/** Marks a guarded route in its schema, and so its operation: the number of the route. */
const MARK = "x-fastify-authjs";

/** Alternatives, each with the schemes that are required together. */
type Security = Record<string, string[]>[];

interface Operation {
  [MARK]?: string;
  operationId?: string;
  security?: Security;
  responses: Record<string, unknown>;
}

interface Scheme {
  type: string;
  in?: string;
  name?: string;
  scheme?: string;
  description: string;
}

/** A document of version 2.0, which has `securityDefinitions`, or of a later one, with `components`. */
interface Document {
  swagger?: string;
  paths?: Record<string, Record<string, Operation>>;
  security?: Security;
  securityDefinitions?: Record<string, Scheme>;
  components?: { securitySchemes?: Record<string, Scheme> };
}

/**
 * Describes the guards of routes in the documents of their scopes.
 *
 * @param guardsOf Finds the guards of a route.
 */
export function describeGuards(
  routes: Iterable<readonly [RouteOptions, FastifyInstance]>,
  guardsOf: GuardsOf,
): void {
  const documents = new OpenApi(guardsOf);
  for (const [route, scope] of routes) documents.add(route, scope);
}

/**
 * Completes the documents of one application.
 *
 * `@fastify/swagger` wants a scheme to be there before a route that names it, and an application's
 * `transform` may want schemas of another kind, such as zod's. So routes are only marked, and the finished
 * document is completed.
 */
class OpenApi {
  readonly #guardsOf: GuardsOf;
  readonly #routes: { readonly route: RouteOptions; readonly scope: FastifyInstance }[] = [];
  /** The decorators that return completed documents. */
  readonly #decorators = new WeakSet<object>();
  /** The documents that have guarded routes. */
  readonly #completed = new WeakSet<object>();

  /** @param guardsOf Finds the guards of a route once all hooks are added. */
  constructor(guardsOf: GuardsOf) {
    this.#guardsOf = guardsOf;
  }

  /** Takes a route of a scope that has a document. */
  add(route: RouteOptions, scope: FastifyInstance): void {
    this.#routes.push({ route, scope });
    this.#wrap(ownerOf(scope));
  }

  /** Has the decorator return completed documents. */
  #wrap(owner: Decorated): void {
    const generate = owner[DECORATOR];
    if (typeof generate !== "function" || this.#decorators.has(generate)) return;
    owner[DECORATOR] = (options) => {
      this.#mark();
      const document = generate() as Document;
      this.#complete(document);
      if (!options?.yaml) return document;
      return this.#completed.has(document) ? toYaml(document) : generate(options);
    };
    this.#decorators.add(owner[DECORATOR]);
  }

  /** Marks the schemas that `@fastify/swagger` is about to read. Fastify itself has read them before. */
  #mark(): void {
    this.#routes.forEach(({ route, scope }, index) => {
      if (this.#guardsOf(route, scope).length === 0) return;
      route.schema = { ...route.schema, [MARK]: String(index) } as object;
    });
  }

  #complete(document: Document): void {
    const schemes = new SecuritySchemes(document);
    const paths = Object.values(document.paths ?? {});
    for (const { get, head } of paths) markHead(get, head);
    // One operation may stand for several methods.
    for (const operation of new Set(paths.flatMap((path) => Object.values(path)))) {
      const mark = operation?.[MARK];
      if (mark === undefined) continue;
      delete operation[MARK];
      this.#completed.add(document);
      const { route, scope } = this.#routes[Number(mark)]!;
      const guards = this.#guardsOf(route, scope);
      operation.security ??= schemes.requirement(guards, scope);
      operation.responses = { ...refusals(guards, document), ...operation.responses };
    }
  }
}

/**
 * Marks the HEAD route that Fastify adds to a GET: with an `operationId`, `@fastify/swagger` has a copy of
 * it.
 */
function markHead(get: Operation | undefined, head: Operation | undefined): void {
  if (get?.[MARK] !== undefined && head?.operationId === `${get.operationId}-head`) head[MARK] = get[MARK];
}

/** The instance that has the decorator. */
function ownerOf(scope: object): Decorated {
  return Object.hasOwn(scope, DECORATOR) ? scope as Decorated : ownerOf(Object.getPrototypeOf(scope));
}

/** The security schemes of a document. */
class SecuritySchemes {
  readonly #document: Document;

  constructor(document: Document) {
    this.#document = document;
  }

  /** Requires the sessions of these guards, besides what the document requires of every operation. */
  requirement(guards: readonly Guarding[], scope: FastifyInstance): Security {
    const { security = [] } = this.#document;
    const required: Security[number][] = schemesOf(scope).map((secure) =>
      Object.fromEntries(guards.map(({ source }) => [this.#keyOf(sessionCookie(source, secure)), []]))
    );
    // A request has one bearer token, which is of one configuration.
    if (guards.length === 1 && acceptsBearer(guards[0]!.source)) required.push({ [this.#bearerKey()]: [] });
    const alternatives = (security.length === 0 ? [{}] : security).flatMap((outer) =>
      required.map((inner) => ({ ...outer, ...inner }))
    );
    return [...new Map(alternatives.map((each) => [JSON.stringify(each), each])).values()];
  }

  /** The key of the scheme for a cookie: the application's, if it has one, else the name of the cookie. */
  #keyOf(cookie: string): string {
    const scheme = this.#schemeOf(cookie);
    const schemes = this.#schemes;
    // Not in 2.0, where all cookies are one header.
    const known = Object.keys(schemes).find((key) =>
      scheme.in === "cookie" && areSame(schemes[key]!, scheme)
    );
    return known ?? this.#add(cookie.replace(/[^\w.-]/g, "_"), scheme);
  }

  /** The key of the scheme for bearer tokens. Those of the application may be others. */
  #bearerKey(): string {
    const description = "A session token, which `POST token` of the auth routes issues.";
    return this.#add(
      "authjs.bearer",
      this.#document.swagger === undefined
        ? { type: "http", scheme: "bearer", description }
        : { type: "apiKey", in: "header", name: "Authorization", description },
    );
  }

  /** Adds a scheme, unless it is there; if another one has the key, under another. */
  #add(wanted: string, scheme: Scheme): string {
    const schemes = this.#schemes;
    let key = wanted;
    while (key in schemes && !areSame(schemes[key]!, scheme)) key += "_";
    this.#schemes = { ...schemes, [key]: scheme };
    return key;
  }

  #schemeOf(cookie: string): Scheme {
    const description = `The session cookie, \`${cookie}\`, which a sign-in sets.`;
    return this.#document.swagger === undefined
      ? { type: "apiKey", in: "cookie", name: cookie, description }
      : { type: "apiKey", in: "header", name: "Cookie", description };
  }

  get #schemes(): Readonly<Record<string, Scheme>> {
    const { swagger, securityDefinitions, components } = this.#document;
    return (swagger === undefined ? components?.securitySchemes : securityDefinitions) ?? {};
  }

  /** A new object: the given one is the application's. */
  set #schemes(schemes: Record<string, Scheme>) {
    const document = this.#document;
    if (document.swagger === undefined) {
      document.components = { ...document.components, securitySchemes: schemes };
    } else {
      document.securityDefinitions = schemes;
    }
  }
}

function areSame(one: Scheme, other: Scheme): boolean {
  return (["type", "in", "name", "scheme"] as const).every((field) => one[field] === other[field]);
}

function acceptsBearer(source: Guarding["source"]): boolean {
  return typeof source !== "function" && authInstance(source).hooks.some(({ scheme }) => scheme === "Bearer");
}

/** Whether requests come by https: both are possible if a proxy may be in front of the server. */
function schemesOf({ initialConfig }: FastifyInstance): readonly boolean[] {
  return initialConfig.https ? [true] : [false, true];
}

function sessionCookie(source: Guarding["source"], secure: boolean): string {
  if (typeof source === "function") {
    return cookieSettings("sessionToken", { cookieTenant: "{tenant}" }, secure).name;
  }
  const { core, origin } = authInstance(source).config;
  return cookieSettings("sessionToken", core, origin?.secure ?? secure).name;
}

/** An answer of a guard, with the codes that its error may have. */
type GuardAnswer = readonly [status: number, description: string, ...codes: FastifyAuthErrorCode[]];

const SIGN_IN_AGAIN =
  "There is no session, or the user has to sign in again. A browser that requests a page is " +
  "redirected to do so instead (302).";

/** What the guards of a route answer with. */
function answersOf(guards: readonly Guarding[]): GuardAnswer[] {
  const codes = [...new Set(guards.flatMap(({ codes }) => codes))];
  return [
    codes.length > 0 ? [401, SIGN_IN_AGAIN, "FST_AUTHJS_UNAUTHENTICATED", ...codes] : [
      401,
      "There is no session. A browser that requests a page is redirected to the sign-in page instead (302).",
      "FST_AUTHJS_UNAUTHENTICATED",
    ],
    [403, "The signed-in user may not use this route.", "FST_AUTHJS_FORBIDDEN"],
    [503, "The database of the sessions failed.", "FST_AUTHJS_UNAVAILABLE"],
  ];
}

/** The answers of guards as responses of an operation. */
function refusals(guards: readonly Guarding[], { swagger }: Document): Record<string, unknown> {
  return Object.fromEntries(
    answersOf(guards).map(([status, description, ...codes]) => {
      const schema = errorSchema(...codes);
      const body = swagger === undefined ? { content: { "application/json": { schema } } } : { schema };
      return [status, { description, ...body }];
    }),
  );
}
