/** Where the discovery document of a provider is read: behind a redirect, and at `wellKnown`. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { IncomingMessage, ServerResponse } from "node:http";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth } from "fastify-authjs";
import { captureLog, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { locationOf, reasons, signedInName, startSignIn } from "../../support/oauth_client.ts";
import { PATHS, ScriptedProvider } from "../../support/scripted_provider.ts";
import { oauthSettings, type ScriptedParts, signInThrough, withProvider } from "../../support/scripted_sign_in.ts";

const CONFIGURATION = "http://localhost/auth/error?error=Configuration";
const ELSEWHERE = "/somewhere/else";

const redirectTo = (location: string, status = 302) => (_request: IncomingMessage, response: ServerResponse) => {
  response.writeHead(status, { location, "content-type": "text/html" }).end("<p>It is elsewhere.</p>");
};

/** What the provider publishes. */
const documentOf = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}${PATHS.token}`,
  userinfo_endpoint: `${issuer}${PATHS.userinfo}`,
  jwks_uri: `${issuer}${PATHS.jwks}`,
});

async function assertSignsIn({ client, provider, lines }: ScriptedParts): Promise<void> {
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost", reasons(lines));
  assertEquals(await signedInName(client), "Ada");
}

for (const status of [301, 302, 303, 307, 308]) {
  Deno.test(`W1: a discovery document behind a redirect of status ${status} within its origin is read`, async () => {
    for (const relative of [true, false]) {
      await withProvider({}, async (parts) => {
        const { provider } = parts;
        const path = `${PATHS.discovery}/`;
        provider.documents.set(path, documentOf(provider.issuer));
        provider.script = {
          answer: { discovery: redirectTo(relative ? path : `${provider.issuer}${path}`, status) },
        };
        await assertSignsIn(parts);
        const asked = provider.paths.filter((each) => each.startsWith(PATHS.discovery));
        assertEquals(asked, [PATHS.discovery, path], "the document is kept");
      });
    }
  });
}

Deno.test("W1: a redirect to another origin, or a second one, is not followed, and the log names where it leads", async () => {
  await using other = await ScriptedProvider.start();
  other.documents.set(ELSEWHERE, documentOf(other.issuer));
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.script = { answer: { discovery: redirectTo(`${other.issuer}${ELSEWHERE}?ticket=secret`) } };
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertMatch(reasons(lines), /"op" answered 302 at \S+\/\.well-known\/openid-configuration\./);
    assertStringIncludes(
      reasons(lines),
      `Its redirect to ${other.issuer}${ELSEWHERE}?ticket=[redacted] is not followed.`,
    );
    assertMatch(reasons(lines), /check `issuer` \(or AUTH_OP_ISSUER\)/);
    assertEquals(other.requests, []);
  });
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.script = { answer: { discovery: redirectTo(PATHS.discovery) } };
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertEquals(provider.paths, [PATHS.discovery, PATHS.discovery]);
    assertStringIncludes(reasons(lines), `Its redirect to ${PATHS.discovery} is not followed.`);
  });
});

Deno.test("W1: a document behind a redirect is that of its issuer, or refused", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.documents.set(ELSEWHERE, documentOf("https://other-issuer.example"));
    provider.script = { answer: { discovery: redirectTo(ELSEWHERE) } };
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertMatch(reasons(lines), /it names the issuer "https:\/\/other-issuer\.example"/);
  });
});

Deno.test("W1: no other answer of a provider is looked for behind a redirect", async () => {
  for (const endpoint of ["token", "userinfo"] as const) {
    const script = { answer: { [endpoint]: redirectTo(ELSEWHERE) } };
    await withProvider(script, async ({ client, provider }) => {
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), undefined);
      assertEquals(provider.paths.includes(ELSEWHERE), false);
    }, { idToken: false });
  }
});

Deno.test("W2: the discovery document is read at wellKnown, wherever it is read", async () => {
  await using provider = await ScriptedProvider.start();
  const { issuer } = provider;
  const away = (_request: IncomingMessage, response: ServerResponse) => void response.writeHead(404).end();
  const tokens = { refresh_token: "a-refresh-token", expires_in: 20 };
  // No name in the ID token, so that the userinfo endpoint is asked as well.
  provider.script = { answer: { discovery: away }, tokens, claims: { name: undefined, email: undefined } };
  provider.documents.set(ELSEWHERE, { ...documentOf(issuer), end_session_endpoint: `${issuer}/end` });
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const { logger, lines } = captureLog();
  const auth = createAuth(testConfig({
    providers: [{ ...settings, issuer, wellKnown: `${issuer}${ELSEWHERE}` } as never],
    refreshTokens: true,
    verifyIdTokens: true,
    providerLogout: true,
  }));
  await using app = Fastify({ logger }) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.get("/token", async (request) => ({ token: await auth.getAccessToken(request, "op") }));
  const client = new Client(app);
  assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost", reasons(lines));
  assertEquals(await signedInName(client), "Ada of userinfo");
  provider.script = { ...provider.script, tokens: { ...tokens, access_token: "a-new-one" } };
  assertMatch((await client.get("/token")).body, /a-new-one/);
  const left = await client.post("/auth/signout", { csrfToken: await client.csrfToken() });
  assertMatch(locationOf(left), new RegExp(`^${issuer}/end\\?`));
  assertEquals(provider.paths.includes(PATHS.discovery), false);
  assertEquals(provider.paths.filter((path) => path === ELSEWHERE).length, 1, "the document is kept");
});

Deno.test("W2: a document at wellKnown is that of the configured issuer, or refused", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.documents.set(ELSEWHERE, documentOf("https://other-issuer.example"));
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertMatch(reasons(lines), /document of "op" at \S+\/somewhere\/else is refused: it names the issuer/);
  }, (issuer) => ({ wellKnown: `${issuer}${ELSEWHERE}` }));
});

Deno.test("W2: an answer that is no document names wellKnown in the log", () =>
  withProvider({}, async ({ client, lines }) => {
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertMatch(reasons(lines), /"op" answered 404 at \S+\/somewhere\/else\. .+check `wellKnown`/);
  }, (issuer) => ({ wellKnown: `${issuer}${ELSEWHERE}` })));

Deno.test("W1: a document that is no object is refused", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.script = {
      answer: { discovery: (_request, response) => response.writeHead(200).end("[]") },
    };
    assertEquals(locationOf(await startSignIn(client)), CONFIGURATION);
    assertMatch(reasons(lines), /document of "op" at \S+ is refused: it is not a JSON object/);
  });
});

Deno.test("W1: the document of an OAuth provider without an issuer may be behind a redirect as well", () =>
  withProvider({ tokens: { id_token: undefined } }, async ({ client, provider, lines }) => {
    const { issuer } = provider;
    provider.documents.set(ELSEWHERE, documentOf(issuer));
    provider.script = { ...provider.script, answer: { discovery: redirectTo(ELSEWHERE) } };
    const answer = await signInThrough(client, provider, { iss: issuer });
    assertEquals(locationOf(answer), "http://localhost", reasons(lines));
  }, (issuer) => ({ ...oauthSettings(issuer), wellKnown: `${issuer}${PATHS.discovery}` })));

Deno.test("a provider without a userinfo endpoint, which OpenID Connect only recommends, signs in by its ID token", async () => {
  const refused = /did not provide a userinfo endpoint/;
  for (const userinfo_endpoint of [undefined, null, ""]) {
    for (
      const [idToken, claims, name] of [
        [undefined, {}, "Ada"],
        [true, {}, "Ada"],
        // Such an ID token has the user's data looked for at the endpoint.
        [undefined, { name: undefined, email: undefined }, ""],
        [false, {}, undefined],
      ] as const
    ) {
      await withProvider({ metadata: { userinfo_endpoint }, claims }, async ({ client, provider, lines }) => {
        await signInThrough(client, provider);
        assertEquals(await signedInName(client), name);
        assertEquals(refused.test(reasons(lines)), name === undefined);
        assertEquals(provider.paths.includes(PATHS.userinfo), false);
      }, { idToken });
    }
  }
});
