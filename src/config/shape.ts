/**
 * The settings that there are, and what each may be. A setting that is misspelled has no effect: a `signin`
 * callback would refuse no user, and no type checks a configuration in JavaScript.
 */
import { type AuthConfig, skipCSRFCheck } from "@auth/core";
import type { Theme } from "@auth/core/types";
import { FastifyAuthError } from "../errors.ts";
import type { FastifyAuthConfig, FastifyAuthPages } from "../types.ts";
import { editDistance } from "../utils/edit_distance.ts";

/**
 * What a setting may be: a type, one of several words, or an object with settings of its own. `any` is
 * checked where the setting is read, or by core.
 */
type Kind =
  | "any"
  | "boolean"
  | "filled"
  | "function"
  | "object"
  | "skipCSRFCheck"
  | "text"
  | "texts"
  | readonly string[]
  | Shape;

type Shape = { readonly [name: string]: Kind };

/** Every setting of `T`: the compiler names those that are missing here. */
type ShapeOf<T> = { readonly [Name in keyof Required<T>]: Kind };

type Part<Name extends keyof AuthConfig> = NonNullable<AuthConfig[Name]>;

const CALLBACKS = {
  jwt: "function",
  redirect: "function",
  session: "function",
  signIn: "function",
} as const satisfies ShapeOf<Part<"callbacks">>;

const EVENTS = {
  createUser: "function",
  linkAccount: "function",
  session: "function",
  signIn: "function",
  signOut: "function",
  updateUser: "function",
} as const satisfies ShapeOf<Part<"events">>;

const PAGES = {
  confirmEmail: "any",
  error: "any",
  newUser: "any",
  signIn: "any",
  signOut: "any",
  style: "text",
  verifyRequest: "any",
} as const satisfies ShapeOf<FastifyAuthPages>;

const SESSION = {
  generateSessionToken: "function",
  maxAge: "any",
  strategy: ["jwt", "database"],
  updateAge: "any",
} as const satisfies ShapeOf<Part<"session">>;

const THEME = {
  brandColor: "text",
  buttonText: "text",
  colorScheme: ["auto", "dark", "light"],
  logo: "text",
} as const satisfies ShapeOf<Theme>;

const COOKIE = {
  name: "text",
  options: {
    domain: "text",
    encode: "function",
    expires: "any",
    httpOnly: "boolean",
    maxAge: "any",
    partitioned: "boolean",
    path: "text",
    priority: "any",
    sameSite: "any",
    secure: "boolean",
  },
} as const satisfies ShapeOf<NonNullable<Part<"cookies">["state"]>>;

const COOKIES = {
  callbackUrl: COOKIE,
  csrfToken: COOKIE,
  nonce: COOKIE,
  pkceCodeVerifier: COOKIE,
  sessionToken: COOKIE,
  state: COOKIE,
  webauthnChallenge: COOKIE,
} as const satisfies ShapeOf<Part<"cookies">>;

const JWT = {
  decode: "function",
  encode: "function",
  maxAge: "any",
  // Core reads it; its type lacks it.
  secret: "texts",
} as const satisfies ShapeOf<Part<"jwt"> & { secret?: unknown }>;

const LOGGER = {
  debug: "function",
  error: "function",
  warn: "function",
} as const satisfies ShapeOf<Part<"logger">>;

const CONFIG = {
  adapter: "any",
  adapterTimeout: "any",
  backchannelLogout: "boolean",
  basePath: "text",
  bearer: "any",
  callbacks: CALLBACKS,
  cookies: COOKIES,
  credentialsDatabaseSessions: "boolean",
  debug: "boolean",
  emailConfirm: "boolean",
  emailMessage: "function",
  events: EVENTS,
  experimental: { enableWebAuthn: "boolean" } satisfies ShapeOf<Part<"experimental">>,
  insecureProviders: "any",
  jwt: JWT,
  language: "any",
  logger: LOGGER,
  origin: "text",
  pages: PAGES,
  providerSignOut: "any",
  providerTimeout: "any",
  providers: "any",
  rateLimit: "any",
  redirectProxyOrigins: "any",
  redirectProxyUrl: "text",
  refreshDue: "function",
  refreshGrace: "any",
  store: "any",
  refreshTokens: "boolean",
  secret: "texts",
  session: SESSION,
  sessionCookieLimit: "any",
  revocable: "boolean",
  siteName: "filled",
  skipCSRFCheck: "skipCSRFCheck",
  stepUp: "boolean",
  tenant: "any",
  texts: "object",
  theme: THEME,
  tokenCacheSize: "any",
  trustHost: "boolean",
  trustedOrigins: "any",
  useSecureCookies: "boolean",
  verifyIdTokens: "boolean",
} as const satisfies ShapeOf<FastifyAuthConfig>;

/**
 * Compares a configuration with the settings that there are.
 *
 * @returns Warnings of settings that are unknown. A later version of core may know them.
 * @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a setting that is misspelled, or of another
 * type.
 */
export function checkShape(config: FastifyAuthConfig): string[] {
  if (typeof (config as { plugin?: unknown }).plugin === "function") {
    throw invalid(
      "This is no configuration, but the object of createAuth(): register its `plugin`, as in " +
        '`app.register(auth.plugin, { prefix: "/auth" })`, and call `auth.getSession(request)`.',
    );
  }
  return checkObject(config, CONFIG, "");
}

function checkObject(given: object, shape: Shape, where: string): string[] {
  return Object.entries(given).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (Object.hasOwn(shape, name)) return checkValue(value, shape[name]!, `${where}${name}`);
    const meant = similarName(name, Object.keys(shape));
    if (meant === undefined) return [unknownSetting(where, name, shape)];
    throw invalid(`\`${where}${name}\` is no setting. Did you mean \`${where}${meant}\`?`);
  });
}

function unknownSetting(where: string, name: string, shape: Shape): string {
  const known = where === "" ? "" : `; there are ${Object.keys(shape).join(", ")}`;
  return `\`${where}${name}\` is no setting of this package or of @auth/core, so it has no effect${known}.`;
}

function checkValue(value: unknown, kind: Kind, name: string): string[] {
  if (typeof kind === "object" && !Array.isArray(kind)) {
    if (!isObject(value)) {
      throw invalid(`\`${name}\` is ${describe(value)}: write an object, or leave it out.`);
    }
    return checkObject(value, kind as Shape, `${name}.`);
  }
  const wanted = problemOf(value, kind as Exclude<Kind, Shape>);
  if (wanted === undefined) return [];
  throw invalid(`\`${name}\` is ${describe(value, Array.isArray(kind))}: write ${wanted}, or leave it out.`);
}

/** What to write in place of a value; nothing if it is as it should be. */
function problemOf(value: unknown, kind: Exclude<Kind, Shape>): string | undefined {
  const words = { boolean: "true or false", function: "a function", text: "a string" };
  switch (kind) {
    case "any":
      return undefined;
    case "object":
      return isObject(value) ? undefined : "an object";
    case "texts":
      return [value].flat().every((text) => typeof text === "string")
        ? undefined
        : "a string, or an array of strings";
    case "text":
      return typeof value === "string" ? undefined : words[kind];
    case "filled":
      return typeof value === "string" && value.trim() !== "" ? undefined : "a string that is not empty";
    case "skipCSRFCheck":
      // Core compares it with the symbol: with any other value the token is checked.
      return value === skipCSRFCheck || value === false || value === null
        ? undefined
        : "the symbol `skipCSRFCheck` of the @auth/core that this package has";
    case "boolean":
      return typeof value === "boolean" ? undefined : words[kind];
    case "function":
      return typeof value === "function" ? undefined : words[kind];
  }
  const choices = kind as readonly string[];
  return choices.includes(value as string)
    ? undefined
    : `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a value is, without a text that may be secret. */
function describe(value: unknown, isWord = false): string {
  if (value === null || typeof value === "boolean") return String(value);
  if (typeof value === "string") {
    if (value.trim() === "") return "an empty string";
    return isWord || /^(?:true|false|yes|no|on|off|\d)$/i.test(value) ? `"${value}"` : "a string";
  }
  if (Array.isArray(value)) {
    const other = value.findIndex((entry) => typeof entry !== "string");
    return other === -1 ? "an array" : `an array whose entry ${other} is ${describe(value[other])}`;
  }
  if (value === undefined) return "undefined";
  return isObject(value) ? "an object" : `a ${typeof value}`;
}

/** The name that is meant: another case, or one or two letters that differ. */
function similarName(name: string, known: readonly string[]): string | undefined {
  const [closest] = known
    .map((candidate) => [candidate, editDistance(toPlain(name), toPlain(candidate))] as const)
    .filter(([candidate, count]) => count <= (candidate.length < 6 ? 1 : 2))
    .sort(([, one], [, other]) => one - other);
  return closest?.[0];
}

function toPlain(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, "");
}

function invalid(message: string): FastifyAuthError {
  return new FastifyAuthError("FST_AUTHJS_CONFIG_INVALID", message);
}
