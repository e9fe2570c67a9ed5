/** Bearer tokens (RFC 6750): session tokens in `Authorization: Bearer`, and the route that issues them. */
import { AccessDenied } from "@auth/core/errors";
import { randomUUID } from "node:crypto";
import { unavailableError } from "../../adapter/failure.ts";
import { lifetimesOf } from "../../config/lifetime.ts";
import { isObject } from "../../utils/decode.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { RequestContext } from "../../core/context.ts";
import { csrfRefusal } from "../../core/flow.ts";
import { FastifyAuthError, invalidConfig } from "../../errors.ts";
import { hasEndedElsewhere } from "../../session/ending.ts";
import { HEADER_CLAIM, HEADER_TAG, nameOf, withName } from "../../session/name.ts";
import { openToken } from "../../session/open.ts";
import { SessionStoreFailure } from "../../store/shared_store.ts";
import type { JWT } from "../../types.ts";
import type { Feature } from "../feature.ts";

/** The option of bearer tokens. */
export interface BearerConfig {
  /**
   * Whether bearer tokens are accepted in `Authorization: Bearer`, for clients without cookies, such as mobile and
   * command-line programs. `POST <mount path>/token` then issues one to a signed-in user. `maxAge` is how long it
   * lives, in seconds, at most as long as a session; it is not renewed. Such a header counts in place of the session
   * cookie.
   * @default false
   */
  bearer?: boolean | { maxAge?: number };
}

export const bearer: Feature = {
  routes: [{ action: "token", methods: ["POST"], provider: false, limited: "tokens" }],
  configure({ config, core }) {
    const { maxAge, tokenMaxAge } = lifetimesOf(core);
    const lifetime = lifetimeOf(config.bearer, Math.min(maxAge, tokenMaxAge));
    return {
      findToken: ({ authorization }) => bearerToken(authorization),
      handlers: { token: (context) => handleToken(context, lifetime) },
    };
  },
};

/** In seconds. */
function lifetimeOf(option: BearerConfig["bearer"], longest: number): number {
  if (option === true) return longest;
  if (!isObject(option)) {
    throw invalidConfig("`bearer` must be true, false or an object such as `{ maxAge: 3600 }`.");
  }
  const { maxAge = longest, ...others } = option;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalidConfig(`\`bearer\` has no option \`${unknown}\`: write \`{ maxAge: 3600 }\`.`);
  }
  if (typeof maxAge === "number" && maxAge >= 1 && maxAge <= longest) return Math.floor(maxAge);
  throw invalidConfig(
    `\`bearer\` has a \`maxAge\` that is no number of seconds from 1 to ${longest}, the life of a session.`,
  );
}

/** The token of a header: `undefined` for another scheme, an empty string for what cannot be a token. */
function bearerToken(authorization = ""): string | undefined {
  if (!/^bearer(?: |$)/i.test(authorization)) return undefined;
  // No two parts can take the same spaces.
  return /^bearer +([\w.~+/-]+=*) *$/i.exec(authorization)?.[1] ?? "";
}

/** Answers as a token endpoint does (RFC 6749 section 5.1). The session of the cookie goes on by itself. */
async function handleToken(context: RequestContext, maxAge: number): Promise<Answer> {
  const refused = csrfRefusal(context);
  if (refused !== undefined) return refused;
  // One that expires must not issue its successor.
  if (bearerToken(context.headers.authorization) !== undefined) return unauthenticated();
  const { session, claims, failure } = await context.readSession();
  if (failure !== undefined) return failed(failure);
  if (session === null) return unauthenticated();
  const isSealed = context.settings.strategy === "jwt";
  try {
    const token = await (isSealed ? sealToken(claims, maxAge, context) : createRow(maxAge, context));
    if (token === undefined) return unauthenticated();
    return jsonAnswer({ access_token: token, token_type: "Bearer", expires_in: maxAge });
  } catch (error) {
    // deno-coverage-ignore The session of the cookie ends at its provider at this moment
    if (isSealed && error instanceof AccessDenied) return unauthenticated();
    if (isSealed && !(error instanceof SessionStoreFailure)) throw error;
    if ((error as { code?: unknown }).code === "FST_AUTHJS_CONFIG_INVALID") throw error;
    context.logger.error(error as Error);
    return failed(unavailableError(error));
  }
}

/** @throws {FastifyAuthError} `FST_AUTHJS_CONFIG_INVALID` for a token that no client could send. */
function requireSendable(token: string, maker: string): void {
  if (bearerToken(`Bearer ${token}`) === token) return;
  throw invalidConfig(
    `\`${maker}\` made a token that an Authorization header cannot have (RFC 6750 section 2.1). Use letters, digits ` +
      'and "-._~+/" alone, with "=" only at the end.',
  );
}

/** A session of its own, which is listed beside that of the cookie; `undefined` if that has ended meanwhile. */
async function sealToken(read: JWT | undefined, maxAge: number, context: RequestContext): Promise<string | undefined> {
  const { jwt, cookie, ownTokens, hooks, forHeader } = context.settings;
  const held = read ?? (await openToken(context.held.token, context.settings)).claims;
  const name = randomUUID();
  let claims = withName({ ...held, ...HEADER_CLAIM }, name);
  for (const { onBegin } of hooks) claims = await onBegin?.(claims, name) ?? claims;
  const token = await jwt.encode({ ...jwt, token: claims, salt: cookie.name, maxAge });
  requireSendable(token, "jwt.encode");
  if (!ownTokens) {
    await openToken(token, forHeader!).catch((cause) => {
      throw invalidConfig(
        "`jwt.encode` and `jwt.decode` lose the claim `token_use`, by which bearer tokens are told from session " +
          "cookies: have them keep all claims.",
        { cause },
      );
    });
  }
  // Of the claims before, `exp` is the end of the session of the cookie.
  const session = { claims: { ...claims, exp: Math.floor(Date.now() / 1000) + maxAge }, name };
  for (const { onSealed } of hooks) await onSealed?.(session, true, context.headers["user-agent"]);
  const ofCookie = { claims: held, name: nameOf(held, context.held.token) };
  if (!await hasEndedElsewhere(ofCookie, hooks)) return token;
  for (const { onEnd } of hooks) await onEnd?.(session);
}

async function createRow(maxAge: number, context: RequestContext): Promise<string | undefined> {
  const { generateSessionToken, adapter, rows, hooks } = context.settings;
  const { token } = context.held;
  const found = await adapter!.getSessionAndUser!(token);
  if (found === null) return undefined;
  const sessionToken = generateSessionToken(HEADER_TAG + hooks.map(({ tagOfRow }) => tagOfRow?.(token) ?? "").join(""));
  requireSendable(sessionToken, "session.generateSessionToken");
  const expires = new Date(Date.now() + maxAge * 1000);
  await adapter!.createSession!({ sessionToken, userId: found.user.id, expires });
  if (await adapter!.getSessionAndUser!(token) !== null) return sessionToken;
  await rows!.deleteSession!(sessionToken);
}

function unauthenticated(): Answer {
  return failed(new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in with a cookie to get a token."));
}

function failed(error: FastifyAuthError): Answer {
  return { ...jsonAnswer(null, error.statusCode), error };
}
