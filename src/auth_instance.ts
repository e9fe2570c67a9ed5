/**
 * The one object behind a configuration.
 *
 * @module
 */
import { resolveConfig, type ResolvedConfig } from "./config/resolve.ts";
import { coreProblem } from "./core/config_problem.ts";
import type { FastifyAuthError } from "./errors.ts";
import { type SessionSettings, sessionSettings } from "./session/settings.ts";
import type { FastifyAuthConfig } from "./types.ts";

/** What is worked out once for a configuration, and what is remembered of its use. */
export class AuthInstance {
  /** The configuration, copied, completed from the environment and checked by us. */
  readonly config: ResolvedConfig;
  readonly #settings: { http?: SessionSettings; https?: SessionSettings } = {};
  /** The mount paths by application, in the order they were registered. */
  readonly #mounts = new WeakMap<object, string[]>();
  readonly #told = new Set<string>();
  #problem: Promise<FastifyAuthError | undefined> | undefined;
  #ready = false;

  /** @param config The caller's configuration; it is read now and never written to. */
  constructor(config: FastifyAuthConfig) {
    this.config = resolveConfig(config);
  }

  /** Whether it is known, without waiting, that the configuration can be used. */
  get isReady(): boolean {
    return this.#ready;
  }

  /** Why the configuration cannot be used, by our checks and by core's. */
  problem(): Promise<FastifyAuthError | undefined> {
    return this.#problem ??= this.#check();
  }

  async #check(): Promise<FastifyAuthError | undefined> {
    const problem = this.config.problem ?? await coreProblem(this.config);
    this.#ready = problem === undefined;
    return problem;
  }

  /** How sessions are read over https (`secure`) or http, which differ in the cookie's name and so in its key. */
  settings(secure: boolean): SessionSettings {
    const [own, other] = secure ? ["https", "http"] as const : ["http", "https"] as const;
    return this.#settings[own] ??= sessionSettings(this.config, secure, this.#settings[other]);
  }

  /**
   * Remembers where the routes were mounted.
   *
   * @param application The application's HTTP server, which all its scopes share.
   */
  addMount(application: object, path: string): void {
    this.#mounts.set(application, [...this.#mounts.get(application) ?? [], path]);
  }

  /** The path where an application first mounted the routes. */
  mountPath(application: object): string | undefined {
    return this.#mounts.get(application)?.[0];
  }

  /** Runs `tell` the first time it is asked to for `what`: a warning is said once, not with each request. */
  once(what: string, tell: () => void): void {
    if (this.#told.has(what)) return;
    this.#told.add(what);
    tell();
  }
}

const instances = new WeakMap<FastifyAuthConfig, AuthInstance>();

/**
 * The instance of a configuration: the same object always has the same one, so that `getSession(request, config)` finds what
 * `FastifyAuth(config)` set up.
 */
export function authInstance(config: FastifyAuthConfig): AuthInstance {
  let instance = instances.get(config);
  if (instance === undefined) instances.set(config, instance = new AuthInstance(config));
  return instance;
}
