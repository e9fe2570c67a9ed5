/**
 * The guards that the routes and scopes of an application declare.
 *
 * @module
 */
import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import { type SessionGuard, sessionGuard } from "./guard.ts";
import { invalid } from "./guard_options.ts";
import { assertRouteAuthOptions, declaredAuth, type RouteAuthOptions } from "./route_auth.ts";
import type { FastifyAuthConfig } from "./types.ts";

/** One registration of the plugin. */
interface Registration {
  /** The instance it was registered on: whose routes it is nearest to. */
  readonly scope: object;
  readonly config: FastifyAuthConfig;
  readonly mountPath: string;
}

/** A declared guard. Which registration it is for is known when all are there. */
interface Declaration {
  readonly scope: object;
  readonly options: RouteAuthOptions;
  /** What declares it, for errors. */
  readonly where: string;
  guard?: SessionGuard;
}

/** The decorator of the root instance that keeps its {@linkcode RouteGuards}. */
const GUARDS: unique symbol = Symbol("fastify-authjs.routeGuards");

/** The decorator of a scope that keeps its default. Scopes within inherit it. */
const DEFAULT: unique symbol = Symbol("fastify-authjs.defaultGuard");

/** Marks the `config` of a route that was seen. */
const SEEN: unique symbol = Symbol("fastify-authjs.seen");

interface Decorated {
  [GUARDS]?: RouteGuards;
  [DEFAULT]?: Declaration;
}

/**
 * The guards of one application.
 *
 * A route gets its guard as an `onRequest` hook when it is added (`onRoute`), so that other routes are not
 * slowed down. Routes that were there before, in any scope, are not seen then: for them a hook of the root
 * instance, which Fastify adds to all routes, looks at the `config` of each request.
 */
export class RouteGuards {
  readonly #registrations: Registration[] = [];
  readonly #declarations: Declaration[] = [];
  /** The guards of routes that were not seen, by their `config`. */
  readonly #unseen = new WeakMap<object, Declaration | false>();
  /** The routes that were seen. */
  readonly #seen = new WeakSet<object>();
  /** The instances with an `onRoute` hook of ours. */
  readonly #watched = new WeakSet<object>();

  /** The guards of the application that an instance is part of. */
  static of(instance: FastifyInstance): RouteGuards {
    const root = rootOf(instance);
    const guards = (root as Decorated)[GUARDS] ?? new RouteGuards(root);
    guards.#watch(instance);
    return guards;
  }

  private constructor(root: FastifyInstance) {
    root.decorate(GUARDS, this as object);
    root.addHook("onRequest", (request, reply, done): unknown => {
      const { config } = request.routeOptions;
      if (config === undefined || !("auth" in config) || SEEN in config) return done();
      const declaration = this.#declarationOf(config, request.server, nameOf(request.routeOptions));
      return declaration === false ? done() : this.#guardOf(declaration)(request, reply);
    });
    // deno-lint-ignore require-await -- what an async hook throws stops the boot
    root.addHook("onReady", async () => {
      for (const declaration of this.#declarations) this.#guardOf(declaration);
    });
  }

  /** Adds a registration of the plugin. */
  add(registration: Registration): void {
    this.#registrations.push(registration);
  }

  /**
   * Guards the routes of a scope that declare nothing.
   *
   * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID`.
   */
  setDefault(scope: FastifyInstance, options: RouteAuthOptions, where: string): void {
    assertRouteAuthOptions(options, where);
    if (Object.hasOwn(scope, DEFAULT)) {
      throw invalid(where, "the scope has a default already. Call it once, or in a scope within.");
    }
    const declaration = this.#declare({ scope, options, where });
    scope.decorate(DEFAULT, declaration);
    scope.addHook("onRequest", (request, reply, done): unknown => {
      const { config } = request.routeOptions;
      const isOther = (request.server as Decorated)[DEFAULT] !== declaration;
      if (isOther || (config !== undefined && "auth" in config)) return done();
      return this.#guardOf(declaration)(request, reply);
    });
  }

  /** Sees the routes that are added from now on, in this scope and around it, and in new scopes within. */
  #watch(scope: FastifyInstance): void {
    if (this.#watched.has(scope)) return;
    this.#watched.add(scope);
    // deno-lint-ignore no-this-alias -- Fastify calls the hook with the instance of the route
    const guards = this;
    scope.addHook("onRoute", function (route) {
      guards.#guardRoute(route, this);
    });
    const around = Object.getPrototypeOf(scope);
    if (isInstance(around)) this.#watch(around);
  }

  #guardRoute(route: RouteOptions, scope: FastifyInstance): void {
    // An instance inherits hooks, so that several may see a route.
    if (this.#seen.has(route)) return;
    this.#seen.add(route);
    const where = nameOf(route);
    const options = declaredAuth(route.config, where);
    if (options === undefined) return;
    route.config = { ...route.config, [SEEN]: true } as object;
    if (options === false) return;
    const declaration = this.#declare({ scope, options, where });
    const guard: SessionGuard = (request, reply) => this.#guardOf(declaration)(request, reply);
    // A new array: the given one may be shared among routes.
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()];
  }

  #declare(declaration: Declaration): Declaration {
    this.#declarations.push(declaration);
    return declaration;
  }

  #declarationOf(config: object, scope: object, where: string): Declaration | false {
    let declaration = this.#unseen.get(config);
    if (declaration === undefined) {
      const options = declaredAuth(config, where) ?? false;
      declaration = options && { scope, options, where };
      this.#unseen.set(config, declaration);
    }
    return declaration;
  }

  #guardOf(declaration: Declaration): SessionGuard {
    if (declaration.guard !== undefined) return declaration.guard;
    const { mountPath: _, ...options } = declaration.options;
    const { config } = this.#registrationOf(declaration);
    return declaration.guard = sessionGuard(config, options, declaration.where);
  }

  #registrationOf({ scope, options: { mountPath }, where }: Declaration): Registration {
    const all = this.#registrations;
    if (all.length === 0) {
      throw invalid(
        where,
        'no FastifyAuth is registered in this application. Register one: `app.register(FastifyAuth(config), { prefix: "/auth" })`.',
      );
    }
    if (mountPath !== undefined) {
      const path = mountPath.replace(/\/+$/, "");
      const found = all.find((registration) => [path, encodeURI(path)].includes(registration.mountPath));
      if (found !== undefined) return found;
      throw invalid(where, `no FastifyAuth is mounted at "${mountPath}", but at ${pathsOf(all, " and ")}.`);
    }
    const near = nearest(all, scope);
    if (near.every(({ config }) => config === near[0]!.config)) return near[0]!;
    throw invalid(
      where,
      `whose sessions count: those of the FastifyAuth at ${pathsOf(near, " or ")}? Name one, such as ` +
        `\`mountPath: "${near[0]!.mountPath}"\`.`,
    );
  }
}

/** The registrations of a scope, or of the next one around it that has any; else all. */
function nearest(all: readonly Registration[], scope: object): readonly Registration[] {
  for (let around = scope; isInstance(around); around = Object.getPrototypeOf(around)) {
    const found = all.filter((registration) => registration.scope === around);
    if (found.length > 0) return found;
  }
  return all;
}

function pathsOf(registrations: readonly Registration[], conjunction: string): string {
  return registrations.map(({ mountPath }) => `"${mountPath}"`).join(conjunction);
}

/** Names a route in an error. */
function nameOf({ method, url }: Pick<FastifyRequest["routeOptions"], "method" | "url">): string {
  return `\`config.auth\` of ${method ? `${[method].flat().join(", ")} ${url}` : "the not-found handler"}`;
}

/** The instance around all scopes: each is the prototype of those within. */
function rootOf(instance: FastifyInstance): FastifyInstance {
  const around = Object.getPrototypeOf(instance);
  return isInstance(around) ? rootOf(around) : instance;
}

function isInstance(value: unknown): value is FastifyInstance {
  return typeof (value as { addHook?: unknown } | null)?.addHook === "function";
}
