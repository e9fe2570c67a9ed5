/**
 * The relying-party cases of the OpenID conformance plan for the code flow, some more of the same kind, and RFC 9207.
 *
 * Names that begin with `oidcc-client-test` are those of the plan: all 14 of its Basic profile, and the ones of
 * discovery and key rotation that a client without dynamic registration can meet. Each case says what came of it and
 * who decided: `core` stands for `@auth/core` with `oauth4webapi`, which validates claims; `plugin` for this package.
 *
 * Each runs without and with `verifyIdTokens`. Core does not verify the signature of an ID token, so without the option
 * no keys are fetched: a bad signature, which the plan wants refused, is accepted, and so is a token without `kid`.
 * OpenID Connect Core 3.1.3.7 (6) allows it where the token came straight from the token endpoint over TLS, which in
 * production it does (A4 of docs/security-cases.md). The algorithm must still be one that the provider advertises, and is
 * never `none`.
 *
 * @module
 */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import {
  locationOf,
  oauthApp,
  pathOf,
  type ProviderSettings,
  reasons,
  signedInName,
  startSignIn,
} from "./support/oauth_client.ts";
import { PATHS, type Script, ScriptedProvider } from "./support/scripted_provider.ts";

/** One test of the plan. */
interface Case {
  /** Its name there, or what it is about where the plan has none. */
  readonly name: string;
  /** What the provider does. */
  readonly script?: (issuer: string) => Script;
  /** What the application configures. */
  readonly settings?: ProviderSettings;
  /** What the provider adds to its authorization response. */
  readonly response?: (issuer: string) => Record<string, string>;
  readonly outcome: Outcome;
  /** The same with `verifyIdTokens`, where it differs. */
  readonly verified?: Outcome;
}

/** The name that the user is signed in with, or why the sign-in is refused. */
type Outcome = { signedIn: string } | {
  refused: RegExp;
  by: "core" | "plugin";
  at?: "sign-in" | "callback";
};

const now = () => Math.floor(Date.now() / 1000);
const { privateKey: strangersKey, publicKey: secondKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048,
});
const signedByStranger = (input: string) =>
  sign("sha256", Buffer.from(input), strangersKey).toString("base64url");
const secondJwk = { ...secondKey.export({ format: "jwk" }), kid: "second", use: "sig", alg: "RS256" };

const HS256 = { client: { id_token_signed_response_alg: "HS256" } };
const signHs256 = (secret: string) => (input: string) =>
  createHmac("sha256", secret).update(input).digest("base64url");

const CASES: readonly Case[] = [
  // Everything right.
  { name: "oidcc-client-test", outcome: { signedIn: "Ada" } },
  { name: "oidcc-client-test-client-secret-basic", outcome: { signedIn: "Ada" } },
  {
    name: "oidcc-client-test-scope-userinfo-claims",
    settings: { idToken: false },
    outcome: { signedIn: "Ada of userinfo" },
  },

  // Issuer.
  {
    name: "oidcc-client-test-discovery-issuer-mismatch",
    script: () => ({ metadata: { issuer: "https://other-issuer.example" } }),
    outcome: {
      refused: /it names the issuer "https:\/\/other-issuer\.example"/,
      by: "plugin",
      at: "sign-in",
    },
  },
  {
    name: "oidcc-client-test-invalid-iss",
    script: (issuer) => ({ claims: { iss: `${issuer}/other` } }),
    outcome: { refused: /unexpected JWT "iss"/, by: "core" },
  },
  {
    name: "iss with a slash more than the issuer has",
    script: (issuer) => ({ claims: { iss: `${issuer}/` } }),
    outcome: { refused: /unexpected JWT "iss"/, by: "core" },
  },
  {
    name: "iss missing",
    script: () => ({ claims: { iss: undefined } }),
    outcome: { refused: /"iss" \(issuer\) claim missing/, by: "core" },
  },

  // Subject.
  {
    name: "oidcc-client-test-missing-sub",
    script: () => ({ claims: { sub: undefined } }),
    outcome: { refused: /"sub" \(subject\) claim missing/, by: "core" },
  },
  {
    name: "sub is not a string",
    script: () => ({ claims: { sub: 42 } }),
    outcome: { refused: /unexpected JWT "sub"/, by: "core" },
  },

  // Audience.
  {
    name: "aud missing",
    script: () => ({ claims: { aud: undefined } }),
    outcome: { refused: /"aud" \(audience\) claim missing/, by: "core" },
  },
  {
    name: "oidcc-client-test-invalid-aud",
    script: () => ({ claims: { aud: "another-client" } }),
    outcome: { refused: /unexpected JWT "aud"/, by: "core" },
  },
  {
    name: "aud is a list of one",
    script: () => ({ claims: { aud: ["client"] } }),
    outcome: { signedIn: "Ada" },
  },
  {
    name: "aud has others, and no azp",
    script: () => ({ claims: { aud: ["client", "another-client"] } }),
    outcome: { refused: /additional untrusted audiences/, by: "core" },
  },
  {
    name: "aud has others, and azp is one of them",
    script: () => ({ claims: { aud: ["client", "another-client"], azp: "another-client" } }),
    outcome: { refused: /unexpected ID Token "azp"/, by: "core" },
  },

  // Times.
  {
    name: "oidcc-client-test-missing-iat",
    script: () => ({ claims: { iat: undefined } }),
    outcome: { refused: /"iat" \(issued at\) claim missing/, by: "core" },
  },
  {
    name: "exp missing",
    script: () => ({ claims: { exp: undefined } }),
    outcome: { refused: /"exp" \(expiration time\) claim missing/, by: "core" },
  },
  {
    name: "exp in the past",
    script: () => ({ claims: { iat: now() - 7200, exp: now() - 3600 } }),
    outcome: { refused: /expiration is past/, by: "core" },
  },
  {
    // Core tolerates 30 seconds between two clocks, unless `client[clockTolerance]` says otherwise.
    name: "exp ten seconds ago",
    script: () => ({ claims: { exp: now() - 10 } }),
    outcome: { signedIn: "Ada" },
  },

  // Nonce.
  {
    name: "oidcc-client-test-nonce-invalid",
    script: () => ({ claims: { nonce: "another" } }),
    outcome: { refused: /unexpected ID Token "nonce"/, by: "core" },
  },
  {
    name: "nonce asked for and missing",
    script: () => ({ claims: { nonce: undefined } }),
    outcome: { refused: /"nonce" \(nonce\) claim missing/, by: "core" },
  },
  {
    name: "no nonce asked for, and none in the token",
    settings: { checks: ["state", "pkce"] },
    outcome: { signedIn: "Ada" },
  },
  {
    name: "nonce in the token that was not requested",
    settings: { checks: ["state", "pkce"] },
    script: () => ({ claims: { nonce: "surprise" } }),
    outcome: { refused: /unexpected ID Token "nonce"/, by: "core" },
  },

  // Signature and keys: see the head of this file.
  { name: "oidcc-client-test-idtoken-sig-rs256", outcome: { signedIn: "Ada" } },
  {
    name: "oidcc-client-test-kid-absent-single-jwks",
    script: () => ({ header: { kid: undefined } }),
    outcome: { signedIn: "Ada" },
  },
  {
    name: "oidcc-client-test-kid-absent-multiple-jwks",
    script: () => ({ header: { kid: undefined }, keys: [secondJwk] }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /it names no key \("kid"\), and several keys/, by: "plugin" },
  },
  {
    name: "oidcc-client-test-invalid-sig-rs256",
    script: () => ({ sign: signedByStranger }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /The ID token of "op" is refused: its signature is wrong/, by: "plugin" },
  },
  {
    name: "signed with another key that the provider publishes",
    script: () => ({ sign: signedByStranger, keys: [secondJwk] }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /its signature is wrong/, by: "plugin" },
  },
  {
    name: "signed with a key that the provider does not publish",
    script: () => ({ header: { kid: "second" }, sign: signedByStranger }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /the provider publishes no key for it/, by: "plugin" },
  },
  {
    name: "signed with a key that is for encryption",
    script: () => ({
      header: { kid: "second" },
      sign: signedByStranger,
      keys: [{ ...secondJwk, use: "enc" }],
    }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /the provider publishes no key for it/, by: "plugin" },
  },
  {
    name: "HS256, registered",
    settings: HS256,
    script: () => ({ header: { alg: "HS256", kid: undefined }, sign: signHs256("secret") }),
    outcome: { signedIn: "Ada" },
  },
  {
    name: "HS256, registered, with another secret",
    settings: HS256,
    script: () => ({ header: { alg: "HS256", kid: undefined }, sign: signHs256("guessed") }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /its signature is wrong/, by: "plugin" },
  },
  {
    name: "HS256, advertised and not registered",
    script: () => ({
      metadata: { id_token_signing_alg_values_supported: ["RS256", "HS256"] },
      header: { alg: "HS256", kid: undefined },
      sign: signHs256("secret"),
    }),
    outcome: { signedIn: "Ada" },
    verified: {
      refused:
        /"HS256" is not one that is expected\. .+set `client: \{ id_token_signed_response_alg: "HS256" \}`/,
      by: "plugin",
    },
  },
  {
    name: "HS256 with a public key as the secret",
    script: () => ({
      metadata: { id_token_signing_alg_values_supported: ["RS256", "HS256"] },
      header: { alg: "HS256" },
      sign: signHs256(secondKey.export({ type: "spki", format: "pem" }) as string),
      keys: [secondJwk],
    }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /"HS256" is not one that is expected/, by: "plugin" },
  },
  {
    name: "oidcc-client-test-idtoken-sig-none, advertised",
    script: () => ({
      metadata: { id_token_signing_alg_values_supported: ["RS256", "none"] },
      header: { alg: "none", kid: undefined },
      sign: () => "",
    }),
    // Core would accept it: the plugin takes `none` out of what is advertised.
    outcome: { refused: /unexpected JWT "alg"/, by: "plugin" },
    verified: { refused: /its algorithm "none" is not one that is expected/, by: "plugin" },
  },
  {
    name: "oidcc-client-test-idtoken-sig-none, not advertised",
    script: () => ({ header: { alg: "none", kid: undefined }, sign: () => "" }),
    outcome: { refused: /unexpected JWT "alg"/, by: "core" },
    verified: { refused: /its algorithm "none" is not one that is expected/, by: "plugin" },
  },
  {
    name: "an algorithm that the provider does not advertise",
    script: () => ({ header: { alg: "HS256" } }),
    outcome: { refused: /unexpected JWT "alg"/, by: "core" },
    verified: { refused: /its algorithm "HS256" is not one that is expected/, by: "plugin" },
  },
  {
    name: "an algorithm that the application does not expect",
    settings: { client: { id_token_signed_response_alg: "ES256" } },
    outcome: { refused: /unexpected JWT "alg"/, by: "core" },
    verified: { refused: /its algorithm "RS256" is not one that is expected/, by: "plugin" },
  },
  {
    name: "no algorithms advertised: RS256 is meant",
    script: () => ({ metadata: { id_token_signing_alg_values_supported: undefined } }),
    outcome: { signedIn: "Ada" },
  },
  {
    name: "an ID token that is none",
    script: () => ({ tokens: { id_token: "not.a-token" } }),
    outcome: { refused: /Invalid JWT|failed to parse JWT/, by: "core" },
    verified: { refused: /The ID token of "op" is refused: Invalid Compact JWS/, by: "plugin" },
  },
  {
    name: "no ID token",
    script: () => ({ tokens: { id_token: undefined } }),
    outcome: { refused: /"id_token" property/, by: "core" },
  },
  {
    name: "no access token",
    script: () => ({ tokens: { access_token: undefined } }),
    outcome: { refused: /"access_token" property/, by: "core" },
  },
  {
    name: "an unknown token type",
    script: () => ({ tokens: { token_type: "mac" } }),
    outcome: { refused: /unsupported `token_type`/, by: "core" },
  },

  // Userinfo.
  {
    name: "oidcc-client-test-userinfo-invalid-sub",
    settings: { idToken: false },
    script: () => ({ userinfo: { sub: "eve", name: "Eve" } }),
    outcome: { refused: /unexpected "response" body "sub"/, by: "core" },
  },
  {
    name: "userinfo without sub",
    settings: { idToken: false },
    script: () => ({ userinfo: { name: "Eve" } }),
    outcome: { refused: /"sub" property must be a string/, by: "core" },
  },

  // The authorization response.
  {
    name: "iss of another provider in the response (RFC 9207)",
    response: () => ({ iss: "https://other-issuer.example" }),
    outcome: { refused: /names the issuer "https:\/\/other-issuer\.example" \(RFC 9207\)/, by: "core" },
  },
  {
    name: "iss of the provider in the response",
    response: (issuer) => ({ iss: issuer }),
    outcome: { signedIn: "Ada" },
  },
  {
    name: "iss promised and missing in the response",
    script: () => ({ metadata: { authorization_response_iss_parameter_supported: true } }),
    outcome: { refused: /names no issuer, which its metadata promise/, by: "plugin" },
  },
  {
    name: "state of another sign-in",
    response: () => ({ state: "another" }),
    outcome: { refused: /came with the state of another sign-in/, by: "plugin" },
  },
  {
    name: "an implicit answer",
    response: () => ({ id_token: "a.b.c" }),
    outcome: { refused: /implicit and hybrid flows are not supported/, by: "core" },
  },
  {
    name: "no code",
    response: () => ({ code: "" }),
    outcome: { refused: /came without an authorization code/, by: "plugin" },
  },
];

for (const { name, script, settings, response, ...outcomes } of CASES) {
  for (const verifyIdTokens of [false, true]) {
    const outcome = verifyIdTokens ? outcomes.verified ?? outcomes.outcome : outcomes.outcome;
    const what = "signedIn" in outcome ? "signed in" : `refused by ${outcome.by}`;
    Deno.test(`conformance: ${name}: ${what}${verifyIdTokens ? ", with verifyIdTokens" : ""}`, async () => {
      await using provider = await ScriptedProvider.start();
      const { issuer } = provider;
      provider.script = script?.(issuer) ?? {};
      const checks = ["state", "pkce", "nonce"];
      const parts = await oauthApp({ issuer, checks, ...settings }, { verifyIdTokens });
      await using _app = parts.app;
      const client = parts.browser();
      const started = locationOf(await startSignIn(client));
      const refusedAtOnce = "refused" in outcome && outcome.at === "sign-in";
      const ended = refusedAtOnce
        ? started
        : locationOf(await client.get(pathOf(provider.authorize(started, response?.(issuer)))));

      if ("signedIn" in outcome) {
        assertEquals(ended, "http://localhost", reasons(parts.lines));
        assertEquals(await signedInName(client), outcome.signedIn);
      } else {
        const { error, code } = Object.fromEntries(new URL(ended).searchParams);
        assertEquals([new URL(ended).pathname, error], ["/auth/error", "Configuration"]);
        assert(code === undefined || code === "sign_in_expired", code);
        assertEquals(await signedInName(client), undefined);
        assertMatch(reasons(parts.lines), outcome.refused);
      }
      const askedForKeys = provider.paths.filter((path) => path === PATHS.jwks).length;
      const needsKey = verifyIdTokens && "signedIn" in outcome && settings !== HS256;
      if (!verifyIdTokens) assertEquals(askedForKeys, 0, "no signature is verified, so no key is fetched");
      if (needsKey) assertEquals(askedForKeys, 1, "each sign-in has the signature verified");
    });
  }
}

for (const verifyIdTokens of [false, true]) {
  const option = verifyIdTokens ? ", with verifyIdTokens" : "";
  Deno.test(`conformance: oidcc-client-test-signing-key-rotation: a new key is accepted${option}`, async () => {
    await using provider = await ScriptedProvider.start();
    const { app, browser } = await oauthApp({ issuer: provider.issuer }, { verifyIdTokens });
    await using _app = app;
    for (const script of [{}, { header: { kid: "second" }, sign: signedByStranger, keys: [secondJwk] }]) {
      provider.script = script;
      const client = browser();
      await client.get(pathOf(provider.authorize(locationOf(await startSignIn(client)))));
      assertEquals(await signedInName(client), "Ada");
    }
    assertEquals(provider.paths.filter((path) => path === PATHS.jwks).length, verifyIdTokens ? 2 : 0);
  });
}

Deno.test("conformance: the authorization request names the client, the scope and the redirect URI", async () => {
  await using provider = await ScriptedProvider.start();
  const { app, browser } = await oauthApp({ issuer: provider.issuer, checks: ["state", "pkce", "nonce"] });
  await using _app = app;
  const { origin, pathname, searchParams } = new URL(locationOf(await startSignIn(browser())));
  assertEquals(origin + pathname, `${provider.issuer}/authorize`);
  const { state, nonce, code_challenge, ...rest } = Object.fromEntries(searchParams);
  assertEquals(rest, {
    response_type: "code",
    client_id: "client",
    redirect_uri: "http://localhost/auth/callback/op",
    scope: "openid profile email",
    code_challenge_method: "S256",
  });
  assertEquals(new Set([state, nonce, code_challenge]).size, 3);
});
