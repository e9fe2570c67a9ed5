/** Settings that are valid each, and cannot work together, or are not what was meant. */
import type { AuthConfig } from "@auth/core";
import { FastifyAuthError, type FastifyAuthErrorCode } from "../errors.ts";
import { isLoopback, type PublicOrigin } from "../http/origin.ts";
import type { Environment } from "../provider/settings.ts";
import type { SigningKeys } from "../provider/signing_keys.ts";
import type { ProviderSummary } from "../provider/summary.ts";
import { webAuthnWarnings } from "../provider/webauthn/provider.ts";
import type { FastifyAuthConfig } from "../types.ts";
import { lackingMethods } from "./adapter_problem.ts";
import { isStrict, repeatedName } from "./cookies.ts";
import { COOKIE_MAX_AGE } from "./lifetime.ts";
import type { NoticeCode, Notices } from "./notices.ts";
import { type AllowedOrigins, EXAMPLE, isRedirectProxy, originOf } from "./redirect_proxy.ts";

export interface Facts {
  readonly config: FastifyAuthConfig;
  /** With the defaults of the environment. */
  readonly core: AuthConfig;
  readonly env: Environment;
  readonly production: boolean;
  readonly providers: readonly ProviderSummary[];
  readonly insecure: readonly string[];
  /** The configured origin, and what sets it. */
  readonly origin: PublicOrigin | undefined;
  readonly originSource: { readonly setting?: string };
  readonly redirectProxyOrigins: AllowedOrigins;
  /** The keys that OpenID Providers publish, loaded with the first token that is verified. */
  readonly signingKeys: () => Promise<SigningKeys>;
  readonly notices: Notices;
}

export type Messages = (facts: Facts) => string | readonly string[] | false | undefined;
export type Mistake<Code> = readonly [code: Code, ...mistakes: Messages[]];

export function requireNone(problems: readonly Mistake<FastifyAuthErrorCode>[], facts: Facts): void {
  for (const { code, message } of mistakesIn(problems, facts)) throw new FastifyAuthError(code, message);
}

export function* mistakesIn<Code>(mistakes: readonly Mistake<Code>[], facts: Facts) {
  for (const [code, ...all] of mistakes) {
    for (const message of all.flatMap((messages) => messages(facts) || [])) yield { code, message };
  }
}

/** Warnings of times in milliseconds, by name, that are less than the least that each can mean. */
export function timeWarnings(times: readonly (readonly [string, number | undefined, number])[]): string[] {
  return times.filter(([, value, least]) => typeof value === "number" && value > 0 && value < least)
    .map(([name, value]) => `\`${name}\` is ${value} milliseconds. If seconds are meant, write ${value! * 1000}.`);
}

/** Whether a text has quotation marks or white space around it, as files of variables leave them. */
export function isWrapped(text: string): boolean {
  return text !== text.trim() || /^(["'`])[^]*\1$/.test(text);
}

const MAKE_SECRET =
  "Make one with `npx fastify-authjs secret` or `openssl rand -base64 33`, and set it as AUTH_SECRET (or `secret`).";
const STORES = 'redisStore() of "fastify-authjs/redis", or memoryStore()';

/** Options that have gone, with what to do about it. */
const GONE: Readonly<Record<string, string>> = {
  backchannelLogout: "write `providerLogout: { backchannel: true }`.",
  credentialsDatabaseSessions:
    "remove it. With sessions in a database, a sign-in with credentials always creates a row.",
  doctor: "the log has the table with NODE_ENV=development, and `npx fastify-authjs doctor app.js` prints it.",
  language: "write `pages: { language }`.",
  providerSignOut: "write `providerLogout: true`, or its options as an object.",
  refreshGrace: "remove it. A replaced session cookie gets the refreshed session for 30 seconds.",
  refreshLock: `write \`store\`, such as ${STORES}.`,
  sessionStore: `write \`store\` and \`revocable: true\`, such as ${STORES}.`,
  siteName: "write `pages: { siteName }`.",
  texts: "write `pages: { texts }`.",
  tokenCacheSize: "remove it. The tokens of some 8,000 users are remembered.",
};

/** What stops the boot; the first one is said. */
export const PROBLEMS: readonly Mistake<FastifyAuthErrorCode>[] = [
  [
    "FST_AUTHJS_CONFIG_INVALID",
    ({ config }) =>
      Object.entries(GONE).filter(([name]) => config[name as keyof FastifyAuthConfig] !== undefined)
        .map(([name, advice]) => `There is no option \`${name}\` any more: ${advice}`),
    ({ core }) => {
      const name = repeatedName(core);
      return name !== undefined &&
        `Two of \`cookies\` have the name "${name}", so each would replace the other: give one another name.`;
    },
    ({ insecure, providers }) => {
      const ids = providers.map(({ id }) => id);
      return insecure.filter((id) => !ids.includes(id)).map((id) =>
        `\`insecureProviders\` has ${JSON.stringify(id)}, which is no provider. There are: ${ids.join(", ") || "none"}.`
      );
    },
  ],
  [
    "FST_AUTHJS_SECRET_MISSING",
    ({ core, env }) =>
      secretsOf(core).length === 0 &&
      `There is no secret. ${MAKE_SECRET}${env.NEXTAUTH_SECRET ? " NEXTAUTH_SECRET is not read: rename it." : ""}`,
    ({ core: { jwt = {} } }) =>
      "secret" in jwt && [jwt.secret ?? []].flat().length === 0 &&
      "There is no secret in `jwt.secret`: leave it out, so that `secret` counts.",
  ],
  ["FST_AUTHJS_SECRET_TOO_SHORT", ({ core }) =>
    secretsOf(core).some((secret) => secret.length < 32) &&
    `A secret must have at least 32 characters, and so must every rotated one. ${MAKE_SECRET}`],
  ["FST_AUTHJS_HOST_NOT_TRUSTED", ({ origin, core, env, production }) =>
    origin === undefined && !core.trustHost &&
    `The public origin is unknown: ${production ? "NODE_ENV is production" : "`trustHost` is false"} and ` +
      "neither `origin` nor AUTH_URL is set. Set AUTH_URL to the address users type (https://app.example), or, " +
      "if the Host header is checked before it gets here, AUTH_TRUST_HOST=true or `trustHost: true`." +
      (env.NEXTAUTH_URL ? " NEXTAUTH_URL is not read." : "")],
  [
    "FST_AUTHJS_CONFIG_INVALID",
    // It becomes part of every callback URL.
    ({ core: { redirectProxyUrl: url } }) =>
      url !== undefined && !/^https?:/.test(originOf(url) ?? "") &&
      "`redirectProxyUrl` (or AUTH_REDIRECT_PROXY_URL) must be the address of the auth routes of the stable " +
        "deployment, such as https://app.example/auth.",
    ({ origin, providers, redirectProxyOrigins }) =>
      origin !== undefined && redirectProxyOrigins.size === 0 &&
      providers.some((provider) => isRedirectProxy(provider, origin)) &&
      `This is the stable deployment of \`redirectProxyUrl\`, ${origin.href}, and nothing says which others it sends ` +
        `the codes of their sign-ins to: list their origins in \`redirectProxyOrigins\`, ${EXAMPLE}, or leave ` +
        "`redirectProxyUrl` (or AUTH_REDIRECT_PROXY_URL) out.",
  ],
  ["FST_AUTHJS_ADAPTER_INVALID", ({ core, providers }) => lackingMethods(core, providers)],
];

export const WARNINGS: readonly Mistake<NoticeCode>[] = [
  // No request to another machine is sure to be answered in less.
  [
    "FST_AUTHJS_WARN_OPTION",
    ({ config: { providerTimeout, adapterTimeout } }) =>
      timeWarnings([["providerTimeout", providerTimeout, 100], ["adapterTimeout", adapterTimeout, 100]]),
  ],
  [
    "FST_AUTHJS_WARN_SECRET",
    // A random text of 32 characters, hexadecimal digits too, has more different ones.
    ({ core }) =>
      secretsOf(core).some((secret) => new Set(secret).size < 8) &&
      `A secret repeats a few characters, so it can be guessed. ${MAKE_SECRET}`,
    ({ core }) =>
      secretsOf(core).some(isWrapped) &&
      "A secret begins and ends with a quotation mark or white space. Docker's `--env-file` keeps them, and other " +
        "programs remove them: then processes do not read each other's sessions. Write AUTH_SECRET without them.",
  ],
  [
    "FST_AUTHJS_WARN_HOST",
    ({ origin, config, env }) =>
      (origin ?? config.trustHost ?? env.AUTH_TRUST_HOST ?? env.VERCEL ?? env.CF_PAGES ?? env.NODE_ENV) ===
        undefined &&
      "The public origin follows the Host header of each request, since neither AUTH_URL nor AUTH_TRUST_HOST is set " +
        "and NODE_ENV is unset. With NODE_ENV=production the application will not start like this: set AUTH_URL to " +
        "the address users type, or `trustHost: true`.",
    // Without a configured origin it is only known with a request whether this is the stable deployment.
    ({ origin, providers, redirectProxyOrigins }) =>
      origin === undefined && redirectProxyOrigins.size === 0 &&
      providers.some(({ redirectProxyUrl }) => redirectProxyUrl !== undefined) &&
      "`redirectProxyUrl` (or AUTH_REDIRECT_PROXY_URL) is set without `redirectProxyOrigins`: at that address, " +
        `sign-ins of other deployments are refused. List their origins there, ${EXAMPLE}.`,
  ],
  [
    "FST_AUTHJS_WARN_ORIGIN",
    ({ origin, originSource, production }) =>
      production && origin !== undefined && !origin.secure && !isLoopback(origin) &&
      `${originSource.setting} is ${origin.href} in production: passwords, codes and sessions can be read on the ` +
        "way, and cookies are not `Secure`. If users reach it over https, write " +
        `${origin.href.replace("http:", "https:")}.`,
  ],
  ["FST_AUTHJS_WARN_COOKIE", ({ core }) =>
    isStrict(core.cookies?.sessionToken?.options?.sameSite) &&
    '`cookies.sessionToken`: with `sameSite: "strict"` a visitor who comes from a provider, a mail or another site ' +
      'looks signed out, until the next click. Leave it out, or write "lax".'],
  ["FST_AUTHJS_WARN_LIFETIME", ({ core }) =>
    core.session!.maxAge! > COOKIE_MAX_AGE &&
    "`session.maxAge` is more than 400 days, and browsers keep no cookie for longer. It is a number of seconds, not " +
      "of milliseconds: 30 days are 30 * 24 * 60 * 60."],
  ["FST_AUTHJS_WARN_PROVIDER", ({ config }) =>
    config.verifyIdTokens === false &&
    "The signatures of ID tokens are not verified, by `verifyIdTokens: false`: who can change what a token endpoint " +
      "answers signs in as any user. Leave it out; if a provider's keys are not found, set its `jwks_endpoint`."],
  ["FST_AUTHJS_WARN_WEBAUTHN", ({ core, origin }) => webAuthnWarnings(core.providers, origin)],
];

function secretsOf(core: AuthConfig): string[] {
  // Core uses `jwt.secret`, but its type lacks it.
  const { secret: tokenSecret } = (core.jwt ?? {}) as { secret?: string | string[] };
  return [core.secret, tokenSecret].flat().filter((secret) => secret !== undefined);
}
