/**
 * The sign-ins that have begun in a browser and have not ended: each in a sealed cookie of its own, to which the
 * `state` of its callback leads, or the challenge of a passkey. So tabs end theirs in any order.
 */
import { parseCookie } from "cookie";
import { randomBytes } from "node:crypto";
import type { Answer } from "../../core/answer.ts";
import type { Checks } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { cookiesAfter, removalOf } from "../../http/set_cookie.ts";
import { digestName } from "../../session/name.ts";
import { type SignedIn, signedInBy } from "../../session/open.ts";
import { replyKind } from "../reply.ts";
import { readSignedIn } from "../session_change.ts";

/** How long an attempt may take, as in core, and how long one at a provider is known, to begin it again, in seconds. */
const MAX_AGE = 900, KNOWN_FOR = 3600;

/** How many are kept, and their characters, beside the session: servers limit the head of a request. */
const MAXIMUM = 8, BUDGET = 4096;

/** Characters of the value of a cookie: browsers drop those above 4,096 bytes with their names. */
export const LONGEST_VALUE = 4000;

/** What is kept of an attempt. Its `state` or challenge comes back with the callback. */
export interface Attempt extends Pick<Checks, "pkce" | "nonce" | "user"> {
  /** Of its cookie. */
  readonly name: string;
  /** The id of the user to whom the account or passkey is to be linked, and nothing else done. */
  readonly linkTo?: string | undefined;
  /** Who was signed in when it began. */
  readonly startedBy: string | undefined;
  readonly provider: string;
  /** In seconds since 1970. */
  readonly until: number;
  /** Of the `state` or the challenge. */
  readonly digest: string;
  readonly callbackUrl?: string | undefined;
  /** Whether a script or the application began it, and no page of ours. */
  readonly byScript?: boolean;
  /** Whether its session goes on when the browser is closed, if that was said. */
  readonly rememberMe?: boolean | undefined;
}

/**
 * The answer, which sends the browser to a provider and keeps the attempt. What its checks need is in the address: PKCE
 * (RFC 7636), the nonce of OpenID Connect. The `state` is core's, if it is one of the checks.
 */
export async function keepRedirect(answer: Answer, context: ProviderContext, linkTo: string | undefined) {
  const { isOAuth, checks } = context.provider;
  if (answer.redirect === undefined || answer.error || !isOAuth) return answer;
  const url = new URL(answer.redirect);
  const { searchParams: parameters } = url;
  const pkce = checks.includes("pkce") ? newSecret() : undefined;
  const nonce = checks.includes("nonce") ? newSecret() : undefined;
  if (pkce !== undefined) {
    parameters.set("code_challenge", digestName(pkce));
    parameters.set("code_challenge_method", "S256");
  }
  if (nonce !== undefined) parameters.set("nonce", nonce);
  // One of ours only names the attempt: core, which checks none, does not get it back.
  const state = parameters.get("state") ?? newSecret();
  parameters.set("state", state);
  return await keepAttempt(state, { ...answer, redirect: url.href }, context, { linkTo, pkce, nonce }, KNOWN_FOR);
}

/**
 * The answer with the cookie of an attempt.
 *
 * @param key Its `state` or challenge.
 */
export async function keepAttempt(
  key: string,
  answer: Answer,
  context: ProviderContext,
  known: Partial<Attempt>,
  maxAge = MAX_AGE,
): Promise<Answer> {
  const { provider, settings, rememberMe, fromApplication, headers, cookies } = context;
  const kept = parseCookie(cookiesAfter(answer.cookies, cookies))[settings.callbackUrlCookie.name];
  const { callbackUrl = kept, ...rest } = known;
  const content: Omit<Attempt, "name"> = {
    provider: provider.id,
    until: now() + MAX_AGE,
    digest: digestName(key),
    startedBy: await signedInUser(context),
    rememberMe,
    byScript: fromApplication || await replyKind(headers) !== "redirect",
    ...rest,
  };
  const [place] = settings.attempts();
  const full = place!.seal(JSON.stringify({ callbackUrl, ...content }));
  const value = full.length > LONGEST_VALUE ? place!.seal(JSON.stringify(content)) : full;
  const { prefix, options } = cookieOf(context);
  const name = `${prefix}${Date.now().toString(36).padStart(8, "0")}${nameIn(content.digest)}`;
  // What a cookie takes of a Cookie header, with `=` and `; `.
  const sizeOf = (pair: readonly string[]) => pair.join("=; ").length;
  let left = BUDGET - sizeOf([name, value]);
  const removed = heldAttempts(context).filter((pair, newer) => (left -= sizeOf(pair)) < 0 || newer + 1 >= MAXIMUM);
  const removals = removed.map(([name]) => removalOf(name, options));
  return { ...answer, cookies: [...answer.cookies, { name, value, options: { maxAge, ...options } }, ...removals] };
}

/** The attempt to which the `state` of a callback leads, or the challenge of a passkey. */
export function findAttempt(context: ProviderContext, key: string): Attempt | undefined {
  const digest = digestName(key);
  const named = heldAttempts(context).filter(([name]) => name.endsWith(nameIn(digest)));
  return openAttempts(named, context).find((each) => each.digest === digest);
}

export function isOver({ until }: Attempt): boolean {
  return until < now();
}

/** Not one that links an account: a page of an attacker, who knows no `state`, could have theirs linked. */
export function newestAttempt(context: ProviderContext): Attempt | undefined {
  const opened = openAttempts(heldAttempts(context), context);
  return opened.find((each) => each.provider === context.provider.id && each.linkTo === undefined && !isOver(each));
}

export function noAttempt(check: string, { provider: { id } }: ProviderContext): string {
  return `The callback of "${id}" came with no cookie for "${check}": the sign-in began in another ` +
    "browser, over 15 minutes ago or with a secret that this process does not have, has ended, gave way to " +
    "later ones, its cookie did not come back, or the provider did not send the `state` back.";
}

/**
 * Who is signed in: the id of the user, or for a session in a database a digest of its token, so that a sign-in can
 * begin while the database is down. `undefined` also if core would link no account.
 */
async function signedInUser({ config, settings, held: { token } }: ProviderContext): Promise<string | undefined> {
  if (config.core.adapter === undefined || token === "") return undefined;
  return settings.strategy === "jwt" ? (await signedInBy(token, settings))?.sub : digestName(token);
}

/**
 * The user to whom core links the account: who is signed in, if that user began this sign-in. Any other session is
 * replaced.
 */
export async function linkedUser({ startedBy }: Attempt, context: ProviderContext): Promise<SignedIn | undefined> {
  // Without a check another browser may have begun it.
  const isChecked = context.provider.checks.some((check) => check !== "none");
  const isSame = isChecked && startedBy !== undefined && await signedInUser(context) === startedBy;
  return isSame ? await readSignedIn(context) : undefined;
}

export function dropAttempt(answer: Answer, { name }: Attempt, context: ProviderContext): Answer {
  return { ...answer, cookies: [...answer.cookies, removalOf(name, cookieOf(context).options)] };
}

/** The context of a callback, which goes on with what its attempt began with. */
export function contextOf({ callbackUrl: value, rememberMe }: Attempt, received: ProviderContext): ProviderContext {
  const { settings: { callbackUrlCookie } } = received;
  return {
    ...received,
    // The form of a passkey says it at the end.
    rememberMe: rememberMe ?? received.rememberMe,
    ...(value !== undefined && { cookies: cookiesAfter([{ value, ...callbackUrlCookie }], received.cookies) }),
  };
}

type HeldAttempt = [name: string, value: string];

function openAttempts(held: HeldAttempt[], { settings }: ProviderContext): Attempt[] {
  return held.flatMap(([name, value]) => {
    const text = settings.attempts().map((place) => place.open(value)).find((each) => each !== undefined);
    return text === undefined ? [] : { name, ...JSON.parse(text) as Omit<Attempt, "name"> };
  });
}

/** What follows the prefix in a name: the time, which sorts attempts of any secret, and the begin of the digest. */
const NAME = /^[0-9a-z]{8}[\w-]{11}$/;

/** The newest first. */
function heldAttempts(context: ProviderContext): HeldAttempt[] {
  const { prefix } = cookieOf(context);
  if (!context.cookies.includes(prefix)) return [];
  const pairs = Object.entries(parseCookie(context.cookies)) as HeldAttempt[];
  return pairs.filter(([name]) => name.startsWith(prefix) && NAME.test(name.slice(prefix.length)))
    .sort(([a], [b]) => a < b ? 1 : -1);
}

/** With a form from another site (`response_mode=form_post`) a browser sends only `SameSite=None` cookies. */
function cookieOf({ provider, settings }: ProviderContext) {
  const { name, options: { expires: _, ...own } } = settings.stateCookie;
  const crossSite = provider.formPost && { sameSite: "none" as const, secure: true };
  return { prefix: `${name}.`, options: { ...own, ...crossSite } };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

function nameIn(digest: string): string {
  return digest.slice(0, 11);
}
