/** The ceremonies of passkeys (WebAuthn): their options, and the callback with a result. */
import type { Adapter } from "@auth/core/adapters";
import { hash } from "node:crypto";
import { findPasskeys } from "../adapter/added_methods.ts";
import { type Answer, jsonAnswer, redirectAnswer, TURNED_AWAY } from "../core/answer.ts";
import { callCore, type Checks, CoreEnded } from "../core/call.ts";
import type { ProviderContext } from "../core/context.ts";
import { errorAnswer } from "../core/failure.ts";
import { allowedRedirect } from "../core/flow.ts";
import { FastifyAuthError } from "../errors.ts";
import { normalizeAddress } from "../provider/email.ts";
import { challengeOf, credentialProblem } from "../provider/webauthn/credential.ts";
import { PasskeyExpired, PasskeyRefused, refusalIn, SignInRedirect } from "../provider/webauthn/errors.ts";
import type { WebAuthnConfig } from "../provider/types.ts";
import type { SignedIn } from "../session/open.ts";
import type { Attempt } from "./callback/attempts.ts";
import { contextOf, dropAttempt, findAttempt, isOver, keepAttempt, linkedUser } from "./callback/attempts.ts";
import { noAttempt } from "./callback/attempts.ts";
import { leadOn } from "./failed_form.ts";
import { readSignedIn, withoutEndedSession } from "./session_change.ts";

/** `GET <mount path>/webauthn-options/:provider`: the options of a ceremony. It is for a script: errors are JSON. */
export async function handleWebAuthnOptions(received: ProviderContext): Promise<Answer> {
  const context = await withoutEndedSession(received);
  const parameters = new URLSearchParams(context.query);
  // Core would register an unknown address: a user is created only if the request says so.
  if (!parameters.has("action")) parameters.set("action", "authenticate");
  const typed = parameters.get("email");
  // As for sign-in links: "Ada@…" and "ada@…" are one user.
  const address = typed ? normalizeAddress(typed) : undefined;
  if (address !== undefined) parameters.set("email", address);
  else if (typed) return refuse("That is no e-mail address.");
  const signedIn = await readSignedIn(context);
  const asked = { ...context, query: parameters.toString() };
  const { answer, callbackUrl, user } = await makeOptions(asked, signedIn);
  const { error } = answer;
  if (error instanceof FastifyAuthError) return answer;
  const registers = parameters.get("action") === "register";
  if (error !== undefined) {
    return signedIn && typeof signedIn.email !== "string" && registers
      ? refuse("A passkey is registered under an e-mail address, and this user has none.")
      : { ...jsonAnswer({ error: "Configuration" }, 500), error };
  }
  const { options } = answer.body as { options?: { challenge: string; user?: { id: string } } };
  // Core refused the request. It may have set a cookie.
  if (options === undefined) return { ...answer, cookies: [] };
  // The user handle (WebAuthn section 14.6.1), which is no secret. With one for all of a user's passkeys a browser can
  // be told which of them are left. Core's are random.
  if (options.user !== undefined && signedIn?.sub) {
    options.user.id = hash("sha256", `fastify-authjs user handle v1 ${signedIn.sub}`, "base64url");
  }
  // The session has the rest of a signed-in user, such as a picture that a cookie has no room for.
  const who = signedIn?.sub ? { linkTo: signedIn.sub } : { user };
  return await keepAttempt(options.challenge, answer, context, { callbackUrl, ...(registers && who) });
}

/**
 * Calls core until it has made the options. It would then seal the challenge and the user in a cookie of its own, which
 * takes as long again, and which nothing reads.
 */
async function makeOptions(context: ProviderContext, signedIn: SignedIn | undefined) {
  const provider = context.config.coreProviders.get(context.provider.id) as unknown as WebAuthnConfig;
  const { generateAuthenticationOptions, generateRegistrationOptions } = provider.simpleWebAuthn;
  let callbackUrl: string | undefined;
  let user: Checks["user"];
  const answer = await callCore(context, {
    signedIn,
    wrapAdapter: (adapter) => ({
      ...adapter,
      listAuthenticatorsByUserId: async (userId) =>
        (await findPasskeys(adapter, userId, passkeyProviders(context))).map(({ row }) => row),
    }),
    settings: {
      async getUserInfo(...given) {
        const found = await provider.getUserInfo(...given);
        user = found?.user;
        return found;
      },
      getRelayingParty(...given) {
        [{ callbackUrl }] = given;
        return provider.getRelayingParty(...given);
      },
      simpleWebAuthn: {
        ...provider.simpleWebAuthn,
        async generateAuthenticationOptions(given) {
          throw new CoreEnded({ action: "authenticate", options: await generateAuthenticationOptions(given) });
        },
        async generateRegistrationOptions(given) {
          throw new CoreEnded({ action: "register", options: await generateRegistrationOptions(given) });
        },
      },
    } satisfies Partial<WebAuthnConfig>,
  });
  return { answer, callbackUrl, user };
}

export function passkeyProviders({ config }: Pick<ProviderContext, "config">): string[] {
  return [...config.providers.values()].filter(({ type }) => type === "webauthn").map(({ id }) => id);
}

function refuse(error: string): Answer {
  return jsonAnswer({ error }, 400);
}

/** Answers the callback. The attempt that its challenge leads to is used up, whatever comes of it. */
export async function handleWebAuthnCallback(received: ProviderContext): Promise<Answer> {
  const { body = {}, provider } = received;
  const challenge = challengeOf(body.data);
  const found = challenge === undefined ? undefined : findAttempt(received, challenge);
  const attempt = found === undefined || isOver(found) ? undefined : found;
  // Without the challenge nothing can be verified, so core is not called.
  const isUnderWay = attempt?.provider === provider.id;
  const missing = isUnderWay ? undefined : new PasskeyExpired(noAttempt("challenge", received));
  const problem = credentialProblem(body);
  const refusal = problem === undefined ? missing : new PasskeyRefused(problem);
  const context = attempt === undefined ? received : contextOf(attempt, received);
  const answered = refusal === undefined
    ? await verify({ ...attempt!, challenge }, context)
    : errorAnswer(refusal, received);
  // A passkey that was not added is told.
  const answer = body.action === "register" ? answered : await leadOn(answered, context);
  return attempt === undefined ? answer : dropAttempt(answer, attempt, received);
}

async function verify({ challenge, user, ...attempt }: Attempt & Pick<Checks, "challenge">, context: ProviderContext) {
  const signedIn = await linkedUser(attempt, context);
  if (attempt.linkTo !== undefined && signedIn === undefined) {
    return errorAnswer(new PasskeyRefused("The user who was adding a passkey is not signed in any more."), context);
  }
  const { sub: id, name, email, picture: image } = signedIn ?? {};
  const known = attempt.linkTo === undefined ? user : { id, name, email, image } as Checks["user"];
  const answer = await callCore(context, {
    checks: { challenge, user: known },
    signedIn,
    ...(context.body?.action === "register" && { wrapAdapter: forRegistration }),
  });
  const { error } = answer;
  // The adapter failed: an error of its own.
  if (error === undefined || error instanceof FastifyAuthError) return answer;
  const refusal = refusalIn(error, passkeyProviders(context).length === 1);
  if (!(error instanceof SignInRedirect)) return refusal ? errorAnswer(refusal, context) : answer;
  try {
    return { ...redirectAnswer(await allowedRedirect(error.url, context)), events: TURNED_AWAY };
  } catch (thrown) {
    return errorAnswer(thrown, context);
  }
}

/**
 * The adapter for a registration. A credential is registered once (WebAuthn section 7.1): for a known id, which comes
 * from the client and is no secret, core would sign in the user it belongs to, whatever key comes with it. A new user
 * gets an id, as core gives it with every other type of provider: some adapters rely on it.
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
