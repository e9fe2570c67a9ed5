/**
 * A sign-in at a provider that links its account to the signed-in user, and does nothing else.
 *
 * Core links an account to the user who is signed in when the callback comes, and signs in as another user, or as a new
 * user, if no session came with it. Only the user who began this sign-in gets the account.
 */
import type { Adapter } from "@auth/core/adapters";
import { AuthError, OAuthAccountNotLinked } from "@auth/core/errors";
import { parseCookie } from "cookie";
import type { Answer } from "../../core/answer.ts";
import type { ProviderContext } from "../../core/context.ts";
import { errorAnswer, failureOf } from "../../core/failure.ts";
import { allowedRedirect } from "../../core/flow.ts";
import { readSignedIn } from "../../routes/session_change.ts";
import { errorChain } from "../../utils/error_chain.ts";
import type { FinishLink } from "../feature.ts";

/** The user who started the link is not signed in any more. */
class LinkSessionRequired extends AuthError {
  static type = "SessionRequired";
}

/**
 * Answers the callback of a sign-in that the user began to link an account. An answer with an error leads back to where
 * the link was started, with the type of the error as `error`.
 * @throws {FastifyAuthError} `FST_AUTHJS_UNAVAILABLE` if the adapter fails.
 */
export async function finishLink(context: ProviderContext, linkTo: string, finish: FinishLink): Promise<Answer> {
  const answer = await link(context, linkTo, finish);
  if (answer.error === undefined || answer.redirect === undefined) return answer;
  const { cookies, origin, settings: { callbackUrlCookie: { name } } } = context;
  const url = await allowedRedirect(parseCookie(cookies)[name] ?? origin.href, context).catch(() => "");
  if (!URL.canParse(url, origin.href)) return answer;
  const page = new URL(url, origin.href);
  const { error, code } = failureOf(answer.error);
  page.searchParams.set("error", error);
  if (code !== undefined) page.searchParams.set("code", code);
  return { ...answer, redirect: page.href };
}

async function link(context: ProviderContext, linkTo: string, finish: FinishLink): Promise<Answer> {
  const signedIn = await readSignedIn(context);
  // Some databases have numbers for ids, and a `jwt` callback may keep one.
  if (signedIn === undefined || String(signedIn.sub) !== linkTo) {
    const error = new LinkSessionRequired(
      `No account of "${context.provider.id}" was linked: the user who started it is not signed in any more.`,
    );
    return errorAnswer(error, context);
  }
  const wrapAdapter = (adapter: Adapter) => forLinking(adapter, linkTo, context);
  const answer = await finish({ wrapAdapter, signedIn });
  const refusal = errorChain(answer.error).find((error) =>
    error instanceof OAuthAccountNotLinked || error instanceof LinkSessionRequired
  ) as AuthError | undefined;
  return refusal === undefined ? answer : { ...errorAnswer(refusal, context), cookies: answer.cookies };
}

/** The adapter, which only links, and only to this user: whatever core finds of the session when it reads it again. */
function forLinking(adapter: Adapter, userId: string, { provider: { id } }: ProviderContext): Adapter {
  const ended = () => new LinkSessionRequired(`No account of "${id}" was linked: the session has just ended.`);
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
