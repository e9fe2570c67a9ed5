/**
 * What is known of a sign-in when it begins, kept in the browser until its callback: inside of a check
 * cookie, which only this application can seal and only this sign-in has.
 */
import { parseCookie, stringifyCookie } from "cookie";
import { createHash } from "node:crypto";
import { cookieSettings } from "../../config/cookies.ts";
import type { Answer } from "../../core/answer.ts";
import type { CoreCall } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { ownerOf } from "../../session/owner.ts";
import { heldSession, readSignedIn } from "../session_change.ts";
import { type Attempt, type CheckCookie, checkCookies, openContent, resealCheck } from "./check_cookies.ts";
import { oauthOverrides } from "./oauth.ts";

/** Characters: browsers drop cookies above 4,096 bytes with their names. */
const LONGEST = 4000;

/**
 * The answer to the beginning of a sign-in, with what is to be known when it ends.
 *
 * @param linkTo The id of the user to whom an account is to be linked, and nothing else done.
 */
export async function keepAttempt(
  answer: Answer,
  context: ProviderContext,
  linkTo?: string,
): Promise<Answer> {
  if (answer.error !== undefined) return answer;
  const set = new Map(answer.cookies.map(({ name, value }) => [name, value]));
  const check = ownChecks(context).map((each) => ({ ...each, sealed: set.get(each.name) }))
    .find(({ sealed }) => sealed);
  if (check === undefined) return answer;
  const startedBy = await signedInUser(context);
  const attempt = { startedBy, linkTo, callbackUrl: postedCallbackUrl(set, context) };
  if (Object.values(attempt).every((value) => value === undefined)) return answer;
  const value = await seal(check, attempt, context) ??
    await seal(check, { ...attempt, callbackUrl: undefined }, context);
  if (value === undefined) return answer;
  return {
    ...answer,
    cookies: answer.cookies.map((cookie) => cookie.name === check.name ? { ...cookie, value } : cookie),
  };
}

async function seal(
  check: CheckCookie,
  attempt: Attempt,
  context: ProviderContext,
): Promise<string | undefined> {
  const value = await resealCheck(check, attempt, context);
  return value !== undefined && value.length <= LONGEST ? value : undefined;
}

/**
 * Names the user to whom core would link an account: by the id, or for a session in a database by a digest of
 * its token, so that a sign-in can begin while the database is down.
 */
async function signedInUser(context: ProviderContext): Promise<string | undefined> {
  const { config, settings } = context;
  const { token } = heldSession(context);
  if (config.core.adapter === undefined || token === "") return undefined;
  return settings.strategy === "jwt"
    ? await ownerOf(token, settings)
    : createHash("sha256").update(token).digest("base64url");
}

/** With a form from another site (`response_mode=form_post`) browsers send the check cookies alone. */
function postedCallbackUrl(set: ReadonlyMap<string, string>, context: ProviderContext): string | undefined {
  if (!context.provider.formPost) return undefined;
  const name = callbackCookie(context);
  const url = set.get(name) ?? parseCookie(context.cookies)[name];
  return url === context.origin.href ? undefined : url;
}

/** What was known when the sign-in of this callback began. */
export async function attemptOf(context: ProviderContext): Promise<Attempt> {
  for (const check of ownChecks(context)) {
    const content = await openContent(check, context);
    if (content?.startedBy ?? content?.linkTo ?? content?.callbackUrl) return content!;
  }
  return {};
}

/** The context of a callback, with the callback URL where the browser sent it in a check cookie alone. */
export function withCallbackUrl(context: ProviderContext, { callbackUrl }: Attempt): ProviderContext {
  const name = callbackCookie(context);
  if (callbackUrl === undefined || parseCookie(context.cookies)[name] !== undefined) return context;
  return { ...context, cookies: `${context.cookies}; ${stringifyCookie({ [name]: callbackUrl })}` };
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
): Promise<Pick<CoreCall, "signedIn">> {
  const isSame = startedBy !== undefined && await signedInUser(context) === startedBy;
  return { signedIn: isSame ? await readSignedIn(context) : undefined };
}

function ownChecks(context: ProviderContext): CheckCookie[] {
  return checkCookies(context, oauthOverrides(context).cookies);
}

function callbackCookie({ config, origin }: ProviderContext): string {
  return cookieSettings("callbackUrl", config.core, origin.secure).name;
}
