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
    domain && !isDomainOf(domain, origin.host.replace(/:\d+$/, "")) &&
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
    origin.secure && !name.startsWith("__Host-") && (PROOFS as readonly AuthCookie[]).includes(cookie) &&
    `"${name}" has no prefix "__Host-", so another host of your domain can set it and have a browser finish a ` +
      "sign-in that an attacker began. Leave out its `name`, `domain`, `path` and `secure`, or give it a name with " +
      "that prefix.",
];

/** Warnings of cookies that cannot work at an origin. */
export function cookieWarnings(
  { core, providers }: {
    readonly core: CoreConfig;
    readonly providers: ReadonlyMap<string, ProviderSummary>;
  },
  origin: PublicOrigin,
  mount: string,
): Notice[] {
  // With `response_mode=form_post` the cookie is `SameSite=None`, whatever is configured.
  const comesBack = [...providers.values()].some(({ type, formPost }) =>
    /^(?:oauth|oidc)$/.test(type) && !formPost
  );
  const configured = Object.keys(core.cookies ?? {}) as AuthCookie[];
  return configured.filter((each) => !UNSENT.includes(each)).flatMap((cookie): Notice[] => {
    const settings = cookieSettings(cookie, core, origin.secure);
    const prefix = /^__(?:Host|Secure)-/i.exec(settings.name)?.[0];
    const facts = { ...settings, cookie, origin, mount, comesBack, prefix };
    for (const problemOf of MISTAKES) {
      const problem = problemOf(facts);
      if (problem) return [{ code: "FST_AUTHJS_WARN_COOKIE", message: `\`cookies.${cookie}\`: ${problem}` }];
    }
    return [];
  });
}

/** Whether browsers keep a cookie from requests that other sites lead to. */
export function isStrict(sameSite: unknown): boolean {
  return sameSite === true || String(sameSite).toLowerCase() === "strict";
}

function isDomainOf(domain: string, hostname: string): boolean {
  const name = domain.toLowerCase().replace(/^\./, "");
  return hostname === name || hostname.endsWith(`.${name}`);
}
