/** The signatures of ID tokens: where the keys come from, and what happens without them (`verifyIdTokens`). */
import { assert, assertEquals, assertFalse, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { stub } from "@std/testing/mock";
import { createHmac, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { Buffer } from "node:buffer";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, FastifyAuthError, memoryStore } from "fastify-authjs";
import { startIssuer } from "fastify-authjs/testing";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { withEnvironment } from "../../support/environment.ts";
import {
  locationOf,
  oauthApp,
  pathOf,
  type ProviderSettings,
  reasons,
  signedInName,
  startSignIn,
} from "../../support/oauth_client.ts";
import { ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";
import { PATHS, type Script, ScriptedProvider } from "../../support/scripted_provider.ts";
import { oauthSettings, type ScriptedParts, signInThrough, withProvider } from "../../support/scripted_sign_in.ts";

const CONFIGURATION = "http://localhost/auth/error?error=Configuration";

const signWith = (key: KeyObject) => (input: string) => sign("sha256", Buffer.from(input), key).toString("base64url");
const stranger = generateKeyPairSync("rsa", { modulusLength: 2048 });
const forged: Script = { sign: signWith(stranger.privateKey) };

/** As `withProvider()`, by default and with the option. */
async function verifying(
  ...[script, run, settings, overrides]: Parameters<typeof withProvider>
): Promise<void> {
  await withProvider(script, run, settings, overrides);
  await requiring(script, run, settings, overrides);
}

/** As `withProvider()`, with the option. */
function requiring(
  script: Script,
  run: (parts: ScriptedParts) => Promise<void>,
  settings: ProviderSettings | ((issuer: string) => ProviderSettings) = {},
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  return withProvider(script, run, settings, { verifyIdTokens: true, ...overrides });
}

/** How often the provider was asked for its keys. */
function keyRequests({ paths }: ScriptedProvider): number {
  return paths.filter((path) => path === PATHS.jwks).length;
}

async function assertRefused(client: Client, answer: Answer, what = ""): Promise<void> {
  assertEquals(locationOf(answer), CONFIGURATION, what);
  assertEquals(await signedInName(client), undefined, what);
}

async function assertSignsIn({ client, provider, lines }: ScriptedParts): Promise<void> {
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost", reasons(lines));
  assertEquals(await signedInName(client), "Ada");
}

/** Endpoints that are configured, at a provider without a discovery document. */
const manual = (issuer: string) => ({
  authorization: `${issuer}/authorize`,
  token: `${issuer}${PATHS.token}`,
  userinfo: `${issuer}${PATHS.userinfo}`,
});
const nothing = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(404).end();
};

Deno.test("V1: a forged ID token reaches no callback and no event, and the log has nothing of it", async () => {
  const called: string[] = [];
  const call = (name: string) => (): never => {
    called.push(name);
    throw new Error("called");
  };
  const events: unknown[] = [];
  const listener = (event: unknown) => events.push(event);
  subscribe("fastify-authjs:sign-in-failure", listener);
  try {
    const callbacks = { signIn: call("signIn"), jwt: call("jwt") };
    await withProvider(
      forged,
      async ({ client, provider, lines }) => {
        await assertRefused(client, await signInThrough(client, provider));
        assertEquals(called, []);
        assertStringIncludes(reasons(lines), 'The ID token of "op" is refused: its signature is wrong.');
        const [header, claims, signature] = provider.idToken().split(".");
        const log = JSON.stringify(lines);
        for (const part of [header, claims, signature, "an-access-token", "ada@example.com"]) {
          assertFalse(log.includes(part!), part);
        }
        const { channel: _, provider: id, reason } = events.at(-1) as Record<string, unknown>;
        assertEquals([id, reason, events.length], ["op", "CallbackRouteError", 1]);
        assertFalse(provider.paths.includes(PATHS.userinfo));
      },
      { profile: call("profile"), idToken: false },
      { callbacks, events: { signIn: call("event") } },
    );
  } finally {
    unsubscribe("fastify-authjs:sign-in-failure", listener);
  }
});

Deno.test("a script gets the same error for a forged ID token as for one with a wrong claim", async () => {
  const answers: [number, string][] = [];
  for (const script of [forged, { claims: { aud: "another-client" } }]) {
    await verifying(script, async ({ browser, provider }) => {
      const client = browser({ "x-auth-return-redirect": "1" });
      const { url } = (await startSignIn(client)).json();
      const { statusCode, body } = await client.get(pathOf(provider.authorize(url)));
      answers.push([statusCode, body]);
    });
  }
  assertEquals(answers[0], answers[1]);
  assertMatch(String(answers[0]![1]), /error=Configuration/);
});

Deno.test("V2: the keys are fetched once for many sign-ins", () =>
  verifying({}, async (parts) => {
    for (let count = 0; count < 3; count++) await assertSignsIn({ ...parts, client: parts.browser() });
    assertEquals(keyRequests(parts.provider), 1);
  }));

Deno.test("V2: a kid that is unknown has the keys fetched once for each token response at most", () =>
  verifying({ header: { kid: "unknown" } }, async ({ browser, provider }) => {
    for (let count = 1; count <= 3; count++) {
      const client = browser();
      await assertRefused(client, await signInThrough(client, provider));
      assertEquals(keyRequests(provider), count);
    }
  }));

Deno.test("V2: an unknown kid of a logout token has the keys fetched once in half a minute", async () => {
  const config = {
    providerLogout: { signOut: false, backchannel: true },
    store: memoryStore(),
    revocable: true,
  };
  await verifying(
    {},
    async (parts) => {
      await assertSignsIn(parts);
      parts.provider.script = { header: { kid: "unknown" } };
      for (let count = 0; count < 5; count++) {
        const answer = await parts.app.inject({
          method: "POST",
          url: "/auth/backchannel-logout/op",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          payload: `logout_token=${parts.provider.idToken()}`,
        });
        assertEquals(answer.statusCode, 400);
      }
      assertEquals(keyRequests(parts.provider), 1, "those of the sign-in serve logout tokens, too");
    },
    {},
    config,
  );
});

Deno.test("V3: keys that cannot be had since the provider does not answer are the documented 503", async () => {
  const says = (status: number) => (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status).end();
  };
  for (
    const [name, jwks] of Object.entries({ silent: () => {}, 429: says(429), 502: says(502), 503: says(503) })
  ) {
    await verifying(
      { answer: { jwks } },
      async (parts) => {
        const answer = await signInThrough(parts.client, parts.provider);
        assertEquals(answer.statusCode, 503, name);
        assertMatch(answer.json().message, /^The provider "op" .+ Try again in a moment\.$/);
        assertMatch(
          reasons(parts.lines),
          /"op" (did not answer in full within 500 ms|answered \d+) at \S+\/jwks/,
        );
        assertEquals(await signedInName(parts.client), undefined, name);
        // Nothing of it is kept.
        parts.provider.script = {};
        await assertSignsIn({ ...parts, client: parts.browser() });
      },
      {},
      { providerTimeout: 500 },
    );
  }
});

Deno.test("the wait for keys ends with providerTimeout, and not before", async () => {
  // That of jose, which is five seconds.
  using _stub = stub(
    AbortSignal,
    "timeout",
    () => AbortSignal.abort(new DOMException("late", "TimeoutError")),
  );
  await verifying({}, assertSignsIn);
});

Deno.test("V3: keys that the provider does not answer with are a 503", async () => {
  const answers: [string, (response: ServerResponse) => void, RegExp][] = [
    ["too large", (response) => response.end(`{"keys":[${" ".repeat(1024 * 1024)}]}`), /over 1048576 bytes/],
    ["an error", (response) => response.writeHead(404).end(), /"op" answered 404 at \S+\/jwks/],
    [
      "a redirect",
      (response) => response.writeHead(302, { location: "/" }).end(),
      /answered 302 at \S+\/jwks/,
    ],
    ["no JSON", (response) => response.end("<h1>"), /"op" answered 200 at \S+\/jwks without a JSON object/],
    ["no keys", (response) => response.end('{"keys":{}}'), /"op" answered at \S+\/jwks without keys/],
  ];
  for (const [what, answer, reason] of answers) {
    const jwks = (_request: IncomingMessage, response: ServerResponse) => answer(response);
    await verifying({ answer: { jwks } }, async ({ client, provider, lines }) => {
      assertEquals((await signInThrough(client, provider)).statusCode, 503, what);
      assertEquals(await signedInName(client), undefined, what);
      assertMatch(reasons(lines), reason);
    });
  }
});

Deno.test("V1: an ID token is refused if the provider publishes no key at all", async () => {
  const jwks = (_request: IncomingMessage, response: ServerResponse) => void response.end('{"keys":[]}');
  await verifying({ answer: { jwks } }, async ({ client, provider, lines }) => {
    await assertRefused(client, await signInThrough(client, provider));
    assertMatch(reasons(lines), /the provider publishes no key for it/);
  });
});

Deno.test("a key that is too short is named, and its ID token refused", async () => {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 1024 });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "short" };
  const script = { header: { kid: "short" }, sign: signWith(privateKey), keys: [jwk] };
  await verifying(script, async ({ client, provider, lines }) => {
    await assertRefused(client, await signInThrough(client, provider));
    assertMatch(reasons(lines), /The ID token of "op" cannot be verified: .*2048/);
  });
});

Deno.test("V4: with `true` a discovery document without jwks_uri says what to set", async () => {
  for (const jwks_uri of [undefined, null, "keys"]) {
    await requiring({ metadata: { jwks_uri } }, async ({ client, provider, lines }) => {
      await assertRefused(client, await signInThrough(client, provider));
      assertMatch(
        reasons(lines),
        /finds no keys of "op"\. .+names no `jwks_uri`\. .+set its `jwks_endpoint`/,
      );
    });
  }
});

Deno.test("endpoints that are configured: the keys are those of the issuer's document, or of jwks_endpoint", async () => {
  await verifying({}, assertSignsIn, manual);
  await verifying(forged, async ({ client, provider }) => {
    await assertRefused(client, await signInThrough(client, provider));
  }, manual);

  const answer = { discovery: nothing };
  await requiring({ answer }, async ({ client, provider, lines }) => {
    await assertRefused(client, await signInThrough(client, provider));
    assertMatch(reasons(lines), /finds no keys of "op"\. "op" answered 404 at .+set its `jwks_endpoint`/);
  }, manual);
  const withKeys = (issuer: string) => ({ ...manual(issuer), jwks_endpoint: `${issuer}${PATHS.jwks}` });
  await verifying({ answer }, assertSignsIn, withKeys);
  await verifying({ answer, ...forged }, async ({ client, provider }) => {
    await assertRefused(client, await signInThrough(client, provider));
  }, withKeys);
});

Deno.test("V1: what token.conform makes of a response is what is verified", async () => {
  const token = {
    conform: async (response: Response) => Response.json({ ...await response.json(), hidden: 1 }),
  };
  await verifying({}, assertSignsIn, { token });
  await verifying(forged, async ({ client, provider }) => {
    await assertRefused(client, await signInThrough(client, provider));
  }, { token });
  // An ID token that core would not find without it.
  const unwrap = {
    conform: async (response: Response) => {
      const { data, ...tokens } = await response.json();
      return Response.json({ ...tokens, id_token: data });
    },
  };
  await verifying({}, async ({ client, provider }) => {
    const { privateKey } = stranger;
    const tokens = () => ({ id_token: undefined, data: provider.idToken() });
    const started = new URL(provider.authorize(locationOf(await startSignIn(client))));
    provider.script = { sign: signWith(privateKey) };
    provider.script = { ...provider.script, tokens: tokens() };
    await assertRefused(client, await client.get(pathOf(started.href)));
  }, { token: unwrap });
});

Deno.test("settings of the application stand beside it: a token address, or null", async () => {
  const address = (issuer: string) => ({ options: { token: `${issuer}${PATHS.token}` } });
  for (const settings of [address, { token: null }, { options: { token: null } }, { profile: null }]) {
    await verifying({}, assertSignsIn, settings);
    await verifying(forged, async ({ client, provider }) => {
      await assertRefused(client, await signInThrough(client, provider));
    }, settings);
  }
});

Deno.test("V1: an account whose ID token is forged is not linked", async () => {
  const provider = await ScriptedProvider.start();
  await using _provider = provider;
  const linked: unknown[] = [];
  const { memoryAdapter } = await import("../../support/memory_adapter.ts");
  const parts = await oauthApp({ issuer: provider.issuer }, {
    adapter: memoryAdapter(),
    events: { linkAccount: (message) => void linked.push(message) },
  });
  await using _app = parts.app;
  const client = parts.browser();
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
  assertEquals(linked.length, 1);
  provider.script = { ...forged, claims: { sub: "eve" } };
  assertEquals(locationOf(await signInThrough(client, provider)), CONFIGURATION);
  assertEquals(linked.length, 1);
});

Deno.test("a refresh is not verified: nothing reads its ID token, and its refresh token must not be lost", async () => {
  // Refreshed at once, and valid for long enough after that.
  const tokens = { refresh_token: "a-refresh-token", expires_in: 20 };
  await using provider = await ScriptedProvider.start({ tokens });
  const { logger } = captureLog();
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const conformed: string[] = [];
  const conform = (response: Response) => void conformed.push(String(response.status));
  const auth = createAuth(testConfig({
    providers: [{ ...settings, issuer: provider.issuer, token: { conform } } as never],
    refreshTokens: true,
  }));
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/token", async (request) => ({ token: await auth.getAccessToken(request, "op") }));
  const client = new Client(app);
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
  provider.script = { ...forged, tokens: { ...tokens, access_token: "a-new-one" } };
  assertMatch((await client.get("/token")).body, /a-new-one/);
  assertEquals(conformed, ["200", "200"], "the application's own conform() is called for both");
});

Deno.test("a provider of OAuth without ID tokens is as it was", () =>
  verifying({ tokens: { id_token: undefined } }, async ({ client, provider }) => {
    assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
    assertEquals(keyRequests(provider), 0);
  }, oauthSettings));

Deno.test("keys are not fetched without TLS in production", () =>
  withEnvironment({ NODE_ENV: "production" }, async () => {
    const seen: string[] = [];
    const { customFetch } = await import("fastify-authjs");
    await using provider = await ScriptedProvider.start({ metadata: {} });
    const issuer = "https://op.example";
    const send: typeof fetch = async (input, init) => {
      const url = new URL(String(input));
      seen.push(url.href);
      const response = await fetch(`${provider.issuer}${url.pathname}`, init);
      return Response.json(JSON.parse((await response.text()).replaceAll(provider.issuer, issuer)));
    };
    provider.script = { claims: { iss: issuer }, metadata: { jwks_uri: "http://op.example/jwks" } };
    const { app, lines } = await oauthApp({ issuer, [customFetch]: send }, {
      origin: "http://localhost",
    });
    await using _app = app;
    const client = new Client(app);
    await assertRefused(client, await signInThrough(client, provider));
    assertMatch(reasons(lines), /"op" is not asked at http:\/\/op\.example\/jwks: NODE_ENV=production/);
    assertFalse(seen.some((url) => url.endsWith(PATHS.jwks)));
  }));

Deno.test("a jwks_endpoint without TLS stops the boot in production, unless insecureProviders names the provider", () =>
  withEnvironment({ NODE_ENV: "production" }, async () => {
    const settings = { issuer: "https://op.example", jwks_endpoint: "http://op.example/keys" };
    const overrides = { verifyIdTokens: true, origin: "https://app.example" };
    const error = await assertRejects(() => oauthApp(settings, overrides), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_PROVIDER_INVALID");
    assertMatch(error.message, /`jwks_endpoint` of the provider "op" .+`insecureProviders: \["op"\]`/);
    await using _app = (await oauthApp(settings, { ...overrides, insecureProviders: ["op"] })).app;
  }));

Deno.test("a real provider's signatures are verified, with each kind of key", async () => {
  const kinds = {
    RS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    PS256: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    ES256: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    ES384: generateKeyPairSync("ec", { namedCurve: "P-384" }),
    EdDSA: generateKeyPairSync("ed25519"),
  };
  const jwks = {
    keys: Object.entries(kinds).map(([alg, { privateKey }]) => (
      { ...privateKey.export({ format: "jwk" }), kid: alg, alg, use: "sig" }
    )),
  };
  const algorithms = [...Object.keys(kinds), "HS256"];
  await using provider = await startOpenIdProvider(
    algorithms.map((alg) => ({
      client_id: alg,
      client_secret: "secret-of-at-least-32-characters-for-hs256",
      redirect_uris: ["http://localhost/auth/callback/op"],
      id_token_signed_response_alg: alg as "RS256",
    })),
    {
      jwks: jwks as never,
      conformIdTokenClaims: false,
      enabledJWA: { idTokenSigningAlgValues: algorithms as never },
    },
  );
  for (const alg of algorithms) {
    const registered = alg === "RS256" ? {} : { client: { id_token_signed_response_alg: alg } };
    const clientSecret = "secret-of-at-least-32-characters-for-hs256";
    const settings = { issuer: provider.issuer, clientId: alg, clientSecret, ...registered };
    const { app, browser, lines } = await oauthApp(settings);
    await using _app = app;
    const client = browser();
    const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(client)));
    await client.get(pathOf(url));
    assertEquals(await signedInName(client), "Ada", `${alg}: ${reasons(lines)}`);
  }
});

Deno.test("the provider for tests signs in with it, too", async () => {
  await using issuer = await startIssuer();
  const { app, browser, lines } = await oauthApp({ issuer: issuer.url }, { verifyIdTokens: true });
  await using _app = app;
  const client = browser();
  const there = await fetch(locationOf(await startSignIn(client)), { redirect: "manual" });
  await there.body?.cancel();
  await client.get(pathOf(there.headers.get("location")!));
  assertEquals(await signedInName(client), "Ada", reasons(lines));
});

Deno.test("V2: a new key of the provider is noticed with the first token that names it", () =>
  verifying({}, async (parts) => {
    const { provider, browser } = parts;
    await assertSignsIn(parts);
    const { privateKey, publicKey } = stranger;
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "second", use: "sig" };
    provider.script = { header: { kid: "second" }, sign: signWith(privateKey), keys: [jwk] };
    for (let count = 0; count < 2; count++) await assertSignsIn({ ...parts, client: browser() });
    assertEquals(keyRequests(provider), 2);
  }));

Deno.test("V4: TLS stands for the signature if the provider publishes no keys", async () => {
  for (const jwks_uri of [undefined, null]) {
    await withProvider({ metadata: { jwks_uri }, ...forged }, async (parts) => {
      await assertSignsIn(parts);
      assertEquals(keyRequests(parts.provider), 0);
    });
  }
});

Deno.test("V4: configured endpoints need no discovery document, but one that cannot be had may name keys", async () => {
  const says = (status: number, body = "") => (_request: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, { "content-type": "text/html" }).end(body);
  for (const discovery of [says(404), says(403), says(302), says(200, "<h1>")]) {
    await withProvider({ answer: { discovery } }, assertSignsIn, manual);
  }
  const gone = ({ socket }: IncomingMessage) => void socket.destroy();
  for (const discovery of [says(500), says(503), gone]) {
    await withProvider({ answer: { discovery } }, async ({ client, provider, lines }) => {
      assertEquals((await signInThrough(client, provider)).statusCode, 503);
      assertMatch(reasons(lines), /keys of its ID tokens are found there, unless `jwks_endpoint` says/);
    }, manual);
  }
  // Another one than that of the issuer.
  await withProvider({ metadata: { issuer: "https://other.example" } }, async ({ client, provider }) => {
    await assertRefused(client, await signInThrough(client, provider));
  }, manual);
  // An issuer that is only compared.
  const named = (issuer: string) => ({ ...manual(issuer), issuer: "urn:op" });
  await withProvider({ claims: { iss: "urn:op" } }, async (parts) => {
    const { client, provider, lines } = parts;
    await signInThrough(client, provider);
    assertFalse(/jwks_endpoint/.test(reasons(lines)));
    assertFalse(provider.paths.includes(PATHS.discovery));
  }, named);
});

Deno.test("V6: with verifyIdTokens: false nothing is verified, and boot warns", async () => {
  const overrides = { verifyIdTokens: false };
  await withProvider(
    forged,
    async (parts) => {
      await assertSignsIn(parts);
      assertEquals(keyRequests(parts.provider), 0);
      const warnings = parts.lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
      assertEquals(warnings.length, 1);
      assertMatch(warnings[0]!, /are not verified, by `verifyIdTokens: false`/);
    },
    {},
    overrides,
  );
});

const EC = generateKeyPairSync("ec", { namedCurve: "P-256" });
const signEs256 = (input: string) =>
  sign("sha256", Buffer.from(input), { key: EC.privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url");
const ecJwk = { ...EC.publicKey.export({ format: "jwk" }), kid: "ec", use: "sig" };

Deno.test("V5: without a registered algorithm it is RS256, unless the provider says that it has only others", async () => {
  const es256: Script = { header: { alg: "ES256", kid: "ec" }, sign: signEs256, keys: [ecJwk] };
  const cases: [listed: unknown, script: Script, accepted: boolean][] = [
    [["RS256"], {}, true],
    [["ES256", "RS256", "HS256"], {}, true],
    [["ES256", "RS256", "HS256"], es256, false],
    [undefined, {}, true],
    [undefined, es256, false],
    [[], {}, true],
    [["none"], {}, true],
    [["ES256"], es256, true],
    [["ES384", "ES256", "HS256"], es256, true],
    [["ES256"], {}, false],
    [["HS256"], {}, false],
  ];
  for (const [listed, script, accepted] of cases) {
    const metadata = { id_token_signing_alg_values_supported: listed };
    await verifying({ metadata, ...script }, async (parts) => {
      const { client, provider, lines } = parts;
      if (accepted) return await assertSignsIn(parts);
      await assertRefused(client, await signInThrough(client, provider), JSON.stringify(listed));
      assertMatch(
        reasons(lines),
        /"[ER]S256" is not one that is expected\. If it is registered there, set `client: \{ id_token/,
      );
    });
  }
  const registered = { client: { id_token_signed_response_alg: "ES256" } };
  for (const listed of [["RS256", "ES256"], ["ES256"]]) {
    const metadata = { id_token_signing_alg_values_supported: listed };
    await verifying({ metadata, ...es256 }, assertSignsIn, registered);
    await verifying({ metadata }, async ({ client, provider }) => {
      await assertRefused(client, await signInThrough(client, provider));
    }, registered);
  }
});

Deno.test("V5: a token that is signed with an empty secret is refused, whether there is one or none", async () => {
  const sign = (input: string) => createHmac("sha256", "").update(input).digest("base64url");
  const script: Script = { header: { alg: "HS256", kid: undefined }, sign };
  const client = { id_token_signed_response_alg: "HS256" };
  for (
    const settings of [{ client }, {
      client: { ...client, token_endpoint_auth_method: "none" },
      clientSecret: undefined,
    }]
  ) {
    await withProvider(script, async ({ client, provider }) => {
      await assertRefused(client, await signInThrough(client, provider));
    }, settings);
  }
});

Deno.test("verifyIdTokens that is not true or false stops the boot", async () => {
  for (const verifyIdTokens of ["false", 1, null, {}]) {
    const config = testConfig({ verifyIdTokens: verifyIdTokens as never });
    const { code, message } = await assertRejects(() => testApp(config), FastifyAuthError);
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    assertMatch(message, /`verifyIdTokens` is .+: write true or false, or leave it out\./);
  }
});

Deno.test("a provider whose ID tokens cannot be verified stops the boot", async () => {
  const issuer = "https://op.example";
  const cases: [ProviderSettings, RegExp][] = [
    [
      manual(issuer),
      /needs the keys of the provider "op", and its `issuer` is not set: .+AUTH_OP_ISSUER.+`jwks_endpoint`/,
    ],
    [{ ...manual(issuer), issuer: "op" }, /`issuer` is no address/],
    [{ issuer, jwks_endpoint: "/keys" }, /`jwks_endpoint` is no address/],
    [{ issuer, jwks_endpoint: {} }, /`jwks_endpoint` is no address/],
    [{ issuer, client: { id_token_signed_response_alg: "none" } }, /of "op" that are signed with "none"/],
    [{ issuer, client: { id_token_signed_response_alg: "rs256" } }, /of "op" that are signed with "rs256"/],
    [{
      issuer,
      clientSecret: undefined,
      client: { id_token_signed_response_alg: "HS256", token_endpoint_auth_method: "none" },
    }, /needs the `clientSecret` of "op"/],
  ];
  for (const [settings, expected] of cases) {
    const error = await assertRejects(() => oauthApp(settings, { verifyIdTokens: true }), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_PROVIDER_INVALID");
    assertMatch(error.message, expected);
    // Without the option nothing is asked of the provider.
    await using _app = (await oauthApp(settings)).app;
  }
  const keys = { ...manual(issuer), jwks_endpoint: `${issuer}/keys` };
  const registered = { ...manual(issuer), client: { id_token_signed_response_alg: "HS512" } };
  for (const settings of [keys, registered, { issuer, jwks_endpoint: null }]) {
    await using _app = (await oauthApp(settings, { verifyIdTokens: true })).app;
  }
  assert(true);
});
