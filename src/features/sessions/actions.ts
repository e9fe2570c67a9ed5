/** The sessions of a user: listing them, and ending them from elsewhere. */
import { fromAdapter } from "../../actions/account_rows.ts";
import type { ActionAuth } from "../../actions/perform.ts";
import { liveRows } from "../../adapter/added_methods.ts";
import { toDate } from "../../adapter/dates.ts";
import { logError } from "../../core/logger.ts";
import { eventsOf } from "../../telemetry/events.ts";
import { FastifyAuthError } from "../../errors.ts";
import { presentedToken, readSession } from "../../instance/read_session.ts";
import { assertObject, invalid } from "../../utils/arguments.ts";
import { type KnownSessions, namedBy, sessionIdOf, type SessionKey } from "../known_session.ts";
import { type EndingContext, endRows } from "../../session/ending.ts";
import { isRowFor, rowName } from "../../session/name.ts";
import { openToken } from "../../session/open.ts";
import { lifetimesFor, type SessionSettings } from "../../session/settings.ts";
import type { SessionRequest } from "../../types.ts";
import { idOf } from "../../utils/text.ts";
import { claimOf } from "./mod.ts";
import type { RevokeSessionsOptions, UserSession } from "./options.ts";

/** The sessions of the signed-in user: that of the request first, then the one that was used last. */
export async function listSessions(auth: ActionAuth, request: SessionRequest): Promise<UserSession[]> {
  const { config } = auth;
  await auth.instance.requireReady();
  const { session, failure } = await readSession(request, config);
  if (failure !== undefined) throw failure;
  if (session === null) throw new FastifyAuthError("FST_AUTHJS_UNAUTHENTICATED", "Sign in to see your sessions.");
  const { cookie, settings } = presentedToken(request, config)!;
  const known = knownSessions(auth, settings);
  const own = await fromAdapter(keyOf(cookie.token, settings));
  const sessions = own === undefined ? [] : await fromAdapter(known.list(own.user));
  return sessions.map(({ user, id, expires, createdAt, lastSeenAt, userAgent }) => ({
    id: sessionIdOf({ user, id }),
    current: id === own?.id,
    expires,
    ...(createdAt && { createdAt }),
    ...(lastSeenAt && { lastSeenAt }),
    ...(userAgent && { userAgent }),
  })).sort((a, b) => Number(b.current) - Number(a.current) || usedAt(b) - usedAt(a));
}

function usedAt({ lastSeenAt, createdAt }: UserSession): number {
  return (lastSeenAt ?? createdAt)?.valueOf() ?? 0;
}

export async function revokeSession(auth: ActionAuth, id: string): Promise<boolean> {
  if (typeof id !== "string") throw invalid("revokeSession()", "give it an `id` of listSessions().", 400);
  await auth.instance.requireReady();
  const named = namedBy(id);
  if (named === undefined) return false;
  const ended = await fromAdapter(knownSessions(auth).end(named));
  if (ended) eventsOf()?.("fastify-authjs:revoke", { reason: "revoked", userId: named.user });
  return ended;
}

export async function revokeSessions(auth: ActionAuth, id: string, options: RevokeSessionsOptions = {}): Promise<void> {
  assertObject(options, "options of revokeSessions()", ["except"]);
  const { except } = options;
  const userId = idOf(id);
  // Without this, the id of a missing user would be "undefined", and none would end.
  if (userId === undefined) {
    throw invalid("revokeSessions()", "give it the id of a user, such as `session.user.id`.", 400);
  }
  const kept = typeof except === "string" ? namedBy(except) : undefined;
  if (except !== undefined && kept?.user !== userId) {
    throw invalid("revokeSessions()", "`except` must be the `id` of a session of that user, by listSessions().", 400);
  }
  await auth.instance.requireReady();
  await fromAdapter(knownSessions(auth).endAll(userId, kept?.id));
  eventsOf()?.("fastify-authjs:revoke", { reason: "revoked", userId });
}

/** Which session of which user a token that was read is of. */
async function keyOf(token: string, settings: SessionSettings): Promise<SessionKey | undefined> {
  if (settings.strategy === "jwt") return claimOf(await openToken(token, settings));
  const found = await settings.adapter!.getSessionAndUser!(token);
  return found === null ? undefined : { user: String(found.user.id), id: rowName(token, settings.use) };
}

/** Without a request, its scheme is of no concern. */
function knownSessions({ instance }: ActionAuth, settings = instance.settings(true)): KnownSessions {
  const { core, notices: { log } } = instance.config;
  // Ending a session may have no request, whose log it would be.
  const error = core.logger?.error ?? ((error: Error) => void (log && logError(log, error)));
  if (settings.strategy === "database") return rowsIn({ settings, logger: { error } });
  const [known] = settings.hooks.flatMap(({ known }) => known ?? []);
  if (known !== undefined) return known;
  throw invalid(
    "sessions in a JWT",
    'they are listed and ended with `revocable: true` and a `store`: redisStore() of "fastify-authjs/redis" or ' +
      "memoryStore(); or keep them in a database.",
  );
}

function rowsIn(context: EndingContext): KnownSessions {
  const { settings } = context;
  const rowsOf = (user: string) => liveRows(user, settings.adapter);
  return {
    list: async (user) =>
      (await rowsOf(user)).map(({ sessionToken, expires, createdAt, lastSeenAt, userAgent }) => ({
        user,
        id: rowName(sessionToken),
        expires,
        createdAt: toDate(createdAt),
        lastSeenAt: toDate(lastSeenAt) ?? renewedAt(sessionToken, expires, settings),
        userAgent: userAgent ?? undefined,
      })),
    async end({ user, id }) {
      const row = (await rowsOf(user)).find(({ sessionToken }) => rowName(sessionToken) === id);
      if (row !== undefined) await endRows([row], context);
      return row !== undefined;
    },
    async endAll(user, except) {
      // Twice: a bearer token may have been made of a session that was listed.
      for (let round = 0; round < 2; round++) {
        const rows = await rowsOf(user);
        await endRows(rows.filter(({ sessionToken }) => rowName(sessionToken) !== except), context);
      }
    },
  };
}

/** When the row of a cookie was written last, which its end tells. A bearer token has a life of its own. */
function renewedAt(sessionToken: string, expires: Date, settings: SessionSettings): Date | undefined {
  if (isRowFor(sessionToken, "header")) return undefined;
  return new Date(expires.valueOf() - lifetimesFor(sessionToken, settings).maxAge * 1000);
}
