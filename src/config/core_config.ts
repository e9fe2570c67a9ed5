/** The configuration for core: a copy, with the defaults of this package and the environment's. */
import { type AuthConfig, setEnvDefaults } from "@auth/core";
import { decode as coreDecode, encode as coreEncode, type JWTOptions } from "@auth/core/jwt";
import type { Provider } from "@auth/core/providers";
import { randomBytes } from "node:crypto";
import { bindAdapter } from "../adapter/bind.ts";
import { invalidConfig } from "../errors.ts";
import { toAsciiUrl } from "../http/callback_url.ts";
import { decode, encode } from "../jwt/jwe.ts";
import type { Languages } from "../pages/language.ts";
import { DEFAULT_PROVIDER_TIMEOUT, prepareProvider } from "../provider/prepare.ts";
import { copyProvider, requireAuthorize, requireProvider, withDefaultProfile } from "../provider/settings.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { requireAdapter, strategyOf } from "./adapter_problem.ts";
import { hideColumns, isAddress, watchCallbacks, watchUsers } from "./callbacks.ts";
import { requireCookies } from "./cookies.ts";
import { lifetimesOf } from "./lifetime.ts";
import type { Facts } from "./mistakes.ts";
import { requireSettingTypes } from "./shape.ts";
import { boundMethods } from "../utils/methods.ts";

type Boot = Pick<Facts, "env" | "notices" | "production" | "signingKeys"> & { readonly languages: Languages };

const OF_CORE: readonly (keyof AuthConfig & keyof FastifyAuthConfig)[] = [
  "cookies",
  "debug",
  "experimental",
  "redirectProxyUrl",
  "secret",
  "skipCSRFCheck",
  "theme",
  "trustHost",
  "useSecureCookies",
];

const EVENTS = ["createUser", "linkAccount", "session", "signIn", "signOut", "updateUser"] as const;

/** Makes it: the defaults of this package come first, then those that core takes from the environment. */
export function coreConfig(config: FastifyAuthConfig, boot: Boot) {
  const { env, production, notices, languages, signingKeys } = boot;
  const { providers, adapter, callbacks, cookies, verifyIdTokens } = config;
  if (!Array.isArray(providers)) throw invalidConfig("`providers` must be an array: write `providers: [GitHub]`.");
  providers.forEach(requireProvider);
  requireAdapter(adapter);
  requireCookies(cookies);
  const { error, newUser, signIn, signOut, verifyRequest } = config.pages ?? {};
  const pages = Object.entries({ error, newUser, signIn, signOut, verifyRequest });
  const { ephemeralMaxAge: _ephemeralMaxAge, ...sessionOfCore } = config.session ?? {};
  const { maxAge, tokenMaxAge, updateAge } = lifetimesOf(config);
  // Without a function of the application of 256 random bits: core's default, a UUID, has 122, and OWASP ASVS 5
  // (7.2.3) asks for 128. Digits of one case stay apart if a database compares text without regard to case.
  const generate = config.session?.generateSessionToken?.bind(config.session) ??
    (() => randomBytes(32).toString("hex"));
  const generateSessionToken: TokenGenerator = (tag = "") => requireToken(generate()) + tag;
  const core: AuthConfig & { providers: Provider[] } = {
    ...Object.fromEntries(OF_CORE.filter((name) => name in config).map((name) => [name, config[name]])),
    ...(config.events && { events: boundMethods(config.events, EVENTS) }),
    ...(config.logger && { logger: boundMethods(config.logger, ["debug", "error", "warn"]) }),
    pages: Object.fromEntries(pages.filter(([, page]) => page !== undefined)),
    // Core decides only about a warning by it; each request gets that of its mount.
    basePath: "/auth",
    providers: providers.map(copyProvider),
    jwt: codecOf(tokenMaxAge, config.jwt),
    session: { ...sessionOfCore, maxAge, updateAge, generateSessionToken },
  };
  const { sessionToken } = cookies ?? {};
  if (sessionToken?.options) {
    // Each session says when its cookie ends. `session.maxAge` takes this `maxAge` into account already.
    const { maxAge: _maxAge, expires: _expires, ...options } = sessionToken.options;
    core.cookies = { ...cookies, sessionToken: { ...sessionToken, options } };
  }
  if (adapter) {
    const warn = (message: string) => notices.warn(message, "FST_AUTHJS_WARN_ADAPTER");
    core.adapter = bindAdapter(adapter, { timeout: config.adapterTimeout, warn });
  }
  if (callbacks) {
    const watched = watchCallbacks(callbacks, notices);
    core.callbacks = redirectToAscii(strategyOf(core) === "database" ? hideColumns(watched) : watched);
  }
  setEnvDefaults(env, core, true);
  core.providers.forEach(requireSettingTypes);
  core.providers.forEach(requireAuthorize);
  const options = {
    env,
    timeout: config.providerTimeout ?? DEFAULT_PROVIDER_TIMEOUT,
    production,
    insecure: config.insecureProviders ?? [],
    mail: {
      languages,
      siteName: config.pages?.siteName,
      write: config.emailMessage,
      warn: (message: string) => notices.warn(message, "FST_AUTHJS_WARN_PROVIDER"),
    },
    idTokens: verifyIdTokens === false ? undefined : { keys: signingKeys, required: verifyIdTokens === true },
  };
  core.providers = core.providers.map((provider) =>
    prepareProvider(watchUsers(withDefaultProfile(provider), notices), options)
  );
  return core;
}

/** Anything but a text would be the same text for every user, and so one session for all. */
function requireToken(token: unknown): string {
  if (typeof token === "string" && token !== "") return token;
  // A rejection that nothing waits for would end the process.
  if (token instanceof Promise) token.catch(() => {});
  const returned = token instanceof Promise ? "a promise" : token === "" ? "an empty text" : typeof token;
  throw invalidConfig(
    `\`session.generateSessionToken\` returned ${returned}: return a text that cannot be guessed. It is not awaited.`,
  );
}

/** How tokens are sealed and opened, also if by methods of a class. Ours do what core's do in less time. */
function codecOf(maxAge: number, jwt: Partial<JWTOptions> = {}) {
  const methods = (["encode", "decode"] as const).filter((name) => !Object.hasOwn(jwt, name));
  // In core's order.
  const codec = { maxAge, encode, decode, ...jwt, ...boundMethods(jwt, methods) };
  codec.maxAge = maxAge;
  if (codec.encode === coreEncode) codec.encode = encode;
  if (codec.decode === coreDecode) codec.decode = decode;
  return codec;
}

/** Makes a session token that ends with `tag`, which has what the row cannot say otherwise. */
export type TokenGenerator = (tag?: string) => string;

/**
 * A Location header is ASCII; the URL that a callback returns may not be. If it returns none, the user is led to the
 * origin: core would answer a sign-in with an empty page.
 */
function redirectToAscii(callbacks: NonNullable<AuthConfig["callbacks"]>): typeof callbacks {
  const { redirect } = callbacks;
  if (!redirect) return callbacks;
  return {
    ...callbacks,
    async redirect(params) {
      const url: unknown = await redirect(params);
      return isAddress(url) ? toAsciiUrl(String(url)) : params.baseUrl;
    },
  };
}
