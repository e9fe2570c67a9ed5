/** Whole sign-ins against a real OpenID Provider, over sockets. */
import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { stub } from "@std/testing/mock";
import { type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import Keycloak from "fastify-authjs/providers/keycloak";
import { decodeJwt, exportJWK, generateKeyPair } from "jose";
// @ts-types="@types/oidc-provider"
import type { JWK } from "oidc-provider";
import { Buffer } from "node:buffer";
import type { Answer, Client } from "../../support/client.ts";
import {
  locationOf,
  oauthApp,
  pathOf,
  type ProviderSettings,
  reasons,
  signedInName,
  startSignIn,
} from "../../support/oauth_client.ts";
import { type OpenIdProvider, ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";

const CALLBACK = "http://localhost/auth/callback/op";
const SECRET = "a client's secret & more: 100%";
/** RFC 6749 section 2.3.1: both parts are form-encoded. */
const ENCODED_SECRET = encodeURIComponent(SECRET).replaceAll("%20", "+");
const BASIC = `Basic ${btoa(`client:${ENCODED_SECRET}`)}`;
const ALL_CHECKS = ["state", "pkce", "nonce"];

type ProviderArguments = Parameters<typeof startOpenIdProvider>;

interface Parts {
  readonly provider: OpenIdProvider;
  readonly client: Client;
  readonly lines: Awaited<ReturnType<typeof oauthApp>>["lines"];
  /** Ada's browser, at the provider. */
  readonly there: ProviderBrowser;
}

/** A provider with one client and an application that is that client. */
async function withOpenId(
  run: (parts: Parts) => Promise<void>,
  { client = {}, op = {}, settings = {}, overrides }: {
    client?: Partial<ProviderArguments[0][number]>;
    op?: NonNullable<ProviderArguments[1]>;
    settings?: ProviderSettings;
    overrides?: (issuer: string) => Partial<FastifyAuthConfig>;
  } = {},
): Promise<void> {
  const metadata = { client_id: "client", client_secret: SECRET, redirect_uris: [CALLBACK], ...client };
  await using provider = await startOpenIdProvider([metadata], op);
  const { app, browser, lines } = await oauthApp(
    { issuer: provider.issuer, clientSecret: SECRET, checks: ALL_CHECKS, ...settings },
    overrides?.(provider.issuer),
  );
  await using _app = app;
  await run({ provider, client: browser(), lines, there: new ProviderBrowser() });
}

async function signIn(client: Client, there: ProviderBrowser, id = "op"): Promise<Answer> {
  const { url } = await there.visit(locationOf(await startSignIn(client, id)));
  return await client.get(pathOf(url));
}

Deno.test("a code flow with PKCE, state and nonce signs in", async () => {
  await withOpenId(async ({ provider, client, there }) => {
    const started = await startSignIn(client, "op", { callbackUrl: "/me" });
    const authorization = new URL(locationOf(started));
    const { searchParams } = authorization;
    assertEquals(authorization.origin + authorization.pathname, `${provider.issuer}/auth`);
    assertEquals(searchParams.get("response_type"), "code");
    assertEquals(searchParams.get("redirect_uri"), CALLBACK);
    assertEquals(searchParams.get("scope"), "openid profile email");
    assertEquals(searchParams.get("code_challenge_method"), "S256");
    for (const name of ["state", "nonce", "code_challenge"]) {
      assertMatch(searchParams.get(name) ?? "", /^[\w.-]{32,}$/);
    }

    const { url } = await there.visit(authorization.href);
    assertEquals(new URL(url).searchParams.get("iss"), provider.issuer, "RFC 9207");
    const answer = await client.get(pathOf(url));
    assertEquals(locationOf(answer), "http://localhost/me");
    const { session } = (await client.get("/me")).json();
    assertEquals(session.user, { name: "Ada", email: "ada@example.com" });

    const [token] = provider.tokenRequests;
    assertEquals(token?.form.get("grant_type"), "authorization_code");
    assertEquals(token?.form.get("redirect_uri"), CALLBACK);
    assertMatch(token?.form.get("code_verifier") ?? "", /^[\w-]{43}$/);
    assertEquals(provider.requests.filter((line) => line.includes("/.well-known/")).length, 1);
    assertFalse(provider.requests.some((line) => line.includes("/me")));
  });
});

Deno.test("the provider is what tells a replayed or injected code", async () => {
  await withOpenId(async ({ client, there, lines }) => {
    const { url } = await there.visit(locationOf(await startSignIn(client)));
    const cookies = client.cookie!;
    const first = await client.get(pathOf(url));
    assertEquals(locationOf(first), "http://localhost");
    // With the cookies as they were, as an attacker who copied them has them.
    const replayed = await client.get(pathOf(url), { headers: { cookie: cookies } });
    assertStringIncludes(locationOf(replayed), "/auth/error?error=Configuration");

    // A code of the attacker's own sign-in, with the victim's state: PKCE binds it to the attacker's browser.
    const { url: own } = await there.visit(locationOf(await startSignIn(client)));
    const victim = new URL(own);
    const { url: other } = await new ProviderBrowser().visit(locationOf(await startSignIn(client)));
    victim.searchParams.set("code", new URL(other).searchParams.get("code")!);
    const injected = await client.get(pathOf(victim.href));
    assertStringIncludes(locationOf(injected), "/auth/error?error=Configuration");
    assertFalse(lines.some(({ msg }) => msg.includes(new URL(url).searchParams.get("code")!)));
  });
});

Deno.test("client_secret_basic sends the secret in a header, form-encoded", async () => {
  for (const method of ["client_secret_basic", undefined]) {
    await withOpenId(async ({ provider, client, there }) => {
      await signIn(client, there);
      assertEquals(await signedInName(client), "Ada");
      const [{ headers, form } = assertFail()] = provider.tokenRequests;
      const credentials = Buffer.from(headers.authorization!.replace("Basic ", ""), "base64").toString();
      assertEquals(credentials.split(":"), ["client", ENCODED_SECRET]);
      assertFalse(form.has("client_secret"));
    }, {
      client: { token_endpoint_auth_method: "client_secret_basic" },
      settings: method === undefined ? {} : { client: { token_endpoint_auth_method: method } },
    });
  }
});

function assertFail(): never {
  throw new Error("The token endpoint was not asked.");
}

Deno.test("client_secret_post sends the secret in the form", async () => {
  const method = { token_endpoint_auth_method: "client_secret_post" as const };
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "Ada");
    const [{ headers, form } = assertFail()] = provider.tokenRequests;
    assertEquals(headers.authorization, undefined);
    assertEquals(form.get("client_secret"), SECRET);
  }, { client: method, settings: { client: method } });
});

Deno.test("client_secret_jwt sends an assertion in place of the secret", async () => {
  const method = { token_endpoint_auth_method: "client_secret_jwt" as const };
  const client_secret = "a secret that is long enough for HS256";
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "Ada");
    const [{ form } = assertFail()] = provider.tokenRequests;
    assertFalse(form.has("client_secret"));
    assertEquals(decodeJwt(form.get("client_assertion")!).sub, "client");
  }, {
    client: { ...method, client_secret },
    settings: { client: method, clientSecret: client_secret },
    op: { clientAuthMethods: ["client_secret_jwt"] },
  });
});

async function clientKey() {
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwk = { ...await exportJWK(publicKey), kid: "app", use: "sig", alg: "ES256" };
  return { clientPrivateKey: { key: privateKey, kid: "app" }, jwks: { keys: [jwk as JWK] } };
}

Deno.test("private_key_jwt signs an assertion with the application's key", async () => {
  const { clientPrivateKey, jwks } = await clientKey();
  const method = { token_endpoint_auth_method: "private_key_jwt" as const };
  await withOpenId(async ({ provider, client, there, lines }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "Ada", reasons(lines));
    const [{ headers, form } = assertFail()] = provider.tokenRequests;
    assertEquals(headers.authorization, undefined);
    const { iss, sub, aud } = decodeJwt(form.get("client_assertion")!);
    assertEquals([iss, sub], ["client", "client"]);
    assertEquals(aud, [provider.issuer, `${provider.issuer}/token`]);
  }, {
    client: { ...method, jwks, token_endpoint_auth_signing_alg: "ES256" },
    settings: { client: method, clientSecret: undefined, token: { clientPrivateKey } },
    op: { clientAuthMethods: ["private_key_jwt"] },
  });
});

Deno.test("private_key_jwt works with a built-in provider, too", async () => {
  const { clientPrivateKey, jwks } = await clientKey();
  const method = { token_endpoint_auth_method: "private_key_jwt" as const };
  await withOpenId(async ({ client, there, lines }) => {
    await signIn(client, there, "keycloak");
    assertEquals(await signedInName(client), "Ada", reasons(lines));
  }, {
    client: {
      ...method,
      redirect_uris: ["http://localhost/auth/callback/keycloak"],
      jwks,
      token_endpoint_auth_signing_alg: "ES256",
    },
    op: { clientAuthMethods: ["private_key_jwt"] },
    overrides: (issuer: string) => ({
      providers: [Keycloak({
        issuer,
        clientId: "client",
        client: method,
        token: { clientPrivateKey } as never,
      })],
    }),
  });
});

Deno.test("a public client has PKCE in place of a secret", async () => {
  const method = { token_endpoint_auth_method: "none" as const };
  await withOpenId(async ({ client, there }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "Ada");
  }, { client: method, settings: { client: method, clientSecret: undefined } });
});

Deno.test("parameters that are null or undefined are not sent", async () => {
  const params = { prompt: null, display: undefined, scope: "openid profile" };
  for (const options of [{ authorization: { params } }, { options: { authorization: { params } } }]) {
    await withOpenId(async ({ client }) => {
      const { searchParams } = new URL(locationOf(await startSignIn(client)));
      assertEquals([searchParams.has("prompt"), searchParams.has("display")], [false, false]);
      assertEquals(searchParams.get("scope"), "openid profile");
    }, { settings: options });
  }
});

Deno.test("settings that are null are unset, as in core", async () => {
  const unset = { authorization: null, token: null, userinfo: null, client: null, checks: null };
  await withOpenId(async ({ client, there }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "Ada");
  }, { settings: unset });
});

Deno.test("form_post: the provider's answer arrives as a POST from its own site", async () => {
  await withOpenId(async ({ client, there }) => {
    const { url, form = {} } = await there.visit(locationOf(await startSignIn(client)));
    assertEquals(url, CALLBACK);
    assert(form.code && form.state && form.iss);
    const { origin } = new URL(url);
    const answer = await client.post(pathOf(url), form, { origin: "null", "sec-fetch-site": "cross-site" });
    assertEquals(locationOf(answer), origin);
    assertEquals(await signedInName(client), "Ada");
  }, { settings: { authorization: { params: { response_mode: "form_post" } } } });
});

Deno.test("PAR: core does not push authorization requests, so a provider that demands it refuses", async () => {
  await withOpenId(async ({ provider, client, there }) => {
    const { url } = await there.visit(locationOf(await startSignIn(client)));
    assertEquals(new URL(url).searchParams.get("error"), "invalid_request");
    const answer = await client.get(pathOf(url));
    assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
    assertFalse(provider.requests.some((line) => line.includes("/request")));
  }, { client: { require_pushed_authorization_requests: true } });
});

Deno.test("idToken: false takes the user from the userinfo endpoint, for the same subject", async () => {
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    const { session } = (await client.get("/me")).json();
    assertEquals(session.user, { name: "Ada", email: "ada@example.com" });
    assertEquals(provider.requests.at(-1), "GET /me");
  }, { settings: { idToken: false }, op: { conformIdTokenClaims: true } });
});

Deno.test("idToken: true looks at nothing but the ID token, and there may be only a subject in it", async () => {
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    assertEquals(await signedInName(client), "");
    assertEquals(provider.requests.slice(-2), ["POST /token", "GET /jwks"]);
  }, { settings: { idToken: true }, op: { conformIdTokenClaims: true } });
});

Deno.test("redirectProxyUrl: one application takes the callbacks of another, and hands them on", async () => {
  const stable = "https://stable.example";
  const metadata = {
    client_id: "client",
    client_secret: SECRET,
    redirect_uris: [`${stable}/auth/callback/op`],
  };
  await using provider = await startOpenIdProvider([metadata]);
  const settings = { issuer: provider.issuer, clientSecret: SECRET, checks: ["pkce", "nonce"] };
  const proxied = { redirectProxyUrl: `${stable}/auth`, redirectProxyOrigins: ["https://preview-7.example"] };
  const start = (origin: string) => oauthApp(settings, { origin, ...proxied });
  const proxy = await start(stable);
  await using _proxy = proxy.app;
  const preview = await start("https://preview-7.example");
  await using _preview = preview.app;
  const there = new ProviderBrowser();

  const [client, atProxy] = [preview.browser(), proxy.browser()];
  // A sign-in of the same browser is under way at the proxy itself.
  const { url: own } = await there.visit(locationOf(await startSignIn(atProxy)));
  const underWay = new Map(atProxy.cookies);
  const started = new URL(locationOf(await startSignIn(client, "op", { callbackUrl: "/me" })));
  assertEquals(started.searchParams.get("redirect_uri"), `${stable}/auth/callback/op`);

  const { url } = await there.visit(started.href);
  assert(url.startsWith(`${stable}/auth/callback/op?`));
  const handedOn = await atProxy.get(pathOf(url));
  assert(locationOf(handedOn).startsWith("https://preview-7.example/auth/callback/op?"));
  assertEquals(new URL(locationOf(handedOn)).search, new URL(url).search);
  assertEquals(atProxy.cookies, underWay, "the sign-in at the proxy goes on");

  const answer = await client.get(pathOf(locationOf(handedOn)));
  assertEquals(locationOf(answer), "https://preview-7.example/me");
  assertEquals(await signedInName(client), "Ada");
  assertEquals(provider.tokenRequests.at(-1)?.form.get("redirect_uri"), `${stable}/auth/callback/op`);

  assertEquals(locationOf(await atProxy.get(pathOf(own))), stable, reasons(proxy.lines));
  assertEquals(await signedInName(atProxy), "Ada");

  // A forged state is refused, and so is a sealed one without the browser's cookies.
  const { requests: { length } } = provider;
  const forged = await proxy.browser().get("/auth/callback/op?code=a&state=https%3A%2F%2Fevil.example");
  assertEquals(locationOf(forged), `${stable}/auth/error?error=Configuration`);
  const stolen = await preview.browser().get(pathOf(locationOf(handedOn)));
  assertEquals(
    locationOf(stolen),
    "https://preview-7.example/auth/error?error=Configuration&code=sign_in_expired",
  );
  assertEquals(provider.requests.length, length);
});

interface Tokens {
  access_token: string;
  refresh_token: string;
  id_token?: string;
  expires_at: number;
  error?: string;
}

/** The `jwt` callback of an application that keeps its access token fresh. */
function rotating(issuer: string, due: () => boolean) {
  return async ({ token, account }: { token: Record<string, unknown>; account?: unknown }) => {
    if (account) {
      const { access_token, refresh_token, id_token } = account as Tokens;
      return { ...token, access_token, refresh_token, id_token };
    }
    if (!due()) return token;
    const response = await fetch(`${issuer}/token`, {
      method: "POST",
      headers: { authorization: BASIC },
      body: new URLSearchParams({ grant_type: "refresh_token", refresh_token: String(token.refresh_token) }),
    });
    const tokens = await response.json() as Tokens;
    if (!response.ok) return { ...token, error: tokens.error };
    const { access_token, refresh_token } = tokens;
    return { ...token, access_token, refresh_token };
  };
}

/** What the application shows of the session, for the test to see. */
const showTokens: NonNullable<FastifyAuthConfig["callbacks"]>["session"] = ({ session, token }) => {
  const { access_token, refresh_token, error } = token as unknown as Tokens;
  return { ...session, access_token, refresh_token, error };
};

const REFRESHING = { grant_types: ["authorization_code" as const, "refresh_token" as const] };

Deno.test("refresh tokens are rotated through the jwt callback, and what it returns is kept", async () => {
  let due = false;
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    const read = async () => (await client.get("/auth/session")).json<Tokens>();
    const first = await read();
    assert(first.access_token && first.refresh_token);

    due = true;
    const second = await read();
    assertNotEquals(second.access_token, first.access_token);
    assertNotEquals(second.refresh_token, first.refresh_token);
    // Each refresh token works once: the next one shows that the rotated one reached the browser.
    const third = await read();
    assertNotEquals(third.refresh_token, second.refresh_token);
    assertEquals(third.error, undefined);
    due = false;
    assertEquals((await read()).refresh_token, third.refresh_token);
    const grants = provider.tokenRequests.map(({ form }) => form.get("grant_type"));
    assertEquals(grants, ["authorization_code", "refresh_token", "refresh_token"]);
  }, {
    client: REFRESHING,
    op: { rotateRefreshToken: true },
    overrides: (issuer) => ({ callbacks: { jwt: rotating(issuer, () => due), session: showTokens } }),
  });
});

Deno.test("a rotated refresh token that is used again ends the grant, and the session says so", async () => {
  let due = false;
  await withOpenId(async ({ client, there }) => {
    await signIn(client, there);
    const stolen = client.cookie!;
    due = true;
    assertEquals((await client.get("/auth/session")).json().error, undefined);
    // Until then the replaced cookie leads to its successor.
    const later = performance.now() + 31_000;
    using _ = stub(performance, "now", () => later);
    const replayed = await client.get("/auth/session", { headers: { cookie: stolen } });
    assertEquals(replayed.json().error, "invalid_grant");
  }, {
    client: REFRESHING,
    op: { rotateRefreshToken: true },
    overrides: (issuer) => ({ callbacks: { jwt: rotating(issuer, () => due), session: showTokens } }),
  });
});

Deno.test("RP-initiated logout: the signOut event revokes the grant, and the browser ends the provider's session", async () => {
  const revoked: number[] = [];
  await withOpenId(async ({ provider, client, there }) => {
    await signIn(client, there);
    const { refresh_token, id_token } = (await client.get("/auth/session")).json<Tokens>();
    assertEquals(provider.logins, 1);
    await signIn(client, there);
    assertEquals(provider.logins, 1, "Ada is still logged in at the provider");

    const logout = new URL(`${provider.issuer}/session/end`);
    logout.searchParams.set("id_token_hint", id_token!);
    logout.searchParams.set("post_logout_redirect_uri", "http://localhost/goodbye");
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signout", { csrfToken, callbackUrl: logout.href });
    assertEquals(locationOf(answer), logout.href);
    assertEquals(await signedInName(client), undefined);
    assertEquals(revoked, [200]);
    assert(refresh_token);

    const question = await there.visit(locationOf(answer));
    const { url } = await there.visit(question.url, { ...question.form, logout: "yes" });
    assertEquals(url, "http://localhost/goodbye");
    await signIn(client, there);
    assertEquals(provider.logins, 2, "the provider asks again");
  }, {
    client: { ...REFRESHING, post_logout_redirect_uris: ["http://localhost/goodbye"] },
    overrides: (issuer) => ({
      callbacks: {
        jwt: rotating(issuer, () => false),
        session: ({ session, token }) => ({ ...session, ...token as unknown as Tokens }),
        redirect: ({ url, baseUrl }) => url.startsWith(`${issuer}/session/end?`) ? url : new URL(url, baseUrl).href,
      },
      events: {
        async signOut(message) {
          const { refresh_token } = (message as { token: unknown }).token as Tokens;
          const { status } = await fetch(`${issuer}/token/revocation`, {
            method: "POST",
            headers: { authorization: BASIC },
            body: new URLSearchParams({ token: refresh_token, token_type_hint: "refresh_token" }),
          });
          revoked.push(status);
        },
      },
    }),
  });
});

Deno.test("authorization.params.claims is sent once encoded, as an object and as a JSON text", async () => {
  const claims = { id_token: { auth_time: { essential: true } } };
  for (const given of [claims, JSON.stringify(claims)]) {
    const endpoints = { token: "https://op.example/token", userinfo: "https://op.example/userinfo" };
    const authorization = { url: "https://op.example/authorize", params: { claims: given } };
    const settings = { clientId: "client", clientSecret: "secret", authorization };
    for (const provider of [{ type: "oauth", ...endpoints, authorization }, GitHub(settings)]) {
      const { app, browser } = await oauthApp({ ...provider });
      await using _ = app;
      const id = (provider as { id?: string }).id ?? "op";
      const { searchParams } = new URL(locationOf(await startSignIn(browser(), id)));
      assertEquals(JSON.parse(searchParams.get("claims")!), claims);
    }
  }
  const authorization = { params: { claims: "auth_time" } };
  await assertRejects(
    () => oauthApp({ issuer: "https://op.example", authorization }),
    FastifyAuthError,
    '`authorization.params.claims` of the provider "op" is no JSON object',
  );
});
