/** What providers do wrong at any endpoint is a 503 that names them, and no mistake of the application. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { attemptsOf } from "../../support/attempts.ts";
import { captureLog, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import {
  locationOf,
  pathOf,
  type ProviderSettings,
  reasons,
  signedInName,
  startSignIn,
} from "../../support/oauth_client.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";
import { oauthSettings, signInThrough, withProvider } from "../../support/scripted_sign_in.ts";

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type Endpoint = "discovery" | "token" | "userinfo" | "jwks";

const JSON_TYPE = { "content-type": "application/json" };
const HTML_TYPE = { "content-type": "text/html" };
const PAGE = "<!doctype html><title>Maintenance</title>";

const answering =
  (status: number, body: string | Uint8Array, headers: Record<string, string> = JSON_TYPE): Handler =>
  (_request, response) => void response.writeHead(status, headers).end(body);

/** What is written in place of HTTP. */
const raw = (text: string): Handler => ({ socket }) => void socket.end(text);

const FAILURES: Record<string, Handler> = {
  "closes the connection": ({ socket }) => void socket.destroy(),
  "resets the connection": ({ socket }) => void socket.resetAndDestroy(),
  "cuts its head": raw("HTTP/1.1 200 OK\r\ncontent-ty"),
  "cuts its body": ({ socket }, response) => {
    response.writeHead(200, { ...JSON_TYPE, "content-length": "500" });
    response.write('{"access_token":"x"', () => socket.destroy());
  },
  "cuts a chunk": ({ socket }, response) => {
    response.writeHead(200, JSON_TYPE);
    response.write('{"access_token":"x"', () => socket.destroy());
  },
  "speaks another protocol": raw("SSH-2.0-OpenSSH_9.9\r\n\r\n"),
  "says gzip of what is none": answering(200, "{}", { ...JSON_TYPE, "content-encoding": "gzip" }),
  "cuts its JSON": answering(200, '{"access_token":"x", "iss'),
  "cuts its JSON, compressed": answering(200, gzipSync('{"access_token":"x", "iss'), {
    ...JSON_TYPE,
    "content-encoding": "gzip",
  }),
  "answers with a page": answering(200, PAGE, HTML_TYPE),
  "answers with a page, as JSON": answering(200, PAGE),
  "answers with nothing": answering(200, ""),
  "answers with null": answering(200, "null"),
  "answers without content": (_request, response) => void response.writeHead(204).end(),
  "answers with a text": answering(200, "Service unavailable", { "content-type": "text/plain" }),
  "answers with 500": answering(500, "{}"),
  "answers with 500 and a page": answering(500, PAGE, HTML_TYPE),
  "answers with 500 and an error": answering(500, '{"error":"server_error"}'),
  "answers with 501": answering(501, ""),
  "answers with 520": answering(520, PAGE, HTML_TYPE),
  "answers with 999": raw("HTTP/1.1 999 Denied\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
  "answers with too much": answering(200, Buffer.alloc(1024 * 1024 + 1, " ")),
};

/** A redirect of a discovery document is a matter of its address. */
const REDIRECT = answering(302, PAGE, { ...HTML_TYPE, location: "/maintenance" });

/** The answer of the request in which the endpoint is asked. */
async function answerOf(endpoint: Endpoint, client: Client, provider: ScriptedProvider): Promise<Answer> {
  return endpoint === "discovery" ? await startSignIn(client) : await signInThrough(client, provider);
}

const SETTINGS: Record<Endpoint, [settings: ProviderSettings, overrides?: Partial<FastifyAuthConfig>]> = {
  discovery: [{}],
  token: [{}],
  userinfo: [{ idToken: false }],
  jwks: [{}, { verifyIdTokens: true }],
};

for (const endpoint of Object.keys(SETTINGS) as Endpoint[]) {
  const failures = endpoint === "discovery" ? FAILURES : { ...FAILURES, "redirects": REDIRECT };
  for (const [what, fail] of Object.entries(failures)) {
    Deno.test(`W3: ${endpoint}: a provider that ${what} is a 503 that names it`, async () => {
      const [settings, overrides] = SETTINGS[endpoint];
      await withProvider(
        { answer: { [endpoint]: fail } },
        async ({ client, browser, provider, lines }) => {
          const answer = await answerOf(endpoint, client, provider);
          assertEquals(answer.statusCode, 503, locationOf(answer));
          const { code, message } = answer.json<{ code: string; message: string }>();
          assertEquals(code, "FST_AUTHJS_UNAVAILABLE");
          assertMatch(message, /^The provider "op" .+ Try again in a moment\.$/);
          assertMatch(reasons(lines), /"op" (?:answered|broke off|cannot be reached)/);
          assertFalse(JSON.stringify(lines).includes("an-access-token"));
          assertEquals(await signedInName(client), undefined);
          assertEquals(attemptsOf(client), []);
          // A browser gets the page, and the next try works.
          const page = await answerOf(endpoint, browser({ accept: "text/html" }), provider);
          assertEquals(page.statusCode, 503);
          assertStringIncludes(page.body, "<h1>Please try again in a moment</h1>");
          provider.script = {};
          assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
        },
        settings,
        overrides,
      );
    });
  }
}

Deno.test("W3: the userinfo endpoint of an OAuth provider, and of claims that the ID token lacks", async () => {
  const script = { answer: { userinfo: answering(200, PAGE, HTML_TYPE) } };
  await withProvider({ ...script, tokens: { id_token: undefined } }, async ({ client, provider }) => {
    assertEquals((await signInThrough(client, provider)).statusCode, 503);
  }, oauthSettings);
  const claims = { name: undefined, email: undefined };
  await withProvider({ ...script, claims }, async ({ client, provider }) => {
    assertEquals((await signInThrough(client, provider)).statusCode, 503);
  });
});

Deno.test("W3: functions of a provider that send requests themselves", async () => {
  for (
    const fail of [FAILURES["resets the connection"]!, FAILURES["cuts its body"]!, FAILURES["cuts its head"]!]
  ) {
    await withProvider(
      { answer: { userinfo: fail } },
      async ({ client, provider, lines }) => {
        const answer = await signInThrough(client, provider);
        assertEquals(answer.statusCode, 503, reasons(lines));
        assertMatch(reasons(lines), /What profile\(\) of "op" asks broke off its answer/);
      },
      (issuer) => ({ profile: async () => await (await fetch(`${issuer}/userinfo`)).json() }),
    );
  }
});

Deno.test("W3: an answer that token.conform reads is none of these, and one that it cannot read is", async () => {
  const conform = async (response: Response) => {
    const form = Object.fromEntries(new URLSearchParams(await response.text()));
    return Response.json({ ...form, token_type: "bearer" });
  };
  const settings = (issuer: string) => ({
    ...oauthSettings(issuer),
    token: { url: `${issuer}/token`, conform },
  });
  const text = { "content-type": "text/plain" };
  await withProvider(
    { answer: { token: answering(200, "access_token=x", text) } },
    async ({ client, provider }) => {
      assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
    },
    settings,
  );
  for (const body of [PAGE, "", '{"access_token":']) {
    await withProvider({ answer: { token: answering(200, body, text) } }, async ({ client, provider }) => {
      assertEquals((await signInThrough(client, provider)).statusCode, 503, body);
    }, settings);
  }
});

Deno.test("W3: a refresh whose answer is a page, a redirect or cut is a 503, and the tokens stay", async () => {
  const tokens = { refresh_token: "a-refresh-token", expires_in: 1 };
  await using provider = await ScriptedProvider.start({ tokens });
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const auth = createAuth(testConfig({
    providers: [{ ...settings, issuer: provider.issuer } as never],
    refreshTokens: true,
  }));
  const { logger } = captureLog();
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/token", async (request) => ({ token: await auth.getAccessToken(request, "op") }));
  const client = new Client(app);
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
  // The access token is given out for as long as it is valid.
  await withClock(async () => {
    for (const [what, token] of Object.entries({ ...FAILURES, redirects: REDIRECT })) {
      provider.script = { answer: { token } };
      const answer = await client.get("/token");
      assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"], what);
    }
    provider.script = { tokens: { ...tokens, access_token: "a-new-one" } };
    assertMatch((await client.get("/token")).body, /a-new-one/);
  }, Date.now() + 5000);
});

Deno.test("W4: a refusal of the provider is none of its mistakes", async () => {
  const refusals: [status: number, body: string, headers?: Record<string, string>][] = [
    [400, '{"error":"invalid_grant"}'],
    [401, '{"error":"invalid_client"}'],
    [500, '{"error":"invalid_client"}'],
    [403, PAGE, HTML_TYPE],
  ];
  for (const [status, body, headers] of refusals) {
    await withProvider(
      { answer: { token: answering(status, body, headers) } },
      async ({ client, provider }) => {
        const answer = await signInThrough(client, provider);
        assertEquals(
          locationOf(answer),
          "http://localhost/auth/error?error=Configuration",
          `${status} ${body}`,
        );
      },
    );
  }
});

Deno.test("W4: an error of the application's own fetch is none of the provider's", async () => {
  const { customFetch } = await import("fastify-authjs");
  const broken = () => Promise.reject(new TypeError("Cannot read properties of undefined (reading 'agent')"));
  await withProvider({}, async ({ client, lines }) => {
    assertEquals(locationOf(await startSignIn(client)), "http://localhost/auth/error?error=Configuration");
    assert(reasons(lines).includes("reading 'agent'"));
  }, { [customFetch]: broken });
});

Deno.test("W4: a page at an address where metadata could be is no failure", async () => {
  const { customFetch } = await import("fastify-authjs");
  const send: typeof fetch = async (input, init) =>
    String(input).includes("/.well-known/oauth-authorization-server")
      ? new Response(PAGE, { headers: HTML_TYPE })
      : await fetch(input, init);
  const settings = (issuer: string) => ({ ...oauthSettings(issuer), [customFetch]: send });
  await withProvider({ tokens: { id_token: undefined } }, async ({ client, provider, lines }) => {
    const answer = await signInThrough(client, provider, { iss: provider.issuer });
    assertEquals(locationOf(answer), "http://localhost", reasons(lines));
  }, settings);
});

Deno.test("W3: a script gets the same 503", async () => {
  await withProvider({ answer: { token: answering(500, "{}") } }, async ({ browser, provider }) => {
    const client = browser({ accept: "application/json" });
    const { url } = (await startSignIn(client)).json<{ url: string }>();
    const answer = await client.get(pathOf(provider.authorize(url)));
    assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
    assertStringIncludes(answer.json().message, 'The provider "op" answered 500.');
  });
});
