/** The plan for what a client reads of a provider: discovery and keys. */
import { assert, assertEquals } from "@std/assert";
import { locationOf } from "../support/oauth_client.ts";
import { SIG_NONE } from "./basic.ts";
import { accepts, type Plan, signIn } from "./module.ts";

/** Discovery and keys. */
export const CONFIG: Plan = {
  name: "oidcc-client-config-certification-test-plan",
  profile: "Config RP",
  modules: [
    {
      name: "oidcc-client-test-discovery-openid-config",
      about: "the discovery document is read and used",
      outcome: "passed",
      play: async (run) => {
        await accepts(run);
        assertEquals(run.provider.asked[0], "discovery");
        return "passed";
      },
    },
    {
      name: "oidcc-client-test-discovery-jwks-uri-keys",
      about: "the keys are fetched from the `jwks_uri` of the document",
      outcome: "passed",
      play: async (run) => {
        await accepts(run);
        assertEquals(run.provider.asked, ["discovery", "authorize", "token", "jwks", "userinfo"]);
        return "passed";
      },
    },
    {
      name: "oidcc-client-test-discovery-issuer-mismatch",
      about: "a document of another issuer is refused before the authorization request",
      outcome: "passed",
      script: { metadata: (document) => ({ ...document, issuer: `${document.issuer}INVALID` }) },
      play: async (run) => {
        assertEquals(locationOf(await signIn(run)), "http://localhost/auth/error?error=Configuration");
        assertEquals(run.provider.asked, ["discovery"]);
        return "passed";
      },
    },
    SIG_NONE,
    {
      name: "oidcc-client-test-signing-key-rotation-just-before-signing",
      about: "keys that are new when the ID token is signed are fetched",
      outcome: "passed",
      script: { rotates: "before signing" },
      play: async (run) => {
        await accepts(run);
        assert(run.provider.asked.includes("jwks"));
        return "passed";
      },
    },
    {
      name: "oidcc-client-test-signing-key-rotation",
      about: "a new key is fetched with the second sign-in",
      outcome: "passed",
      script: { rotates: "second sign-in" },
      play: async (run) => {
        await accepts(run);
        await accepts({ ...run, client: run.browser() });
        assertEquals([run.provider.count("jwks"), run.provider.count("userinfo")], [2, 2]);
        return "passed";
      },
    },
  ],
};
