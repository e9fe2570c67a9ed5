/** The names and attributes of Auth.js's cookies, as core resolves them, and those that cannot work. */
import type { AuthConfig } from "@auth/core";
import { type SerializeOptions, stringifySetCookie } from "cookie";
import { invalidConfig } from "../errors.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import type { Notice } from "./notices.ts";

export interface CookieSettings {
  /** Also the salt of the key of an encrypted cookie. */
  readonly name: string;
  readonly options: SerializeOptions;
}

export interface CoreConfig extends AuthConfig {
  /** A part of the names of cookies, if the configuration has a `tenant`. */
  cookieTenant?: string;
}

type CookieConfig = Pick<CoreConfig, "cookies" | "cookieTenant" | "useSecureCookies">;

export interface CookieDefinition {
  /** Its name, without the prefix for secure cookies and the one that all have. */
  readonly name: string;
  /** If it is secure: core's prefix, which other applications know; without one, `__Host-` if its attributes allow. */
  readonly prefix?: "__Host-" | "__Secure-";
}

/** Core's cookies, by their keys in `cookies` of the configuration. */
const CORE = {
  sessionToken: { name: "session-token", prefix: "__Secure-" },
  callbackUrl: { name: "callback-url" },
  csrfToken: { name: "csrf-token", prefix: "__Host-" },
  pkceCodeVerifier: { name: "pkce.code_verifier" },
  state: { name: "state" },
  nonce: { name: "nonce" },
  webauthnChallenge: { name: "challenge" },
} as const satisfies Readonly<Record<string, CookieDefinition>>;

type AuthCookie = keyof typeof CORE;

/** Core's cookies that browsers get: the content of the others is in the cookies of the attempts, those of `state`. */
export const SENT_COOKIES = ["sessionToken", "callbackUrl", "csrfToken", "state"] as const;

/** Merges the configuration's settings of a cookie of core over the defaults. It has none of one of our own. */
export function cookieSettings(cookie: AuthCookie | CookieDefinition, core: CookieConfig, secure: boolean) {
  const secureCookies = core.useSecureCookies ?? secure;
  const definition: CookieDefinition = typeof cookie === "string" ? CORE[cookie] : cookie;
  const configured = typeof cookie === "string" ? core.cookies?.[cookie] : undefined;
  // As in core, `undefined` does not replace a default.
  const given = Object.entries(configured?.options ?? {}).filter(([, value]) => value !== undefined);
  const options: SerializeOptions = {
    ...{ httpOnly: true, sameSite: "lax", path: "/", secure: secureCookies },
    ...Object.fromEntries(given),
  };
  // With `__Host-` no other host can set the cookie (RFC 6265bis section 4.1.3), and so have this browser finish what
  // another one began.
  const { secure: isSecure, domain, path } = options;
  const widest = !isSecure ? "" : domain || path !== "/" ? "__Secure-" : "__Host-";
  const prefix = secureCookies ? definition.prefix ?? widest : "";
  const owner = core.cookieTenant === undefined ? "authjs" : `authjs-${core.cookieTenant}`;
  return { name: configured?.name ?? `${prefix}${owner}.${definition.name}`, options };
}

/** The names of core's cookies, that of the session first. */
export function cookieNames(core: CookieConfig, secure: boolean, cookies = Object.keys(CORE) as readonly AuthCookie[]) {
  return cookies.map((cookie) => cookieSettings(cookie, core, secure).name);
}

/** A name that two cookies of a browser have, of which each would replace the other. */
export function repeatedName(core: CookieConfig): string | undefined {
  for (const secure of [true, false]) {
    const names = cookieNames(core, secure, ["sessionToken", "callbackUrl", "csrfToken"]);
    const repeated = names.find((name, index) => names.includes(name, index + 1));
    if (repeated !== undefined) return repeated;
  }
}

/** Refuses a name or an attribute that no cookie can have. */
export function requireCookies(cookies: AuthConfig["cookies"]): void {
  for (const [key, cookie] of Object.entries(cookies ?? {})) {
    const { name = "name", options } = cookie ?? {};
    try {
      stringifySetCookie({ ...options, name, value: "" });
    } catch (error) {
      throw invalidConfig(`\`cookies.${key}\` cannot be sent: ${(error as Error).message}.`, { cause: error });
    }
  }
}

interface Facts extends CookieSettings {
  readonly cookie: AuthCookie;
  readonly origin: PublicOrigin;
  /** The mount path as users see it. */
  readonly mount: string;
  /** Whether browsers come back from a provider with a GET, for which the configured `sameSite` counts. */
  readonly comesBack: boolean;
  /** `__Host-` or `__Secure-`, if the name begins with it. */
  readonly prefix: string | undefined;
}

/** The conditions with the message that each has (RFC 6265bis, sections 4.1.3 and 5.7); the first one is said. */
const MISTAKES: readonly ((facts: Facts) => string | false | undefined)[] = [
  ({ name, origin, prefix, options: { secure, sameSite, partitioned } }) => {
    const isNone = String(sameSite).toLowerCase() === "none";
    const reason = prefix ?? (partitioned ? "`partitioned`" : isNone && '`sameSite: "none"`');
    return reason && !secure &&
      `at ${origin.href} browsers refuse "${name}", which is not \`Secure\`, as ${reason} requires. Set it only ` +
        "over https.";
  },
  ({ name, prefix, options: { domain, path } }) =>
    prefix?.toLowerCase() === "__host-" && (domain || path !== "/") &&
    `browsers refuse "${name}" with a \`domain\`, or a \`path\` other than "/". Give it another name, or leave ` +
      "them out.",
  ({ name, origin, options: { domain } }) =>
    domain && !`.${origin.host.replace(/:\d+$/, "")}`.endsWith(`.${domain.toLowerCase().replace(/^\./, "")}`) &&
    `at ${origin.href} browsers refuse "${name}", whose \`domain\` is "${domain}". Leave it out, or name a domain ` +
      "of that host.",
  ({ name, mount, options: { path = "/" } }) =>
    !`${mount}/`.startsWith(path.endsWith("/") ? path : `${path}/`) &&
    `browsers do not send "${name}", whose \`path\` is "${path}", to the auth routes at ${mount}. Leave it out, or ` +
      'write "/".',
  ({ name, cookie, comesBack, options: { sameSite } }) =>
    cookie === "state" && comesBack && isStrict(sameSite) &&
    `with \`sameSite: "strict"\` browsers do not send "${name}" when they come back from a provider. Leave it out, ` +
      'or write "lax".',
  ({ name, cookie, origin }) =>
    origin.secure && !name.startsWith("__Host-") && (cookie === "callbackUrl" || cookie === "state") &&
    `"${name}" has no prefix "__Host-", so another host of your domain can set it and have a browser finish an ` +
      "attacker's sign-in. Leave out its `name`, `domain`, `path` and `secure`, or give it that prefix.",
];

/** Warnings of cookies that cannot work at an origin. */
export function cookieWarnings(
  { core, providers }: { readonly core: CoreConfig; readonly providers: ReadonlyMap<string, ProviderSummary> },
  origin: PublicOrigin,
  mount: string,
): Notice[] {
  // With `response_mode=form_post` the cookie is `SameSite=None`, whatever is configured.
  const comesBack = [...providers.values()].some(({ isOAuth, formPost }) => isOAuth && !formPost);
  // A warning of its own names what is no cookie.
  const configured = SENT_COOKIES.filter((each) => core.cookies?.[each] !== undefined);
  return configured.flatMap((cookie): Notice[] => {
    const settings = cookieSettings(cookie, core, origin.secure);
    const prefix = /^__(?:Host|Secure)-/i.exec(settings.name)?.[0];
    const facts = { ...settings, cookie, origin, mount, comesBack, prefix };
    const problem = MISTAKES.map((problemOf) => problemOf(facts)).find(Boolean);
    return problem ? [{ code: "FST_AUTHJS_WARN_COOKIE", message: `\`cookies.${cookie}\`: ${problem}` }] : [];
  });
}

/** Whether browsers keep a cookie from requests that other sites lead to. */
export function isStrict(sameSite: unknown): boolean {
  return sameSite === true || String(sameSite).toLowerCase() === "strict";
}
