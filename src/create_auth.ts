/** One object for everything that an application does with Auth.js. */
import type { FastifyRequest } from "fastify";
import type { ActionAuth } from "./actions/perform.ts";
import type { AuthObject, CreateAuthConfig, SessionOf, TenantAuthObject } from "./auth_object.ts";
import type { ListedActions } from "./features/feature.ts";
import { type FeatureActions, FEATURES } from "./features/mod.ts";
import { assertRequest, invalid, isConfiguration } from "./utils/arguments.ts";
import { authInstance } from "./instance/auth_instance.ts";
import { getSession } from "./get_session.ts";
import type { ConfigForRequest, DefaultSession, FastifyAuthConfig, Session, SessionRequest, User } from "./types.ts";
import { FastifyAuth } from "./plugin.ts";
import { requireSession } from "./guard/guard.ts";
import type { RequireSessionOptions, RouteAuthConfig } from "./guard/guard_options.ts";
import { mountedIn } from "./instance/mount.ts";
import { readClaims, readSession } from "./instance/read_session.ts";
import { Tenants } from "./instance/tenants.ts";
import { later } from "./utils/later.ts";

/** The functions of the object that are loaded when they are first called. */
const ACTIONS: readonly ListedActions[] = [
  { load: () => import("./actions/actions.ts"), ofRequest: ["signIn", "signOut", "updateSession"] },
  ...FEATURES.flatMap(({ actions }) => actions ?? []),
];

type LoadedActions = FeatureActions & Pick<AuthObject, "signIn" | "signOut" | "updateSession">;

/**
 * Makes one object of a configuration: the plugin, `getSession()`, `requireSession()`, and everything else that the
 * application does with Auth.js. The type of the session is inferred from what `callbacks.session` returns. With a
 * {@linkcode ConfigForRequest} in place of the configuration it is a {@linkcode TenantAuthObject}.
 * @param config The configuration, or the function; it is copied, never written to.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if the argument is neither. The configuration is checked when
 * the plugin is registered.
 *
 * @example
 * ```ts
 * import Fastify from "fastify";
 * import { createAuth } from "fastify-authjs";
 * import GitHub from "fastify-authjs/providers/github";
 *
 * const auth = createAuth({
 *   providers: [GitHub({ clientId: "id", clientSecret: "secret" })],
 *   secret: "a string of 32 characters or more",
 *   origin: "http://localhost:3000",
 *   callbacks: {
 *     session: ({ session: { user, expires }, token }) => ({
 *       user: { id: token.sub ?? "", name: user.name ?? null, email: user.email ?? null },
 *       expires,
 *     }),
 *   },
 * });
 * const app = Fastify();
 * await app.register(auth.plugin, { prefix: "/auth" });
 *
 * app.get("/me", { onRequest: auth.requireSession() }, async (request) => {
 *   const session = await auth.getSession(request);
 *   return session?.user.id; // a string: what the callback returned
 * });
 * app.post("/leave", (request, reply) => auth.signOut(request, reply, { callbackUrl: "/" }));
 *
 * const response = await app.inject("/me");
 * console.assert(response.statusCode === 401);
 * ```
 */
export function createAuth<Returned extends DefaultSession, None extends readonly unknown[]>(
  config:
    | CreateAuthConfig<Returned>
    // A function has no parameters but the request: of it `None` is `[]`, by which the result is told apart.
    | ((request: FastifyRequest, ...none: None) => ReturnType<ConfigForRequest<CreateAuthConfig<Returned>>>),
): None extends readonly [] ? TenantAuthObject<SessionOf<Returned>> : AuthObject<SessionOf<Returned>> {
  const own = config as CreateAuthConfig | ConfigForRequest;
  return (typeof own === "function" ? tenantAuth(own) : authOf(own)) as never;
}

function authOf(config: CreateAuthConfig): AuthObject {
  if (!isConfiguration(config)) {
    throw invalid("createAuth()", "give it a configuration with `providers`: `createAuth({ providers: [GitHub] })`.");
  }
  const own = config as unknown as FastifyAuthConfig;
  return withoutPlugin<AuthObject>({
    config: own,
    plugin: FastifyAuth(own),
    async getSession(request) {
      assertRequest(request, "getSession()");
      assertGuarded(request as unknown as FastifyRequest);
      return (await readSession(request, own)).session as Session & { user: User };
    },
    requireSession: (options) => requireSession(own, options as RequireSessionOptions),
    async getToken(request) {
      assertRequest(request, "getToken()");
      return await readClaims(request, own);
    },
    ...loadedActions(own),
  });
}

/** Makes `app.register(auth)` an error that says what to write: Fastify takes `default` for the plugin of a module. */
function withoutPlugin<Members extends object>(members: Members): Members {
  const problem = 'give it the plugin of the object: `app.register(auth.plugin, { prefix: "/auth" })`.';
  const value = () => Promise.reject(invalid("register()", problem));
  return Object.defineProperty(members, "default", { value });
}

/** Refuses a route whose `config.auth` guards nothing, since no plugin came that would. */
function assertGuarded({ routeOptions, server }: FastifyRequest): void {
  const { auth } = (routeOptions?.config ?? {}) as RouteAuthConfig;
  if (!auth || mountedIn(server).length > 0) return;
  throw invalid(
    `\`config.auth\` of ${routeOptions.url}`,
    "it guards nothing, since FastifyAuth is not registered in this application: register `auth.plugin`.",
  );
}

function loadedActions(config: FastifyAuthConfig): LoadedActions {
  const functions = ACTIONS.flatMap(({ load, ofRequest = [], ofConfiguration = [] }) =>
    [...ofRequest, ...ofConfiguration].map((name) => [
      name,
      later(async () => {
        const { [name]: called } = await load();
        return (...given: never[]) => {
          if (ofRequest.includes(name)) assertRequest(given[0], `${name}()`);
          // Made when it is needed: an environment that is loaded after this module counts.
          const acting: ActionAuth = { config, instance: authInstance(config) };
          return called!(acting as never, ...given);
        };
      }),
    ])
  );
  return Object.fromEntries(functions);
}

/** The members of the object that take a request first. */
type PerRequest = Omit<TenantAuthObject, "forConfig" | "getSession" | "plugin" | "requireSession">;

function tenantAuth(choose: ConfigForRequest): TenantAuthObject {
  const tenants = Tenants.of(choose);
  const objects = new WeakMap<FastifyAuthConfig, AuthObject>();
  const objectOf = (config: FastifyAuthConfig) => {
    let object = objects.get(config);
    if (object === undefined) objects.set(config, object = authOf(config));
    return object;
  };
  const call = <Name extends keyof PerRequest>(name: Name) =>
    (async (request: SessionRequest, ...rest: unknown[]) => {
      assertRequest(request, `${name}()`);
      const object = objectOf(await tenants.configOf(request));
      return await (object[name] as (...given: unknown[]) => unknown)(request, ...rest);
    }) as unknown as PerRequest[Name];
  const ofRequest = ACTIONS.flatMap(({ ofRequest = [] }) => ofRequest) as (keyof PerRequest)[];
  return withoutPlugin<TenantAuthObject>({
    plugin: FastifyAuth(choose),
    getSession: (request) => getSession(request, choose) as ReturnType<AuthObject["getSession"]>,
    requireSession: (options) => requireSession(choose, options as RequireSessionOptions),
    getToken: call("getToken"),
    ...Object.fromEntries(ofRequest.map((name) => [name, call(name)])) as unknown as LoadedActions,
    forConfig(config) {
      if (typeof config?.tenant !== "string") {
        throw invalid("forConfig()", "give it a configuration with a `tenant`, such as the function returns.");
      }
      tenants.takeOver(config);
      return objectOf(config);
    },
  });
}
