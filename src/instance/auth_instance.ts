/** The one object behind a configuration. */
import type { Notice } from "../config/notices.ts";
import { assetOptions } from "../config/pages.ts";
import { asConfigError, inheritUses, resolveConfig, type ResolvedConfig } from "../config/resolve.ts";
import { coreProblem } from "../config/core_problem.ts";
import { FastifyAuthError } from "../errors.ts";
import type { Hooks } from "../features/feature.ts";
import { loadFeatures, type UsedFeatures } from "../features/load.ts";
import { FEATURES } from "../features/mod.ts";
import { LiveSessions } from "../session/live_sessions.ts";
import { memoryStore } from "../store/memory_store.ts";
import { keepsName } from "../session/name.ts";
import { type SessionSettings, sessionSettings } from "../session/settings.ts";
import { SharedStore } from "../store/shared_store.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { later } from "../utils/later.ts";

export class AuthInstance {
  readonly config: ResolvedConfig;
  readonly live: LiveSessions;
  readonly store: SharedStore | undefined;
  /** The same, or else one of this process: what is counted or used once needs one. */
  readonly anyStore: SharedStore;
  /** What features remember besides, by their names, also for the next configuration of the tenant. */
  readonly memory: Map<string, unknown>;
  readonly assets = later(async () => {
    const { loadAssets } = await import("../pages/assets.ts");
    const assets = await loadAssets(assetOptions(this.config.pages));
    return () => assets;
  });
  used: UsedFeatures = { features: [], hooks: [], warnings: [], advice: [] };
  isReady = false;
  readonly #settings: { http?: SessionSettings; https?: SessionSettings } = {};
  readonly #done: Set<string>;
  #problem: Promise<FastifyAuthError | undefined> | undefined;

  /** @param before That of an earlier configuration of the same tenant, whose memory is taken over. */
  constructor(config: FastifyAuthConfig, before?: AuthInstance) {
    const resolved = resolveConfig(config);
    this.config = before === undefined ? resolved : inheritUses(resolved, before.config);
    this.#done = before === undefined ? new Set() : before.#done;
    const { refresh: { store }, signIns: { timeout } } = resolved;
    this.store = store && new SharedStore(store, timeout, config.tenant);
    // Not the store of an earlier configuration, whose client may be closed.
    const inProcess = before?.store === undefined ? before?.anyStore : undefined;
    this.anyStore = this.store ?? inProcess ?? new SharedStore(memoryStore(), timeout, config.tenant);
    this.live = before?.live ?? new LiveSessions();
    this.memory = before?.memory ?? new Map();
  }

  /** Checks the configuration, by our checks and by core's. Resolves with what is wrong. */
  problem(): Promise<FastifyAuthError | undefined> {
    return this.#problem ??= this.#check();
  }

  async requireReady(): Promise<void> {
    const problem = await this.problem();
    if (problem !== undefined) throw problem;
  }

  async #check(): Promise<FastifyAuthError | undefined> {
    const { config, store, live, memory } = this;
    if (config.problem !== undefined) return config.problem;
    try {
      this.used = await loadFeatures(FEATURES, { ...config.facts, store, live, memory });
    } catch (error) {
      return asConfigError(error);
    }
    const problem = await config.pages.languages.problem() ?? await coreProblem(config) ??
      await this.#codecProblem();
    this.isReady = problem === undefined;
    return problem;
  }

  async #codecProblem(): Promise<FastifyAuthError | undefined> {
    const { strategy, ownTokens, jwt, cookie, refresh } = this.settings();
    if (strategy !== "jwt" || ownTokens || await keepsName(jwt, cookie.name)) return;
    const problem =
      "`jwt.encode` and `jwt.decode` lose the claim `session_name`, by which a session is known when it is " +
      "renewed and when it ends. Have them keep every claim of the token.";
    if (refresh.store !== undefined) return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", problem);
    this.config.notices.warn(problem, "FST_AUTHJS_WARN_CODEC");
  }

  get warnings(): readonly Notice[] {
    return [...this.config.warnings, ...this.used.warnings];
  }

  get hooks(): readonly Hooks[] {
    return this.used.hooks;
  }

  /** The session settings for https (`secure`; by default that of the origin) or http: cookies have other names. */
  settings(secure = this.config.origin?.secure ?? false): SessionSettings {
    return this.#settings[secure ? "https" : "http"] ??= sessionSettings(this, secure);
  }

  once(what: string, tell: () => void): void {
    if (this.#done.has(what)) return;
    this.#done.add(what);
    tell();
  }
}

const instances = new WeakMap<FastifyAuthConfig, AuthInstance>();

/** The instance of a configuration, by which `getSession(request, config)` finds what the plugin set up. */
export function authInstance(config: FastifyAuthConfig, before?: AuthInstance): AuthInstance {
  let instance = instances.get(config);
  if (instance === undefined) instances.set(config, instance = new AuthInstance(config, before));
  return instance;
}
