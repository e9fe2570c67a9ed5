/**
 * A sign-in at a provider that links its account to the signed-in user, and does nothing else.
 *
 * Core links an account to the user who is signed in when the callback comes, and signs in as another user,
 * or as a new user, where no session came with it. The cookie here has two hashes: one of the check cookies
 * of the sign-in, so that it counts for that sign-in alone, and one of the user who started it. Only that
 * user gets the account.
 */
import type { Adapter } from "@auth/core/adapters";
import { AuthError, OAuthAccountNotLinked } from "@auth/core/errors";
import { parseCookie } from "cookie";
import { createHmac } from "node:crypto";
import { unavailableError } from "../adapter/failure.ts";
import { cookieSettings } from "../config/cookies.ts";
import { type Answer, removalOf } from "../core/answer.ts";
import type { CoreOverrides } from "../core/auth.ts";
import type { ProviderContext } from "../core/context.ts";
import { errorAnswer } from "../core/error_answer.ts";
import { failureOf } from "../core/failure.ts";
import { allowedRedirect } from "../core/redirect.ts";
import { ownerOf } from "../session/owner.ts";
import { errorChain } from "../utils/error_chain.ts";
import { CHECK_MAX_AGE, checkCookies, clearChecks } from "./callback/check_cookies.ts";
import { oauthOverrides } from "./callback/oauth.ts";
import { heldSession } from "./session_change.ts";
import { handleSignIn } from "./signin.ts";

/** The user who started the link is not signed in any more. */
class LinkSessionRequired extends AuthError {
  static type = "SessionRequired";
}

/** Starts the sign-in. */
export async function beginLink(context: ProviderContext, userId: string): Promise<Answer> {
  const answer = await handleSignIn(context);
  if (answer.error !== undefined) return answer;
  const sent = new Map(answer.cookies.map(({ name, value }) => [name, value]));
  const { current } = context.config.hashSecrets;
  const attempt = attemptHash(current, context, checksOf(context).map(({ name }) => sent.get(name)));
  const { name, options } = cookieOf(context);
  const value = `${attempt}.${userHash(current, attempt, userId)}`;
  return {
    ...answer,
    cookies: [...answer.cookies, { name, value, options: { ...options, maxAge: CHECK_MAX_AGE } }],
  };
}

/**
 * Answers the callback: links the account where the sign-in was started for that, and has `finish` answer it
 * as it is otherwise.
 */
export async function finishLink(
  context: ProviderContext,
  finish: (overrides: CoreOverrides) => Promise<Answer>,
): Promise<Answer> {
  const startedBy = linkStarter(context);
  if (startedBy === undefined) return await finish({});
  const answer = await leadBack(await link(context, startedBy, finish), context);
  const { name, options } = cookieOf(context);
  return { ...answer, cookies: [...answer.cookies, removalOf(name, options)] };
}

async function link(
  context: ProviderContext,
  startedBy: (userId: string) => boolean,
  finish: (overrides: CoreOverrides) => Promise<Answer>,
): Promise<Answer> {
  const { session, failure } = await context.readSession();
  if (failure !== undefined) {
    return { status: 503, headers: {}, cookies: [], error: unavailableError(failure) };
  }
  const userId = session === null ? undefined : await ownerOf(heldSession(context).token, context.settings);
  if (userId === undefined || !startedBy(userId)) {
    const error = new LinkSessionRequired(
      `No account of "${context.provider.id}" was linked: the user who started it is not signed in any more.`,
    );
    return clearChecks(errorAnswer(error, context), checksOf(context), context);
  }
  const answer = await finish({ wrapAdapter: (adapter) => forLinking(adapter, userId, context) });
  const refusal = [...errorChain(answer.error)].find((error) =>
    error instanceof OAuthAccountNotLinked || error instanceof LinkSessionRequired
  ) as AuthError | undefined;
  return refusal === undefined ? answer : { ...errorAnswer(refusal, context), cookies: answer.cookies };
}

/**
 * The adapter, which only links, and only to this user: whatever core finds of the session when it reads it
 * again.
 */
function forLinking(adapter: Adapter, userId: string, { provider: { id } }: ProviderContext): Adapter {
  const ended = () =>
    new LinkSessionRequired(`No account of "${id}" was linked: the session has just ended.`);
  return {
    ...adapter,
    async getUserByAccount(account) {
      const owner = await adapter.getUserByAccount!(account);
      if (owner === null || String(owner.id) === userId) return owner;
      throw new OAuthAccountNotLinked(`The account of "${id}" is linked to another user.`);
    },
    linkAccount: (account) =>
      String(account.userId) === userId ? adapter.linkAccount!(account) : Promise.reject<undefined>(ended()),
    createUser: () => Promise.reject(ended()),
  };
}

/**
 * An answer with an error leads back to where the link was started, with the type of the error as `error`.
 */
async function leadBack(answer: Answer, context: ProviderContext): Promise<Answer> {
  if (answer.error === undefined || answer.redirect === undefined) return answer;
  const { config, cookies, origin } = context;
  const { name } = cookieSettings("callbackUrl", config.core, origin.secure);
  const url = await allowedRedirect(parseCookie(cookies)[name] ?? origin.href, context).catch(() => "");
  if (!URL.canParse(url, origin.href)) return answer;
  const page = new URL(url, origin.href);
  const { error, code } = failureOf(answer.error);
  page.searchParams.set("error", error);
  if (code !== undefined) page.searchParams.set("code", code);
  return { ...answer, redirect: page.href };
}

/** Whether a user started this link; `undefined` where this callback is of another sign-in. */
function linkStarter(context: ProviderContext): ((userId: string) => boolean) | undefined {
  const held = parseCookie(context.cookies)[cookieOf(context).name];
  if (!held) return undefined;
  const [attempt = "", user] = held.split(".");
  const { current, others } = context.config.hashSecrets;
  const sealed = checksOf(context).map((check) => check.sealed);
  const secret = [current, ...others].find((secret) => attemptHash(secret, context, sealed) === attempt);
  return secret === undefined ? undefined : (userId) => userHash(secret, attempt, userId) === user;
}

function checksOf(context: ProviderContext) {
  return checkCookies(context, oauthOverrides(context).cookies);
}

function cookieOf({ config, origin, provider }: ProviderContext) {
  const { name, options } = cookieSettings("accountLink", config.core, origin.secure);
  // As the check cookies of a provider whose site posts the answer.
  return {
    name,
    options: provider.formPost ? { ...options, sameSite: "none" as const, secure: true } : options,
  };
}

function attemptHash(secret: string, { provider }: ProviderContext, checks: readonly unknown[]): string {
  return hash(secret, ["account-link", provider.id, ...checks]);
}

function userHash(secret: string, attempt: string, userId: string): string {
  return hash(secret, ["account-link-user", attempt, userId]);
}

function hash(secret: string, parts: readonly unknown[]): string {
  return createHmac("sha256", secret).update(JSON.stringify(parts)).digest("base64url");
}
