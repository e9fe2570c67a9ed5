/** Sign-outs that end the session at the OpenID Provider, and providers that end sessions here. */
import { strategyOf } from "../../config/adapter_problem.ts";
import { BOOLEAN, isObject, optionsOf, required, type Rule } from "../../config/rules.ts";
import type { Feature } from "../../instance/feature.ts";
import { isOpenIdProvider } from "../../provider/summary.ts";
import type { FastifyAuthConfig } from "../../types.ts";
import { later } from "../../utils/later.ts";
import type { SignOutSettings } from "./sign_out.ts";
import {
  claimOfSignIn,
  PROVIDER_SESSION_CLAIM,
  providerSessionOf,
  tagOf,
  tagOfSignIn,
  withProviderSession,
} from "./provider_session.ts";

const signOutRule: Rule = (value, name) => {
  if (typeof value === "boolean") return undefined;
  if (!isObject(value)) {
    return `\`${name}\` must be true, false or an object such as \`{ byDefault: false }\`.`;
  }
  const flag = required("true or false", (value) => typeof value === "boolean");
  return optionsOf({ byDefault: flag, idTokenHint: flag })(value, name);
};

export const providerLogout: Feature = {
  rules: { providerSignOut: signOutRule, backchannelLogout: BOOLEAN },
  problems: [
    ["FST_AUTHJS_CONFIG_INVALID", ({ config, providers }) =>
      !providers.some(isOpenIdProvider) &&
      `\`${
          config.backchannelLogout ? "backchannelLogout" : "providerSignOut"
        }\` needs a provider of OpenID Connect ` +
        '(`type: "oidc"`) with an `issuer`: add one, or remove the option.'],
    [
      "FST_AUTHJS_CONFIG_INVALID",
      ({ core, config: { backchannelLogout, store, revocable } }) =>
        backchannelLogout && strategyOf(core) === "jwt" && !(store && revocable) &&
        "`backchannelLogout` needs a `store` and `revocable: true`, since a session in a JWT is valid until it " +
          'expires: set redisStore() of "fastify-authjs/redis", or memoryStore() for one process, or keep sessions in ' +
          "a database.",
    ],
    [
      "FST_AUTHJS_ADAPTER_INVALID",
      ({ core, config: { backchannelLogout } }) =>
        backchannelLogout && strategyOf(core) === "database" && !("listSessionsByUserId" in core.adapter!) &&
        "`backchannelLogout` needs the adapter's listSessionsByUserId(), without which the sessions of a user are not " +
          "found. Add it with `withSessionList(adapter, (userId) => …)`.",
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
      refuse: async (reply, error) => (await import("./backchannel.ts")).sendLogoutFailure(reply, error),
    },
  ],
  configure(setup) {
    const { core, providers, signingKeys, store } = setup;
    const signOut = signOutSettings(setup.config.providerSignOut);
    const backchannel = setup.config.backchannelLogout ?? false;
    const kept = { ids: backchannel, idToken: signOut?.keepsIdTokens === true };
    const index = backchannel && strategyOf(core) === "jwt"
      ? later(async () => {
        const { ProviderIndex } = await import("./provider_index.ts");
        const index = new ProviderIndex(store!, setup);
        return () => index;
      })
      : undefined;
    const tokens = later(async () => {
      const { LogoutTokens } = await import("./logout_token.ts");
      const tokens = new LogoutTokens(core.providers, await signingKeys(), setup.config.tenant);
      return () => tokens;
    });
    return {
      hiddenClaims: [PROVIDER_SESSION_CLAIM],
      keptClaims: ({ claims }) => withProviderSession({}, providerSessionOf(claims)),
      onSignIn: (claims, signIn) => claimOfSignIn(claims, signIn, kept),
      ...(index && { onSealed: async (session, isNew) => await (await index()).add(session, isNew) }),
      rowTag: (signIn) => tagOfSignIn(signIn, backchannel),
      tagOfRow: tagOf,
      report: (base) =>
        providers.filter(isOpenIdProvider).flatMap(({ id }) => [
          ...(signOut ? [`${id}, register ${base}/signed-out there as post-logout redirect URI`] : []),
          ...(backchannel
            ? [`${id}, register ${base}/backchannel-logout/${id} there as back-channel logout URI`]
            : []),
        ]).map((text) => ["sign-out", text]),
      ...(signOut && {
        onSignOut: async (context, asked) => {
          if (!(asked?.providerSignOut ?? signOut.byDefault)) return undefined;
          return await (await import("./sign_out.ts")).beginProviderSignOut(context, signOut);
        },
      }),
      handlers: {
        ...(signOut && {
          "signed-out": async (context) => (await import("./sign_out.ts")).handleSignedOut(context),
        }),
        ...(backchannel && {
          "backchannel-logout": async (context) =>
            await (await import("./backchannel.ts")).handleBackchannelLogout(context, {
              tokens: await tokens(),
              index: await index?.(),
              store,
            }),
        }),
      },
    };
  },
};

function signOutSettings(option: FastifyAuthConfig["providerSignOut"] = false): SignOutSettings | undefined {
  if (option === false) return undefined;
  const { byDefault = true, idTokenHint = true } = option === true ? {} : option;
  return { byDefault, keepsIdTokens: idTokenHint };
}
