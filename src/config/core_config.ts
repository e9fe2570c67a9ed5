/** The configuration for core: a copy, with the defaults of this package and the environment's. */
import { type AuthConfig, setEnvDefaults } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { randomBytes } from "node:crypto";
import { bindAdapter } from "../adapter/bind.ts";
import { invalidConfig, invalidProvider } from "../errors.ts";
import { toAsciiUrl } from "../http/callback_url.ts";
import { decode, encode } from "../jwt/codec.ts";
import type { Languages } from "../pages/language.ts";
import { withDefaultProfile } from "../provider/settings.ts";
import { prepareProvider } from "../provider/prepare.ts";
import { DEFAULT_PROVIDER_TIMEOUT } from "../provider/request_limits.ts";
import { requireSettingTypes } from "../provider/setting_types.ts";
import type { SigningKeys } from "../provider/signing_keys.ts";
import { copyProvider, requireProvider } from "../provider/summary.ts";
import { redirectFromSignIn } from "../provider/webauthn/errors.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { requireAdapter, strategyOf } from "./adapter_problem.ts";
import { hideColumns, isAddress, watchCallbacks, watchUsers } from "./callbacks.ts";
import { requireCookies } from "./cookies.ts";
import type { Environment } from "./environment.ts";
import { lifetimesOf } from "./lifetime.ts";
import type { Notices } from "./notices.ts";

export interface Boot {
  readonly env: Environment;
  readonly production: boolean;
  readonly notices: Notices;
  readonly languages: Languages;
  readonly signingKeys: () => Promise<SigningKeys>;
}

/** What core understands, and gets as the application wrote it. */
const OF_CORE: readonly (keyof AuthConfig & keyof FastifyAuthConfig)[] = [
  "cookies",
  "debug",
  "events",
  "experimental",
  "logger",
  "redirectProxyUrl",
  "secret",
  "skipCSRFCheck",
  "theme",
  "trustHost",
  "useSecureCookies",
];

/** Makes it: the defaults of this package come first, then those that core takes from the environment. */
export function coreConfig(
  config: FastifyAuthConfig,
  { env, production, notices, languages, signingKeys }: Boot,
) {
  if (!Array.isArray(config.providers)) {
    throw invalidConfig("`providers` must be an array: write `providers: [GitHub]`.");
  }
  config.providers.forEach(requireProvider);
  requireAdapter(config.adapter);
  requireCookies(config.cookies);
  const { error, newUser, signIn, signOut, siteName, verifyRequest } = config.pages ?? {};
  const named = Object.entries({ error, newUser, signIn, signOut, verifyRequest });
  const pages = Object.fromEntries(named.filter(([, page]) => page !== undefined));
  const { maxAge, tokenMaxAge, updateAge } = lifetimesOf(config);
  const core: AuthConfig & { providers: Provider[] } = {
    ...Object.fromEntries(OF_CORE.filter((name) => name in config).map((name) => [name, config[name]])),
    pages,
    // Core decides only about a warning by it; each request gets that of its mount.
    basePath: "/auth",
    providers: config.providers.map(copyProvider),
    jwt: { encode, decode, ...config.jwt, maxAge: tokenMaxAge },
    session: {
      ...config.session,
      maxAge,
      updateAge,
      generateSessionToken: tokenGenerator(config.session?.generateSessionToken),
    },
  };
  if (config.cookies?.sessionToken?.options) core.cookies = withoutMaxAge(config.cookies);
  if (config.adapter) {
    core.adapter = bindAdapter(config.adapter, {
      timeout: config.adapterTimeout,
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
  setEnvDefaults(env, core, true);
  core.providers.forEach(requireSettingTypes);
  core.providers.forEach(requireAuthorize);
  const { verifyIdTokens, emailMessage: write } = config;
  core.providers = core.providers.map((provider) =>
    prepareProvider(watchUsers(withDefaultProfile(provider), notices), {
      env,
      timeout: config.providerTimeout ?? DEFAULT_PROVIDER_TIMEOUT,
      production,
      insecure: config.insecureProviders ?? [],
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

/** Makes a session token that ends with `tag`, which has what the row cannot say otherwise. */
export type TokenGenerator = (tag?: string) => string;

/**
 * Makes session tokens, without a function of the application of 256 random bits. Core's default is a UUID, which has
 * 122; OWASP ASVS 5 (7.2.3) asks for 128. Digits of one case stay apart if a database compares text without regard
 * to case.
 */
function tokenGenerator(generate = () => randomBytes(32).toString("hex")): TokenGenerator {
  return (tag = "") => generate() + tag;
}

/** A credentials provider needs an `authorize()` of its own: that of the factory refuses every sign-in. */
function requireAuthorize(provider: Provider): void {
  const { id, type, authorize, options } = provider as {
    id: string;
    type: string;
    authorize?: unknown;
    options?: { authorize?: unknown };
  };
  if (type !== "credentials" || typeof options?.authorize === "function") return;
  // The one of the factory takes no parameter.
  if (typeof authorize === "function" && (options === undefined || authorize.length > 0)) return;
  throw invalidProvider(
    `The provider "${id}" has no authorize(), so it would refuse every sign-in. Give it one: ` +
      "`Credentials({ credentials: { … }, async authorize(fields) { return user or null; } })`.",
  );
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
