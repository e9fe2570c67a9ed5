/**
 * `POST <prefix>/backchannel-logout/:provider`: an OpenID Provider ends sessions (OpenID Connect Back-Channel
 * Logout 1.0).
 */
import type { AuthConfig } from "@auth/core";
import { SignOutError } from "@auth/core/errors";
import type { FastifyReply } from "fastify";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { LRUCache } from "lru-cache";
import { liveRows } from "../../adapter/added_methods.ts";
import { jsonAnswer } from "../../core/answer.ts";
import type { Handler, ProviderContext, RequestContext } from "../../core/context.ts";
import type { Setup } from "../../instance/feature.ts";
import { type OpenIdClient, openIdClient, publishedKeys, secretKey } from "../../provider/openid_client.ts";
import type { SigningKeys } from "../../provider/signing_keys.ts";
import { endRows } from "../../session/ending.ts";
import { digestName } from "../../session/name.ts";
import { isJsonObject } from "../../utils/decode.ts";
import { type EndedAtProvider, hasKey, isFilled, keysToEnd, type ProviderIndex } from "./provider_session.ts";

/** In seconds. */
const LOGOUT_TOKEN_AGE = 600, CLOCK_TOLERANCE = 30;

/** For how long a token that was used has to be remembered, in milliseconds. */
const REMEMBERED_MS = (LOGOUT_TOKEN_AGE + 2 * CLOCK_TOLERANCE) * 1000;

/** The most used tokens in the memory of a process: with more, the oldest are forgotten. */
const MOST_USED = 10_000;

const EVENT = "http://schemas.openid.net/event/backchannel-logout";

type LogoutClaims = EndedAtProvider & { readonly jti: string };

/** A logout that failed. The type is for the log; message and code are also for the provider. */
class LogoutError extends Error {
  readonly type: string = "LogoutFailed";
  readonly code: string = "temporarily_unavailable";
  readonly statusCode = 400;
}

/** A logout token that is not accepted. */
class LogoutTokenRefused extends LogoutError {
  override readonly type = "LogoutTokenRefused";
  override readonly code = "invalid_request";

  constructor(reason: string) {
    super(`The logout token was refused: ${reason}.`);
  }
}

/** @param index The sessions in a JWT; `undefined` if they are in a database. */
export function backchannelLogout(
  { core, store }: Setup,
  keys: SigningKeys,
  index: ProviderIndex | undefined,
): Handler {
  const used = new LRUCache<string, true>({ maxSize: MOST_USED, sizeCalculation: () => 1 });

  /** Does the work of a token. One whose work fails may come again. */
  async function useOnce({ iss, jti }: LogoutClaims, work: () => Promise<void>): Promise<void> {
    const name = digestName(JSON.stringify([iss, jti]));
    if (used.has(name)) throw new LogoutTokenRefused("it was used before");
    used.set(name, true, { ttl: REMEMBERED_MS });
    try {
      const key = store?.key("provider-token", name);
      const [isUsed] = await store?.call("get", [key!]) ?? [];
      if (isUsed) throw new LogoutTokenRefused("it was used before");
      await work();
      await store?.call("set", key!, "1", REMEMBERED_MS);
    } catch (error) {
      used.delete(name);
      throw error;
    }
  }

  // As section 2.8 says: 200, or 400 with an error, also if the sessions could not be ended.
  return async (context) => {
    const { provider } = context as ProviderContext;
    try {
      const claims = await verify(tokenOf(context), openIdClient(core.providers, provider.id), keys);
      await useOnce(
        claims,
        () => index ? endTokens(claims, index, context) : endRowsOf(claims, provider.id, context),
      );
      return { status: 200, headers: {}, cookies: [] };
    } catch (cause) {
      const error = cause instanceof LogoutError
        ? cause
        : new LogoutError("The sessions could not be ended. Try again.", { cause });
      return { ...jsonAnswer(errorBody(error.code, error.message), 400), error };
    }
  };
}

function tokenOf({ headers, body }: RequestContext): string {
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new LogoutTokenRefused("the body is no form (application/x-www-form-urlencoded)");
  }
  const { logout_token: token } = body ?? {};
  if (isFilled(token)) return token;
  throw new LogoutTokenRefused("there is no `logout_token`");
}

/**
 * Validates a token (section 2.6).
 *
 * @throws {FastifyAuthError} If the provider's metadata or keys cannot be had.
 */
async function verify(token: string, client: OpenIdClient, keys: SigningKeys): Promise<LogoutClaims> {
  const secret = secretKey(client);
  const { issuer, url, algorithms } = await publishedKeys(client);
  if (secret === undefined && typeof url !== "string") {
    throw new LogoutTokenRefused(`the provider "${client.id}" publishes no keys (jwks_uri)`);
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
      throw new LogoutTokenRefused(`"typ" is ${JSON.stringify(typ)}, not "logout+jwt"`);
    }
    return logoutClaims(payload);
  } catch (error) {
    throw error instanceof errors.JOSEError ? new LogoutTokenRefused(error.message) : error;
  }
}

function logoutClaims({ iss, sub, sid, iat, jti, events, nonce }: JWTPayload): LogoutClaims {
  if (!isJsonObject(events) || !isJsonObject(events[EVENT])) {
    throw new LogoutTokenRefused(`"events" lacks ${EVENT}`);
  }
  // An ID token must not pass for a logout token.
  if (nonce !== undefined) throw new LogoutTokenRefused('it has a "nonce"');
  if (!isFilled(jti)) throw new LogoutTokenRefused('"jti" must be a text');
  if (![sub ?? "-", sid ?? "-"].every(isFilled)) {
    throw new LogoutTokenRefused('"sub" and "sid" must be texts');
  }
  if (sub === undefined && sid === undefined) throw new LogoutTokenRefused('it has neither "sub" nor "sid"');
  return { iss: iss!, sub, sid: sid as string | undefined, iat: iat!, jti };
}

async function endTokens(ended: EndedAtProvider, index: ProviderIndex, context: RequestContext) {
  const known = context.settings.hooks.flatMap(({ known }) => known ?? [])[0]!;
  for (const session of await index.end(ended)) {
    const { user } = session;
    if (await known.end(session)) await tellOfEnd({ token: { sub: user } }, user, context);
  }
}

/** Ends the sessions of the user that has the account; with a `sid` those that were made from that session there. */
async function endRowsOf(ended: EndedAtProvider, provider: string, context: RequestContext): Promise<void> {
  const { sub, sid } = ended;
  if (sub === undefined) {
    throw new LogoutTokenRefused('with sessions in a database it needs "sub", by which the user is found');
  }
  const { settings } = context;
  const user = await settings.adapter!.getUserByAccount!({ provider, providerAccountId: sub });
  if (user === null) return;
  const keys = keysToEnd(ended);
  const all = await liveRows(String(user.id), settings.adapter);
  const rows = sid === undefined ? all : all.filter(({ sessionToken }) => hasKey(sessionToken, keys));
  await endRows(rows, settings);
  for (const row of rows) await tellOfEnd({ session: row }, String(row.userId), context);
}

type SignOutMessage = Parameters<NonNullable<NonNullable<AuthConfig["events"]>["signOut"]>>[0];

/** As in a sign-out, a failure of the application's event is logged and changes nothing. */
async function tellOfEnd(message: SignOutMessage, user: string, context: RequestContext): Promise<void> {
  context.publish?.("fastify-authjs:sign-out", { userId: user });
  try {
    await context.config.core.events?.signOut?.(message);
  } catch (error) {
    context.logger.error(new SignOutError(error as string));
  }
}

/** Sends an error that came before the handler, in the same form. */
export function sendLogoutFailure(reply: FastifyReply, failure: Error & ResponseDetails): FastifyReply {
  const { statusCode: status = 500, headers = {} } = failure;
  const message = status < 500 ? failure.message : "The request failed.";
  return reply.code(status).headers(headers).send(errorBody("invalid_request", message));
}

/** What Fastify reads of an error. */
interface ResponseDetails {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The error response of RFC 6749 section 5.2, which allows only these characters. */
function errorBody(error: string, description: string) {
  return { error, error_description: description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}
