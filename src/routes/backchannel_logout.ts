/**
 * `POST <prefix>/backchannel-logout/:provider`: an OpenID Provider ends sessions (OpenID Connect Back-Channel
 * Logout 1.0).
 */
import type { AuthConfig } from "@auth/core";
import { SignOutError } from "@auth/core/errors";
import type { FastifyReply } from "fastify";
import { type Answer, jsonAnswer } from "../core/answer.ts";
import type { ProviderContext } from "../core/context.ts";
import { type LogoutClaims, LogoutTokenRefused } from "../provider/logout_token.ts";
import type { EndedAtProvider } from "../session/provider_session.ts";
import { SessionRows } from "../session/session_rows.ts";

/** Answers as section 2.8 says: 200, or 400 with an error, also if the sessions could not be ended. */
export async function handleBackchannelLogout(context: ProviderContext): Promise<Answer> {
  try {
    await endSessions(await requireToken(context), context);
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

async function requireToken(
  { config, provider, headers, body }: ProviderContext,
): Promise<LogoutClaims> {
  if (!/^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers["content-type"] ?? "")) {
    throw new LogoutTokenRefused("the body is no form (application/x-www-form-urlencoded)");
  }
  const { logout_token: token } = body ?? {};
  if (typeof token !== "string" || token === "") throw new LogoutTokenRefused("there is no `logout_token`");
  return await (await config.logoutTokens!()).verify(provider.id, token);
}

async function endSessions(claims: LogoutClaims, context: ProviderContext): Promise<void> {
  const { config, settings } = context;
  const end = settings.strategy === "jwt" ? endTokens : endRows;
  await (await config.logoutTokens!()).use(claims, settings.records, () => end(claims, context));
}

async function endTokens(ended: EndedAtProvider, context: ProviderContext): Promise<void> {
  for (const user of await context.settings.records!.endAtProvider(ended)) {
    await tellOfEnd({ token: { sub: user } }, user, context);
  }
}

async function endRows({ sub, ...claims }: EndedAtProvider, context: ProviderContext): Promise<void> {
  if (sub === undefined) {
    throw new LogoutTokenRefused('with sessions in a database it needs "sub", by which the user is found');
  }
  const rows = new SessionRows(context.settings);
  for (const row of await rows.endAtProvider({ ...claims, sub }, context.provider.id)) {
    await tellOfEnd({ session: row }, String(row.userId), context);
  }
}

type SignOutMessage = Parameters<NonNullable<NonNullable<AuthConfig["events"]>["signOut"]>>[0];

/** As in a sign-out, a failure of the application's event is logged and changes nothing. */
async function tellOfEnd(message: SignOutMessage, user: string, context: ProviderContext): Promise<void> {
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
