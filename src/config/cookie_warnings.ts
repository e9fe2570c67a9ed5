/** Configured cookies that browsers refuse, or do not send to the auth routes. */
import {
  type AuthCookie,
  type CookieSettings,
  cookieSettings,
  type CoreConfig,
  PROOFS,
  UNSENT,
} from "./cookies.ts";
import type { Notice } from "./notices.ts";
import type { PublicOrigin } from "../http/origin.ts";
import type { ProviderSummary } from "../provider/summary.ts";

/**
 * Warnings of cookies that cannot work at an origin (RFC 6265bis, sections 4.1.3 and 5.7).
 *
 * @param config The configuration, and its providers.
 * @param origin The public origin.
 * @param mount The mount path as users see it.
 */
export function cookieWarnings(
  { core, providers }: {
    readonly core: CoreConfig;
    readonly providers: ReadonlyMap<string, ProviderSummary>;
  },
  origin: PublicOrigin,
  mount: string,
): Notice[] {
  const configured = (Object.keys(core.cookies ?? {}) as AuthCookie[]).filter((each) =>
    !UNSENT.includes(each)
  );
  return configured.flatMap((cookie): Notice[] => {
    const settings = cookieSettings(cookie, core, origin.secure);
    const problem = refusal(settings, origin) ?? detour(settings, mount) ??
      (cookie === "state" && [...providers.values()].some(comesBack) ? absence(settings) : undefined) ??
      exposure(cookie, settings, origin);
    if (problem === undefined) return [];
    return [{ code: "FST_AUTHJS_WARN_COOKIE", message: `\`cookies.${cookie}\`: ${problem}` }];
  });
}

/** Why browsers refuse a cookie. */
function refusal({ name, options }: CookieSettings, origin: PublicOrigin): string | undefined {
  const { secure, domain, path, sameSite, partitioned } = options;
  const [prefix] = /^__(?:Host|Secure)-/i.exec(name) ?? [];
  const needsSecure = [
    prefix,
    partitioned && "`partitioned`",
    String(sameSite).toLowerCase() === "none" && '`sameSite: "none"`',
  ].find(Boolean);
  if (needsSecure && !secure) {
    return `at ${origin.href} browsers refuse "${name}", which is not \`Secure\`, as ${needsSecure} requires. ` +
      "Set it only over https.";
  }
  if (prefix?.toLowerCase() === "__host-" && (domain || path !== "/")) {
    return `browsers refuse "${name}" with a \`domain\`, or a \`path\` other than "/". Give it another name, or ` +
      "leave them out.";
  }
  if (domain && !isDomainOf(domain, hostnameOf(origin))) {
    return `at ${origin.href} browsers refuse "${name}", whose \`domain\` is "${domain}". Leave it out, or name ` +
      "a domain of that host.";
  }
  return undefined;
}

/** Why browsers do not send a cookie to the auth routes. */
function detour({ name, options: { path = "/" } }: CookieSettings, mount: string): string | undefined {
  if (`${mount}/`.startsWith(path.endsWith("/") ? path : `${path}/`)) return undefined;
  return `browsers do not send "${name}", whose \`path\` is "${path}", to the auth routes at ${mount}. Leave it ` +
    'out, or write "/".';
}

/**
 * Whether browsers come back from a provider with a GET. With `response_mode=form_post` the cookie is
 * `SameSite=None`, whatever is configured.
 */
function comesBack({ type, formPost }: ProviderSummary): boolean {
  return (type === "oauth" || type === "oidc") && !formPost;
}

/** Why browsers do not send a cookie with a callback, to which the site of the provider leads them. */
function absence({ name, options: { sameSite } }: CookieSettings): string | undefined {
  if (!isStrict(sameSite)) return undefined;
  return `with \`sameSite: "strict"\` browsers do not send "${name}" when they come back from a provider. Leave ` +
    'it out, or write "lax".';
}

/** Why another host can have a browser finish a sign-in that it did not begin. */
function exposure(
  cookie: AuthCookie,
  { name }: CookieSettings,
  { secure }: PublicOrigin,
): string | undefined {
  if (!secure || name.startsWith("__Host-") || !(PROOFS as readonly AuthCookie[]).includes(cookie)) {
    return undefined;
  }
  return `"${name}" has no prefix "__Host-", so another host of your domain can set it and have a browser finish a ` +
    "sign-in that an attacker began. Leave out its `name`, `domain`, `path` and `secure`, or give it a name with " +
    "that prefix.";
}

/** Whether browsers keep a cookie from requests that other sites lead to. */
export function isStrict(sameSite: unknown): boolean {
  return sameSite === true || String(sameSite).toLowerCase() === "strict";
}

function hostnameOf(origin: PublicOrigin): string {
  return origin.host.replace(/:\d+$/, "");
}

function isDomainOf(domain: string, hostname: string): boolean {
  const name = domain.toLowerCase().replace(/^\./, "");
  return hostname === name || hostname.endsWith(`.${name}`);
}
