/** The sessions of users: records of sessions in a JWT, by which they are listed and ended from elsewhere. */
import { strategyOf } from "../../config/adapter_problem.ts";
import { EPHEMERAL_MAX_AGE, lifetimesOf } from "../../config/lifetime.ts";
import { BOOLEAN } from "../../config/rules.ts";
import type { Feature } from "../../instance/feature.ts";
import { longestUse } from "../../session/settings.ts";
import { CLAIM, claimOf, ownClaim, SessionRecords } from "./records.ts";

export const sessions: Feature = {
  rules: { revocable: BOOLEAN },
  problems: [
    ["FST_AUTHJS_CONFIG_INVALID", ({ core }) =>
      strategyOf(core) === "database" &&
      "`revocable` is for sessions in a JWT: remove it, and use withSessionList() for the adapter, or set " +
        '`session: { strategy: "jwt" }`.'],
    ["FST_AUTHJS_CONFIG_INVALID", ({ config: { store } }) =>
      !store &&
      '`revocable` needs a `store`, which knows the sessions: set redisStore() of "fastify-authjs/redis", or ' +
        "memoryStore() for one process."],
  ],
  configure({ config, core, store, live, notices }) {
    const { ephemeralMaxAge } = config.session ?? {};
    const lifetimes = lifetimesOf(core), ephemeral = lifetimesOf(core, ephemeralMaxAge || EPHEMERAL_MAX_AGE);
    const records = new SessionRecords({
      store: store!,
      live,
      tenant: config.tenant,
      maxAge: Math.min(lifetimes.maxAge, lifetimes.tokenMaxAge),
      ephemeralMaxAge: Math.min(ephemeral.maxAge, ephemeral.tokenMaxAge),
      keepFor: longestUse(core),
    });
    let hasWarned = false;
    return {
      known: records,
      keptClaims(session, isDue) {
        const claim = isDue ? claimOf(session) : ownClaim(session.claims);
        return claim === undefined ? {} : { [CLAIM]: claim };
      },
      async onBegin(claims, name) {
        const begun = await records.begin(claims, name);
        if (ownClaim(begun) === undefined && !hasWarned) {
          hasWarned = true;
          notices.warn(`Auth.js: ${WITHOUT_USER}`, "FST_AUTHJS_WARN_SESSION_RECORD");
        }
        return begun;
      },
      async onSealed({ claims }, isNew, userAgent) {
        if (isNew) await records.put(claims, userAgent);
      },
      hasEnded: (session, use) => records.hasEnded(session, use),
      async onEnd(session) {
        const claim = claimOf(session);
        if (claim !== undefined) await records.end(claim);
      },
    };
  },
};

const WITHOUT_USER =
  "A session token without `sub` was made: its session can be neither listed nor ended. Return `sub`, the id of the " +
  "user, from `callbacks.jwt`.";
