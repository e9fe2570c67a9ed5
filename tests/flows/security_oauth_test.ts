/** Rows A1 to A9: providers that hang, lie or are not asked at all. */
import { assert, assertEquals, assertFalse, assertLess, assertRejects, assertStringIncludes } from "@std/assert";
import { customFetch, type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import Apple from "fastify-authjs/providers/apple";
import GitHub from "fastify-authjs/providers/github";
import Keycloak from "fastify-authjs/providers/keycloak";
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { captureLog, testApp, testConfig } from "../support/app.ts";
import { attemptsOf } from "../support/attempts.ts";
import { type Answer, type Client, setCookies } from "../support/client.ts";
import { withClock } from "../support/clock.ts";
import { withEnvironment } from "../support/environment.ts";
import {
  clearedCookies,
  locationOf,
  oauthApp,
  pathOf,
  type ProviderSettings,
  reasons,
  signedInName,
  startSignIn,
} from "../support/oauth_client.ts";
import { ALL_CHECKS, oauthSettings, signInThrough, withProvider } from "../support/scripted_sign_in.ts";
import { PATHS, type Script, ScriptedProvider } from "../support/scripted_provider.ts";

const ERROR_PAGE = "http://localhost/auth/error?error=Configuration";
const EXPIRED_PAGE = `${ERROR_PAGE}&code=sign_in_expired`;

/** The callback is of no sign-in that this browser has begun. */
function assertExpired(client: Client, answer: Answer, what: string): Promise<void> {
  return assertFailed(client, answer, what, EXPIRED_PAGE);
}

async function assertFailed(client: Client, answer: Answer, what: string, page = ERROR_PAGE): Promise<void> {
  assertEquals(answer.statusCode, 302, what);
  assertEquals(locationOf(answer), page, what);
  assertEquals(await signedInName(client), undefined, what);
}

/** The provider is silent: 503 in Fastify's shape, which names the provider and nothing of the request. */
async function assertSilent(client: Client, answer: Answer, what: string): Promise<void> {
  assertEquals(answer.statusCode, 503, what);
  const { code, message } = answer.json<{ code: string; message: string }>();
  assertEquals([code, message], [
    "FST_AUTHJS_UNAVAILABLE",
    'The provider "op" did not answer. Try again in a moment.',
  ], what);
  assertEquals(await signedInName(client), undefined, what);
  assertEquals(attemptsOf(client), [], what);
}

/** The provider did something wrong: 503, and no session. */
async function assertUnavailable(client: Client, answer: Answer, what: string): Promise<void> {
  assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"], what);
  assertEquals(await signedInName(client), undefined, what);
}

/** Where nothing listens: a port that was given back. */
const GONE = await ScriptedProvider.start().then(async (provider) => {
  const { issuer } = provider;
  await provider[Symbol.asyncDispose]();
  return issuer;
});

const hang = () => {};
const stall = (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(200, { "content-type": "application/json" });
  response.write('{"access_token":');
};

Deno.test("A1: discovery that hangs, or whose body stalls, is the documented 503", async () => {
  for (const discovery of [hang, stall]) {
    await withProvider(
      { answer: { discovery } },
      async ({ client, lines }) => {
        await assertSilent(client, await startSignIn(client), "sign-in");
        assertStringIncludes(reasons(lines), '"op" did not answer in full within 150 ms');
      },
      {},
      { providerTimeout: 150 },
    );
  }
});

Deno.test("A1: a token or userinfo endpoint that hangs, or whose body stalls, is the documented 503", async () => {
  for (const endpoint of ["token", "userinfo"] as const) {
    for (const behaviour of [hang, stall]) {
      await withProvider(
        { answer: { [endpoint]: behaviour } },
        async ({ client, lines, provider }) => {
          await assertSilent(client, await signInThrough(client, provider), endpoint);
          assertStringIncludes(
            reasons(lines),
            `"op" did not answer in full within 500 ms at ${provider.issuer}`,
          );
        },
        { idToken: false },
        { providerTimeout: 500 },
      );
    }
  }
});

Deno.test("A1: a provider that is gone is the documented 503, at every step that asks it", async () => {
  const { app, browser, lines } = await oauthApp({ issuer: GONE });
  await using _app = app;
  await assertSilent(browser(), await startSignIn(browser()), "discovery");
  assertStringIncludes(reasons(lines), `"op" cannot be reached at ${GONE}`);
  const script = { headers: { "x-auth-return-redirect": "1" } };
  const answer = await startSignIn(browser(script.headers));
  assertEquals(
    [answer.statusCode, answer.json().code],
    [503, "FST_AUTHJS_UNAVAILABLE"],
    "for a script as well",
  );

  for (const endpoint of ["token", "userinfo"] as const) {
    await withProvider({}, async ({ provider }) => {
      const send: typeof fetch = (input, init) => {
        const url = String(input instanceof Request ? input.url : input);
        return fetch(url.endsWith(PATHS[endpoint]) ? `${GONE}${PATHS[endpoint]}` : input, init);
      };
      const parts = await oauthApp({
        issuer: provider.issuer,
        checks: ALL_CHECKS,
        idToken: false,
        [customFetch]: send,
      });
      await using _app = parts.app;
      const client = parts.browser();
      const answer = await signInThrough(client, provider);
      await assertSilent(client, answer, endpoint);
      assertEquals(attemptsOf(clearedCookies(answer)).length, 1, endpoint);
    });
  }
});

Deno.test("a provider that answers that it cannot answer now is the documented 503, at every step", async () => {
  const temporary = '{"error":"temporarily_unavailable","error_description":"in maintenance"}';
  for (const endpoint of ["discovery", "token", "userinfo"] as const) {
    for (
      const [status, body] of [[429, ""], [502, "<h1>"], [503, temporary], [504, "{}"], [
        400,
        temporary,
      ]] as const
    ) {
      const what = `${endpoint} ${status}`;
      const answer = (_request: IncomingMessage, response: ServerResponse) =>
        response.writeHead(status, { "content-type": "application/json" }).end(body);
      await withProvider({ answer: { [endpoint]: answer } }, async ({ client, provider, lines }) => {
        const reply = endpoint === "discovery" ? await startSignIn(client) : await signInThrough(client, provider);
        assertEquals(reply.statusCode, 503, what);
        const { code, message } = reply.json<{ code: string; message: string }>();
        assertEquals(code, "FST_AUTHJS_UNAVAILABLE", what);
        assertEquals(message, `The provider "op" answered ${status}. Try again in a moment.`, what);
        assertEquals(await signedInName(client), undefined, what);
        assertEquals(attemptsOf(client), [], what);
        assertStringIncludes(
          reasons(lines),
          `"op" answered ${status} at ${provider.issuer}${PATHS[endpoint]}`,
        );
        if (body === temporary) {
          assertStringIncludes(reasons(lines), "temporarily_unavailable, in maintenance");
        }
      }, { idToken: false });
    }
  }
});

Deno.test("a code that a provider refuses with 503 is refused, not a reason to try again", async () => {
  const token = (_request: IncomingMessage, response: ServerResponse) =>
    response.writeHead(503, { "content-type": "application/json" }).end('{"error":"invalid_grant"}');
  await withProvider({ answer: { token } }, async ({ client, provider }) => {
    await assertFailed(client, await signInThrough(client, provider), "invalid_grant");
  });
});

Deno.test("members of a token response that are null count as absent", async () => {
  const absent = { refresh_token: null, scope: null, expires_in: null, session_state: null };
  const accounts: unknown[] = [];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    signIn: ({ account }) => {
      accounts.push(Object.keys(account!).filter((name) => name in { ...absent, id_token: null }));
      return true;
    },
  };
  await withProvider(
    { tokens: absent },
    async ({ client, provider }) => {
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), "Ada");
    },
    {},
    { callbacks },
  );
  await withProvider(
    { tokens: { ...absent, id_token: null } },
    async ({ client, provider }) => {
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), "Ada of userinfo");
    },
    oauthSettings,
    { callbacks },
  );
  assertEquals(accounts, [["id_token"], []]);
});

Deno.test("A1: functions of a provider that send requests themselves are bounded, too", async () => {
  const never = () => new Promise<never>(() => {});
  const cases: ProviderSettings[] = [
    { type: "oauth", userinfo: { request: never } },
    { profile: never },
    { token: { conform: never } },
    { type: "oauth", userinfo: { request: () => fetch(GONE) } },
  ];
  for (const settings of cases) {
    await withProvider({}, async ({ client, provider }) => {
      const { issuer } = provider;
      const { userinfo, token, type } = settings as Record<string, object | string>;
      const endpoints = type === "oauth" || token
        ? {
          authorization: `${issuer}/authorize`,
          token: { url: `${issuer}${PATHS.token}`, ...token as object },
          userinfo: { url: `${issuer}${PATHS.userinfo}`, ...userinfo as object },
        }
        : {};
      const parts = await oauthApp({ issuer, ...settings, ...endpoints }, { providerTimeout: 500 });
      await using _app = parts.app;
      client = parts.browser();
      const answer = await signInThrough(client, provider);
      await assertSilent(client, answer, Object.keys(settings).join());
      assert(/"op" was not done with|of "op" could not reach/.test(reasons(parts.lines)));
    });
  }
});

Deno.test("A1: a customFetch that ignores its signal is bounded, too", async () => {
  const deaf = (() => new Promise<Response>(() => {})) as typeof fetch;
  await withProvider(
    {},
    async ({ client }) => {
      await assertSilent(client, await startSignIn(client), "sign-in");
    },
    { [customFetch]: deaf },
    { providerTimeout: 150 },
  );
});

Deno.test("A1: providerTimeout is a number of milliseconds, or a boot error", async () => {
  for (const providerTimeout of [-1, NaN, Infinity, "5s" as unknown as number]) {
    const error = await assertRejects(() => testApp(testConfig({ providerTimeout })), FastifyAuthError);
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
    assertStringIncludes(error.message, "providerTimeout");
  }
});

Deno.test("A2: whatever else the token endpoint answers is a 503, unless it refuses the code", async () => {
  const answers: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    html: (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1>"),
    "500": (_request, response) => response.writeHead(500).end("down"),
    "500 with JSON": (_request, response) =>
      response.writeHead(500, { "content-type": "application/json" }).end('{"error":"server_error"}'),
    "400 invalid_grant": (_request, response) =>
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    reset: (request) => request.socket.destroy(),
    truncated: (request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
      response.write('{"access_token":"x"', () => request.socket.destroy());
    },
    empty: (_request, response) => response.writeHead(204).end(),
  };
  for (const [what, token] of Object.entries(answers)) {
    await withProvider({ answer: { token } }, async ({ client, provider }) => {
      const check = what.startsWith("400") ? assertFailed : assertUnavailable;
      await check(client, await signInThrough(client, provider), what);
    });
  }
});

Deno.test("A2: a redirect of the token endpoint is not followed: the client secret stays where it was sent", async () => {
  await using elsewhere = await ScriptedProvider.start();
  for (const status of [302, 307, 308]) {
    const token = (_request: IncomingMessage, response: ServerResponse) =>
      response.writeHead(status, { location: `${elsewhere.issuer}${PATHS.token}` }).end();
    await withProvider({ answer: { token } }, async ({ client, provider }) => {
      await assertUnavailable(client, await signInThrough(client, provider), String(status));
    });
  }
  assertEquals(elsewhere.requests, []);
});

Deno.test("A2: a response of 200 MB is read up to the cap", async () => {
  const total = 200 * 1024 * 1024;
  let sent = 0;
  const endless = (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": String(total) });
    const block = Buffer.alloc(64 * 1024, " ");
    const more = () => {
      while (sent < total && !response.destroyed) {
        sent += block.length;
        if (!response.write(block)) return void response.once("drain", more);
      }
    };
    more();
  };
  for (const endpoint of ["token", "discovery", "userinfo"] as const) {
    sent = 0;
    await withProvider({ answer: { [endpoint]: endless } }, async ({ client, provider, lines }) => {
      const started = await startSignIn(client);
      const answer = endpoint === "discovery"
        ? started
        : await client.get(pathOf(provider.authorize(locationOf(started))));
      await assertUnavailable(client, answer, endpoint);
      assertStringIncludes(reasons(lines), "over 1048576 bytes");
      // What lies in the buffers of two sockets may have been sent besides.
      assertLess(sent, 50 * 1024 * 1024);
    }, { idToken: false });
  }
});

Deno.test("A2: the error page of a userinfo endpoint is not read as a profile", async () => {
  const userinfo = (_request: IncomingMessage, response: ServerResponse) =>
    response.writeHead(401, { "content-type": "application/json" }).end('{"message":"Bad credentials"}');
  await withProvider({ answer: { userinfo } }, async ({ provider }) => {
    const { issuer } = provider;
    const endpoints = {
      authorization: `${issuer}/authorize`,
      token: `${issuer}${PATHS.token}`,
      userinfo: `${issuer}${PATHS.userinfo}`,
    };
    provider.script.tokens = { id_token: undefined };
    const { app, browser, lines } = await oauthApp({ type: "oauth", issuer, ...endpoints });
    await using _app = app;
    const client = browser();
    await assertFailed(client, await signInThrough(client, provider), "userinfo");
    assertStringIncludes(reasons(lines), `"op" answered 401 at ${issuer}${PATHS.userinfo}`);
  });
});

Deno.test("A3: an ID token with a claim that is wrong, or without it, is refused", async () => {
  const now = Math.floor(Date.now() / 1000);
  const wrong: Record<string, Record<string, unknown>> = {
    "iss of another": { iss: "https://evil.example" },
    "no iss": { iss: undefined },
    "aud of another": { aud: "another-client" },
    "aud of others besides": { aud: ["client", "another-client"] },
    "no aud": { aud: undefined },
    "exp in the past": { exp: now - 3600 },
    "no exp": { exp: undefined },
    "nonce of another": { nonce: "another" },
    "no nonce": { nonce: undefined },
    "no sub": { sub: undefined },
    "sub is no string": { sub: 42 },
    "nbf in the future": { nbf: now + 3600 },
  };
  for (const [what, claims] of Object.entries(wrong)) {
    await withProvider({ claims }, async ({ client, provider }) => {
      await assertFailed(client, await signInThrough(client, provider), what);
    });
  }
});

Deno.test("A3: an ID token signed with HS256 or not at all is refused", async () => {
  for (const alg of ["HS256", "none", "None", "", undefined]) {
    await withProvider({ header: { alg }, sign: () => "" }, async ({ client, provider }) => {
      await assertFailed(client, await signInThrough(client, provider), String(alg));
    });
  }
});

Deno.test("A3: with all of it right the user is signed in", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const answer = await signInThrough(client, provider);
    assertEquals(answer.statusCode, 302);
    assertEquals(locationOf(answer), "http://localhost");
    assertEquals(await signedInName(client), "Ada");
  });
});

Deno.test("A4: an issuer or endpoint without TLS is a boot error in production, and only there", async () => {
  const plain = "http://idp.example";
  const own = { id: "op", name: "OP", type: "oidc", clientId: "client", issuer: "https://idp.example" };
  const cases: Record<string, unknown> = {
    issuer: { ...own, issuer: plain },
    "issuer of a built-in": Keycloak({ clientId: "client", issuer: plain }),
    wellKnown: { ...own, wellKnown: `${plain}/.well-known/openid-configuration` },
    authorization: { ...own, authorization: `${plain}/authorize` },
    "authorization.url": {
      ...own,
      authorization: { url: `${plain}/authorize`, params: { scope: "openid" } },
    },
    token: { ...own, token: `${plain}/token` },
    userinfo: { ...own, userinfo: { url: `HTTP://idp.example/userinfo` } },
    "an endpoint under options": { ...own, options: { token: { url: `${plain}/token` } } },
    "a URL with options beside it": {
      ...own,
      token: { url: `${plain}/token` },
      options: { token: { params: { a: "b" } } },
    },
  };
  for (const [what, provider] of Object.entries(cases)) {
    const config = () => testConfig({ providers: [provider as FastifyAuthConfig["providers"][number]] });
    await withEnvironment({ NODE_ENV: "production" }, async () => {
      const error = await assertRejects(() => testApp(config()), FastifyAuthError, undefined, what);
      assertEquals(error.code, "FST_AUTHJS_PROVIDER_INVALID", what);
      assertStringIncludes(error.message, "without TLS");
    });
    await withEnvironment({}, async () => {
      await using _app = await testApp(config());
    });
  }
});

Deno.test("A4: an issuer of the environment without TLS is a boot error in production", async () => {
  const environment = { NODE_ENV: "production", AUTH_KEYCLOAK_ISSUER: "http://idp.example" };
  await withEnvironment(environment, async () => {
    const error = await assertRejects(() => testApp(testConfig({ providers: [Keycloak] })), FastifyAuthError);
    assertStringIncludes(error.message, "http://idp.example");
  });
});

Deno.test("A4: an endpoint without TLS in the discovery document is refused in production", async () => {
  const issuer = "https://idp.example";
  const endpoints = {
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
  };
  const secureEnvironment = { NODE_ENV: "production" };
  for (const endpoint of [undefined, ...Object.keys(endpoints)]) {
    const document = { issuer, ...endpoints, ...(endpoint && { [endpoint]: "http://idp.example/plain" }) };
    const asked: string[] = [];
    const answer = ((url: string) => {
      asked.push(url);
      return Promise.resolve(Response.json(document));
    }) as typeof fetch;
    await withEnvironment(secureEnvironment, async () => {
      const { app, browser, lines } = await oauthApp({ issuer, [customFetch]: answer });
      await using _app = app;
      const started = await startSignIn(browser());
      assertEquals(asked, [`${issuer}${PATHS.discovery}`]);
      if (endpoint === undefined) {
        assert(locationOf(started).startsWith(`${issuer}/authorize?`));
      } else {
        assertEquals(locationOf(started), ERROR_PAGE);
        assertStringIncludes(reasons(lines), `its ${endpoint} is not https`);
      }
    });
  }
});

Deno.test("A4: an unsigned token of a provider that advertises `alg: none` is refused", async () => {
  const lists = [["none"], ["RS256", "none"], ["NONE"]];
  for (const id_token_signing_alg_values_supported of lists) {
    const script: Script = {
      metadata: { id_token_signing_alg_values_supported },
      header: { alg: id_token_signing_alg_values_supported.at(-1) },
      sign: () => "",
    };
    await withProvider(script, async ({ client, provider }) => {
      await assertFailed(client, await signInThrough(client, provider), "unsigned");
    });
  }
});

Deno.test("A4: a provider that also advertises `alg: none` still signs in with a signature", async () => {
  const script = { metadata: { id_token_signing_alg_values_supported: ["RS256", "none"] } };
  await withProvider(script, async ({ client, provider }) => {
    await signInThrough(client, provider);
    assertEquals(await signedInName(client), "Ada");
  });
});

Deno.test("A5: 20 callbacks without cookies send no request", async () => {
  await withProvider({}, async ({ browser, provider, lines }) => {
    const callbacks = Array.from({ length: 20 }, async (_, i) => {
      const client = browser();
      await assertExpired(client, await client.get(`/auth/callback/op?code=${i}&state=x`), "no cookies");
    });
    await Promise.all(callbacks);
    assertEquals(provider.requests, []);
    assertStringIncludes(
      reasons(lines),
      'InvalidCheck: The callback of "op" came with no cookie for "state"',
    );
    assertFalse(lines.some(({ level }) => level >= 50), "a stranger's request is not an error of ours");
  });
});

Deno.test("A5: cookies that are forged, or the provider's own error, make no difference", async () => {
  await withProvider({}, async ({ browser, provider }) => {
    const other = browser();
    await startSignIn(other);
    const cookie = attemptsOf(other).map((name) => `${name}=forged`).join("; ");
    const { requests: { length } } = provider;
    for (const query of ["code=a&state=b", "error=access_denied&state=b", "error=access_denied", ""]) {
      for (const headers of [{}, { cookie }]) {
        const client = browser();
        await assertExpired(client, await client.get(`/auth/callback/op?${query}`, { headers }), query);
      }
    }
    assertEquals(provider.requests.length, length);
  });
});

Deno.test("A5: the refusal is answered as core answers: to its own error page, or in JSON to a script", async () => {
  await withProvider(
    {},
    async ({ browser }) => {
      const client = browser();
      const answer = await client.get("/auth/callback/op?code=a&state=b");
      assertEquals(locationOf(answer), "http://localhost/oops?error=Configuration&code=sign_in_expired");
      const headers = { "x-auth-return-redirect": "1" };
      const script = await client.get("/auth/callback/op?code=a&state=b", { headers });
      assertEquals(script.json(), { url: "http://localhost/oops?error=Configuration&code=sign_in_expired" });
    },
    {},
    { pages: { error: "/oops" } },
  );
});

Deno.test("the page of a sign-in that expired says so, and leads back to its start", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    // The user was too long at the provider.
    const address = provider.authorize(locationOf(await startSignIn(client)));
    client.cookies.delete(attemptsOf(client)[0]!);
    for (const each of [client, browser()]) {
      const page = await each.get(pathOf(locationOf(await each.get(pathOf(address)))));
      assertEquals(page.statusCode, 200);
      assertStringIncludes(page.body, "<h1>Your sign-in has expired</h1>");
      assertStringIncludes(page.body, 'href="/auth/signin"');
      const headers = { accept: "application/json" };
      const script = await each.get(pathOf(address), { headers });
      assertEquals([script.statusCode, script.json()], [401, {
        error: "Configuration",
        code: "sign_in_expired",
      }]);
    }
    const german = { "accept-language": "de" };
    const page = await client.get("/auth/error?error=Configuration&code=sign_in_expired", {
      headers: german,
    });
    assertStringIncludes(page.body, "<h1>Ihre Anmeldung ist abgelaufen</h1>");
    const failed = await client.get("/auth/error?error=Configuration&code=provider_failed");
    assertStringIncludes(failed.body, "<h1>Please try again in a moment</h1>");
  });
});

Deno.test("the error page takes a code only with the error that it belongs to", async () => {
  await withProvider({}, async ({ client }) => {
    for (const query of ["error=Configuration&code=x", "error=Configuration&code=toString"]) {
      assertStringIncludes(
        (await client.get(`/auth/error?${query}`)).body,
        "Signing in does not work right now",
      );
    }
    const other = await client.get("/auth/error?error=AccessDenied&code=sign_in_expired");
    assertStringIncludes(other.body, "You do not have access");
  });
});

/** A callback with cookies of the test's choosing. */
function callback(client: Client, address: string, cookies: ReadonlyMap<string, string>): Promise<Answer> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return client.get(pathOf(address), { headers: { cookie } });
}

Deno.test("A6: a callback without one of its cookies fails before a request leaves, and clears no other", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const address = provider.authorize(locationOf(await startSignIn(client)));
    client.cookies.delete(attemptsOf(client)[0]!);
    await startSignIn(client);
    const { requests: { length } } = provider;
    const answer = await callback(client, address, client.cookies);
    assertEquals(locationOf(answer), EXPIRED_PAGE);
    assertEquals([clearedCookies(answer), attemptsOf(client).length], [[], 1]);
    assertEquals(provider.requests.length, length);
  });
});

Deno.test("A6: a callback without a code fails before a request leaves, and is no error of the server", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    const address = new URL(provider.authorize(locationOf(await startSignIn(client))));
    const { requests: { length } } = provider;
    address.searchParams.delete("code");
    assertEquals(locationOf(await callback(client, address.href, client.cookies)), ERROR_PAGE);
    assertEquals(provider.requests.length, length);
    assertEquals(lines.filter(({ level }) => level >= 50), []);
  });
});

Deno.test("A6: cookies of another provider or of another sign-in fail, and only the one that the state leads to is cleared", async () => {
  await withProvider({}, async ({ provider }) => {
    const { issuer } = provider;
    const shared = { name: "OP", type: "oidc" as const, clientId: "client", clientSecret: "secret", issuer };
    const providers = ["op", "other"].map((id) => ({ ...shared, id, checks: ALL_CHECKS }));
    const { app, browser } = await oauthApp({}, { providers: providers as FastifyAuthConfig["providers"] });
    await using _app = app;
    const [client, second] = [browser(), browser()];
    const address = provider.authorize(locationOf(await startSignIn(client, "op")));
    const cookies = new Map(client.cookies);
    const attempts = attemptsOf(client);
    const { requests: { length } } = provider;

    const elsewhere = await callback(client, address.replace("/op?", "/other?"), cookies);
    assertEquals(locationOf(elsewhere), EXPIRED_PAGE);
    assertEquals(clearedCookies(elsewhere), attempts);

    await startSignIn(second, "op");
    const mixed = await callback(second, address, second.cookies);
    assertEquals(locationOf(mixed), EXPIRED_PAGE);
    assertEquals(clearedCookies(mixed), []);

    assertEquals(provider.requests.length, length, "neither reached the provider");
  });
});

Deno.test("A6: state, nonce and PKCE cookies cannot stand in for each other", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const address = provider.authorize(locationOf(await startSignIn(client)));
    const second = browser();
    await startSignIn(second);
    const cookies = new Map([[attemptsOf(client)[0]!, second.cookies.get(attemptsOf(second)[0]!)!]]);
    assertEquals(locationOf(await callback(client, address, cookies)), EXPIRED_PAGE);
  });
});

Deno.test("A6: a failure at the token endpoint clears the check cookies, and a replay finds none", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const address = provider.authorize(locationOf(await startSignIn(client)));
    provider.script.answer = {
      token: (_request, response) =>
        response.writeHead(400, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    };
    const attempts = attemptsOf(client);
    const answer = await client.get(pathOf(address));
    await assertFailed(client, answer, "invalid_grant");
    assertEquals(clearedCookies(answer), attempts);

    provider.script.answer = {};
    const { requests: { length } } = provider;
    await assertExpired(client, await client.get(pathOf(address)), "replay");
    assertEquals(provider.requests.length, length);
  });
});

Deno.test("A6: success clears the check cookies once each, and a replay in the same browser changes nothing", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const address = provider.authorize(locationOf(await startSignIn(client)));
    const attempts = attemptsOf(client);
    const answer = await client.get(pathOf(address));
    assertEquals(clearedCookies(answer), attempts);
    const { length } = provider.requests;
    const replayed = await client.get(pathOf(address));
    assertEquals([locationOf(replayed), clearedCookies(replayed)], ["http://localhost", []]);
    assertEquals(await signedInName(client), "Ada", "who is signed in stays signed in");
    client.cookies.delete("authjs.session-token");
    assertEquals(locationOf(await client.get(pathOf(address))), EXPIRED_PAGE);
    assertEquals([await signedInName(client), provider.requests.length], [undefined, length]);
  });
});

Deno.test("A6: a user who declines at the provider is back at the sign-in page, without check cookies", async () => {
  await withProvider({}, async ({ client, provider }) => {
    const address = new URL(provider.authorize(locationOf(await startSignIn(client))));
    address.searchParams.delete("code");
    address.searchParams.set("error", "access_denied");
    const attempts = attemptsOf(client);
    const answer = await client.get(pathOf(address.href));
    assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
    assertEquals(clearedCookies(answer), attempts);
    assertFalse(provider.paths.includes(PATHS.token));
  });
});

Deno.test("A6: check cookies are cleared with the attributes that the application gave them", async () => {
  const cookies = { state: { name: "my-state", options: { path: "/auth", domain: "localhost" } } };
  await withProvider(
    {},
    async ({ client, provider }) => {
      const address = provider.authorize(locationOf(await startSignIn(client)));
      const answer = await client.get(pathOf(address).replace("code=", "no="));
      assertEquals(locationOf(answer), ERROR_PAGE);
      const [line] = setCookies(answer).filter((line) => line.startsWith("my-state."));
      assertStringIncludes(line!, "Max-Age=0");
      assertStringIncludes(line!, "Path=/auth");
      assertStringIncludes(line!, "Domain=localhost");
      assertStringIncludes(line!, "HttpOnly");
    },
    { checks: ["state"] },
    { cookies },
  );
});

Deno.test("A6: a profile that cannot be read leads to the sign-in page, not to the callback once more", async () => {
  const profile = () => {
    throw new Error("no such field");
  };
  await withProvider({}, async ({ client, provider }) => {
    const answer = await signInThrough(client, provider);
    assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
    assertEquals(attemptsOf(clearedCookies(answer)).length, 1);
  }, { profile });
});

Deno.test("A6: a profile that cannot be read is a failure for a script, too, and logged once", async () => {
  const profile = () => {
    throw new Error("no such field");
  };
  await withProvider({}, async ({ client, provider, lines }) => {
    const url = provider.authorize(locationOf(await startSignIn(client)));
    const answer = await client.get(pathOf(url), { headers: { accept: "application/json" } });
    assertEquals([answer.statusCode, answer.json()], [500, { error: "OAuthCallbackError" }]);
    assertEquals(lines.filter(({ level }) => level >= 40).map(({ msg }) => msg), [
      "Auth.js: OAuthProfileParseError: no such field",
    ]);
  }, { profile });
});

Deno.test("A7: a provider without checks is named at boot", async () => {
  const warned = async (checks: string[] | undefined) => {
    const { logger, lines } = captureLog();
    const provider = GitHub({
      clientId: "id",
      clientSecret: "secret",
      ...(checks && { checks: checks as ["none"] }),
    });
    await using _app = await testApp(testConfig({ providers: [provider] }), { logger });
    return lines.filter(({ level, msg }) => level === 40 && msg.includes('"github"') && msg.includes("login CSRF"));
  };
  assertEquals((await warned(["none"])).length, 1);
  assertEquals((await warned([])).length, 1);
  assertEquals((await warned(["state"])).length, 0);
  assertEquals((await warned(undefined)).length, 0);
});

Deno.test("A7: the provider without checks works, which is what the warning is about", async () => {
  await withProvider({}, async ({ client, provider }) => {
    // The browser that comes back did not start the sign-in.
    await client.get("/auth/csrf");
    const answer = await client.get("/auth/callback/op?code=of-another-user");
    assertEquals(answer.statusCode, 302);
    assertEquals(await signedInName(client), "Ada");
    assertEquals(provider.paths, [PATHS.discovery, PATHS.token, PATHS.jwks]);
  }, { checks: ["none"] });
});

/** The attributes of each cookie that an answer sets. */
function attributes(answer: Answer): Record<string, string> {
  return Object.fromEntries(
    setCookies(answer).map((line) => {
      const [pair = "", ...rest] = line.split("; ");
      return [
        pair.split("=")[0],
        rest.filter((part) => /^(?:SameSite|Secure)/i.test(part)).sort().join("; "),
      ];
    }),
  );
}

const FORM_POST = { authorization: { params: { response_mode: "form_post", scope: "openid" } } };

Deno.test("A8: with form_post the check cookies are SameSite=None and Secure, and no others", async () => {
  const secureOrigin = { origin: "https://app.example" };
  await withProvider(
    {},
    async ({ client, provider }) => {
      // A user of the same browser may be signed in already: that cookie stays as it is, too.
      const csrf = await client.get("/auth/csrf");
      assertEquals(Object.values(attributes(csrf)).every((value) => value === "SameSite=Lax; Secure"), true);
      const started = await startSignIn(client);
      const set = attributes(started);
      const checks = attemptsOf(Object.keys(set));
      assertEquals([checks.length, set[checks[0]!]], [1, "SameSite=None; Secure"]);
      for (const name of Object.keys(set).filter((name) => !checks.includes(name))) {
        assertEquals(set[name], "SameSite=Lax; Secure", name);
      }

      const address = new URL(provider.authorize(locationOf(started)));
      const answer = await client.post("/auth/callback/op", Object.fromEntries(address.searchParams));
      // Chunks of a session before, which the form could not bring along, are removed too.
      const cleared = clearedCookies(answer).filter((name) => !name.includes("session-token."));
      assertEquals(cleared, checks);
      const ended = attributes(answer);
      for (const name of checks) assertEquals(ended[name], "SameSite=None; Secure", name);
      assertEquals(ended["__Secure-authjs.session-token"], "SameSite=Lax; Secure");
      assertEquals(await signedInName(client), "Ada");
    },
    FORM_POST,
    secureOrigin,
  );
});

Deno.test("A8: a form_post that brings the check cookies alone leads to the callback URL", async () => {
  const through = async (client: Client, provider: ScriptedProvider, callbackUrl: string) => {
    const started = await startSignIn(client, "op", { callbackUrl });
    const address = new URL(provider.authorize(locationOf(started)));
    const sent = attemptsOf(client).map((name) => [name, client.cookies.get(name)!] as const);
    assertEquals(sent.map(([, value]) => value.length <= 4000), [true]);
    const answer = await client.post("/auth/callback/op", Object.fromEntries(address.searchParams), {
      cookie: sent.map(([name, value]) => `${name}=${value}`).join("; "),
    });
    return locationOf(answer);
  };
  await withProvider(
    {},
    async ({ client, provider }) => {
      for (const path of ["/reports?year=2026", "/", `/${"long".repeat(500)}`]) {
        assertEquals(await through(client, provider, path), `https://app.example${path}`);
        assertEquals(await signedInName(client), "Ada");
      }
    },
    FORM_POST,
    { origin: "https://app.example" },
  );
  // What leads elsewhere is for the `redirect` callback to decide, as ever.
  const redirect = ({ baseUrl }: { baseUrl: string }) => `${baseUrl}/home`;
  await withProvider(
    {},
    async ({ client, provider }) => {
      assertEquals(await through(client, provider, "/reports"), "https://app.example/home");
    },
    FORM_POST,
    { origin: "https://app.example", callbacks: { redirect } },
  );
});

Deno.test("A8: the next sign-in with another provider has Lax cookies again", async () => {
  await withProvider({}, async ({ provider }) => {
    const { issuer } = provider;
    const shared = { name: "OP", type: "oidc" as const, clientId: "client", issuer, checks: ALL_CHECKS };
    const providers = [{ ...shared, id: "form", ...FORM_POST }, { ...shared, id: "op" }];
    const overrides = {
      origin: "https://app.example",
      providers: providers as FastifyAuthConfig["providers"],
    };
    const { app, browser } = await oauthApp({}, overrides);
    await using _app = app;
    await startSignIn(browser(), "form");
    const set = attributes(await startSignIn(browser(), "op"));
    assertEquals(attemptsOf(Object.keys(set)).map((name) => set[name]), ["SameSite=Lax; Secure"]);
  });
});

Deno.test("A8: a form without its cookies is refused before a request leaves", async () => {
  await withProvider({}, async ({ client, provider }) => {
    await assertExpired(client, await client.post("/auth/callback/op", { code: "a", state: "b" }), "POST");
    await assertExpired(client, await client.get("/auth/callback/op?code=a&state=b"), "GET");
    assertEquals(provider.requests, []);
  }, FORM_POST);
});

Deno.test("A8: form_post over http is warned of at boot, except on loopback", async () => {
  const warned = async (origin: string) => {
    const settings = { issuer: "https://idp.example", ...FORM_POST };
    const { app, lines } = await oauthApp(settings, { origin });
    await using _app = app;
    return lines.some(({ level, msg }) => level === 40 && msg.includes("form_post") && msg.includes('"op"'));
  };
  assertEquals(await warned("http://app.example"), true);
  assertEquals(await warned("http://localhost:3000"), false);
  assertEquals(await warned("http://127.0.0.1:3000"), false);
  assertEquals(await warned("https://app.example"), false);
});

Deno.test("A8: over http the check cookies are still Secure: a browser keeps them on loopback, and nowhere else", async () => {
  await withProvider({}, async ({ client }) => {
    assertEquals(attributes(await client.get("/auth/csrf"))["authjs.callback-url"], "SameSite=Lax");
    const set = attributes(await startSignIn(client));
    assertEquals(attemptsOf(Object.keys(set)).map((name) => set[name]), ["SameSite=None; Secure"]);
  }, FORM_POST);
});

Deno.test("A8: Apple answers with a form whatever else an application sets", async () => {
  const apple = Apple({
    clientId: "id",
    clientSecret: "secret",
    authorization: { params: { scope: "name" } },
  });
  const { app, browser, lines } = await oauthApp({}, {
    origin: "http://app.example",
    providers: [{
      ...apple,
      issuer: "https://idp.example",
      [customFetch]: documentOf("https://idp.example"),
    }],
  });
  await using _app = app;
  const started = await startSignIn(browser(), "apple");
  assertEquals(new URL(locationOf(started)).searchParams.get("response_mode"), "form_post");
  assert(lines.some(({ msg }) => msg.includes("form_post") && msg.includes('"apple"')));
});

function documentOf(issuer: string): typeof fetch {
  const endpoints = { authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` };
  return (() =>
    Promise.resolve(
      Response.json({ issuer, ...endpoints, userinfo_endpoint: `${issuer}/userinfo` }),
    )) as typeof fetch;
}

Deno.test("A9: the discovery document is fetched once for many sign-ins", async () => {
  await withProvider({}, async ({ browser, provider }) => {
    for (let i = 0; i < 5; i++) {
      const client = browser();
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), "Ada");
    }
    assertEquals(provider.paths.filter((path) => path === PATHS.discovery).length, 1);
  });
});

Deno.test("A9: concurrent sign-ins share one request for it", async () => {
  await withProvider({}, async ({ browser, provider }) => {
    const starts = await Promise.all(Array.from({ length: 20 }, () => startSignIn(browser())));
    for (const started of starts) assert(locationOf(started).startsWith(`${provider.issuer}/authorize?`));
    assertEquals(provider.paths, [PATHS.discovery]);
  });
});

Deno.test("A9: it is fetched again after ten minutes", async () => {
  await withProvider({}, async ({ browser, provider }) => {
    await withClock(async (clock) => {
      const asked = async () => {
        const { length } = provider.paths;
        assert(locationOf(await startSignIn(browser())).startsWith(`${provider.issuer}/authorize?`));
        return provider.paths.slice(length);
      };
      assertEquals(await asked(), [PATHS.discovery]);
      clock.now += 599_000;
      assertEquals(await asked(), []);
      clock.now += 2000;
      assertEquals(await asked(), [PATHS.discovery]);
      assertEquals(await asked(), []);
    });
  });
});

Deno.test("A9: a failure is not remembered", async () => {
  const failures: Script[] = [
    { answer: { discovery: (_request, response) => response.writeHead(500).end() } },
    { answer: { discovery: (_request, response) => response.writeHead(503).end() } },
    { answer: { discovery: (_request, response) => response.writeHead(200).end("<h1>Maintenance</h1>") } },
    { answer: { discovery: (request) => request.socket.destroy() } },
    { metadata: { issuer: "https://other-issuer.example" } },
  ];
  for (const failure of failures) {
    await withProvider(failure, async ({ client, provider }) => {
      const refused = await startSignIn(client);
      assert(refused.statusCode === 503 || locationOf(refused).startsWith(ERROR_PAGE));
      provider.script = {};
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), "Ada");
    });
  }
});
