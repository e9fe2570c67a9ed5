/** What routes and boot checks read of the configured providers. */
import type { Provider } from "@auth/core/providers";
import { clonePlain } from "../utils/clone.ts";
import { type FastifyAuthError, invalidProvider } from "../errors.ts";
import { isLoopback, type PublicOrigin } from "../http/origin.ts";
import { MAIL_SERVICES } from "./mail_services.ts";
import { factoryIdOf, variableOf } from "./settings.ts";

/** One configured provider, with the application's `options` applied. */
export interface ProviderSummary {
  /** Its id, the last part of its callback URL. */
  readonly id: string;
  /** The id that its factory gives, by which core names the environment variables. */
  readonly factoryId: string;
  readonly name: string | undefined;
  /** `oauth`, `oidc`, `email`, `credentials` or `webauthn`. */
  readonly type: string;
  /** Whether it is one of OAuth 2.0, OpenID Connect included. */
  readonly isOAuth: boolean;
  /** The checks of its callback: those of OAuth and OIDC, `challenge` for WebAuthn, none for the rest. */
  readonly checks: readonly string[];
  readonly urls: readonly string[];
  /** The issuer and the endpoints that are configured. */
  readonly server: ProviderServer;
  /** Whether its callback is a cross-site form (`response_mode=form_post`). */
  readonly formPost: boolean;
  /** The deployment that receives its callbacks and forwards them. */
  readonly redirectProxyUrl: string | undefined;
  /** What it needs to name itself at the provider, and does not have. */
  readonly missing: readonly Credential[];
  /** What has quotation marks or white space around it. */
  readonly wrapped: readonly Credential[];
  /** Settings that have another name here, each with what to write. */
  readonly misnamed: readonly (readonly [name: string, instead: string])[];
}

/** What names the application at a provider. */
export type Credential = typeof CREDENTIALS[number];

const CREDENTIALS = ["clientId", "clientSecret", "apiKey"] as const;

const SERVER_URLS = ["issuer", "wellKnown", "authorization", "token", "userinfo"] as const;

type ServerUrl = typeof SERVER_URLS[number];

/** The authorization server of a provider, as far as it is configured. */
export type ProviderServer = Readonly<Record<ServerUrl, string | undefined>>;

/** As core takes them, null is the same as unset. */
interface ProviderShape extends Partial<Record<ServerUrl, unknown>> {
  id?: string;
  name?: string;
  type?: string;
  checks?: readonly string[] | string | null;
  redirectProxyUrl?: string;
  clientId?: unknown;
  clientSecret?: unknown;
  apiKey?: unknown;
  client?: { client_id?: unknown; token_endpoint_auth_method?: unknown } | null;
}

/**
 * Checks one of `providers`: a wrong import makes it `undefined`, or a module.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_PROVIDER_INVALID`.
 */
export function requireProvider(provider: unknown, index: number): void {
  const { id } = (provider ?? {}) as { id?: unknown };
  if (typeof provider === "function" || typeof id === "string") return;
  throw notAProvider(index, `is ${describe(provider)}`);
}

function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  if (Array.isArray(value)) return "an array";
  if ("then" in value) return "a promise";
  return "default" in value ? "a module" : "an object without an `id`";
}

function notAProvider(index: number, problem: string): FastifyAuthError {
  return invalidProvider(
    `\`providers[${index}]\` ${problem}, which is no provider. Import the default export, as in ` +
      '`import GitHub from "fastify-authjs/providers/github"` (under CommonJS ' +
      "`const { default: GitHub } = require(…)`), and write `GitHub` or `GitHub({ … })`.",
  );
}

/** A copy that core may write to. A factory stays one, since core calls it with the environment. */
export function copyProvider(provider: Provider, index: number): Provider {
  if (typeof provider !== "function") return clonePlain(provider);
  return ((options: never) => clonePlain(callFactory(provider, index, options))) as unknown as Provider;
}

/** Core calls a factory without settings. */
function callFactory(factory: (options: never) => unknown, index: number, options: never): Provider {
  let made: unknown;
  try {
    made = factory(options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reason = message.replace(/\.? ?Read more at \S*$/, ""); // core's link
    throw invalidProvider(
      `\`providers[${index}]\` is a function that fails without settings: ${reason}. ` +
        `Call it with them, as in \`${factory.name || "Provider"}({ … })\`.`,
      { cause: error },
    );
  }
  if (typeof (made as { id?: unknown } | undefined | null)?.id === "string") return made as Provider;
  throw notAProvider(index, `is a function that returned ${describe(made)}`);
}

/** Summarizes the prepared providers. */
export function summarizeProviders(
  providers: readonly Provider[],
  redirectProxyUrl?: string,
): ProviderSummary[] {
  return providers.map((given) => {
    const provider = given as unknown as ProviderShape;
    const { id = "", type = "", name } = provider;
    const isOAuth = type === "oauth" || type === "oidc";
    const formPost = isOAuth && responseMode(provider.authorization) === "form_post";
    const proxy = isOAuth ? provider.redirectProxyUrl ?? redirectProxyUrl : undefined;
    const urls = SERVER_URLS.map((setting) => [setting, toUrl(provider[setting])] as const);
    return {
      id,
      factoryId: factoryIdOf(given),
      name,
      type,
      isOAuth,
      checks: isOAuth ? checksOf(provider, proxy) : type === "webauthn" ? ["challenge"] : [],
      urls: urls.map(([, url]) => url).filter((url) => url !== undefined),
      server: Object.fromEntries(urls) as ProviderServer,
      formPost,
      // Core cannot forward forms.
      redirectProxyUrl: formPost ? undefined : proxy,
      missing: missingOf(provider, isOAuth, factoryIdOf(given)),
      wrapped: CREDENTIALS.filter((credential) => isWrapped(String(provider[credential] ?? ""))),
      misnamed: isOAuth ? misnamedOf(provider) : [],
    };
  });
}

/** The methods that send the secret; core's default is the first (OpenID Connect Core 1.0, section 9). */
const SECRET_METHODS = ["client_secret_basic", "client_secret_post", "client_secret_jwt"];

/** What is not set or empty: core would send the text "undefined", or fail. */
function missingOf(provider: ProviderShape, isOAuth: boolean, factoryId: string): Credential[] {
  const { token_endpoint_auth_method: method = SECRET_METHODS[0] } = provider.client ?? {};
  const needed: Record<Credential, boolean> = {
    clientId: isOAuth,
    clientSecret: isOAuth && SECRET_METHODS.includes(String(method)),
    apiKey: provider.type === "email" && Object.hasOwn(MAIL_SERVICES, factoryId),
  };
  return CREDENTIALS.filter((name) => needed[name] && isUnset(provider[name]));
}

/** `String(process.env.NAME)` and templates make it a text; a file of variables has `NAME=`. */
function isUnset(value: unknown): boolean {
  return value === undefined || value === null || value === "undefined" || value === "";
}

/** A redirect proxy reads from `state` which deployment a callback is for. */
function checksOf({ checks: own }: ProviderShape, proxy: string | undefined): readonly string[] {
  const checks = [own ?? ["pkce"]].flat();
  return proxy === undefined || checks.includes("state") ? checks : [...checks, "state"];
}

function responseMode(authorization: unknown): unknown {
  const url = toUrl(authorization);
  const { params } = (authorization ?? {}) as { params?: { response_mode?: unknown } };
  return params?.response_mode ??
    (url !== undefined && URL.canParse(url) ? new URL(url).searchParams.get("response_mode") : undefined);
}

function toUrl(endpoint: unknown): string | undefined {
  const url = typeof endpoint === "object" && endpoint !== null
    ? (endpoint as { url?: unknown }).url
    : endpoint;
  return typeof url === "string" ? url : undefined;
}

/** The limit of Fastify's router for a parameter. */
const MAXIMUM_ID_LENGTH = 100;

/** To core the first means no provider; the second cannot be a key of its list. */
const RESERVED_IDS = new Set(["undefined", "__proto__"]);

/**
 * Whether an id can be a path segment of the callback URL. Clients remove segments of one or two dots (RFC
 * 3986 section 5.2.4).
 */
function isPathSegment(id: unknown): boolean {
  return typeof id === "string" && /^(?!\.{1,2}$)[\w.~-]+$/.test(id) && id.length <= MAXIMUM_ID_LENGTH &&
    !RESERVED_IDS.has(id);
}

const TYPES: readonly string[] = ["oidc", "oauth", "email", "credentials", "webauthn"];

const CHECKS: readonly string[] = ["pkce", "state", "nonce", "none"];

/** Whether a provider can end sessions of its users: one of OpenID Connect that has an issuer. */
export function isOpenIdProvider({ type, server }: ProviderSummary): boolean {
  return type === "oidc" && server.issuer !== undefined;
}

export function providerProblem(
  providers: readonly ProviderSummary[],
  limits: { readonly production: boolean; readonly insecure: readonly string[] },
): string | undefined {
  for (const [index, provider] of providers.entries()) {
    const { id } = provider;
    if (providers.findIndex((other) => other.id === id) < index) {
      return `Two providers have the id "${id}": give one of them another, as in \`{ id: "${id}-2" }\`.`;
    }
    const problem = problemOf(provider, limits);
    if (problem !== undefined) return problem;
  }
}

function problemOf(
  { id, factoryId, type, isOAuth, checks, urls, server }: ProviderSummary,
  { production, insecure }: Parameters<typeof providerProblem>[1],
): string | undefined {
  if (!isPathSegment(id)) {
    const given = JSON.stringify(id);
    return `The provider id ${given} cannot be part of a URL: use letters, digits, "-", "_", at most ` +
      `${MAXIMUM_ID_LENGTH} of them.`;
  }
  if (!TYPES.includes(type)) {
    const has = type === "" ? "no `type`" : `the \`type\` ${JSON.stringify(type)}, which is unknown`;
    return `The provider "${id}" has ${has}: write one of ${TYPES.join(", ")}.`;
  }
  const unknown = isOAuth ? checks.find((check) => !CHECKS.includes(check)) : undefined;
  if (unknown !== undefined) {
    const [check, ...known] = [unknown, ...CHECKS].map((each) => JSON.stringify(each));
    return `The provider "${id}" has the check ${check}, which is unknown, so core would leave it out: write ` +
      `${known.join(", ")}.`;
  }
  const wrong = SERVER_URLS.find((name) =>
    (name !== "issuer" || isDiscovered(server)) && !isAddress(server[name])
  );
  if (wrong !== undefined) {
    const [url, given] = [server[wrong]!, JSON.stringify(server[wrong])];
    const variable = wrong === "issuer" ? ` (or ${variableOf(factoryId, "ISSUER")})` : "";
    return `The \`${wrong}\` of the provider "${id}" is ${given}, which is no address: set ` +
      `\`${wrong}\`${variable} to one with its scheme, such as "https://${exampleHost(url)}".`;
  }
  const plain = urls.find((url) => url.toLowerCase().startsWith("http:"));
  if (!production || plain === undefined || insecure.includes(id)) return undefined;
  return `The provider "${id}" is reached without TLS at ${plain}, which NODE_ENV=production does not ` +
    `allow: use https, or on a private network \`insecureProviders: ["${id}"]\`.`;
}

/** The address of an issuer's document (OpenID Connect Discovery 1.0, section 4.1). */
export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
}

/** Whether core asks the issuer for its endpoints. Otherwise it is only compared, and may be any text. */
export function isDiscovered({ authorization, token, userinfo }: ProviderServer): boolean {
  const isSet = (url: string | undefined) => url !== undefined && !/^https:\/\/authjs\.dev\b/.test(url);
  return !isSet(authorization) || !(isSet(token) || isSet(userinfo));
}

/** Whether a URL is one, or is not set. One with a setting that is undefined gets a warning. */
function isAddress(url: string | undefined): boolean {
  return url === undefined || hasUndefined(url) || (/^https?:\/\//i.test(url) && URL.canParse(url));
}

/** Whether a factory made it of an option that is not set. */
function hasUndefined(url: string): boolean {
  return /(?:^|[/.@])undefined(?:$|[/.:?])/.test(url);
}

/** What the example of an address is made of: the given text, if it looks like a host and a path. */
function exampleHost(given: string): string {
  return /^[a-z0-9.-]+(?::\d+)?(?:\/[\w./~-]*)?$/i.test(given) ? given : "idp.example";
}

/** Names of other libraries, and of earlier versions of Auth.js, for settings of a provider. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  authorizationparams: "write `authorization: { params: { … } }`",
  authorizationurl: "write `authorization`",
  callbackurl: "leave it out: the callback URL follows from `AUTH_URL` and the `prefix` of the registration",
  clientid: "write `clientId`",
  clientsecret: "write `clientSecret`",
  redirecturi: "leave it out: the callback URL follows from `AUTH_URL` and the `prefix` of the registration",
  scope: 'write `authorization: { params: { scope: "…" } }`',
  scopes: 'write `authorization: { params: { scope: "…" } }`',
  tokenurl: "write `token`",
  userinfourl: "write `userinfo`",
};

function misnamedOf(provider: ProviderShape): [name: string, instead: string][] {
  const { params } = (provider.authorization ?? {}) as { params?: { scope?: unknown } };
  return Object.entries(provider).flatMap(([name, value]): [string, string][] => {
    // Some factories take `scope` and put it where it belongs.
    const isRight = ["clientId", "clientSecret"].includes(name) ||
      (name === "scope" && params?.scope === value);
    const instead = OTHER_NAMES[name.toLowerCase().replaceAll("_", "")];
    return isRight || value === undefined || instead === undefined ? [] : [[name, instead]];
  });
}

/** Warns of settings that are unsafe, or cannot work. */
export function providerWarnings(
  providers: readonly ProviderSummary[],
  origin: PublicOrigin | undefined,
): string[] {
  return providers.flatMap(({ id, factoryId, isOAuth, checks, formPost, urls, misnamed }) => {
    const warnings = misnamed.map(([name, instead]) =>
      `The provider "${id}" has \`${name}\`, which is not read: ${instead}.`
    );
    const incomplete = urls.find(hasUndefined);
    if (incomplete !== undefined) {
      warnings.push(
        `The provider "${id}" has an address with "undefined" in it, ${incomplete}, so every sign-in with it ` +
          "fails: an option that the address is made of is not set. Mostly it is `issuer` (or " +
          `${variableOf(factoryId, "ISSUER")}).`,
      );
    }
    if (isOAuth && (checks.length === 0 || checks.includes("none"))) {
      warnings.push(
        `The provider "${id}" has \`checks: ["none"]\`, so its callback accepts a sign-in that another ` +
          'browser started (login CSRF). Use "pkce" or "state".',
      );
    }
    if (formPost && origin !== undefined && !origin.secure && !isLoopback(origin)) {
      warnings.push(
        `The provider "${id}" answers with \`response_mode=form_post\`, which needs SameSite=None cookies, ` +
          `and browsers refuse those over http: its sign-ins at ${origin.href} will fail. Serve the ` +
          "application over https.",
      );
    }
    return warnings;
  });
}

/** Whether a text has quotation marks or white space around it, as files of variables leave them. */
export function isWrapped(text: string): boolean {
  return text !== text.trim() || /^(["'`])[^]*\1$/.test(text);
}
