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
import { type SignedIn, signedInBy } from "../../session/open.ts";
import { parseJsonObject } from "../../utils/decode.ts";
import { replyKind } from "../reply.ts";
import { readSignedIn } from "../session_change.ts";

/** How long an attempt may take, in seconds: as long as core gives it. */
const MAX_AGE = 900;

/** For how long a sign-in at a provider is known, in seconds: if it ends too late, it can begin again. */
const KNOWN_FOR = 3600;

/** How many are kept. */
const MAXIMUM = 8;

/** Characters that they may have together, beside the session: servers limit the head of a request. */
const BUDGET = 4096;

/** Characters of the value: browsers drop cookies above 4,096 bytes with their names. */
const LONGEST = 4000;

/** What is known of an attempt besides its request. */
interface Known extends Pick<Checks, "pkce" | "nonce" | "user"> {
  /** The id of the user to whom the account is to be linked, and nothing else done. */
  readonly linkTo?: string | undefined;
}

/** What is kept of an attempt. Its `state` or challenge comes back with the callback. */
interface Content extends Known {
  /** Who was signed in when it began. */
  readonly startedBy: string | undefined;
  /** The id of the provider. */
  readonly provider: string;
  /** When it ends, in seconds since 1970. */
  readonly until: number;
  /** A digest of the `state` or the challenge. */
  readonly digest: string;
  /** Where it leads. */
  readonly callbackUrl?: string | undefined;
  /** Whether a script or the application began it, and no page of ours. */
  readonly byScript?: boolean;
  /** Whether its session goes on when the browser is closed, if that was said. */
  readonly rememberMe?: boolean | undefined;
}

export interface Attempt extends Content {
  /** The name of its cookie. */
  readonly name: string;
}

/** The part of a request that its attempts depend on. */
export type AttemptRequest = Pick<ProviderContext, "provider" | "settings" | "cookies">;

/**
 * The answer, which sends the browser to a provider and keeps the attempt. What its checks need is in the
 * address: PKCE (RFC 7636), the nonce of OpenID Connect. The `state` is core's, if it is one of the checks.
 *
 * @param linkTo The id of the user to whom the account is to be linked.
 */
export async function keepRedirect(
  answer: Answer,
  context: ProviderContext,
  linkTo: string | undefined,
): Promise<Answer> {
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
  const kept = { ...answer, redirect: url.href };
  return await keep(state, kept, context, { linkTo, pkce, nonce }, KNOWN_FOR);
}

/** The answer, which has the options of a passkey and keeps the attempt. */
export async function keepChallenge(answer: Answer, context: ProviderContext): Promise<Answer> {
  const { options } = answer.body as { options?: { challenge: string } };
  if (options === undefined) return answer;
  return await keep(options.challenge, answer, context, { user: answer.registers });
}

async function keep(
  key: string,
  answer: Answer,
  context: ProviderContext,
  known: Known,
  maxAge = MAX_AGE,
): Promise<Answer> {
  const { id: provider } = context.provider;
  const until = Math.floor(Date.now() / 1000) + MAX_AGE;
  const callbackUrl =
    parseCookie(cookiesAfter(answer.cookies, context.cookies))[context.settings.callbackUrlCookie.name];
  const startedBy = await signedInUser(context);
  const { rememberMe, fromApplication, headers } = context;
  const byScript = fromApplication || replyKind(headers) !== "redirect";
  const began = { startedBy, rememberMe, byScript };
  const content: Content = { provider, until, digest: digestOf(key), ...began, ...known };
  const [place] = context.settings.attempts;
  const full = place!.seal(JSON.stringify({ ...content, callbackUrl }));
  const value = full.length > LONGEST ? place!.seal(JSON.stringify(content)) : full;
  const age = Date.now().toString(36).padStart(AGE_LENGTH, "0");
  const { prefix, options } = cookieOf(context);
  const cookie = {
    name: `${prefix}${age}${nameIn(content.digest)}`,
    value,
    options: { maxAge, ...options },
  };
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
export function findAttempt(context: ProviderContext, key: string): Attempt | undefined {
  const digest = digestOf(key);
  const named = heldAttempts(context).filter(([name]) => name.endsWith(nameIn(digest)));
  return openAttempts(named, context).find((each) => each.digest === digest);
}

/** Whether an attempt has taken too long. */
export function isOver({ until }: Attempt): boolean {
  return until < Math.floor(Date.now() / 1000);
}

/** The latest attempt at the provider. */
export function newestAttempt(context: AttemptRequest): Attempt | undefined {
  return openAttempts(heldAttempts(context), context).find((each) =>
    each.provider === context.provider.id && !isOver(each)
  );
}

/** The message for the log if a callback leads to no attempt. */
export function noAttempt(check: string, { provider: { id } }: ProviderContext): string {
  return `The callback of "${id}" came with no cookie for "${check}": the sign-in began in another ` +
    "browser, over 15 minutes ago or with a secret that this process does not have, has ended, gave way to " +
    "later ones, or its cookie did not come back.";
}

/**
 * Who is signed in: the id of the user, or for a session in a database a digest of its token, so that a
 * sign-in can begin while the database is down. `undefined` also if core would link no account.
 */
async function signedInUser(
  { config, settings, held: { token } }: ProviderContext,
): Promise<string | undefined> {
  if (config.core.adapter === undefined || token === "") return undefined;
  return settings.strategy === "jwt"
    ? (await signedInBy(token, settings))?.sub
    : hash("sha256", token, "base64url");
}

/**
 * The user to whom core links the account: who is signed in, if that user began this sign-in. Any other
 * session is replaced.
 *
 * @throws {FastifyAuthError} `FST_AUTHJS_UNAVAILABLE` if the adapter fails.
 */
export async function linkedUser(
  { startedBy }: Attempt,
  context: ProviderContext,
): Promise<SignedIn | undefined> {
  // Without a check another browser may have begun it.
  const isChecked = context.provider.checks.some((check) => check !== "none");
  const isSame = isChecked && startedBy !== undefined && await signedInUser(context) === startedBy;
  return isSame ? await readSignedIn(context) : undefined;
}

/** The answer, which also removes an attempt. */
export function dropAttempt(answer: Answer, { name }: Attempt, context: ProviderContext): Answer {
  return { ...answer, cookies: [...answer.cookies, removalOf(name, cookieOf(context).options)] };
}

/** The context of a callback, which goes on with what its attempt began with. */
export function contextOf(
  { callbackUrl, rememberMe }: Attempt,
  received: ProviderContext,
): ProviderContext {
  // The form of a passkey says it at the end.
  const context = { ...received, rememberMe: rememberMe ?? received.rememberMe };
  if (callbackUrl === undefined) return context;
  const { name } = context.settings.callbackUrlCookie;
  const { cookies } = withoutCookies(context, [name]);
  return { ...context, cookies: `${stringifyCookie({ [name]: callbackUrl })}; ${cookies}` };
}

/** The attempts that this process can open. */
function openAttempts(held: HeldAttempt[], { settings }: AttemptRequest): Attempt[] {
  return held.flatMap(([name, value]) => {
    const text = settings.attempts.map((place) => place.open(value)).find((each) => each !== undefined);
    return text === undefined ? [] : { ...parseJsonObject(text) as unknown as Content, name };
  });
}

/** Digits of the time in a name: it sorts attempts by age, also those of a secret that is not known here. */
const AGE_LENGTH = 8;

/** What follows the prefix in a name. */
const NAME = /^[0-9a-z]{8}[\w-]{11}$/;

type HeldAttempt = [name: string, value: string];

/** The cookies of the attempts in the request, the newest first. */
function heldAttempts(context: AttemptRequest): HeldAttempt[] {
  const { prefix } = cookieOf(context);
  if (!context.cookies.includes(prefix)) return [];
  const pairs = Object.entries(parseCookie(context.cookies)) as HeldAttempt[];
  return pairs.filter(([name]) => name.startsWith(prefix) && NAME.test(name.slice(prefix.length)))
    .sort(([a], [b]) => a < b ? 1 : -1);
}

/** With a form from another site (`response_mode=form_post`) a browser sends only `SameSite=None` cookies. */
function cookieOf({ provider, settings }: AttemptRequest) {
  const { name, options: { expires: _, ...own } } = settings.stateCookie;
  const crossSite = provider.formPost && { sameSite: "none" as const, secure: true };
  return { prefix: `${name}.`, options: { ...own, ...crossSite } };
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

function digestOf(key: string): string {
  return hash("sha256", key, "base64url");
}

function nameIn(digest: string): string {
  return digest.slice(0, 11);
}
