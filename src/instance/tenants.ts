/** The configurations that a function returns. Another object for the same `tenant` takes over what is known of it. */
import type { Adapter } from "@auth/core/adapters";
import type { FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { AsyncLocalStorage } from "node:async_hooks";
import { isRequestOrReply } from "../utils/arguments.ts";
import { type AuthInstance, authInstance } from "./auth_instance.ts";
import { mountedIn } from "./mount.ts";
import type { Log, NoticeCode } from "../config/notices.ts";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import type { ConfigForRequest, FastifyAuthConfig, SessionRequest } from "../types.ts";

/** The configuration of a tenant, when its latest new object came, and how many had come in a row by then. */
interface Known {
  readonly config: FastifyAuthConfig;
  readonly since: number;
  readonly hasty: number;
}

/** How many tenants are remembered, and how many messages: a function may make up new ones. */
const MOST = { max: 1000 };

/** How many new objects in a row, each within this time of the one before, show that the function makes them. */
const MOST_HASTY = 10, SOON_MS = 60_000;

export class Tenants {
  readonly #known = new LRUCache<string, Known>(MOST);
  readonly #seen = new WeakSet<FastifyAuthConfig>();
  readonly #said = new LRUCache<string, true>(MOST);
  readonly #requests = new WeakMap<object, Promise<FastifyAuthConfig>>();
  /** By adapter and id of a provider: at which issuer the accounts are, and which tenants have it. */
  readonly #issuers = new WeakMap<Adapter, Map<string, { issuer: string; tenants: Set<string> }>>();
  /** The request for which the function runs, until it is done: what it began may go on for longer. */
  readonly #choosing = new AsyncLocalStorage<{ request?: SessionRequest }>();

  constructor(private readonly choose: ConfigForRequest) {}

  /** The configurations of a function: the same for the plugin, guards and reads that are given it. */
  static of(choose: ConfigForRequest): Tenants {
    let tenants = all.get(choose);
    if (tenants === undefined) all.set(choose, tenants = new Tenants(choose));
    return tenants;
  }

  /** Throws 404 if there is none, 503 if the function failed without a `statusCode`, 500 if it cannot be used. */
  async configOf(request: SessionRequest): Promise<FastifyAuthConfig> {
    // It would wait for the function, which waits for it.
    if (this.#choosing.getStore()?.request === request) throw this.#unusable(ASKS_FOR_SESSION, request);
    let config = this.#requests.get(request);
    if (config === undefined) this.#requests.set(request, config = this.#find(request));
    return await config;
  }

  /** Has a new configuration take over what is known of its tenant, before a request brings it. */
  takeOver(config: FastifyAuthConfig): void {
    const before = this.#known.get(config.tenant!);
    if (before !== undefined) authInstance(config, authInstance(before.config));
  }

  async #find(request: SessionRequest): Promise<FastifyAuthConfig> {
    const { log, server } = request;
    const config = await this.#call(request);
    if (config === undefined || config === null) {
      this.#tell("warn", "FST_AUTHJS_WARN_NO_TENANT", NO_TENANT, log);
      throw new FastifyAuthError("FST_AUTHJS_NOT_FOUND", "There is no tenant for this request.");
    }
    if (typeof config !== "object" || isRequestOrReply(config)) throw this.#unusable(NO_CONFIG, request);
    const { tenant } = config;
    if (tenant === undefined) throw this.#unusable(WITHOUT_TENANT, request);
    const before = this.#known.get(tenant);
    const auth = authInstance(config, before && authInstance(before.config));
    if (before?.config !== config) this.#remember(tenant, config, before, log);
    const problem = (await auth.problem())?.message ?? this.#accountProblem(tenant, auth, config);
    if (problem !== undefined) throw this.#unusable(problem, request);
    try {
      for (const mount of mountedIn(server)) {
        if (mount.config === this.choose) await mount.prepare!(config);
      }
    } catch (error) {
      throw this.#unusable((error as Error).message, request);
    }
    // What a configuration that does not change has logged at boot.
    auth.config.notices.sendTo(log);
    for (const [level, said] of [["warn", auth.warnings], ["info", auth.used.advice]] as const) {
      for (const { message, code } of said) auth.once(message, () => log[level]({ code, tenant }, message));
    }
    return config;
  }

  async #call(request: SessionRequest): Promise<FastifyAuthConfig | null | undefined> {
    const choosing: { request?: SessionRequest } = { request };
    try {
      return await this.#choosing.run(choosing, () => this.choose(request as FastifyRequest));
    } catch (cause) {
      const { statusCode } = Object(cause) as { statusCode?: unknown };
      if (typeof statusCode === "number" && statusCode >= 400 && statusCode <= 599) throw cause;
      const problem = "The configuration for this request could not be loaded. Try again later.";
      throw new FastifyAuthError("FST_AUTHJS_UNAVAILABLE", problem, { cause });
    } finally {
      delete choosing.request;
    }
  }

  #remember(tenant: string, config: FastifyAuthConfig, before: Known | undefined, log: Log): void {
    // A tenant may have an object for each of its hosts, which come in turns.
    if (before !== undefined && this.#seen.has(config)) return void this.#known.set(tenant, { ...before, config });
    this.#seen.add(config);
    const since = Date.now();
    const hasty = before !== undefined && since - before.since < SOON_MS ? before.hasty + 1 : 0;
    if (hasty >= MOST_HASTY) this.#tell("warn", "FST_AUTHJS_WARN_TENANT_CONFIG", MADE_ANEW, log);
    this.#known.set(tenant, { config, since, hasty });
  }

  /** Accounts are known by the ids of provider and user: "1" at one issuer is another person at the other. */
  #accountProblem(tenant: string, auth: AuthInstance, { adapter }: FastifyAuthConfig): string | undefined {
    if (adapter === undefined) return;
    const issuers = this.#issuers.get(adapter) ?? new Map<string, { issuer: string; tenants: Set<string> }>();
    this.#issuers.set(adapter, issuers);
    for (const { id, type, server } of auth.config.providers.values()) {
      const issuer = server.issuer ?? server.token;
      if ((type !== "oauth" && type !== "oidc") || issuer === undefined) continue;
      let known = issuers.get(id);
      if (known?.issuer !== issuer) {
        // A tenant may change its issuer if no other has accounts there.
        const other = [...known?.tenants ?? []].find((each) => each !== tenant);
        if (other !== undefined) {
          return `the tenants "${other}" and "${tenant}" have a provider "${id}" each, at different ` +
            "issuers, and one adapter. A user at one issuer could be taken for another person at the other. " +
            "Give the providers different ids, or each tenant an adapter of its own.";
        }
        issuers.set(id, known = { issuer, tenants: new Set() });
      }
      // A second one is enough to know that there is another. A function may make up any number.
      if (known.tenants.size < 2) known.tenants.add(tenant);
    }
  }

  /** Logs why a configuration cannot be used. Clients need not know. */
  #unusable(problem: string, { log }: SessionRequest): FastifyAuthError {
    const code = "FST_AUTHJS_CONFIG_INVALID";
    this.#tell("error", code, `The configuration for a request: ${problem}`, log);
    const message = "The configuration for this request cannot be used. The log says why.";
    return new FastifyAuthError(code, message, { statusCode: 500 });
  }

  #tell(level: "error" | "warn", code: NoticeCode | FastifyAuthErrorCode, message: string, log: Log): void {
    if (this.#said.get(message)) return;
    this.#said.set(message, true);
    log[level]({ code }, message);
  }
}

/** By function, as the instances are by configuration: reads and guards are given only that. */
const all = new WeakMap<ConfigForRequest, Tenants>();

const ASKS_FOR_SESSION =
  "the function that chooses it asks for a session of the same request, which only the chosen one can " +
  "read. Choose by the host, the path or a header.";

const NO_TENANT =
  "The function that chooses the configuration returned none for a request. Such requests get a 404 from " +
  "auth routes and guards, and have no session. Return the configuration of the tenant, or a default one.";

const NO_CONFIG = "the function returned something else than a configuration. Return an object with `providers` and " +
  "`tenant`, a promise of one, or undefined if there is none.";

const WITHOUT_TENANT = "the function returned one without `tenant`. Give each configuration the name of its tenant, " +
  '`tenant: "acme"`: cookies, tokens and mailed links are bound to it, so that no other accepts them.';

const MADE_ANEW =
  "The function that chooses the configuration returns new objects for the same tenant: each is copied " +
  "and checked anew, which takes a hundred times as long as reading a session. Keep the object of a " +
  "tenant, such as in a Map, and return it for as long as nothing in it changes.";
