/**
 * What an OpenID Provider may send other than right, besides the modules of the conformance suite (`conformance/`), and
 * RFC 9207. Each case says what came of it and who decided: `core` stands for `@auth/core` with `oauth4webapi`, which
 * validates claims; `plugin` for this package.
 *
 * Each runs without `verifyIdTokens` and by default. Without it no keys are fetched, so a wrong signature is accepted: TLS
 * stands for it, as OpenID Connect Core 3.1.3.7 (6) allows. The algorithm must still be one that the provider advertises,
 * and is never `none`.
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
} from "../../support/oauth_client.ts";
import { PATHS, type Script, ScriptedProvider } from "../../support/scripted_provider.ts";

/** One case. */
interface Case {
  /** What it is about. */
  readonly name: string;
  /** What the provider does. */
  readonly script?: (issuer: string) => Script;
  /** What the application configures. */
  readonly settings?: ProviderSettings;
  /** What the provider adds to its authorization response. */
  readonly response?: (issuer: string) => Record<string, string>;
  readonly outcome: Outcome;
  /** The same by default, if it differs. */
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
const signedByStranger = (input: string) => sign("sha256", Buffer.from(input), strangersKey).toString("base64url");
const secondJwk = { ...secondKey.export({ format: "jwk" }), kid: "second", use: "sig", alg: "RS256" };

const HS256 = { client: { id_token_signed_response_alg: "HS256" } };
const signHs256 = (secret: string) => (input: string) => createHmac("sha256", secret).update(input).digest("base64url");

const CASES: readonly Case[] = [
  // Issuer.
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
  {
    name: "no key named, and several that may be meant",
    script: () => ({ header: { kid: undefined }, keys: [secondJwk] }),
    outcome: { signedIn: "Ada" },
    verified: { refused: /it names no key \("kid"\), and several keys/, by: "plugin" },
  },
  {
    name: "signed with another key under the name of the provider's",
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
      refused: /"HS256" is not one that is expected\. .+set `client: \{ id_token_signed_response_alg: "HS256" \}`/,
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
    name: "unsigned, and `none` is advertised",
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
    name: "unsigned, and `none` is not advertised",
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
    outcome: { refused: /came with no cookie for "state"/, by: "plugin" },
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
  for (const verifyIdTokens of [false, undefined]) {
    const outcome = verifyIdTokens === undefined ? outcomes.verified ?? outcomes.outcome : outcomes.outcome;
    const what = "signedIn" in outcome ? "signed in" : `refused by ${outcome.by}`;
    Deno.test(`OpenID Connect: ${name}: ${what}${verifyIdTokens === false ? ", with verifyIdTokens: false" : ""}`, async () => {
      await using provider = await ScriptedProvider.start();
      const { issuer } = provider;
      provider.script = script?.(issuer) ?? {};
      const checks = ["state", "pkce", "nonce"];
      const parts = await oauthApp(
        { issuer, checks, ...settings },
        verifyIdTokens === undefined ? {} : { verifyIdTokens },
      );
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
      const needsKey = verifyIdTokens === undefined && "signedIn" in outcome && settings !== HS256;
      if (verifyIdTokens === false) {
        assertEquals(askedForKeys, 0, "no signature is verified, so no key is fetched");
      }
      if (needsKey) assertEquals(askedForKeys, 1, "each sign-in has the signature verified");
    });
  }
}

Deno.test("OpenID Connect: the authorization request names the client, the scope and the redirect URI", async () => {
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
