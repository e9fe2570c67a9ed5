/**
 * Resolves the application's configuration and the environment, once, to the one configuration that all other code
 * reads. The application's object is never written to; core, which writes into what it gets, is given a copy.
 */
import type { Provider } from "@auth/core/providers";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { DEFAULT_ADAPTER_TIMEOUT } from "../adapter/bind.ts";
import { signInMemory } from "../adapter/sign_in_turns.ts";
import { FastifyAuthError, invalidConfig } from "../errors.ts";
import { toTrustedOrigins } from "../http/cross_site.ts";
import { configuredOrigin } from "../http/origin.ts";
import { Languages } from "../pages/language.ts";
import type { Environment } from "../provider/settings.ts";
import { summarizeProviders } from "../provider/summary.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { EPHEMERAL_MAX_AGE } from "./lifetime.ts";
import { IN_PROCESS } from "../store/memory_store.ts";
import { later } from "../utils/later.ts";
import type { CoreConfig } from "./cookies.ts";
import { coreConfig } from "./core_config.ts";
import { environment } from "./environment.ts";
import { hashSecrets } from "./hash_secrets.ts";
import { mistakesIn, PROBLEMS, requireNone, WARNINGS } from "./mistakes.ts";
import { type Notice, Notices } from "./notices.ts";
import { pageSettings } from "./pages.ts";
import { PROVIDER_PROBLEMS, PROVIDER_WARNINGS } from "./provider_mistakes.ts";
import { redirectProxyOrigins } from "./redirect_proxy.ts";
import { checkShape } from "./shape.ts";
import { forTenant } from "./tenant.ts";

/** A configuration that has been copied, completed from the environment and checked. */
export interface ResolvedConfig extends Readonly<ReturnType<typeof resolve>> {
  /** Why this configuration cannot be used. All else is then of an empty one. */
  readonly problem: FastifyAuthError | undefined;
}

/** Resolves a configuration. Check the `problem` of the result before using it. */
export function resolveConfig(config: FastifyAuthConfig): ResolvedConfig {
  try {
    return Object.freeze({ ...resolve(config, environment), problem: undefined });
  } catch (error) {
    const secret = randomBytes(32).toString("hex");
    return Object.freeze({ ...resolve({ providers: [], secret, trustHost: true }, {}), problem: asConfigError(error) });
  }
}

/** A configuration that takes over which sign-ins are under way from an earlier one of its tenant. */
export function inheritUses(resolved: ResolvedConfig, before: ResolvedConfig): ResolvedConfig {
  return Object.freeze({ ...resolved, signIns: { ...resolved.signIns, memory: before.signIns.memory } });
}

/** How long another process is waited for if requests to providers have no limit. */
const DEFAULT_WAIT_MS = 10_000;

/** Node refuses requests with more than 16 KB of headers: half of that leaves room for what else a browser sends. */
const DEFAULT_COOKIE_LIMIT = 8 * 1024;

function resolve(config: FastifyAuthConfig, env: Environment) {
  const unknown = checkShape(config).map((message): Notice => ({ code: "FST_AUTHJS_WARN_OPTION", message }));
  const { adapterTimeout = DEFAULT_ADAPTER_TIMEOUT, tenant, store } = config;
  const { ephemeralMaxAge = EPHEMERAL_MAX_AGE } = config.session ?? {};
  const production = env.NODE_ENV === "production";
  const notices = new Notices();
  const languages = new Languages(config.pages);
  // Loaded with the first token that is verified.
  const signingKeys = later(async () => {
    const { SigningKeys } = await import("../provider/signing_keys.ts");
    const keys = new SigningKeys();
    return () => keys;
  });
  const core = coreConfig(config, { env, production, notices, languages, signingKeys });
  const providers = summarizeProviders(core.providers, core.redirectProxyUrl);
  const insecure = config.insecureProviders ?? [];
  const origin = configuredOrigin(config.origin ?? env.AUTH_URL);
  const originSource = sourceOf(config, env);
  const facts = {
    ...{ config: { ...config }, core, env, production, providers, insecure, origin, originSource },
    redirectProxyOrigins: redirectProxyOrigins(config.redirectProxyOrigins),
    signingKeys,
    notices,
  };
  const trustedOrigins = toTrustedOrigins(config.trustedOrigins);
  requireNone([...PROBLEMS, ...PROVIDER_PROBLEMS], facts);

  // What is hashed and sent is the tenant's own.
  const bound: CoreConfig = tenant === undefined ? core : forTenant(core, tenant);
  const needsStore = store === undefined || (store !== false && IN_PROCESS in store);
  return {
    trustedOrigins,
    pages: pageSettings(config, core.providers, providers, languages),
    /** What features are configured with. */
    facts,
    core: Object.freeze({ ...bound, trustHost: true }) as Readonly<CoreConfig>,
    tenant,
    /** What CSRF tokens and the tokens of sign-in links are hashed with. */
    hashSecrets: hashSecrets(bound.secret),
    providers: new Map(providers.map((provider) => [provider.id, provider])),
    coreProviders: new Map(providers.map(({ id, type }, index) => [id, forCalls(bound.providers[index], type, bound)])),
    allowsPlainHttp: (provider: string) => !production || insecure.includes(provider),
    /** The configured public origin; without one it follows the request. */
    origin,
    originSource,
    redirectProxyOrigins: facts.redirectProxyOrigins,
    /** The most bytes of a session cookie. */
    sessionCookieLimit: (config.sessionCookieLimit ?? DEFAULT_COOKIE_LIMIT) || Infinity,
    /** The life of sessions that end with the browser, in seconds; `undefined` if there are none. */
    ephemeralMaxAge: ephemeralMaxAge === false ? undefined : ephemeralMaxAge,
    /** How requests and processes share the refresh of a session. */
    refresh: {
      store: store || undefined,
      due: config.refreshDue,
      /** Milliseconds for which a process waits for another one of which nothing is heard. */
      waitLimit: config.providerTimeout || DEFAULT_WAIT_MS,
    },
    /** Warns of other processes, which could refresh the same sessions without a lock. */
    otherProcesses: needsStore ? otherProcesses(notices) : undefined,
    /** What sign-ins under way keep in this process, and how long a call of the adapter may take. */
    signIns: { memory: signInMemory(), timeout: adapterTimeout },
    /** Warnings that do not stop the boot. */
    warnings: [...unknown, ...mistakesIn([...WARNINGS, ...PROVIDER_WARNINGS], facts)],
    notices,
  };
}

/** A provider as each call of core is given it. */
function forCalls(provider: unknown, type: string, { adapter }: CoreConfig): Provider {
  return {
    ...provider as Provider,
    // Core refuses it without a field for it on its own page.
    ...(type === "webauthn" && { enableConditionalUI: false }),
    // Without a database there is no account to make a row of.
    ...(adapter === undefined && { account: () => undefined }),
  } as Provider;
}

/** Warns, once, of several processes that serve the same users without a `store` that they share. */
function otherProcesses(notices: Notices): () => Promise<void> {
  let looked = false;
  return async () => {
    if (looked) return;
    looked = true;
    const starter = await secondProcess();
    if (starter === undefined) return;
    notices.warn(
      `Several processes serve the same users (${starter}), and no \`store\` that they share. Two of them can ` +
        "refresh one session at the same time; a provider that takes each refresh token once then ends the user's " +
        "grant. Each counts wrong codes of mails by itself, too. Set `store: redisStore(client)` of " +
        '"fastify-authjs/redis", or `store: false` if that does not matter: the `jwt` callback refreshes nothing.',
      "FST_AUTHJS_WARN_NO_STORE",
    );
  };
}

/** What says that this is the second process, which alone warns: PM2 numbers them from 0, a cluster from 1. */
async function secondProcess(): Promise<string | undefined> {
  const { NODE_APP_INSTANCE: ofPm2 } = environment;
  // PM2 may start a cluster of one.
  if (ofPm2 !== undefined) return ofPm2 === "1" ? "PM2 has started at least two" : undefined;
  // Workers have a channel to their primary process. Without one the module is not worth loading.
  if (process.send === undefined) return undefined;
  // deno-coverage-ignore-start Deno has no workers: tests/flows/other_processes_test.ts has them on Node
  // A runtime without the module has none either.
  const { default: cluster } = await import("node:cluster").catch(() => ({ default: undefined }));
  return cluster?.worker?.id === 2 ? "this is worker 2 of node:cluster" : undefined;
  // deno-coverage-ignore-stop
}

/** What decides the public origin, for the log. */
function sourceOf(config: FastifyAuthConfig, env: Environment): { setting?: string; why: string } {
  const setting = config.origin ? "`origin`" : env.AUTH_URL ? "AUTH_URL" : undefined;
  if (setting !== undefined) return { setting, why: `by ${setting}` };
  if (config.trustHost !== undefined) return { why: "by `trustHost`" };
  const variable = ["AUTH_TRUST_HOST", "VERCEL", "CF_PAGES"].find((name) => env[name] !== undefined);
  return { why: variable ? `by ${variable}` : "since AUTH_URL is not set and this is not production" };
}

/** An error of a check, with its code. */
export function asConfigError(error: unknown): FastifyAuthError {
  if (error instanceof FastifyAuthError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return invalidConfig(`The configuration was refused: ${message}`, { cause: error });
}
