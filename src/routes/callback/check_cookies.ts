/**
 * The check cookies (state, PKCE, nonce, challenge): they bind a callback to the browser that started the
 * sign-in.
 */
import type { AuthConfig } from "@auth/core";
import { parseCookie } from "cookie";
import { type CookieSettings, cookieSettings } from "../../config/cookies.ts";
import { type Answer, removalOf } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { open } from "../../jwt/jwe.ts";
import { decode, encode, secretList } from "../../jwt/codec.ts";
import { Refusal } from "../../jwt/refusal.ts";
import { otherSalts } from "../../session/salts.ts";

/** How long core's check cookies live, in seconds. */
export const CHECK_MAX_AGE = 900;

/** The checks of core, with the keys of their cookies in the configuration. */
const CHECKS = {
  state: "state",
  pkce: "pkceCodeVerifier",
  nonce: "nonce",
  challenge: "webauthnChallenge",
} as const;

/** One check of a callback and the cookie that came for it. */
export interface CheckCookie extends CookieSettings {
  /** `state`, `pkce` or `nonce`; `challenge` for an authenticator. */
  readonly check: keyof typeof CHECKS;
  /** The encrypted value that the browser sent. */
  readonly sealed: string | undefined;
}

/** The part of a request that its check cookies depend on. */
export type CheckedRequest = Pick<ProviderContext, "provider" | "config" | "origin" | "cookies">;

/**
 * The checks of the provider with the cookies of the request.
 *
 * @param cookies The cookie settings in use, where they are not the configuration's.
 */
export function checkCookies(
  { provider, config, origin, cookies: header }: CheckedRequest,
  cookies: AuthConfig["cookies"] = config.core.cookies,
): CheckCookie[] {
  const sent = parseCookie(header);
  const core = { ...config.core, ...(cookies && { cookies }) };
  return (Object.keys(CHECKS) as CheckCookie["check"][])
    .filter((check) => provider.checks.includes(check))
    .map((check) => {
      const settings = cookieSettings(CHECKS[check], core, origin.secure);
      return { check, ...settings, sealed: sent[settings.name] };
    });
}

/**
 * The `cookies` of the configuration for a provider that answers with a form (`response_mode=form_post`):
 * with a POST from another site a browser sends only cookies with `SameSite=None`. Core sets that for two of
 * the three, and only when it sets the cookies, not when it removes them.
 */
export function crossSiteCookies(cookies: AuthConfig["cookies"]): NonNullable<AuthConfig["cookies"]> {
  const crossSite: NonNullable<AuthConfig["cookies"]> = { ...cookies };
  for (const key of Object.values(CHECKS)) {
    crossSite[key] = {
      ...crossSite[key],
      options: { ...crossSite[key]?.options, sameSite: "none", secure: true },
    };
  }
  return crossSite;
}

/** What is known of a sign-in when it begins. */
export interface Attempt {
  /** Who was signed in. */
  readonly startedBy?: string | undefined;
  /** The id of the user to whom the account is to be linked, and nothing else done. */
  readonly linkTo?: string | undefined;
  /** Where the sign-in leads, if no other cookie says so. */
  readonly callbackUrl?: string | undefined;
}

/** What a check cookie holds. */
interface CheckContent extends Attempt {
  readonly value: string;
}

/** The decrypted content of a check cookie; `undefined` where it is invalid, or of another provider. */
export async function openContent(
  { name, sealed }: CheckCookie,
  { provider, config: { core } }: CheckedRequest,
): Promise<CheckContent | undefined> {
  const secret = secretOf(core);
  if (!sealed || secret === undefined) return undefined;
  const content = await decode({ token: sealed, secret, salt: name }).catch(() => null);
  if (typeof content?.value !== "string" || content.provider !== provider.id) return undefined;
  return content as unknown as CheckContent;
}

/** Whether a callback is of a sign-in that began here: one of its check cookies opens. */
export async function hasCheck(request: CheckedRequest): Promise<boolean> {
  for (const cookie of checkCookies(request)) {
    if (await openContent(cookie, request) !== undefined) return true;
  }
  return false;
}

/** The decrypted value of a check cookie; `undefined` where it is invalid, or of another provider. */
export async function openCheck(cookie: CheckCookie, context: ProviderContext): Promise<string | undefined> {
  return (await openContent(cookie, context))?.value;
}

/** A check cookie of core, sealed with more. */
export async function resealCheck(
  cookie: CheckCookie,
  attempt: Attempt,
  context: ProviderContext,
): Promise<string | undefined> {
  const { provider, config: { core } } = context;
  const value = await openCheck(cookie, context);
  const secret = secretOf(core);
  if (value === undefined || secret === undefined) return undefined;
  const token = { ...attempt, value, provider: provider.id };
  return await encode({ token, secret, salt: cookie.name, maxAge: CHECK_MAX_AGE });
}

/** What core seals check cookies and `state` with. */
export function secretOf({ jwt, secret }: ProviderContext["config"]["core"]): string | string[] | undefined {
  return (jwt as { secret?: string | string[] } | undefined)?.secret ?? secret;
}

function hasUnknownKey({ name, sealed = "" }: CheckCookie, { settings, config }: ProviderContext): boolean {
  const secrets = secretList(settings.jwt.secret, name);
  if (!secrets || !(open(sealed, secrets, name) instanceof Refusal)) return false;
  const opened = open(sealed, secrets, name, otherSalts(config.core, name));
  return opened instanceof Refusal && opened.unknownKey;
}

/** The message for the log where {@linkcode openCheck} returns `undefined`. */
export function checkProblem({ check, sealed }: CheckCookie, { provider: { id } }: ProviderContext): string {
  const what = sealed ? "a cookie that is not its own" : "no cookie";
  return `The callback of "${id}" came with ${what} for "${check}": the sign-in began in another browser ` +
    "or over 15 minutes ago, or with a secret that this process does not have, or its cookies did not come " +
    "back.";
}

/**
 * The answer, which also removes the check cookies that were sent, unless it sets them. Cookies of a secret
 * that this process does not have stay: another process can still finish that sign-in.
 */
export function clearChecks(
  answer: Answer,
  cookies: readonly CheckCookie[],
  context: ProviderContext,
): Answer {
  return cookies.some((cookie) => hasUnknownKey(cookie, context)) ? answer : removeChecks(answer, cookies);
}

/** The answer, which also removes the check cookies, where all were opened. */
export function removeChecks(answer: Answer, cookies: readonly CheckCookie[]): Answer {
  const set = new Set(answer.cookies.map(({ name }) => name));
  const removals = cookies
    .filter(({ name, sealed }) => sealed !== undefined && !set.has(name))
    .map(({ name, options }) => removalOf(name, options));
  return { ...answer, cookies: [...answer.cookies, ...removals] };
}
