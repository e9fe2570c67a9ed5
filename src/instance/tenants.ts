/**
 * The configurations that a function returns for requests, such as one for each tenant.
 *
 * The function is called once for each request. What it returns is known again by being the same object: it
 * was copied and checked with its first request. Of each `tenant` the latest object is remembered, so that
 * another one for the same tenant takes over what is known of it, such as how often a password was guessed.
 */
import type { Adapter } from "@auth/core/adapters";
import type { FastifyRequest } from "fastify";
import { AsyncLocalStorage } from "node:async_hooks";
import { isRequestOrReply } from "./arguments.ts";
import { type AuthInstance, authInstance } from "./auth_instance.ts";
import type { NoticeCode } from "../config/notices.ts";
import { FastifyAuthError } from "../errors.ts";
import type { ConfigForRequest, FastifyAuthConfig, SessionRequest } from "../types.ts";

/** A mount of the plugin, which makes itself ready for configurations. */
export interface TenantMount {
  /** @throws {FastifyAuthError} Where the configuration does not fit. */
  prepare(auth: AuthInstance, config: FastifyAuthConfig): Promise<void>;
}

/** What is remembered of a tenant. */
interface Known {
  readonly config: FastifyAuthConfig;
  /** When this object came first, in milliseconds since 1970. */
  readonly since: number;
  /** How many objects before it were in use for less than {@linkcode SOON_MS}, one after the other. */
  readonly hasty: number;
  /** The applications in which it is ready. */
  readonly applications: WeakSet<object>;
}

/** A call of the function. */
interface Choice {
  readonly request: SessionRequest;
  /** Whether it is over. */
  isMade: boolean;
}

/** How many tenants are remembered: those that were used last. */
const MOST_TENANTS = 1000;

/** How many objects in a row, each in use for less time than this, show that the function makes them anew. */
const MOST_HASTY = 10, SOON_MS = 60_000;

/** The configurations of one function. */
export class Tenants {
  readonly #choose: ConfigForRequest;
  readonly #known = new Map<string, Known>();
  readonly #requests = new WeakMap<object, Promise<FastifyAuthConfig>>();
  readonly #mounts = new WeakMap<object, TenantMount[]>();
  /** By adapter and id of a provider: whose accounts they are. */
  readonly #issuers = new WeakMap<
    Adapter,
    Map<string, { readonly tenant: string; readonly issuer: string }>
  >();
  readonly #choosing = new AsyncLocalStorage<Choice>();
  readonly #said = new Set<string>();

  constructor(choose: ConfigForRequest) {
    this.#choose = choose;
  }

  /** The configurations of a function: the same for the plugin, guards and reads that are given it. */
  static of(choose: ConfigForRequest): Tenants {
    let tenants = all.get(choose);
    if (tenants === undefined) all.set(choose, tenants = new Tenants(choose));
    return tenants;
  }

  /** @param application The HTTP server of the application, which all its scopes share. */
  addMount(application: object, mount: TenantMount): void {
    this.#mounts.set(application, [...this.#mounts.get(application) ?? [], mount]);
  }

  /** Whether the configuration of an instance is in use. */
  has({ config }: AuthInstance): boolean {
    return config.tenant !== undefined && this.#known.has(config.tenant);
  }

  /**
   * The configuration for a request, which was checked and can be used.
   *
   * @throws {FastifyAuthError} 404 where there is none, 503 where the function failed, 500 where the
   * configuration cannot be used. An error of the function that has a `statusCode` stays.
   */
  async configOf(request: SessionRequest): Promise<FastifyAuthConfig> {
    const choice = this.#choosing.getStore();
    // The function asks for the session of the request, which would wait for the function.
    if (choice?.request === request && !choice.isMade) throw this.#unusable(ASKS_FOR_SESSION, request);
    let config = this.#requests.get(request);
    if (config === undefined) this.#requests.set(request, config = this.#find(request));
    return await config;
  }

  async #find(request: SessionRequest): Promise<FastifyAuthConfig> {
    const choice: Choice = { request, isMade: false };
    let chosen: unknown;
    try {
      chosen = await this.#choosing.run(choice, () => this.#choose(request as FastifyRequest));
    } catch (error) {
      throw toFailure(error);
    } finally {
      choice.isMade = true;
    }
    const config = this.#require(chosen, request);
    const known = this.#known.get(config.tenant);
    if (known?.config !== config) return await this.#resolve(config, known, request);
    // The tenants that were used last are the last.
    this.#known.delete(config.tenant);
    this.#known.set(config.tenant, known);
    const isReady = known.applications.has(applicationOf(request));
    return isReady ? config : await this.#resolve(config, known, request);
  }

  #require(chosen: unknown, request: SessionRequest): FastifyAuthConfig & { readonly tenant: string } {
    if (chosen === undefined || chosen === null) {
      this.#warn("none", "FST_AUTHJS_WARN_NO_TENANT", request, NO_TENANT);
      throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no tenant for this request.");
    }
    if (typeof chosen !== "object" || isRequestOrReply(chosen)) throw this.#unusable(NO_CONFIG, request);
    const { tenant } = chosen as FastifyAuthConfig;
    if (tenant === undefined) throw this.#unusable(WITHOUT_TENANT, request);
    return chosen as FastifyAuthConfig & { readonly tenant: string };
  }

  async #resolve(
    config: FastifyAuthConfig & { readonly tenant: string },
    known: Known | undefined,
    request: SessionRequest,
  ): Promise<FastifyAuthConfig> {
    const isNew = known?.config !== config;
    const auth = authInstance(config, isNew ? known && authInstance(known.config) : undefined);
    const current = isNew ? this.#remember(config, known, request) : known;
    const problem = await auth.problem() ?? this.#accountProblem(auth, config);
    if (problem !== undefined) throw this.#unusable(problem.message, request);
    const application = applicationOf(request);
    try {
      for (const mount of this.#mounts.get(application) ?? []) await mount.prepare(auth, config);
    } catch (error) {
      throw this.#unusable((error as Error).message, request);
    }
    this.#report(auth, request);
    current.applications.add(application);
    return config;
  }

  #remember(
    config: FastifyAuthConfig & { readonly tenant: string },
    before: Known | undefined,
    request: SessionRequest,
  ): Known {
    const { tenant } = config;
    const now = Date.now();
    const hasty = before !== undefined && now - before.since < SOON_MS ? before.hasty + 1 : 0;
    if (hasty >= MOST_HASTY) this.#warn("hasty", "FST_AUTHJS_WARN_TENANT_CONFIG", request, MADE_ANEW);
    const known: Known = { config, since: now, hasty, applications: new WeakSet() };
    this.#known.delete(tenant);
    this.#known.set(tenant, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > MOST_TENANTS) this.#known.delete(oldest!);
    return known;
  }

  /** Logs what a configuration that does not change has logged at boot. */
  #report(auth: AuthInstance, { log }: SessionRequest): void {
    const { warnings, advice, notices, tenant } = auth.config;
    notices.sendTo(log);
    for (const { message, ...details } of warnings) {
      auth.once(message, () => log.warn({ ...details, tenant }, message));
    }
    for (const { message, ...details } of advice) {
      auth.once(message, () => log.info({ ...details, tenant }, message));
    }
  }

  /**
   * Accounts in a database are known by the id of their provider and the id of the user there: "1" at one
   * issuer is another person than "1" at the other.
   */
  #accountProblem(
    { config: { tenant = "", providers } }: AuthInstance,
    { adapter }: FastifyAuthConfig,
  ): FastifyAuthError | undefined {
    if (adapter === undefined) return undefined;
    const known = this.#issuers.get(adapter) ?? new Map();
    this.#issuers.set(adapter, known);
    for (const { id, type, server } of providers.values()) {
      const issuer = server.issuer ?? server.token;
      if ((type !== "oauth" && type !== "oidc") || issuer === undefined) continue;
      const other = known.get(id);
      if (other !== undefined && other.issuer !== issuer && other.tenant !== tenant) {
        return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", sharedAccounts(id, tenant, other.tenant));
      }
      known.set(id, { tenant, issuer });
    }
    return undefined;
  }

  /** Logs why a configuration cannot be used. Clients need not know. */
  #unusable(problem: string, { log }: SessionRequest): FastifyAuthError {
    if (!this.#said.has(problem)) {
      this.#say(problem);
      log.error({ code: "FST_AUTHJS_CONFIG_INVALID" }, `The configuration for a request: ${problem}`);
    }
    return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", UNUSABLE, { statusCode: 500 });
  }

  #warn(what: string, code: NoticeCode, { log }: SessionRequest, message: string): void {
    if (this.#said.has(what)) return;
    this.#say(what);
    log.warn({ code }, message);
  }

  /** Remembers what was said; a function that makes up problems must not fill the memory. */
  #say(what: string): void {
    if (this.#said.size >= MOST_TENANTS) this.#said.clear();
    this.#said.add(what);
  }
}

/** By function, as the instances are by configuration: reads and guards are given only that. */
const all = new WeakMap<ConfigForRequest, Tenants>();

/** The HTTP server, which all scopes of an application share. */
function applicationOf({ server }: SessionRequest): object {
  return (server as { readonly server?: object }).server ?? server;
}

/** An error of the application that names its status stays; any other is a failure that may pass. */
function toFailure(error: unknown): unknown {
  if (error instanceof FastifyAuthError) return error;
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode <= 599) return error;
  return new FastifyAuthError(
    "FST_AUTHJS_UNAVAILABLE",
    "The configuration for this request could not be loaded. Try again later.",
    { cause: error },
  );
}

const UNUSABLE = "The configuration for this request cannot be used. The log says why.";

const ASKS_FOR_SESSION =
  "the function that chooses it asks for a session of the same request, which only the chosen configuration can read. " +
  "Choose by the host, the path or a header.";

const NO_TENANT =
  "The function that chooses the configuration returned none for a request. Such requests get a 404 " +
  "from auth routes and guards, and have no session. Return the configuration of the tenant, or of a default one.";

const NO_CONFIG =
  "the function returned something else than a configuration. Return an object with `providers` and " +
  "`tenant`, a promise of one, or undefined where there is none.";

const WITHOUT_TENANT =
  "the function returned one without `tenant`. Give each configuration the name of its tenant, " +
  '`tenant: "acme"`: cookies, tokens and mailed links are bound to it, so that no other tenant accepts them.';

const MADE_ANEW =
  "The function that chooses the configuration returns new objects for the same tenant: each is copied " +
  "and checked anew, which takes a hundred times as long as reading a session. Keep the object of a tenant, such as in a Map, and " +
  "return it for as long as nothing in it changes.";

function sharedAccounts(id: string, tenant: string, other: string): string {
  return `the tenants "${other}" and "${tenant}" have a provider "${id}" each, at different issuers, and one adapter. ` +
    "A user at one issuer could be taken for another person at the other. Give the providers different ids, or each " +
    "tenant an adapter of its own.";
}
