/**
 * The callback of a WebAuthn provider: the result of a ceremony. Whatever becomes of it, its challenge is gone from the
 * browser.
 *
 * @module
 */
import type { Adapter } from "@auth/core/adapters";
import { type Answer, redirectAnswer } from "../../core/answer.ts";
import { callCore } from "../../core/auth.ts";
import type { ProviderContext } from "../../core/context.ts";
import { errorAnswer } from "../../core/error_answer.ts";
import { allowedRedirect } from "../../core/redirect.ts";
import { FastifyAuthError } from "../../errors.ts";
import { credentialProblem } from "../../provider/webauthn/credential.ts";
import { PasskeyRefused, refusalIn, SignInRedirect } from "../../provider/webauthn/errors.ts";
import { checkCookies, clearChecks, openCheck, strayCheck } from "./check_cookies.ts";

/** Answers the callback. */
export async function handleWebAuthnCallback(context: ProviderContext): Promise<Answer> {
  const cookies = checkCookies(context);
  const body = context.body ?? {};
  // Without a challenge of this browser's nothing can be verified, so nothing is looked up.
  const stray = await Promise.all(
    cookies.map(async (cookie) =>
      await openCheck(cookie, context) === undefined ? strayCheck(cookie, context) : undefined
    ),
  );
  const problem = credentialProblem(body) ?? stray.find((text) => text !== undefined);
  const answer = problem === undefined
    ? await fromCore(context, body.action === "register")
    : errorAnswer(new PasskeyRefused(problem), context);
  return clearChecks(answer, cookies, context);
}

async function fromCore(context: ProviderContext, registers: boolean): Promise<Answer> {
  const answer = await callCore(context, registers ? { viewOf: toRegister } : {});
  const { error } = answer;
  // The database failed, which is another matter.
  if (error === undefined || error instanceof FastifyAuthError) return answer;
  if (error instanceof SignInRedirect) return redirectAnswer(await allowedRedirect(error.url, context));
  const refusal = refusalIn(error);
  return refusal === undefined ? answer : errorAnswer(refusal, context);
}

/**
 * The database while somebody registers.
 *
 * A credential registers once (WebAuthn section 7.1). Its id is no secret and comes from the client: core takes a known
 * one for a sign-in of the user it belongs to, whatever key comes with it, and leaves it to the database to object.
 *
 * And a user has an id. Core gives one to those of every other kind of provider, and some adapters rely on it.
 */
function toRegister(adapter: Adapter): Adapter {
  return {
    ...adapter,
    async getUserByAccount(account) {
      const known = await adapter.getAuthenticator!(account.providerAccountId) ??
        await adapter.getUserByAccount!(account);
      if (known) throw new PasskeyRefused("The credential is registered already.");
      return null;
    },
    createUser: (user) => adapter.createUser!({ ...user, id: user.id ?? crypto.randomUUID() }),
  };
}
