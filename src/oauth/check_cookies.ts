/**
 * The cookies that tie the callback of a provider to the browser that started the sign-in.
 *
 * @module
 */
import type { AuthConfig } from "@auth/core";
import { parseCookie, type SerializeOptions, stringifySetCookie } from "cookie";
import { decode } from "../session/jwt_codec.ts";
import type { ConfiguredProvider } from "../provider/facts.ts";

/** How core configures one of its cookies. */
type CookieSetting = { name?: string; options?: SerializeOptions };

/** The cookies of core's checks: their keys in `cookies` of the configuration, and what core calls them. */
const COOKIES = {
  state: ["state", "authjs.state"],
  pkce: ["pkceCodeVerifier", "authjs.pkce.code_verifier"],
  nonce: ["nonce", "authjs.nonce"],
  challenge: ["webauthnChallenge", "authjs.challenge"],
} as const;

/** One check of a callback and the cookie that came for it. */
export interface CheckCookie {
  /** `state`, `pkce` or `nonce`; `challenge` for an authenticator. */
  readonly check: keyof typeof COOKIES;
  /** The cookie's name, which is also the salt of its key. */
  readonly name: string;
  /** The cookie's attributes. */
  readonly options: SerializeOptions;
  /** What the browser sent. */
  readonly sealed: string | undefined;
}

/**
 * The checks of a provider with the cookies of a request.
 *
 * @param provider Whose callback it is.
 * @param core The configuration with its `cookies`.
 * @param secure Whether the public origin is https.
 * @param header The Cookie header.
 */
export function checkCookies(
  { checks }: ConfiguredProvider,
  core: AuthConfig,
  secure: boolean,
  header: string,
): CheckCookie[] {
  const sent = parseCookie(header);
  const prefixed = core.useSecureCookies ?? secure;
  return (Object.keys(COOKIES) as CheckCookie["check"][]).filter((check) => checks.includes(check)).map(
    (check) => {
      const [key, defaultName] = COOKIES[check];
      const own = core.cookies?.[key] as CookieSetting | undefined;
      const name = own?.name ?? `${prefixed ? "__Secure-" : ""}${defaultName}`;
      const options = {
        httpOnly: true,
        sameSite: "lax",
        path: "/",
        secure: prefixed,
        ...own?.options,
      } as const;
      return { check, name, options, sealed: sent[name] };
    },
  );
}

/**
 * The `cookies` of the configuration for a provider that answers with a form (`response_mode=form_post`): a browser
 * sends nothing but `SameSite=None` along with another site's POST. Core sees to it for two of the three, and only
 * when it sets them.
 */
export function crossSiteCookies(cookies: AuthConfig["cookies"]): NonNullable<AuthConfig["cookies"]> {
  const crossSite: Record<string, CookieSetting> = { ...cookies } as Record<string, CookieSetting>;
  for (const [key] of Object.values(COOKIES)) {
    crossSite[key] = {
      ...crossSite[key],
      options: { ...crossSite[key]?.options, sameSite: "none", secure: true },
    };
  }
  return crossSite as NonNullable<AuthConfig["cookies"]>;
}

/** The value that a cookie of the provider holds; `undefined` where it is not one of ours, or of another provider. */
export async function openCheck(
  { name, sealed }: CheckCookie,
  provider: ConfiguredProvider,
  core: AuthConfig,
): Promise<string | undefined> {
  const secret = (core.jwt as { secret?: string | string[] } | undefined)?.secret ?? core.secret;
  if (!sealed || secret === undefined) return undefined;
  const { value, provider: owner } = await decode({ token: sealed, secret, salt: name })
    .catch(() => null) ?? {};
  return typeof value === "string" && owner === provider.id ? value : undefined;
}

/** What is wrong where {@linkcode openCheck} gives nothing, for the log. */
export function strayCheck({ check, sealed }: CheckCookie, { id }: ConfiguredProvider): string {
  const what = sealed ? "a cookie that is not its own" : "no cookie";
  return `The callback of "${id}" came with ${what} for "${check}": the sign-in began in another browser or over 15 ` +
    "minutes ago, or its cookies did not come back.";
}

/** Removes the cookies that were sent and that the response does not set or remove by itself. */
export function clearChecks(response: Response, cookies: readonly CheckCookie[]): Response {
  const headers = new Headers(response.headers);
  const set = new Set(headers.getSetCookie().map((line) => line.slice(0, line.indexOf("="))));
  for (const { name, options, sealed } of cookies) {
    if (sealed === undefined || set.has(name)) continue;
    headers.append("set-cookie", stringifySetCookie(name, "", { ...options, maxAge: 0 }));
  }
  return new Response(response.body, { status: response.status, headers });
}
