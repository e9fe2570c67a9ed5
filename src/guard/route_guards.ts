/** The guards that the routes of an application declare. */
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { GuardSecurity } from "../features/feature.ts";
import { DOCUMENTS } from "../features/mod.ts";
import { isAuthRoute } from "../http/auth_route.ts";
import { disownHeaders } from "../http/reply_headers.ts";
import { invalid } from "../utils/arguments.ts";
import { type Mounted, mountedIn, rootOf } from "../instance/mount.ts";
import { GUARD, type Guarding, type MarkedGuard, sessionGuard } from "./guard.ts";
import { declaredAuth, type RouteAuth, type RouteAuthConfig, type RouteAuthOptions } from "./guard_options.ts";
import { isSignInRoute } from "./sign_in_redirect.ts";

/** Makes a declared guard, once: which registration it is for is known when all are there. */
type Declaration = () => MarkedGuard;

/** The decorator of the root instance that keeps its {@linkcode RouteGuards}. */
const GUARDS: unique symbol = Symbol("fastify-authjs.routeGuards");

/** In the `config` of a route that was seen: what its `auth` was then. */
const SEEN: unique symbol = Symbol("fastify-authjs.seen");

/**
 * The guards of one application. A route gets its guard as an `onRequest` hook when it is added (`onRoute`), so that
 * other routes are not slowed down. Routes that were there before are not seen: for them a hook of the root instance,
 * which Fastify adds to all routes of all scopes, looks at the `config` of the route of each request.
 */
export class RouteGuards {
  readonly #root: FastifyInstance;
  readonly #declarations: Declaration[] = [];
  /** The guards of routes that were not seen, by their `config`. */
  readonly #unseen = new WeakMap<object, Declaration | false>();
  /** The routes that were seen, until the application is ready. */
  readonly #seen = new Map<RouteOptions, FastifyInstance>();
  /** The instances with our `onRoute` hook. */
  readonly #watched = new WeakSet<object>();

  /** The guards of the application that an instance is part of. */
  static of(instance: FastifyInstance): RouteGuards {
    const root = rootOf(instance);
    const { [GUARDS]: known } = root as { [GUARDS]?: RouteGuards };
    const guards = known ?? new RouteGuards(root, mayMissRoutes(instance));
    guards.#watch(instance);
    return guards;
  }

  private constructor(root: FastifyInstance, mayMissRoutes: boolean) {
    this.#root = root;
    root.decorate(GUARDS, this as object);
    if (mayMissRoutes) this.#guardUnseen();
    root.addHook("onReady", async () => {
      for (const guardOf of this.#declarations) guardOf();
      for (const route of this.#seen.keys()) assertSeen(route);
      this.#nameOpenRoutes(mayMissRoutes);
      const described = [...this.#seen].filter(([{ config }, scope]) =>
        scope.hasDecorator(DOCUMENTS.decorator) && !isAuthRoute(config)
      );
      if (described.length > 0) (await DOCUMENTS.ofGuards())(described, guardsOf);
      this.#seen.clear();
    });
  }

  /** Guards the routes that are not seen when they are added. */
  #guardUnseen(): void {
    this.#root.addHook("onRequest", (request, reply, done): unknown => {
      const { config } = request.routeOptions;
      if (config === undefined || isSeen(config)) return done();
      let guardOf = this.#unseen.get(config);
      if (guardOf === undefined) {
        const where = nameOf(request.routeOptions);
        const options = declaredAuth(config, where) ?? false;
        guardOf = options && this.#declare(request.server, options, where);
        this.#unseen.set(config, guardOf);
      }
      return guardOf === false ? done() : guardOf()(request, reply);
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
    this.#seen.set(route, scope);
    if (isAuthRoute(route.config)) return;
    const where = nameOf(route);
    const options = declaredAuth(route.config, where);
    if (options === undefined) return;
    route.config = { ...route.config, [SEEN]: (route.config as RouteAuthConfig).auth } as object;
    if (options === false) return;
    const guardOf = this.#declare(scope, options, where);
    this.#declarations.push(guardOf);
    const guard = (request: FastifyRequest, reply: FastifyReply) => guardOf()(request, reply);
    const marked = Object.assign(guard, { [GUARD]: (config: unknown) => guardOf()[GUARD](config) });
    // New arrays: the given ones may be shared among routes.
    route.onRequest = [marked, ...[route.onRequest ?? []].flat()];
    route.preHandler = [disownHeaders, ...[route.preHandler ?? []].flat()];
  }

  /** Logs which routes are open in scopes whose other routes are not. */
  #nameOpenRoutes(mayMissRoutes: boolean): void {
    const open = [...this.#seen].filter(([route, scope]) =>
      (route.config as RouteAuthConfig | undefined)?.auth === false &&
      hooksOf(route, scope).some((hook) => GUARD in hook) && guardsOf(route, scope).length === 0
    );
    if (open.length === 0) return;
    const names = open.map(([{ method, url }]) => `${[method].flat().join(", ")} ${url}`).join("; ");
    const missed = mayMissRoutes ? " Routes that were added before FastifyAuth are not listed." : "";
    this.#root.log.info(`Open by \`config: { auth: false }\` in a guarded scope: ${names}.${missed}`);
  }

  #declare(scope: object, { mountPath, ...options }: RouteAuthOptions, where: string): Declaration {
    let guard: MarkedGuard | undefined;
    return () => guard ??= sessionGuard(this.#registrationOf(scope, mountPath, where).config, options, where);
  }

  #registrationOf(scope: object, mountPath: string | undefined, where: string): Mounted {
    const all = mountedIn(this.#root);
    if (all.length === 0) {
      throw invalid(
        where,
        "no FastifyAuth is registered in this application. Register one: " +
          '`app.register(auth.plugin, { prefix: "/auth" })`, or `FastifyAuth(config)` in its place.',
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

/** Whether the `config` of a route declares nothing that was not seen when the route was added. */
function isSeen(config: object): boolean {
  const { auth, [SEEN]: seen } = config as RouteAuthConfig & { [SEEN]?: RouteAuth };
  return !("auth" in config) || (SEEN in config && auth === seen);
}

/** Refuses a declaration that an `onRoute` hook made after ours, so that the route has no guard, or another one. */
function assertSeen(route: RouteOptions): void {
  const { config } = route;
  if (config === undefined || isSeen(config) || declaredAuth(config, nameOf(route)) === false) return;
  throw invalid(
    nameOf(route),
    "an `onRoute` hook set it after FastifyAuth had seen the route. Add that hook before registering FastifyAuth.",
  );
}

/** What the hooks of a route require, its own and those of its scope: once for each configuration. */
function guardsOf(route: RouteOptions, scope: FastifyInstance): Guarding[] {
  const required = new Map<Guarding["source"], Guarding>();
  for (const hook of hooksOf(route, scope)) {
    const guarding = (hook as Partial<MarkedGuard>)[GUARD]?.(route.config);
    if (guarding === undefined) continue;
    const { source, codes, security } = guarding;
    if (typeof source !== "function" && isSignInRoute(route, source)) continue;
    const { codes: others = [], security: ways = security } = required.get(source) ?? {};
    required.set(source, { source, codes: [...codes, ...others], security: inBoth(security, ways) });
  }
  return [...required.values()];
}

/** The ways by which a request passes both guards. If a session does not pass one of them, it does not pass both. */
function inBoth(some: readonly GuardSecurity[], others: readonly GuardSecurity[]): GuardSecurity[] {
  return some.flatMap((way) => {
    const other = others.find(({ name }) => name === way.name);
    if (other === undefined) return [];
    return [{ ...(way.isAlone ? way : other), scopes: [...new Set([...way.scopes, ...other.scopes])] }];
  });
}

const GUARD_HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

/** The hooks of a route and of its scope that can be guards. Only descriptions of routes depend on it. */
function hooksOf(route: RouteOptions, scope: FastifyInstance): readonly object[] {
  const ofScope = internal<Record<string, object[]>>(scope, "fastify.hooks");
  return GUARD_HOOKS.flatMap((name) => [...ofScope?.[name] ?? [], ...[route[name] ?? []].flat()]);
}

/** Whether `onRoute` hooks may miss routes: there are some, or other scopes, which may add some later. */
function mayMissRoutes(instance: FastifyInstance): boolean {
  if (instance.printRoutes() !== "(empty tree)") return true;
  let within: object | undefined;
  for (let scope = instance; isInstance(scope); within = scope, scope = Object.getPrototypeOf(scope)) {
    const scopes = internal<object[]>(scope, "fastify.children");
    if (scopes === undefined || scopes.some((other) => other !== within)) return true;
  }
  return false;
}

/** What Fastify keeps of an instance under a symbol of its own, if it does. */
function internal<T>(instance: object, description: string): T | undefined {
  const symbol = Object.getOwnPropertySymbols(instance).find((symbol) => symbol.description === description);
  return symbol && (instance as Record<symbol, T>)[symbol];
}

/** The registrations of a scope, or of the next one around it that has any; else all. */
function nearest(all: readonly Mounted[], scope: object): readonly Mounted[] {
  for (let around = scope; isInstance(around); around = Object.getPrototypeOf(around)) {
    const found = all.filter((registration) => registration.scope === around);
    if (found.length > 0) return found;
  }
  return all;
}

function pathsOf(registrations: readonly Mounted[], conjunction: string): string {
  return registrations.map(({ mountPath }) => `"${mountPath}"`).join(conjunction);
}

function nameOf({ method, url }: Pick<FastifyRequest["routeOptions"], "method" | "url">): string {
  return `\`config.auth\` of ${method ? `${[method].flat().join(", ")} ${url}` : "the not-found handler"}`;
}

function isInstance(value: unknown): value is FastifyInstance {
  return typeof (value as { addHook?: unknown } | null)?.addHook === "function";
}
