/**
 * Records of sessions in a JWT (`revocable`): they can be listed, and ended from elsewhere. A claim names the session
 * in each of its tokens, so that one which a refresh makes meanwhile has ended, too.
 */
import { strategyOf } from "../../config/adapter_problem.ts";
import { EPHEMERAL_MAX_AGE, lifetimesOf } from "../../config/lifetime.ts";
import { BOOLEAN } from "../../config/rules.ts";
import type { KnownSession, SessionKey } from "../known_session.ts";
import { areFor, isEphemeral } from "../../session/name.ts";
import { longestUse } from "../../session/settings.ts";
import type { JWT } from "../../types.ts";
import { idOf } from "../../utils/text.ts";
import type { Feature, Hooks, NamedSession, Setup } from "../feature.ts";

const CLAIM = "sessionRecord";

/** How old `lastSeenAt` may get, in milliseconds: a read writes to the store no more often. */
const SEEN_EVERY_MS = 5 * 60_000;

/** Characters of a `User-Agent` that are kept: browsers send any. */
const USER_AGENT_LENGTH = 256;

/** What names the session of a token, by the user who signed in, whatever becomes of `sub` later. */
interface RecordClaim extends SessionKey {
  /** When the user signed in, in milliseconds since 1970. */
  readonly createdAt: number;
  /** Which end of all sessions of the user it began after; `undefined` in claims of earlier builds. */
  readonly generation?: string;
}

/** What is kept of a session, in JSON. Times are in milliseconds since 1970. */
interface SessionRecord extends Pick<RecordClaim, "createdAt" | "generation"> {
  readonly lastSeenAt: number;
  readonly expires: number;
  readonly userAgent?: string | undefined;
}

/** That the sessions of a user have ended but those of a generation, and but one. No clocks are compared. */
interface Epoch {
  readonly generation?: string;
  /** What earlier builds wrote in its place, in milliseconds since 1970: what began before has ended. */
  readonly before?: number;
  readonly except?: string | undefined;
}

export const sessions: Feature = {
  rules: { revocable: BOOLEAN },
  problems: [
    [
      "FST_AUTHJS_CONFIG_INVALID",
      ({ core }) =>
        strategyOf(core) === "database" &&
        "`revocable` is for sessions in a JWT: remove it, and use withSessionList() for the adapter, or set " +
          '`session: { strategy: "jwt" }`.',
      ({ config: { store } }) =>
        !store &&
        '`revocable` needs a `store`, which knows the sessions: set redisStore() of "fastify-authjs/redis", or ' +
          "memoryStore() for one process.",
    ],
  ],
  configure: keepRecords,
};

const WITHOUT_USER =
  "Auth.js: A session token without `sub` was made: its session can be neither listed nor ended. Return `sub`, the " +
  "id of the user, from `callbacks.jwt`.";

/** Keeps the records of one configuration. What fails in the store is thrown as a `SessionStoreFailure`. */
function keepRecords({ config, core, store: shared, live, notices }: Setup): Hooks {
  const store = shared!;
  const { tenant, session: { ephemeralMaxAge } = {} } = config;
  const lifetimes = lifetimesOf(core), ephemeral = lifetimesOf(core, ephemeralMaxAge || EPHEMERAL_MAX_AGE);
  /** Milliseconds for which a token of a session may be valid. */
  const keepFor = longestUse(core);

  async function put(claims: JWT, userAgent: string | undefined): Promise<void> {
    const claim = ownClaim(claims);
    if (claim === undefined) return;
    const { id, user, ...began } = claim;
    const { maxAge, tokenMaxAge } = isEphemeral(id) ? ephemeral : lifetimes;
    const now = Date.now();
    // A bearer token is not renewed.
    const unusedFor = areFor(claims, "header") && claims.exp
      ? Math.max(claims.exp * 1000 - now, 1)
      : Math.min(maxAge, tokenMaxAge) * 1000;
    const record: SessionRecord = {
      ...began,
      lastSeenAt: now,
      expires: now + unusedFor,
      userAgent: userAgent?.slice(0, USER_AGENT_LENGTH),
    };
    await store.call("set", store.key("record", user, id), JSON.stringify(record), unusedFor);
    await store.call("add", store.key("sessions", user), id, keepFor);
  }

  /** What the store knows of sessions, with one call: when each began its claim says, or else the record. */
  async function statesOf(sessions: readonly (SessionKey & Partial<RecordClaim>)[]) {
    const space = tenant === undefined ? "" : `${encodeURIComponent(tenant)}:`;
    const keys = sessions.flatMap(({ user, id }) => [
      store.key("ended", user, id),
      store.key("epoch", user),
      store.key("record", user, id),
      // What earlier builds wrote, which may run beside this one.
      `sessions:${space}${user}#end:${id}`,
      `sessions:${space}${user}#epoch`,
    ]);
    const values = keys.length === 0 ? [] : await store.call("get", keys);
    return sessions.map((session, index) => {
      const [ended, epoch, text, endedEarlier, epochEarlier] = values.slice(5 * index);
      const record = parse<SessionRecord>(text);
      const { createdAt = Infinity, generation = "" } = { ...record, ...session };
      const isOver = ({ generation: current, before = 0, except }: Epoch = { generation }) =>
        session.id !== except && (current === undefined ? createdAt <= before : generation !== current);
      const hasEnded = Boolean(ended ?? endedEarlier) || isOver(parse(epoch)) ||
        isOver(parse(epochEarlier?.slice(epochEarlier.indexOf(":") + 1)));
      return { hasEnded, record };
    });
  }

  async function list(user: string): Promise<KnownSession[]> {
    const ids = await store.call("members", store.key("sessions", user));
    const states = await statesOf(ids.map((id) => ({ user, id })));
    return states.flatMap(({ hasEnded, record }, index) => {
      if (hasEnded || record === undefined) return [];
      const { createdAt, lastSeenAt, expires, userAgent } = record;
      return [{
        user,
        id: ids[index]!,
        expires: new Date(expires),
        createdAt: new Date(createdAt),
        lastSeenAt: new Date(lastSeenAt),
        userAgent,
      }];
    });
  }

  async function end(session: SessionKey): Promise<boolean> {
    const { user, id } = session;
    const [state] = await statesOf([session]);
    await store.call("set", store.key("ended", user, id), "1", keepFor);
    await store.call("remove", store.key("sessions", user), id);
    live.tell(id);
    return state!.record !== undefined && !state!.hasEnded;
  }

  /** Ends all sessions of a user but one, tokens that are not listed too. */
  async function endAll(user: string, except: string | undefined): Promise<void> {
    const ids = await store.call("members", store.key("sessions", user));
    // One that ended must not come back.
    const kept = (await list(user)).find(({ id }) => id === except)?.id;
    const epoch: Epoch = { generation: crypto.randomUUID(), except: kept };
    await store.call("set", store.key("epoch", user), JSON.stringify(epoch), keepFor);
    // Each by itself, too: another process may end all but another one, and write the epoch anew.
    await Promise.all(ids.filter((id) => id !== kept).map((id) => end({ user, id })));
  }

  return {
    known: { list, end, endAll },
    keptClaims(session, isDue) {
      const claim = isDue ? claimOf(session) : ownClaim(session.claims);
      return claim === undefined ? {} : { [CLAIM]: claim };
    },
    async onBegin({ [CLAIM]: before, ...claims }, name) {
      // A bearer token ends with the sessions of the user who signed in, as the session does that it was made of.
      const user = (areFor(claims, "header") ? ownClaim({ [CLAIM]: before })?.user : undefined) ?? idOf(claims.sub);
      if (user === undefined) {
        notices.warnOnce(WITHOUT_USER, "FST_AUTHJS_WARN_SESSION_RECORD");
        return claims;
      }
      const [epoch] = await store.call("get", [store.key("epoch", user)]);
      const { generation = "" } = parse<Epoch>(epoch) ?? {};
      const claim: RecordClaim = { id: name, user, createdAt: Date.now(), generation };
      return { ...claims, [CLAIM]: claim };
    },
    async onSealed({ claims }, isNew, userAgent) {
      if (isNew) await put(claims, userAgent);
    },
    async hasEnded(session, use) {
      const claim = claimOf(session);
      if (claim === undefined) return false;
      const [state] = await statesOf([claim]);
      const { hasEnded, record } = state!;
      const { lastSeenAt = 0, userAgent = use?.userAgent } = record ?? {};
      if (!hasEnded && use !== undefined && !(Date.now() - lastSeenAt < SEEN_EVERY_MS)) {
        await put(session.claims, userAgent).catch(use.report);
      }
      return hasEnded;
    },
    async onEnd(session) {
      const claim = claimOf(session);
      if (claim !== undefined) await end(claim);
    },
  };
}

function parse<T>(text: string | null | undefined): T | undefined {
  return text ? JSON.parse(text) as T : undefined;
}

function ownClaim(claims: JWT): RecordClaim | undefined {
  const claim = claims[CLAIM] as RecordClaim | undefined;
  return typeof claim?.user === "string" ? claim : undefined;
}

/** The claim, or what stands in for it in a token from before `revocable` was set. */
export function claimOf({ claims, name }: NamedSession): RecordClaim | undefined {
  const { sub, iat } = claims;
  const user = idOf(sub);
  const isNamed = user !== undefined && typeof iat === "number";
  return ownClaim(claims) ?? (isNamed ? { id: name, user, createdAt: iat * 1000 } : undefined);
}
