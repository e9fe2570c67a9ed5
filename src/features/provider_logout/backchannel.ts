/**
 * `POST <prefix>/backchannel-logout/:provider`: an OpenID Provider ends sessions (OpenID Connect Back-Channel
 * Logout 1.0).
 */
import type { AuthConfig } from "@auth/core";
import { SignOutError } from "@auth/core/errors";
import type { FastifyReply } from "fastify";
import { liveRows } from "../../adapter/added_methods.ts";
import { type Answer, jsonAnswer } from "../../core/answer.ts";
import type { ProviderContext, RequestContext } from "../../core/context.ts";
import { type LogoutClaims, LogoutTokenRefused, type LogoutTokens } from "./logout_token.ts";
import { type EndedAtProvider, hasKey, keysToEnd } from "./provider_session.ts";
import type { ProviderIndex } from "./provider_index.ts";
import type { SharedStore } from "../../session/shared_store.ts";
import type { KnownSessions } from "../../session/known_session.ts";
import { endRows } from "../../session/ending.ts";

/** What logouts are answered with. */
interface Logouts {
  readonly tokens: LogoutTokens;
  /** The sessions in a JWT. */
  readonly index: ProviderIndex | undefined;
  /** What several processes know of used tokens. */
  readonly store: SharedStore | undefined;
}

/** Answers as section 2.8 says: 200, or 400 with an error, also if the sessions could not be ended. */
export async function handleBackchannelLogout(context: RequestContext, logouts: Logouts): Promise<Answer> {
  const { tokens, index, store } = logouts;
  const { provider } = context as ProviderContext;
  try {
    const claims = await tokens.verify(provider.id, requireToken(context));
    const end = () =>
      index === undefined ? endRowsOf(claims, provider.id, context) : endTokens(claims, index, context);
    await tokens.use(claims, store, end);
    return { status: 200, headers: {}, cookies: [] };
  } catch (caught) {
    const error = caught instanceof LogoutTokenRefused ? caught : new LogoutFailed(caught);
    return { ...jsonAnswer(errorBody(error.code, error.message), 400), error };
  }
}

/** The sessions could not be ended. The cause is for the log. */
class LogoutFailed extends Error {
  /** The type for the log. */
  readonly type = "LogoutFailed";
  /** The HTTP status. */
  readonly statusCode = 400;
  /** For the provider. */
  readonly code = "temporarily_unavailable";

  constructor(cause: unknown) {
    super("The sessions could not be ended. Try again.", { cause });
  }
}

function requireToken({ headers, body }: RequestContext): string {
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new LogoutTokenRefused("the body is no form (application/x-www-form-urlencoded)");
  }
  const { logout_token: token } = body ?? {};
  if (typeof token === "string" && token !== "") return token;
  throw new LogoutTokenRefused("there is no `logout_token`");
}

async function endTokens(
  ended: EndedAtProvider,
  index: ProviderIndex,
  context: RequestContext,
): Promise<void> {
  const { known } = context.settings.hooks.find(({ known }) => known !== undefined) as {
    known: KnownSessions;
  };
  for (const session of await index.end(ended)) {
    const { user } = session;
    if (await known.end(session)) {
      await tellOfEnd({ token: { sub: user } }, user, context);
    }
  }
}

/** Ends the sessions of the user that has the account; with a `sid` those that were made from that session there. */
async function endRowsOf(ended: LogoutClaims, provider: string, context: RequestContext): Promise<void> {
  const { sub, sid } = ended;
  if (sub === undefined) {
    throw new LogoutTokenRefused('with sessions in a database it needs "sub", by which the user is found');
  }
  const { settings } = context;
  const user = await settings.adapter!.getUserByAccount!({ provider, providerAccountId: sub });
  if (user === null) return;
  const keys = keysToEnd(ended);
  const all = await liveRows(String(user.id), settings.adapter);
  const named = sid === undefined ? all : all.filter(({ sessionToken }) => hasKey(sessionToken, keys));
  await endRows(named, settings);
  for (const row of named) await tellOfEnd({ session: row }, String(row.userId), context);
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
export function sendLogoutFailure(reply: FastifyReply, failure: Error): FastifyReply {
  const { statusCode: status = 500, headers = {} } = failure as Error & ResponseDetails;
  const message = status < 500 ? failure.message : "The request failed.";
  return reply.code(status).headers(headers).send(errorBody("invalid_request", message));
}

/** What Fastify reads of an error. */
interface ResponseDetails {
  readonly statusCode?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The error response of RFC 6749 section 5.2. */
function errorBody(error: string, description: string) {
  // Section 5.2 allows only these characters.
  return { error, error_description: description.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'") };
}
