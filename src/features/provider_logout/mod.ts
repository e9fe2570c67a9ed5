/** Sign-outs that end the session at the OpenID Provider, and providers that end sessions here. */
import { strategyOf } from "../../config/adapter_problem.ts";
import { optionsOf, required, type Rule } from "../../config/rules.ts";
import { isOpenIdProvider } from "../../provider/summary.ts";
import { longestUse } from "../../session/settings.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import { isObject } from "../../utils/decode.ts";
import { later } from "../../utils/later.ts";
import type { Feature } from "../feature.ts";
import { claimOfSignIn, PROVIDER_SESSION_CLAIM, ProviderIndex, providerSessionOf, tagOf } from "./provider_session.ts";
import { tagOfSignIn } from "./provider_session.ts";

const FLAG = required("true or false", (value) => typeof value === "boolean");

const RULE: Rule = (value, name) => {
  if (typeof value === "boolean") return undefined;
  if (!isObject(value)) return `\`${name}\` must be true, false or an object such as \`{ byDefault: false }\`.`;
  return optionsOf({ signOut: FLAG, byDefault: FLAG, idTokenHint: FLAG, backchannel: FLAG })(value, name);
};

export const providerLogout: Feature = {
  rules: { providerLogout: RULE },
  problems: [
    [
      "FST_AUTHJS_CONFIG_INVALID",
      ({ config }) => {
        const { signOut, backchannel } = settingsOf(config);
        return !signOut && !backchannel &&
          "`providerLogout` does nothing with `signOut: false` and without `backchannel: true`: remove it.";
      },
      ({ providers }) =>
        !providers.some(isOpenIdProvider) &&
        '`providerLogout` needs a provider of OpenID Connect (`type: "oidc"`) with an `issuer`: add one, or remove ' +
          "the option.",
      ({ core, config }) =>
        settingsOf(config).backchannel && strategyOf(core) === "jwt" && !(config.store && config.revocable) &&
        "`providerLogout.backchannel` needs a `store` and `revocable: true`, since a session in a JWT is valid until " +
          'it expires: set redisStore() of "fastify-authjs/redis", or memoryStore() for one process, or keep ' +
          "sessions in a database.",
    ],
    [
      "FST_AUTHJS_ADAPTER_INVALID",
      ({ core, config }) =>
        settingsOf(config).backchannel && strategyOf(core) === "database" &&
        !("listSessionsByUserId" in core.adapter!) &&
        "`providerLogout.backchannel` needs the adapter's listSessionsByUserId(), without which the sessions of a " +
          "user are not found. Add it with `withSessionList(adapter, (userId) => …)`.",
    ],
  ],
  routes: [
    { action: "signed-out", methods: ["GET"], provider: false, parameters: ["state"] },
    {
      action: "backchannel-logout",
      methods: ["POST"],
      provider: true,
      isServedFor: isOpenIdProvider,
      fromServers: true,
      limited: "refusals",
      refuse: async (reply, error) => (await import("./backchannel.ts")).sendLogoutFailure(reply, error),
    },
  ],
  configure(setup) {
    const { core, providers, signingKeys, store } = setup;
    const { signOut, byDefault, keepsIdTokens, backchannel } = settingsOf(setup.config);
    const kept = { ids: backchannel, idToken: signOut && keepsIdTokens };
    const index = backchannel && strategyOf(core) === "jwt" ? new ProviderIndex(store!, longestUse(core)) : undefined;
    return {
      hiddenClaims: [PROVIDER_SESSION_CLAIM],
      keptClaims({ claims }) {
        const session = providerSessionOf(claims);
        return session === undefined ? {} : { [PROVIDER_SESSION_CLAIM]: session };
      },
      onSignIn: (claims, signIn) => claimOfSignIn(claims, signIn, kept),
      ...(index && {
        // Before the session is listed, since it may be refused.
        onBegin: async (claims, name) => {
          await index.add({ claims, name }, true);
          return claims;
        },
        onSealed: async (session, isNew) => {
          if (!isNew) await index.add(session, false);
        },
        onEnd: (session) => index.remove(session),
      }),
      rowTag: (signIn) => tagOfSignIn(signIn, backchannel),
      tagOfRow: tagOf,
      report: (base) =>
        providers.filter(isOpenIdProvider).flatMap(({ id }) => [
          ...(signOut ? [`${id}, register ${base}/signed-out there as post-logout redirect URI`] : []),
          ...(backchannel ? [`${id}, register ${base}/backchannel-logout/${id} there as back-channel logout URI`] : []),
        ]).map((text) => ["sign-out", text]),
      ...(signOut && {
        onSignOut: async (context, asked) => {
          if (!(asked?.providerLogout ?? byDefault)) return undefined;
          return await (await import("./sign_out.ts")).beginProviderSignOut(context, keepsIdTokens);
        },
      }),
      handlers: {
        ...(signOut && { "signed-out": later(async () => (await import("./sign_out.ts")).handleSignedOut) }),
        ...(backchannel && {
          "backchannel-logout": later(async () =>
            (await import("./backchannel.ts")).backchannelLogout(await signingKeys(), index)
          ),
        }),
      },
    };
  },
};

function settingsOf({ providerLogout }: FastifyAuthConfig) {
  const { signOut = true, byDefault = true, idTokenHint = true, backchannel = false } =
    typeof providerLogout === "object" ? providerLogout : {};
  return { signOut, byDefault, keepsIdTokens: idTokenHint, backchannel };
}
