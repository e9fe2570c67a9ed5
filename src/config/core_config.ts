/** The configuration for core: a copy, with the defaults of this package and the environment's. */
import { type AuthConfig, setEnvDefaults } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { bindAdapter } from "../adapter/bind.ts";
import { requireAdapter, strategyOf } from "./adapter_problem.ts";
import { DEFAULT_PROVIDER_TIMEOUT } from "../provider/request_limits.ts";
import { toAsciiUrl } from "../http/callback_url.ts";
import { requireTimeout } from "../utils/deadline.ts";
import { environment } from "./environment.ts";
import { FastifyAuthError } from "../errors.ts";
import type { Languages } from "../pages/language.ts";
import { decode, encode } from "../jwt/codec.ts";
import { requireLifetimes } from "./lifetime.ts";
import { isAddress, watchCallbacks } from "./callbacks.ts";
import { requireCookies } from "./cookies.ts";
import { requireAuthorize, watchUsers } from "./provider_users.ts";
import type { Notices } from "./notices.ts";
import { hideColumns } from "./shown_fields.ts";
import { requireSettingTypes } from "../provider/setting_types.ts";
import { copyProvider, requireProvider } from "../provider/summary.ts";
import type { SigningKeys } from "../provider/signing_keys.ts";
import { withDefaultProfile } from "../provider/default_profile.ts";
import { prepareProvider } from "../provider/prepare.ts";
import { tokenGenerator } from "./session_token.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { redirectFromSignIn } from "../provider/webauthn/errors.ts";

/** What the configuration for core is made with. */
export interface Boot {
  readonly production: boolean;
  readonly notices: Notices;
  readonly languages: Languages;
  readonly signingKeys: () => Promise<SigningKeys>;
}

/** Makes it: the defaults of this package come first, then those that core takes from the environment. */
export function coreConfig(
  config: FastifyAuthConfig,
  { production, notices, languages, signingKeys }: Boot,
): AuthConfig {
  if (!Array.isArray(config.providers)) {
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      "`providers` must be an array: write `providers: [GitHub]`.",
    );
  }
  config.providers.forEach(requireProvider);
  requireAdapter(config.adapter);
  // Also the time-out of the `store` for `revocable`.
  const adapterTimeout = requireTimeout("adapterTimeout", config.adapterTimeout);
  requireCookies(config.cookies);
  const { origin: _origin, trustedOrigins: _trusted, ...others } = config;
  const { redirectProxyOrigins: _proxied, ...settings } = others;
  const { providerTimeout, adapterTimeout: _adapterTimeout, insecureProviders = [], ...options } = settings;
  const {
    sessionCookieLimit: _limit,
    tokenCacheSize: _size,
    refreshDue: _due,
    refreshGrace: _grace,
    ...rest
  } = options;
  const {
    credentialsDatabaseSessions: _credentials,
    rateLimit: _rateLimit,
    emailConfirm: _confirm,
    emailMessage: write,
    refreshTokens: _tokens,
    store: _store,
    revocable: _revocable,
    bearer: _bearer,
    stepUp: _stepUp,
    tenant: _tenant,
    providerSignOut: _signOut,
    backchannelLogout: _logout,
    verifyIdTokens,
    siteName,
    language: _language,
    texts: _texts,
    ...own
  } = rest;
  // Core reads this base path only to decide about a warning; each request gets that of its mount.
  const { style: _style, confirmEmail: _page, ...pages } = config.pages ?? {};
  const core: AuthConfig = {
    ...own,
    pages,
    basePath: "/auth",
    providers: config.providers.map(copyProvider),
  };
  core.jwt = { encode, decode, ...config.jwt };
  const { maxAge, tokenMaxAge, updateAge } = requireLifetimes(config);
  core.session = { ...config.session, maxAge, updateAge };
  core.session.generateSessionToken = tokenGenerator(core.session.generateSessionToken);
  core.jwt.maxAge = tokenMaxAge;
  if (config.cookies?.sessionToken?.options) core.cookies = withoutMaxAge(config.cookies);
  if (config.adapter) {
    core.adapter = bindAdapter(config.adapter, {
      timeout: adapterTimeout,
      warn: (message) => notices.warn(message, "FST_AUTHJS_WARN_ADAPTER"),
    });
  }
  if (config.callbacks) {
    const watched = watchCallbacks(config.callbacks, notices);
    const callbacks = strategyOf(core) === "database" ? hideColumns(watched) : watched;
    const { redirect } = callbacks;
    core.callbacks = {
      ...redirectFromSignIn(callbacks),
      ...(redirect && { redirect: toAsciiRedirect(redirect) }),
    };
  }
  setEnvDefaults(environment, core, true);
  (core.providers as Provider[]).forEach(requireSettingTypes);
  (core.providers as Provider[]).forEach(requireAuthorize);
  const timeout = requireTimeout("providerTimeout", providerTimeout) ?? DEFAULT_PROVIDER_TIMEOUT;
  core.providers = (core.providers as Provider[]).map((provider) =>
    prepareProvider(watchUsers(withDefaultProfile(provider), notices), {
      env: environment,
      timeout,
      production,
      insecure: insecureProviders,
      mail: {
        languages,
        siteName,
        write,
        warn: (message) => notices.warn(message, "FST_AUTHJS_WARN_PROVIDER"),
      },
      idTokens: verifyIdTokens === false
        ? undefined
        : { keys: signingKeys, required: verifyIdTokens === true },
    })
  );
  return core;
}

/** Max-Age overrides Expires (RFC 6265 section 5.3). `session.maxAge` takes it into account already. */
function withoutMaxAge({ sessionToken, ...cookies }: Cookies): Cookies {
  const { maxAge: _maxAge, ...options } = sessionToken!.options!;
  return { ...cookies, sessionToken: { ...sessionToken, options } };
}

type Cookies = NonNullable<AuthConfig["cookies"]>;

/**
 * A Location header is ASCII; the URL that a callback returns may not be. If it returns none, the user is
 * led to the origin: core would answer a sign-in with an empty page.
 */
function toAsciiRedirect(redirect: Redirect): Redirect {
  return async (params) => {
    const url: unknown = await redirect(params);
    return isAddress(url) ? toAsciiUrl(String(url)) : params.baseUrl;
  };
}

type Redirect = NonNullable<NonNullable<AuthConfig["callbacks"]>["redirect"]>;
