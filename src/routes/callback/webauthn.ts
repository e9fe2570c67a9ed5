/** The callback of a WebAuthn provider: the result of a ceremony. */
import type { Adapter } from "@auth/core/adapters";
import { type Answer, redirectAnswer, TURNED_AWAY } from "../../core/answer.ts";
import { callCore, type CoreCall } from "../../core/call.ts";
import type { ProviderContext } from "../../core/context.ts";
import { errorAnswer } from "../../core/failure.ts";
import { allowedRedirect } from "../../core/flow.ts";
import { FastifyAuthError } from "../../errors.ts";
import { credentialProblem } from "../../provider/webauthn/credential.ts";
import { PasskeyRefused, refusalIn, SignInRedirect } from "../../provider/webauthn/errors.ts";
import type { Attempt } from "./attempts.ts";
import { noAttempt } from "./oauth.ts";

/** Answers the callback. */
export async function handleWebAuthnCallback(
  context: ProviderContext,
  attempt: Attempt | undefined,
  overrides: CoreCall = {},
): Promise<Answer> {
  const body = context.body ?? {};
  // Without the challenge nothing can be verified, so core is not called.
  const isOwn = attempt?.provider === context.provider.id;
  const problem = credentialProblem(body) ?? (isOwn ? undefined : noAttempt("challenge", context));
  if (problem !== undefined) return errorAnswer(new PasskeyRefused(problem), context);
  const wrapAdapter = body.action === "register" && { wrapAdapter: forRegistration };
  return await fromCore(context, { ...overrides, ...wrapAdapter });
}

async function fromCore(context: ProviderContext, overrides: CoreCall): Promise<Answer> {
  const answer = await callCore(context, overrides);
  const { error } = answer;
  // The adapter failed: an error of its own.
  if (error === undefined || error instanceof FastifyAuthError) return answer;
  if (error instanceof SignInRedirect) {
    return await allowedRedirect(error.url, context)
      .then(
        (url) => ({ ...redirectAnswer(url), events: TURNED_AWAY }),
        (thrown) => errorAnswer(thrown as Error, context),
      );
  }
  const refusal = refusalIn(error);
  return refusal === undefined ? answer : errorAnswer(refusal, context);
}

/**
 * The adapter for a registration.
 *
 * A credential is registered once (WebAuthn section 7.1). Its id comes from the client and is no secret: for
 * a known id core would sign in the user it belongs to, whatever key comes with it.
 *
 * A new user gets an id: core sets one for every other type of provider, and some adapters rely on it.
 */
function forRegistration(adapter: Adapter): Adapter {
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
