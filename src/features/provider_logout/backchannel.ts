/**
 * `POST <mount path>/backchannel-logout/:provider`: an OpenID Provider ends sessions (OpenID Connect Back-Channel
 * Logout 1.0).
 */
import type { FastifyReply } from "fastify";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { liveRows } from "../../adapter/added_methods.ts";
import { isFilled } from "../../config/rules.ts";
import { jsonAnswer } from "../../core/answer.ts";
import type { Handler, ProviderContext, RequestContext } from "../../core/context.ts";
import { type OpenIdClient, publishedKeys, secretKey, toOpenIdClient } from "../../provider/openid_client.ts";
import type { SigningKeys } from "../../provider/signing_keys.ts";
import { sendSignOutEvent } from "../../routes/signout.ts";
import { endRows } from "../../session/ending.ts";
import { digestName } from "../../session/name.ts";
import type { SharedStore } from "../../store/shared_store.ts";
import { isObject } from "../../utils/decode.ts";
import { type EndedAtProvider, hasKey, keysToEnd, type ProviderIndex } from "./provider_session.ts";

/** In seconds. */
const LOGOUT_TOKEN_AGE = 600, CLOCK_TOLERANCE = 30;

/** For how long a token that was used has to be remembered, in milliseconds. */
const REMEMBERED_MS = (LOGOUT_TOKEN_AGE + 2 * CLOCK_TOLERANCE) * 1000;

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

type LogoutClaims = EndedAtProvider & { readonly jti: string };

/** A logout that failed. The type is for the log; message and code are also for the provider. */
class LogoutError extends Error {
  readonly statusCode = 400;

  constructor(readonly type: string, readonly code: string, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

function refused(reason: string): LogoutError {
  return new LogoutError("LogoutTokenRefused", "invalid_request", `The logout token was refused: ${reason}.`);
}

/** @param index The sessions in a JWT; `undefined` if they are in a database. */
export function backchannelLogout(keys: SigningKeys, index: ProviderIndex | undefined): Handler {
  const underWay = new Set<string>();

  /** Does the work of a token. One whose work fails may come again. */
  async function useOnce({ iss, jti }: LogoutClaims, store: SharedStore, work: () => Promise<void>): Promise<void> {
    const key = store.key("provider-token", digestName(JSON.stringify([iss, jti])));
    // deno-coverage-ignore Only one that comes at the same moment gets here: the store knows one that came before
    if (underWay.has(key)) throw refused("it was used before");
    underWay.add(key);
    try {
      const [isUsed] = await store.call("get", [key]);
      if (isUsed) throw refused("it was used before");
      await work();
      await store.call("set", key, "1", REMEMBERED_MS);
    } finally {
      underWay.delete(key);
    }
  }

  // As section 2.8 says: 200, or 400 with an error, also if the sessions could not be ended.
  return async (context) => {
    const { provider, auth, config } = context as ProviderContext;
    try {
      const claims = await verify(tokenOf(context), toOpenIdClient(config.coreProviders.get(provider.id)!), keys);
      await useOnce(
        claims,
        auth.anyStore,
        () => index ? endTokens(claims, index, context) : endRowsOf(claims, provider.id, context),
      );
      return { status: 200, headers: {}, cookies: [] };
    } catch (cause) {
      const message = "The sessions could not be ended. Try again.";
      const error = cause instanceof LogoutError
        ? cause
        : new LogoutError("LogoutFailed", "temporarily_unavailable", message, { cause });
      return { ...jsonAnswer(errorBody(error.code, error.message), 400), error };
    }
  };
}

function tokenOf({ headers, body }: RequestContext): string {
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw refused("the body is no form (application/x-www-form-urlencoded)");
  }
  const { logout_token: token } = body ?? {};
  if (isFilled(token)) return token;
  throw refused("there is no `logout_token`");
}

/**
 * Validates a token (section 2.6).
 * @throws {FastifyAuthError} If the provider's metadata or keys cannot be had.
 */
async function verify(token: string, client: OpenIdClient, keys: SigningKeys): Promise<LogoutClaims> {
  const secret = secretKey(client);
  const { issuer, url, algorithms } = await publishedKeys(client);
  if (secret === undefined && typeof url !== "string") {
    throw refused(`the provider "${client.id}" publishes no keys (jwks_uri)`);
  }
  try {
    const key = secret === undefined ? keys.at(url as string, client) : () => secret.key;
    const { payload, protectedHeader: { typ } } = await jwtVerify(token, key, {
      algorithms: secret?.algorithms ?? algorithms,
      issuer,
      audience: client.clientId,
      requiredClaims: ["iss", "aud", "iat", "exp", "jti"],
      maxTokenAge: LOGOUT_TOKEN_AGE,
      clockTolerance: CLOCK_TOLERANCE,
    });
    // Other kinds of tokens are signed with the same keys. Not all providers say that it is a logout token.
    if (!/^(?:application\/)?(?:logout\+)?jwt$/i.test(typ ?? "jwt")) {
      throw refused(`"typ" is ${JSON.stringify(typ)}, not "logout+jwt"`);
    }
    return logoutClaims(payload);
  } catch (error) {
    throw error instanceof errors.JOSEError ? refused(error.message) : error;
  }
}

function logoutClaims({ iss, sub, sid, iat, jti, events, nonce }: JWTPayload): LogoutClaims {
  if (!isObject(events) || !isObject(events[EVENT])) throw refused(`"events" lacks ${EVENT}`);
  // An ID token must not pass for a logout token.
  if (nonce !== undefined) throw refused('it has a "nonce"');
  if (!isFilled(jti)) throw refused('"jti" must be a text');
  if (![sub ?? "-", sid ?? "-"].every(isFilled)) throw refused('"sub" and "sid" must be texts');
  if (sub === undefined && sid === undefined) throw refused('it has neither "sub" nor "sid"');
  return { iss: iss!, sub, sid: sid as string | undefined, iat: Math.floor(iat!), jti };
}

async function endTokens(ended: EndedAtProvider, index: ProviderIndex, context: RequestContext) {
  const known = context.settings.hooks.flatMap(({ known }) => known ?? [])[0]!;
  await index.end(ended, async (session) => {
    if (await known.end(session)) await tellOfEnd({ token: { sub: session.user } }, session.user, context);
  });
}

/** Ends the sessions of the user that has the account; with a `sid` those that were made from that session there. */
async function endRowsOf(ended: EndedAtProvider, provider: string, context: RequestContext): Promise<void> {
  const { sub, sid } = ended;
  if (sub === undefined) throw refused('with sessions in a database it needs "sub", by which the user is found');
  const { settings } = context;
  const user = await settings.adapter!.getUserByAccount!({ provider, providerAccountId: sub });
  if (user === null) return;
  const keys = keysToEnd(ended);
  const all = await liveRows(String(user.id), settings.adapter);
  const rows = sid === undefined ? all : all.filter(({ sessionToken }) => hasKey(sessionToken, keys));
  await endRows(rows, context);
  for (const row of rows) await tellOfEnd({ session: row }, String(row.userId), context);
}

async function tellOfEnd(message: object, userId: string, context: RequestContext): Promise<void> {
  context.publish?.("fastify-authjs:sign-out", { userId });
  await sendSignOutEvent(message, context);
}

/** Sends an error that came before the handler, in the same form. */
export function sendLogoutFailure(
  reply: FastifyReply,
  { message, statusCode = 500, headers = {} }: Error & { statusCode?: number; headers?: Record<string, string> },
): FastifyReply {
  const description = statusCode < 500 ? message : "The request failed.";
  return reply.code(statusCode).headers(headers).send(errorBody("invalid_request", description));
}

/** The error response of RFC 6749 section 5.2, which allows only these characters. */
function errorBody(error: string, description: string) {
  return { error, error_description: description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}
