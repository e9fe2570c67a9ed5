/** `POST <prefix>/token` issues a bearer token to a signed-in user. */
import { AccessDenied } from "@auth/core/errors";
import { randomUUID } from "node:crypto";
import { unavailableError } from "../../adapter/failure.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { RequestContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { FastifyAuthError } from "../../errors.ts";
import { bearerToken } from "./header.ts";
import { hasEndedElsewhere } from "../../session/hooks.ts";
import { HEADER_CLAIM, HEADER_TAG, nameOf, withName } from "../../session/name.ts";
import { openToken } from "../../session/open.ts";
import type { SessionRead } from "../../session/read.ts";
import { SessionStoreFailure } from "../../session/shared_store.ts";

/**
 * Answers as a token endpoint does (RFC 6749 section 5.1). The session of the cookie goes on by itself.
 *
 * @param maxAge How long the token lives, in seconds.
 */
export async function handleToken(context: RequestContext, maxAge: number): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  // One that expires must not issue its successor.
  if (bearerToken(context.headers.authorization) !== undefined) return unauthenticated();
  const read = await context.readSession();
  if (read.failure !== undefined) return failed(read.failure);
  if (read.session === null) return unauthenticated();
  const issue = context.settings.strategy === "jwt" ? sealToken : createRow;
  const token = await issue(read, maxAge, context);
  if (token === undefined) return unauthenticated();
  if (token instanceof FastifyAuthError) return failed(token);
  return jsonAnswer({ access_token: token, token_type: "Bearer", expires_in: maxAge });
}

type Issued = string | FastifyAuthError | undefined;

async function sealToken({ claims }: SessionRead, maxAge: number, context: RequestContext): Promise<Issued> {
  const { jwt, cookie, ownTokens, hooks } = context.settings;
  const held = claims ?? (await openToken(context.held.token, context.settings)).claims;
  try {
    // A session of its own, which is listed beside that of the cookie.
    const name = randomUUID();
    let token = withName({ ...held, ...HEADER_CLAIM }, name);
    for (const { onBegin } of hooks) token = await onBegin?.(token, name) ?? token;
    const sealed = await jwt.encode({ ...jwt, token, salt: cookie.name, maxAge });
    if (!ownTokens) await assertOpens(sealed, context);
    const session = { claims: token, name };
    for (const { onSealed } of hooks) await onSealed?.(session, true, context.headers["user-agent"]);
    const ofCookie = { claims: held, name: nameOf(held, context.held.token) };
    if (!await hasEndedElsewhere(ofCookie, hooks)) return sealed;
    // All sessions of the user were ended meanwhile.
    for (const { onEnd } of hooks) await onEnd?.(session);
    return undefined;
  } catch (error) {
    // The session of the cookie has ended meanwhile.
    if (error instanceof AccessDenied) return undefined;
    if (!(error instanceof SessionStoreFailure)) throw error;
    context.logger.error(error);
    return unavailableError(error);
  }
}

/** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` if the codec of the application loses the use of a token. */
async function assertOpens(token: string, { settings }: RequestContext): Promise<void> {
  await openToken(token, settings.forHeader!).catch((cause) => {
    throw new FastifyAuthError(
      "FST_AUTHJS_CONFIG_INVALID",
      "`jwt.encode` and `jwt.decode` lose the claim `token_use`, by which bearer tokens are told from session " +
        "cookies: have them keep all claims.",
      { cause },
    );
  });
}

/** A session of its own: signing out in the browser does not end it. */
async function createRow(_read: SessionRead, maxAge: number, context: RequestContext): Promise<Issued> {
  const { generateSessionToken, adapter, rows, hooks } = context.settings;
  const { token } = context.held;
  try {
    const found = await adapter!.getSessionAndUser!(token);
    if (found === null) return undefined;
    const sessionToken = generateSessionToken(
      HEADER_TAG + hooks.map(({ tagOfRow }) => tagOfRow?.(token) ?? "").join(""),
    );
    const expires = new Date(Date.now() + maxAge * 1000);
    await adapter!.createSession!({ sessionToken, userId: found.user.id, expires });
    if (await adapter!.getSessionAndUser!(token) !== null) return sessionToken;
    // All sessions of the user were ended meanwhile.
    await rows!.deleteSession!(sessionToken);
    return undefined;
  } catch (error) {
    context.logger.error(error as Error);
    return unavailableError(error);
  }
}

function unauthenticated(): Answer {
  const message = "Sign in with a cookie to get a token.";
  return failed(new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", message));
}

function failed(error: FastifyAuthError): Answer {
  return { ...jsonAnswer(null, error.statusCode), error };
}
