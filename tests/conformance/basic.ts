/** The plans for the code flow, whose modules are the same: with a redirect, and with a form. */
import { assert, assertEquals } from "@std/assert";
import { signedInName } from "../support/oauth_client.ts";
import { accepts, type Module, type Plan, refuses, signIn } from "./module.ts";

/** A client may accept unsigned tokens of the code flow; one that does not is skipped. */
export const SIG_NONE: Module = {
  name: "oidcc-client-test-idtoken-sig-none",
  about: "an unsigned ID token (`alg: none`) is accepted, or not supported",
  outcome: "skipped",
  script: { unsigned: true },
  play: async (run) => {
    await refuses(run);
    return "skipped";
  },
};

const MODULES: readonly Module[] = [
  {
    name: "oidcc-client-test",
    about: "the code flow: authorization, token and userinfo request",
    outcome: "passed",
    play: accepts,
  },
  {
    name: "oidcc-client-test-invalid-iss",
    about: "an ID token with a wrong `iss` is refused",
    outcome: "passed",
    script: { claims: (claims) => ({ ...claims, iss: `${claims.iss}1` }) },
    play: refuses,
  },
  {
    name: "oidcc-client-test-missing-sub",
    about: "an ID token without `sub` is refused",
    outcome: "passed",
    script: { claims: ({ sub: _, ...claims }) => claims },
    play: refuses,
  },
  {
    name: "oidcc-client-test-invalid-aud",
    about: "an ID token with a wrong `aud` is refused",
    outcome: "passed",
    script: { claims: (claims) => ({ ...claims, aud: `${claims.aud}1` }) },
    play: refuses,
  },
  {
    name: "oidcc-client-test-missing-iat",
    about: "an ID token without `iat` is refused",
    outcome: "passed",
    script: { claims: ({ iat: _, ...claims }) => claims },
    play: refuses,
  },
  {
    name: "oidcc-client-test-kid-absent-single-jwks",
    about: "an ID token that names no key is accepted if only one can be meant",
    outcome: "passed",
    script: { keysWithoutId: 1 },
    play: accepts,
  },
  {
    name: "oidcc-client-test-kid-absent-multiple-jwks",
    about: "an ID token that names no key, if several can be meant: refused, or each is tried",
    outcome: "passed",
    script: { keysWithoutId: 3 },
    play: refuses,
  },
  {
    name: "oidcc-client-test-idtoken-sig-rs256",
    about: "an ID token that is signed with RS256 is accepted",
    outcome: "passed",
    script: { metadata: (document) => ({ ...document, id_token_signing_alg_values_supported: ["RS256"] }) },
    play: accepts,
  },
  SIG_NONE,
  {
    name: "oidcc-client-test-invalid-sig-rs256",
    about: "an ID token with a wrong signature is refused",
    outcome: "passed",
    script: {
      metadata: (document) => ({ ...document, id_token_signing_alg_values_supported: ["RS256"] }),
      // The suite inverts bits of it.
      signature: (signature) => (signature[0] === "A" ? "B" : "A") + signature.slice(1),
    },
    play: refuses,
  },
  {
    name: "oidcc-client-test-userinfo-invalid-sub",
    about: "a userinfo response with another `sub` than the ID token is refused",
    outcome: "passed",
    script: { userinfo: (claims) => ({ ...claims, sub: `${claims.sub}invalid` }) },
    play: async (run) => {
      await signIn(run);
      assert(run.provider.asked.includes("userinfo"));
      assertEquals(await signedInName(run.client), undefined);
      return "passed";
    },
  },
  {
    name: "oidcc-client-test-nonce-invalid",
    about: "an ID token with a wrong `nonce` is refused",
    outcome: "passed",
    script: { claims: (claims) => ({ ...claims, nonce: `${claims.nonce}1` }) },
    play: refuses,
  },
  {
    name: "oidcc-client-test-scope-userinfo-claims",
    about: "the claims of the scopes that were asked for are read",
    outcome: "passed",
    play: accepts,
  },
  {
    name: "oidcc-client-test-client-secret-basic",
    about: "the client authenticates with `client_secret_basic`",
    outcome: "passed",
    play: accepts,
  },
];

/** The code flow. */
export const BASIC: Plan = {
  name: "oidcc-client-basic-certification-test-plan",
  profile: "Basic RP",
  modules: MODULES,
};

/** The same with `response_mode=form_post`. */
export const FORM_POST: Plan = {
  name: "oidcc-client-formpost-basic-certification-test-plan",
  profile: "Form Post RP",
  modules: MODULES,
  formPost: true,
};
