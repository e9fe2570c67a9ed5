/**
 * The settings that there are, and what each may be. A setting that is misspelled has no effect: a `signin` callback
 * would refuse no user, and no type checks a configuration in JavaScript.
 */
import { skipCSRFCheck } from "@auth/core";
import type { Provider } from "@auth/core/providers";
import { invalidConfig, invalidProvider } from "../errors.ts";
import { type FeatureOptions, type FeaturePages, FEATURES } from "../features/mod.ts";
import type { FastifyAuthConfig, FastifyAuthPages, Store } from "../types.ts";
import { isObject } from "../utils/decode.ts";
import { editDistance } from "../utils/text.ts";
import { isAsync } from "./callbacks.ts";
import type { Rule } from "./rules.ts";
import { ADDRESS, ANY, BOOLEAN, COLOUR, FILLED, FUNCTION, LINK, OBJECT, TEXT, TEXTS, TIMEOUT } from "./rules.ts";
import { each, isFilled, isNumber, isText, numberOf, oneOf, required, written } from "./rules.ts";

/** {@linkcode ANY} is checked by core, or with what else it depends on. */
type Shape = { readonly [name: string]: Rule | Shape };

/** Every setting of `T`: the compiler names those that are missing here. */
type ShapeOf<T> = { readonly [Name in keyof Required<T>]: Rule | ShapeOf<NonNullable<T[Name]>> };

type Described =
  & Omit<FastifyAuthConfig, keyof FeatureOptions | "pages">
  & { pages: Omit<FastifyAuthPages, keyof FeaturePages> };

/** A date can be this many seconds after 1970, which no lifetime needs. */
const LONGEST = 1e11;

const EXAMPLE = "such as 30 * 24 * 60 * 60";
const LIFETIME = numberOf(`seconds, 1 or more, ${EXAMPLE}`, 1, LONGEST);

/** A promise would be taken for the result, and if it rejects, end the process. */
const SYNCHRONOUS = written(
  "a function without `async`, since it is not awaited",
  (value) => typeof value === "function" && !isAsync(value),
);

const COOKIE = {
  name: TEXT,
  options: {
    ...each(TEXT, "domain", "path"),
    ...each(BOOLEAN, "httpOnly", "partitioned", "secure"),
    ...each(ANY, "maxAge", "priority", "sameSite"),
    expires: written("a Date", (value) => value instanceof Date),
    encode: FUNCTION,
  },
};

const CONFIG = {
  ...each(ANY, "adapter", "providers", "redirectProxyOrigins", "trustedOrigins"),
  ...each(BOOLEAN, "debug", "trustHost", "useSecureCookies", "verifyIdTokens"),
  emailMessage: FUNCTION,
  refreshDue: SYNCHRONOUS,
  ...each(TEXT, "basePath", "origin", "redirectProxyUrl"),
  ...each(TIMEOUT, "adapterTimeout", "providerTimeout"),
  callbacks: each(FUNCTION, "jwt", "redirect", "session", "signIn"),
  cookies: {
    ...each(COOKIE, "callbackUrl", "csrfToken", "nonce", "pkceCodeVerifier", "state", "webauthnChallenge"),
    sessionToken: { ...COOKIE, options: { ...COOKIE.options, maxAge: LIFETIME } },
  },
  events: each(FUNCTION, "createUser", "linkAccount", "session", "signIn", "signOut", "updateUser"),
  experimental: { enableWebAuthn: BOOLEAN },
  insecureProviders: required('an array of provider ids, such as ["keycloak"]', Array.isArray),
  // Core reads `jwt.secret`; its type lacks it.
  jwt: { ...each(FUNCTION, "decode", "encode"), maxAge: LIFETIME, ...each(TEXTS, "secret") },
  logger: each(FUNCTION, "debug", "error", "warn"),
  pages: {
    ...each(ADDRESS, "confirmEmail", "darkLogo", "error", "favicon", "newUser", "signIn", "signOut", "style"),
    ...each(BOOLEAN, "languageMenu", "passkeyOffer", ...FEATURES.flatMap(({ pages = [] }) => pages)),
    language: ANY,
    links: each(LINK, "forgotPassword", "help", "privacy", "signUp", "terms"),
    panel: { image: ADDRESS },
    siteName: FILLED,
    texts: OBJECT,
    themeColor: COLOUR,
    verifyRequest: ADDRESS,
  },
  store: storeProblem,
  secret: TEXTS,
  session: {
    ephemeralMaxAge: (value, name) => value === false ? undefined : LIFETIME(value, name),
    generateSessionToken: SYNCHRONOUS,
    maxAge: LIFETIME,
    strategy: oneOf("jwt", "database"),
    updateAge: numberOf(`seconds, 0 or more, ${EXAMPLE}`, 0, LONGEST),
  },
  sessionCookieLimit: required(
    // Less would hold no session.
    "a number of bytes, 1024 or more, or 0 for as many as are read (62,976)",
    (value) => value === 0 || (isNumber(value) && value >= 1024),
  ),
  skipCSRFCheck: written(
    "the symbol `skipCSRFCheck` of the @auth/core that this package has",
    // Core compares it with the symbol: with any other value the token is checked.
    (value) => value === skipCSRFCheck || value === false || value === null,
  ),
  tenant: required(
    // More would not fit in the names of cookies.
    'a name of 1 to 200 characters that stays the same, such as "acme"',
    (value) => isFilled(value) && value.length <= 200,
  ),
  theme: { ...each(COLOUR, "brandColor", "buttonText"), colorScheme: oneOf("auto", "dark", "light"), logo: TEXT },
  // Each feature checks its own.
  ...each(ANY, ...FEATURES.flatMap(({ options = [] }) => options)),
} satisfies ShapeOf<Described>;

const STORE: readonly (keyof Store)[] = ["get", "set", "lock", "unlock", "members", "add", "remove"];

function storeProblem(value: unknown): string | undefined {
  const missing = STORE.filter((name) => value !== false && typeof Object(value)[name] !== "function");
  if (missing.length === 0) return undefined;
  return `\`store\` lacks ${missing.map((name) => `${name}()`).join(", ")}: use redisStore() of ` +
    '"fastify-authjs/redis", memoryStore(), or an object with these methods.';
}

const ADDRESS_OR_MORE = written(
  "an address, or an object such as `{ url, params }`",
  (value) => isText(value) || isObject(value),
);

const ENDPOINT: Rule = (value, name, provider) => {
  const { params = {} } = Object(value) as { params?: unknown };
  // Core takes the own members: of a text each letter, of URLSearchParams none.
  if (params === null || (isObject(params) && !(Symbol.iterator in params))) {
    return ADDRESS_OR_MORE(value, name, provider);
  }
  return `The \`${name}.params\` of the provider "${provider}" must be an object such as ` +
    '`{ prompt: "login" }`, and no text or URLSearchParams.';
};

/** The fields of a form, and what each has. */
const FIELDS: Rule = (fields, name, provider) =>
  OBJECT(fields, name, provider) ??
    Object.entries(fields as object).map(([field, input]) => OBJECT(input, `${name}.${field}`, provider)).find(Boolean);

/** The settings of a provider, which core would come across with each sign-in. */
const PROVIDER: Readonly<Record<string, Rule>> = {
  ...each(FUNCTION, "account", "profile"),
  ...each(FUNCTION, "generateVerificationToken", "normalizeIdentifier", "sendVerificationRequest"),
  // A text such as "false" would link accounts.
  ...each(BOOLEAN, "allowDangerousEmailAccountLinking", "idToken"),
  ...each(ENDPOINT, "authorization", "token", "userinfo"),
  ...each(OBJECT, "client", "style"),
  credentials: FIELDS,
  ...each(TEXT, "clientId", "clientSecret", "issuer", "name", "redirectProxyUrl", "wellKnown"),
};

/** As core takes them, null is the same as unset. */
export function requireSettingTypes(provider: Provider): void {
  const { options, ...own } = provider as unknown as Record<string, unknown> & { options?: object };
  const settings: Record<string, unknown> = { ...own, ...options };
  for (const [name, rule] of Object.entries(PROVIDER)) {
    const value = settings[name] ?? undefined;
    const problem = value === undefined ? undefined : rule(value, name, String(settings.id));
    if (problem !== undefined) throw invalidProvider(problem);
  }
}

/** Refuses settings that are misspelled, or of another type. Warns of unknown ones: a later core may have them. */
export function checkShape(config: FastifyAuthConfig): string[] {
  if (typeof (config as { plugin?: unknown }).plugin === "function") {
    throw invalidConfig(
      "This is no configuration, but the object of createAuth(): register its `plugin`, as in " +
        '`app.register(auth.plugin, { prefix: "/auth" })`, and call `auth.getSession(request)`.',
    );
  }
  return checkObject(config, CONFIG, "");
}

function checkObject(given: object, shape: Shape, where: string): string[] {
  return Object.entries(given).flatMap(([key, value]) => {
    if (value === undefined) return [];
    const name = `${where}${key}`;
    const kind = Object.hasOwn(shape, key) ? shape[key]! : undefined;
    if (kind !== undefined) {
      const problem = (typeof kind === "function" ? kind : OBJECT)(value, name);
      if (problem !== undefined) throw invalidConfig(problem);
      return typeof kind === "function" ? [] : checkObject(value as object, kind, `${name}.`);
    }
    const meant = similarName(key, Object.keys(shape));
    if (meant !== undefined) throw invalidConfig(`\`${name}\` is no setting. Did you mean \`${where}${meant}\`?`);
    const known = where === "" ? "" : `; there are ${Object.keys(shape).join(", ")}`;
    return [`\`${name}\` is no setting of this package or of @auth/core, so it has no effect${known}.`];
  });
}

/** The name that is meant: another case, or one or two letters that differ. */
function similarName(name: string, known: readonly string[]): string | undefined {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[_-]/g, "");
  const [closest] = known
    .map((candidate) => [candidate, editDistance(plain(name), plain(candidate))] as const)
    .filter(([candidate, count]) => count <= (candidate.length < 6 ? 1 : 2))
    .sort(([, one], [, other]) => one - other);
  return closest?.[0];
}
