/**
 * Resolves the application's configuration and the environment to the one configuration that all other code
 * reads.
 *
 * It is resolved once: later changes to the object or to the environment are not seen. The object is never
 * written to; core, which writes defaults into what it gets, is given a copy.
 */
import type { AuthConfig } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { DEFAULT_ADAPTER_TIMEOUT } from "../adapter/bind.ts";
import { adapterProblem, strategyOf, strategyProblem, tokenRowProblem } from "./adapter_problem.ts";
import { memoryStore } from "../adapter/memory_store.ts";
import { toTrustedOrigins } from "../http/cross_site.ts";
import { later } from "../utils/later.ts";
import { environment } from "./environment.ts";
import { FastifyAuthError } from "../errors.ts";
import { hostProblem, hostWarnings, type OriginSource, originSource, originWarnings } from "./host_trust.ts";
import {
  type AllowedOrigins,
  redirectProxyOrigins,
  redirectProxyProblem,
  redirectProxyWarnings,
} from "./redirect_proxy.ts";
import { Languages } from "../pages/language.ts";
import { type BearerSettings, bearerSettings } from "./bearer.ts";
import { requireCookieLimit } from "./cookie_limit.ts";
import { type HashSecrets, hashSecrets } from "./hash_secrets.ts";
import type { CoreConfig } from "./cookies.ts";
import { lifetimeWarnings, requireLifetimes } from "./lifetime.ts";
import { sessionCookieWarnings } from "./cookie_warnings.ts";
import { type Notice, Notices, toNotices } from "./notices.ts";
import { configuredOrigin, type PublicOrigin } from "../http/origin.ts";
import {
  providerProblem,
  type ProviderSummary,
  providerWarnings,
  summarizeProviders,
} from "../provider/summary.ts";
import type { LogoutTokens } from "../provider/logout_token.ts";
import type { SigningKeys } from "../provider/signing_keys.ts";
import { unverifiedWarnings } from "../provider/verify_id_tokens.ts";
import { OtherProcesses } from "./other_processes.ts";
import { type PageSettings, pageSettings } from "./pages.ts";
import {
  rateLimitAdvice,
  type RateLimitSettings,
  rateLimitSettings,
  rateLimitWarnings,
} from "./rate_limit.ts";
import {
  providerSignOutProblem,
  type ProviderSignOutSettings,
  providerSignOutSettings,
} from "./provider_sign_out.ts";
import { type RefreshSettings, refreshSettings } from "./refresh.ts";
import { credentialWarnings } from "./credentials.ts";
import { insecureWarnings, requireInsecureProviders } from "./insecure_providers.ts";
import { secretProblem, secretWarnings } from "./secret.ts";
import { checkShape } from "./shape.ts";
import { timeWarnings } from "./times.ts";
import { revocableProblem } from "./revocable.ts";
import { forTenant, requireTenant } from "./tenant.ts";
import type { FastifyAuthConfig, Store } from "../types.ts";
import { requireTokenCacheSize } from "./token_cache_size.ts";
import { webAuthnWarnings } from "../provider/webauthn/provider.ts";
import { coreConfig } from "./core_config.ts";

/** A configuration that has been copied, completed from the environment and checked. */
export interface ResolvedConfig {
  /** What core is given: a copy with the environment's defaults. */
  readonly core: Readonly<CoreConfig>;
  /** The tenant that all of this is for; `undefined` if there is none. */
  readonly tenant: string | undefined;
  /** The providers by id. */
  readonly providers: ReadonlyMap<string, ProviderSummary>;
  /** The same providers for core, by id. */
  readonly coreProviders: ReadonlyMap<string, Provider>;
  /** What CSRF tokens and the tokens of sign-in links are hashed with. */
  readonly hashSecrets: HashSecrets;
  /** Where records of sessions in a JWT are kept, and the milliseconds a call of it may take. */
  readonly revocation: { readonly store: Store; readonly timeout: number } | undefined;
  /** Whether session tokens, or the rows of accounts, have the tokens of providers (`refreshTokens`). */
  readonly keepsTokens: boolean;
  /** Whether it is kept how and when the users of sessions signed in (`stepUp`). */
  readonly recordsSignIns: boolean;
  /** How sign-outs end the session at the OpenID Provider; `undefined` if they do not. */
  readonly providerSignOut: ProviderSignOutSettings | undefined;
  /** What validates the logout tokens of OpenID Providers, if they may end sessions (`backchannelLogout`). */
  readonly logoutTokens: (() => Promise<LogoutTokens>) | undefined;
  /** Whether a provider may be reached without TLS. */
  readonly allowsPlainHttp: (provider: string) => boolean;
  /** How session tokens are accepted in `Authorization: Bearer`, if they are. */
  readonly bearer: BearerSettings | undefined;
  /** The most bytes of a session cookie. */
  readonly sessionCookieLimit: number;
  /** How many bytes of opened session tokens are kept. */
  readonly tokenCacheSize: number;
  /** How requests and processes share the refresh of a session. */
  readonly refresh: RefreshSettings;
  /** Warns of other processes, if these could refresh the same sessions without a lock. */
  readonly otherProcesses: OtherProcesses | undefined;
  /** How attempts to sign in are limited; `undefined` if they are not. */
  readonly rateLimit: RateLimitSettings | undefined;
  /** The configured public origin; without one it follows the request. */
  readonly origin: PublicOrigin | undefined;
  /** Other origins whose pages may send POST requests. */
  readonly trustedOrigins: ReadonlySet<string>;
  /** Other deployments that the stable one of `redirectProxyUrl` hands callbacks on to. */
  readonly redirectProxyOrigins: AllowedOrigins;
  /** Whether sign-ins with credentials create sessions in the database. */
  readonly credentialsDatabaseSessions: boolean;
  /** Whether a mailed link opens a page that confirms the sign-in. */
  readonly emailConfirm: boolean;
  /** What decides the public origin. */
  readonly originSource: OriginSource;
  /** Warnings that do not stop the boot. */
  readonly warnings: readonly Notice[];
  /** Recommendations for the operator. */
  readonly advice: readonly Notice[];
  /** The built-in pages. */
  readonly pages: PageSettings;
  /** What sign-ins under way keep in this process, and how long a call of the adapter may take. */
  readonly signIns: { readonly memory: ReturnType<typeof memoryStore>; readonly timeout: number };
  /** Takes the warnings that come up after boot. */
  readonly notices: Notices;
  /** Why this configuration cannot be used. */
  readonly problem: FastifyAuthError | undefined;
}

/** Resolves a configuration. Check the `problem` of the result before using it. */
export function resolveConfig(config: FastifyAuthConfig): ResolvedConfig {
  const { adapterTimeout = DEFAULT_ADAPTER_TIMEOUT } = config;
  const problems: FastifyAuthError[] = [];
  const attempt = <T>(step: () => T): T | undefined => {
    try {
      return step();
    } catch (error) {
      problems.push(asConfigError(error));
    }
  };

  const unknownSettings = attempt(() => checkShape(config)) ?? [];
  const production = environment.NODE_ENV === "production";
  const notices = new Notices();
  const languages = attempt(() => new Languages(config)) ?? new Languages();
  const signingKeys = loadSigningKeys();
  const boot = { production, notices, languages, signingKeys };
  const core = attempt(() => coreConfig(config, boot)) ?? { providers: [] };
  const origin = attempt(() => configuredOrigin(config.origin ?? environment.AUTH_URL));
  const trustedOrigins = attempt(() => toTrustedOrigins(config.trustedOrigins)) ?? new Set();
  const proxyOrigins = attempt(() => redirectProxyOrigins(config.redirectProxyOrigins)) ??
    redirectProxyOrigins();
  const refresh = attempt(() => refreshSettings(config)) ?? refreshSettings({});
  const rateLimit = attempt(() => rateLimitSettings(config, core.providers as Provider[]));
  const sessionCookieLimit = attempt(() => requireCookieLimit(config.sessionCookieLimit)) ?? 0;
  const tokenCacheSize = attempt(() => requireTokenCacheSize(config.tokenCacheSize)) ?? 0;
  const { emailConfirm = true, credentialsDatabaseSessions = false } = config;
  const tenant = attempt(() => requireTenant(config.tenant));
  const { stepUp: recordsSignIns = false, refreshTokens: keepsTokens = false } = config;
  const { backchannelLogout = false } = config;
  const providerSignOut = attempt(() => providerSignOutSettings(config.providerSignOut));
  const bearer = attempt(() => bearerSettings(config.bearer, requireLifetimes(core)));
  const providers = summarizeProviders(core.providers as Provider[], core.redirectProxyUrl);
  const insecure = attempt(() => requireInsecureProviders(config.insecureProviders, providers)) ?? [];
  const pages = attempt(() => pageSettings(config, core.providers as Provider[], providers, languages)) ??
    pageSettings({}, [], [], languages);
  problems.push(
    ...[
      secretProblem(core, environment),
      hostProblem(core, origin, environment),
      redirectProxyProblem(core, providers, origin, proxyOrigins),
      providerProblem(providers, { production, insecure }),
      adapterProblem(core, providers),
      strategyProblem(core, providers, config),
      revocableProblem(config, core),
      keepsTokens ? tokenRowProblem(core) : undefined,
      providerSignOutProblem(config, core, providers),
    ].filter((problem) => problem !== undefined),
  );

  // What is hashed and sent is the tenant's own.
  const bound = tenant === undefined ? core : forTenant(core, tenant);
  return Object.freeze({
    core: Object.freeze({ ...bound, trustHost: true }),
    tenant,
    providers: new Map(providers.map((provider) => [provider.id, provider])),
    coreProviders: new Map(providers.map(({ id }, index) => [id, bound.providers[index] as Provider])),
    hashSecrets: hashSecrets(bound.secret),
    keepsTokens,
    revocation: config.revocable && refresh.store
      ? { store: refresh.store, timeout: adapterTimeout }
      : undefined,
    recordsSignIns,
    providerSignOut,
    allowsPlainHttp: (provider: string) => !production || insecure.includes(provider),
    logoutTokens: backchannelLogout ? loadLogoutTokens(core.providers as Provider[], signingKeys) : undefined,
    bearer,
    sessionCookieLimit,
    tokenCacheSize,
    refresh,
    otherProcesses: refresh.needsStore && refreshesSessions(core, keepsTokens)
      ? new OtherProcesses(notices)
      : undefined,
    rateLimit,
    origin,
    trustedOrigins,
    redirectProxyOrigins: proxyOrigins,
    credentialsDatabaseSessions,
    emailConfirm,
    originSource: originSource(config, origin, environment),
    warnings: [
      ...toNotices("FST_AUTHJS_WARN_OPTION", [...unknownSettings, ...timeWarnings(config)]),
      ...toNotices("FST_AUTHJS_WARN_SECRET", secretWarnings(core)),
      ...toNotices("FST_AUTHJS_WARN_HOST", hostWarnings(config, origin, environment)),
      ...toNotices("FST_AUTHJS_WARN_ORIGIN", originWarnings(config, origin, environment)),
      ...toNotices("FST_AUTHJS_WARN_COOKIE", sessionCookieWarnings(core)),
      ...toNotices("FST_AUTHJS_WARN_HOST", redirectProxyWarnings(providers, origin, proxyOrigins)),
      ...toNotices("FST_AUTHJS_WARN_LIFETIME", lifetimeWarnings(core)),
      ...toNotices("FST_AUTHJS_WARN_PROVIDER", providerWarnings(providers, origin)),
      ...toNotices("FST_AUTHJS_WARN_PROVIDER", unverifiedWarnings(config.verifyIdTokens)),
      ...toNotices("FST_AUTHJS_WARN_WEBAUTHN", webAuthnWarnings(core.providers as Provider[], origin)),
      ...credentialWarnings(providers),
      ...(production ? insecureWarnings(providers, insecure) : []),
      ...toNotices("FST_AUTHJS_WARN_RATE_LIMIT", rateLimitWarnings(config, core.providers as Provider[])),
    ],
    advice: toNotices("FST_AUTHJS_WARN_RATE_LIMIT", rateLimitAdvice(config, production)),
    pages,
    signIns: { memory: memoryStore(), timeout: adapterTimeout },
    notices,
    problem: problems[0],
  });
}

/** A configuration that takes over which sign-ins are under way from an earlier one of its tenant. */
export function inheritUses(resolved: ResolvedConfig, before: ResolvedConfig): ResolvedConfig {
  return Object.freeze({ ...resolved, signIns: before.signIns });
}

/** The keys that OpenID Providers publish, loaded with the first token that is verified. */
function loadSigningKeys(): () => Promise<SigningKeys> {
  return later(async () => {
    const { SigningKeys } = await import("../provider/signing_keys.ts");
    const keys = new SigningKeys();
    return () => keys;
  });
}

/** The same of logout tokens. */
function loadLogoutTokens(
  providers: readonly Provider[],
  signingKeys: () => Promise<SigningKeys>,
): () => Promise<LogoutTokens> {
  return later(async () => {
    const { LogoutTokens } = await import("../provider/logout_token.ts");
    const tokens = new LogoutTokens(providers, await signingKeys());
    return () => tokens;
  });
}

/**
 * Whether a session, or the tokens of an account, may be refreshed: as far as known, any `jwt` callback
 * could.
 */
function refreshesSessions(core: AuthConfig, keepsTokens: boolean): boolean {
  return keepsTokens || (strategyOf(core) === "jwt" && core.callbacks?.jwt !== undefined);
}

function asConfigError(error: unknown): FastifyAuthError {
  if (error instanceof FastifyAuthError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", `The configuration was refused: ${message}`, {
    cause: error,
  });
}
