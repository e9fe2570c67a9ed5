/**
 * The sign-ins that have begun in a browser and have not ended: each in a sealed cookie of its own, to which
 * the `state` of its callback leads, or the challenge of a passkey. So tabs end theirs in any order.
 */
import { parseCookie, stringifyCookie } from "cookie";
import { hash, randomBytes } from "node:crypto";
import type { Answer } from "../../core/answer.ts";
import type { Checks } from "../../core/checks.ts";
import { type ProviderContext, withoutCookies } from "../../core/context.ts";
import { cookiesAfter, removalOf, type SetCookie } from "../../http/set_cookie.ts";
import { parseJsonObject } from "../../utils/json.ts";

/** How long an attempt may take, in seconds: as long as core gives it. */
const MAX_AGE = 900;

/** How many are kept. */
const MAXIMUM = 8;

/** Characters that those which are kept have together: servers limit a request's header, beside the session. */
const BUDGET = 4096;

/** Characters of the value: browsers drop cookies above 4,096 bytes with their names. */
const LONGEST = 4000;

/** What is known of a sign-in when it begins. */
export interface Start {
  /** Who was signed in. */
  readonly startedBy?: string | undefined;
  /** The id of the user to whom the account is to be linked, and nothing else done. */
  readonly linkTo?: string | undefined;
}

/** What is kept of an attempt. Its `state` or challenge comes back with the callback. */
interface Content extends Start, Pick<Checks, "pkce" | "nonce" | "user"> {
  /** The id of the provider. */
  readonly provider: string;
  /** When it ends, in seconds since 1970. */
  readonly until: number;
  /** A digest of the `state` or the challenge. */
  readonly digest: string;
  /** Where it leads. */
  readonly callbackUrl?: string | undefined;
}

/** An attempt. */
export interface Attempt extends Content {
  /** The name of its cookie. */
  readonly name: string;
}

/** The part of a request that its attempts depend on. */
export type AttemptRequest = Pick<ProviderContext, "provider" | "settings" | "cookies">;

/**
 * The answer, which sends the browser to a provider and keeps the attempt. What its checks need is in the address:
 * PKCE (RFC 7636), and the nonce of OpenID Connect. The `state` is core's, if it is one of the checks.
 */
export function keepRedirect(answer: Answer, context: ProviderContext, start: Start): Answer {
  const { type, checks } = context.provider;
  if (answer.redirect === undefined || answer.error || (type !== "oauth" && type !== "oidc")) return answer;
  const url = new URL(answer.redirect);
  const { searchParams: parameters } = url;
  const pkce = checks.includes("pkce") ? newSecret() : undefined;
  const nonce = checks.includes("nonce") ? newSecret() : undefined;
  if (pkce !== undefined) {
    parameters.set("code_challenge", digestOf(pkce));
    parameters.set("code_challenge_method", "S256");
  }
  if (nonce !== undefined) parameters.set("nonce", nonce);
  // One of ours only names the attempt: core, which checks none, does not get it back.
  const state = parameters.get("state") ?? newSecret();
  parameters.set("state", state);
  return keep(state, { ...answer, redirect: url.href }, context, { ...start, pkce, nonce });
}

/** The answer, which has the options of a passkey and keeps the attempt. */
export function keepChallenge(answer: Answer, context: ProviderContext, start: Start): Answer {
  const { options } = answer.body as { options?: { challenge: string } };
  if (options === undefined) return answer;
  return keep(options.challenge, answer, context, { ...start, user: answer.registers });
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

function keep(
  key: string,
  answer: Answer,
  context: ProviderContext,
  known: Start & Pick<Checks, "pkce" | "nonce" | "user">,
): Answer {
  const { id: provider } = context.provider;
  const until = Math.floor(Date.now() / 1000) + MAX_AGE;
  const callbackUrl =
    parseCookie(cookiesAfter(answer.cookies, context.cookies))[context.settings.callbackUrlCookie.name];
  const content = { provider, until, digest: digestOf(key), ...known };
  const full = seal({ ...content, callbackUrl }, context);
  const value = full.length > LONGEST ? seal(content, context) : full;
  const age = Date.now().toString(36).padStart(AGE_LENGTH, "0");
  const { prefix, options } = cookieOf(context);
  const cookie = { name: `${prefix}${age}${nameIn(content.digest)}`, value, options };
  return { ...answer, cookies: [...answer.cookies, cookie, ...removeOldest(cookie, context)] };
}

/** The attempts that give way to a new one. */
function removeOldest(added: SetCookie, context: ProviderContext): SetCookie[] {
  const { options } = added;
  let left = BUDGET - sizeOf([added.name, added.value]);
  return heldAttempts(context)
    .filter((pair, newer) => (left -= sizeOf(pair)) < 0 || newer + 1 >= MAXIMUM)
    .map(([name]) => removalOf(name, options));
}

/** What a cookie takes of a Cookie header, with `=` and `; `. */
function sizeOf([name, value]: readonly [string, string]): number {
  return name.length + value.length + 3;
}

/** The attempt to which the `state` of a callback leads, or the challenge of a passkey. */
export function findAttempt(request: AttemptRequest, key: string): Attempt | undefined {
  const digest = digestOf(key);
  return openAttempts(request, (name) => name.endsWith(nameIn(digest))).find((each) =>
    each.digest === digest
  );
}

/** The latest attempt at the provider. */
export function newestAttempt(request: AttemptRequest): Attempt | undefined {
  return openAttempts(request, () => true).find(({ provider }) => provider === request.provider.id);
}

/** The answer, which also removes an attempt. */
export function dropAttempt(answer: Answer, { name }: Attempt, context: ProviderContext): Answer {
  return { ...answer, cookies: [...answer.cookies, removalOf(name, cookieOf(context).options)] };
}

/** The context of a callback, whose callback URL is that of the attempt. */
export function withCallbackUrl(context: ProviderContext, { callbackUrl }: Attempt): ProviderContext {
  if (callbackUrl === undefined) return context;
  const { name } = context.settings.callbackUrlCookie;
  const { cookies } = withoutCookies(context, [name]);
  return { ...context, cookies: `${stringifyCookie({ [name]: callbackUrl })}; ${cookies}` };
}

function seal(content: Content, { settings: { attempts: [place] } }: AttemptRequest): string {
  return place!.seal(JSON.stringify(content));
}

/** The attempts that this process can open, the newest first. */
function openAttempts(request: AttemptRequest, isSought: (name: string) => boolean): Attempt[] {
  const held = heldAttempts(request).filter(([name]) => isSought(name));
  const now = Math.floor(Date.now() / 1000);
  return held.flatMap(([name, value]) => {
    const opened = request.settings.attempts.map((place) => place.open(value));
    const text = opened.find((each) => each !== undefined);
    const content = text === undefined ? undefined : parseJsonObject(text) as unknown as Content;
    return content === undefined || content.until < now ? [] : { ...content, name };
  });
}

/** Digits of the time in a name: it sorts attempts by age, also those of a secret that is not known here. */
const AGE_LENGTH = 8;

/** What follows the prefix in a name. */
const NAME = /^[0-9a-z]{8}[\w-]{11}$/;

/** The names and values of the attempts in the request, the newest first. */
function heldAttempts(request: AttemptRequest): [name: string, value: string][] {
  const { prefix } = cookieOf(request);
  if (!request.cookies.includes(prefix)) return [];
  const pairs = Object.entries(parseCookie(request.cookies)) as [string, string][];
  return pairs.filter(([name]) => name.startsWith(prefix) && NAME.test(name.slice(prefix.length)))
    .sort(([a], [b]) => a < b ? 1 : -1);
}

/** With a form from another site (`response_mode=form_post`) browsers send only cookies with `SameSite=None`. */
function cookieOf({ provider, settings }: AttemptRequest) {
  const { name, options: { expires: _, ...own } } = settings.stateCookie;
  const crossSite = provider.formPost && { sameSite: "none" as const, secure: true };
  return { prefix: `${name}.`, options: { maxAge: MAX_AGE, ...own, ...crossSite } };
}

function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}

function nameIn(digest: string): string {
  return digest.slice(0, 11);
}
