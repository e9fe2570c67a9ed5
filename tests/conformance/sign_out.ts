/** The plans for signing out: begun by the application, and by the provider. */
import { assertEquals } from "@std/assert";
import { locationOf } from "../support/oauth_client.ts";
import { type Module, type Plan, signOut } from "./module.ts";

/** Both options are on, as the suite wants a client to have an address for logout tokens here, too. */
export const RP_INITIATED: Plan = {
  name: "oidcc-client-rp-initiated-logout-rp-basic",
  profile: "RP-Initiated RP",
  signsOut: true,
  modules: [
    {
      name: "oidcc-client-test-rp-init-logout",
      about: "a sign-out ends the session at the provider, and comes back",
      outcome: "passed",
      play: async (run) => {
        const { logout, back } = await signOut(run);
        assertEquals([logout.statusCode, locationOf(back)], [200, "http://localhost"]);
        return "passed";
      },
    },
    {
      name: "oidcc-client-test-rp-init-logout-other-state",
      about: "it comes back with another `state`",
      outcome: "passed",
      script: { logoutState: (state) => `${state}_INVALID` },
      play: async (run) => {
        await signOut(run);
        return "passed";
      },
    },
    {
      name: "oidcc-client-test-rp-init-logout-no-state",
      about: "it comes back without `state`",
      outcome: "passed",
      script: { logoutState: () => undefined },
      play: async (run) => {
        await signOut(run);
        return "passed";
      },
    },
  ],
};

/** A logout token that has to be refused. */
function refused(name: string, about: string, script: Module["script"]): Module {
  return {
    name: `oidcc-client-test-rp-backchannel-rpinitlogout-${name}`,
    about: `a logout token ${about} is refused (400)`,
    outcome: "passed",
    script: script!,
    play: async (run) => {
      const { logout } = await signOut(run);
      assertEquals([logout.statusCode, logout.json().error], [400, "invalid_request"]);
      return "passed";
    },
  };
}

/** The provider sends logout tokens. */
export const BACK_CHANNEL: Plan = {
  name: "oidcc-client-back-channel-logout-rp-basic",
  profile: "Back-Channel RP",
  signsOut: true,
  modules: [
    {
      name: "oidcc-client-test-rp-backchannel-rpinitlogout",
      about: "a logout token is accepted (200)",
      outcome: "passed",
      play: async (run) => {
        assertEquals((await signOut(run)).logout.statusCode, 200);
        return "passed";
      },
    },
    refused("alg-none", "without a signature (`alg: none`)", { logoutAlgorithm: "none" }),
    refused("no-event", "without `events`", { logoutClaims: ({ events: _, ...claims }) => claims }),
    refused("with-nonce", "with a `nonce`", { logoutClaims: (claims) => ({ ...claims, nonce: "n" }) }),
    refused("wrong-alg", "with another algorithm than the client is registered for", {
      logoutAlgorithm: "ES256",
    }),
    refused("wrong-aud", "with a wrong `aud`", {
      logoutClaims: (claims) => ({ ...claims, aud: `${claims.aud}INVALID` }),
    }),
    refused("wrong-event", "with another event", {
      logoutClaims: (claims) => ({ ...claims, events: { "http://schemas.openid.net/event/foobar": {} } }),
    }),
    refused("wrong-iss", "with a wrong `iss`", {
      logoutClaims: (claims) => ({ ...claims, iss: `${claims.iss}INVALID` }),
    }),
  ],
};
