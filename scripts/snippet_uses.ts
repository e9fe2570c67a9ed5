/**
 * What the servers in the documentation do: for each page, requests to its complete snippets in their order, with what
 * they promise.
 */
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { signedIn } from "fastify-authjs/testing";
import assert from "node:assert/strict";
import { type TOTP, URI } from "otpauth";
import { Client } from "../tests/support/client.ts";

/** Uses the server of a snippet, which may have exports. It throws if an answer is not the promised one. */
type Use = (app: FastifyInstance, snippet: { config?: FastifyAuthConfig }) => Promise<void>;

/** The uses of the complete snippets, by page. */
export const USES: Readonly<Record<string, readonly Use[]>> = {
  "README.md": [guardsMe],
  "docs/captcha.md": [async (app) => {
    const fields = { email: "ada@example.com", password: "lovelace" };
    for (const [answer, name] of [["failed", undefined], ["passed", "Ada"]]) {
      const browser = new Client(app);
      const filled = { ...fields, "cf-turnstile-response": answer! };
      await browser.post("/login", filled, { origin: "http://localhost" });
      assert.equal((await browser.get("/auth/session")).json()?.user.name, name);
    }
    const direct = new Client(app);
    await direct.signIn(fields);
    assert.equal((await direct.get("/auth/session")).json(), null);
    assert.match((await app.inject("/login")).body, /cf-turnstile/);
  }],
  "docs/create-auth.md": [async (app) => {
    const browser = await signedInWithGitHub(app);
    assert.match((await browser.get("/me")).body, /^[\w-]{36}$/);
  }, async (app) => {
    assert.equal((await app.inject("/")).body, "Hello, stranger");
    const browser = await signedInWithGitHub(app);
    assert.notEqual((await browser.get("/")).body, "Hello, stranger");
    assert.notEqual((await browser.get("/me")).json().user, undefined);
  }],
  "docs/database-sessions.md": [guardsMe, guardsMe],
  "docs/environment.md": [async (app) => {
    const location = await startOfSignIn(new Client(app), "keycloak");
    assert.equal(location.origin + location.pathname, "https://login.example/realms/staff/authorize");
    assert.equal(location.searchParams.get("redirect_uri"), "https://app.example/auth/callback/keycloak");
  }],
  "docs/first-server.md": [async (app) => {
    assert.match((await app.inject("/")).body, /href="\/auth\/signin"/);
    const browser = await signedInWithGitHub(app);
    assert.deepEqual((await browser.get("/")).json(), { hello: "Ada" });
    assert.equal((await browser.signOut()).statusCode, 302);
    assert.match((await browser.get("/")).body, /Sign in/);
    await guardsMe(app);
  }],
  "docs/guards.md": [async (app) => {
    for (const url of ["/", "/admin/health"]) assert.equal((await app.inject(url)).statusCode, 200);
    for (const url of ["/me", "/admin/users"]) assert.equal((await app.inject(url)).statusCode, 401);
    const browser = await signedInWithGitHub(app);
    assert.equal((await browser.get("/me")).json().user.role, "admin");
    assert.equal((await browser.get("/admin/users")).body, "admins");
  }],
  "docs/names.md": [async (app) => {
    assert.deepEqual((await app.inject("/me")).json(), { session: null });
    const browser = await signedInWithGitHub(app);
    assert.notEqual((await browser.get("/me")).json().session, null);
  }],
  "docs/openid-connect.md": [async (app) => {
    const location = await startOfSignIn(new Client(app), "acme");
    assert.equal(location.origin + location.pathname, "https://id.acme.example/authorize");
    assert.equal(location.searchParams.get("client_id"), "acme-client");
    assert.equal(location.searchParams.get("scope"), "openid profile email");
    assert.equal(new URL(location.searchParams.get("redirect_uri")!).pathname, "/auth/callback/acme");
    assert.match((await app.inject("/auth/signin")).body, /Sign in with Acme/);
    assert.equal((await app.inject("/admin")).statusCode, 401);
  }],
  "docs/sessions.md": [async (app) => {
    const browser = await signedInWithGitHub(app);
    const [session, ...others] = (await browser.get("/devices")).json();
    assert.deepEqual([session.current, others.length], [true, 0]);
    assert.equal((await browser.request("DELETE", "/devices")).statusCode, 200);
    assert.equal((await browser.request("DELETE", "/devices/another")).statusCode, 404);
    assert.equal((await browser.request("DELETE", `/devices/${session.id}`)).statusCode, 204);
    assert.equal((await browser.get("/devices")).statusCode, 401);
  }],
  "docs/sign-in-page.md": [async (app) => {
    const browser = new Client(app);
    const sent = await browser.get("/admin", { headers: { accept: "text/html" } });
    assert.match(String(sent.headers.location), /^\/login\?.*callbackUrl=%2Fadmin/);
    assert.match(
      (await browser.get("/login?callbackUrl=%2Fadmin")).body,
      /name="callbackUrl" value="\/admin"/,
    );
    const headers = { origin: "http://localhost" };
    const fields = { email: "ada@example.com", callbackUrl: "/admin" };
    const wrong = await browser.post("/login", { ...fields, password: "wrong" }, headers);
    assert.equal(wrong.statusCode, 401);
    assert.match(wrong.body, /Wrong e-mail or password/);
    const right = await browser.post("/login", { ...fields, password: "lovelace" }, headers);
    assert.match(String(right.headers.location), /\/admin$/);
    assert.deepEqual((await browser.get("/admin")).json(), { id: "1", role: "admin" });
  }],
  "docs/single-page-apps.md": [async (app) => {
    const browser = new Client(app);
    const fromSpa = { origin: "https://app.example", "sec-fetch-site": "same-site" };
    const preflight = await app.inject({
      method: "OPTIONS",
      url: "/me",
      headers: { ...fromSpa, "access-control-request-method": "GET" },
    });
    assert.equal(preflight.headers["access-control-allow-origin"], "https://app.example");
    assert.equal(preflight.headers["access-control-allow-credentials"], "true");
    const callbackUrl = "https://app.example/home";
    const location = await startOfSignIn(browser, "github", { callbackUrl }, fromSpa);
    assert.equal(location.searchParams.get("redirect_uri"), "https://api.example/auth/callback/github");
    const back = await browser.get(
      `/auth/callback/github?code=code&state=${location.searchParams.get("state")}`,
    );
    assert.equal(back.headers.location, callbackUrl);
    assert.equal((await browser.get("/me", { headers: fromSpa })).json().user.name, "Ada");
    const fromElsewhere = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    const form = { csrfToken: await browser.csrfToken() };
    assert.equal((await browser.post("/auth/signin/github", form, fromElsewhere)).statusCode, 403);
  }],
  "docs/totp.md": [async (app) => {
    const password = { email: "ada@example.com", password: "lovelace" };
    const browser = new Client(app);
    const isSignedIn = async () => (await browser.get("/auth/session")).json() !== null;
    await browser.signIn(password);
    const refused = await browser.get("/payments");
    assert.deepEqual([refused.statusCode, refused.json().code], [401, "FST_AUTHJS_STEP_UP_REQUIRED"]);
    const totp = URI.parse((await browser.request("POST", "/totp", { json: {} })).json().uri) as TOTP;
    const enrol = async (code: string) => (await browser.request("PUT", "/totp", { json: { code } })).statusCode;
    const code = totp.generate();
    assert.equal(await enrol(code === "000000" ? "000001" : "000000"), 422);
    assert.equal(await enrol(code), 204);
    assert.equal(await isSignedIn(), false);
    for (const used of ["", code]) {
      await browser.signIn({ ...password, code: used });
      assert.equal(await isSignedIn(), false);
    }
    await browser.signIn({ ...password, code: totp.generate({ timestamp: Date.now() + 30_000 }) });
    assert.deepEqual((await browser.get("/payments")).json(), []);
    assert.equal((await browser.request("POST", "/totp", { json: {} })).statusCode, 409);
  }],
  "docs/tenants.md": [async (app) => {
    for (const name of ["acme", "umbrella"]) {
      const location = await startOfSignIn(new Client(app, { host: `${name}.app.example` }), "keycloak");
      assert.equal(location.pathname, `/realms/${name}/authorize`);
      assert.equal(
        location.searchParams.get("redirect_uri"),
        `https://${name}.app.example/auth/callback/keycloak`,
      );
    }
    assert.equal((await app.inject("/me")).statusCode, 401);
  }],
  "docs/testing.md": [async (app, { config }) => {
    const editor = await signedIn(app, config!, { user: { id: "1", name: "Ada", roles: ["editor"] } });
    const reader = await signedIn(app, config!, { user: { id: "2", name: "Bob", roles: ["reader"] } });
    assert.deepEqual((await editor("/drafts")).json(), ["a draft"]);
    assert.equal((await reader("/drafts")).statusCode, 403);
    assert.equal((await app.inject("/drafts")).statusCode, 401);
  }],
};

/** A guarded `/me` is for signed-in users alone, and says who they are. */
async function guardsMe(app: FastifyInstance): Promise<void> {
  assert.equal((await app.inject("/me")).statusCode, 401);
  const page = await app.inject({ url: "/me", headers: { accept: "text/html" } });
  assert.match(String(page.headers.location), /^\/auth\/signin\?/);
  const browser = await signedInWithGitHub(app);
  assert.equal((await browser.get("/me")).json().user.name, "Ada");
  await browser.signOut();
  assert.equal((await browser.get("/me")).statusCode, 401);
}

/** A browser that has signed in with GitHub, whose answers `answerAsProviders()` gives. */
async function signedInWithGitHub(app: FastifyInstance): Promise<Client> {
  const browser = new Client(app);
  const location = await startOfSignIn(browser, "github");
  assert.equal(location.hostname, "github.com");
  const back = await browser.get(
    `/auth/callback/github?code=code&state=${location.searchParams.get("state")}`,
  );
  assert.equal(back.statusCode, 302);
  assert.doesNotMatch(String(back.headers.location), /error=/);
  return browser;
}

/** Where the sign-in route sends a browser. */
async function startOfSignIn(
  browser: Client,
  provider: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
): Promise<URL> {
  const form = { ...fields, csrfToken: await browser.csrfToken() };
  const answer = await browser.post(`/auth/signin/${provider}`, form, headers);
  assert.equal(answer.statusCode, 302, answer.body);
  return new URL(String(answer.headers.location));
}

/** Makes `fetch` answer as GitHub does, and as an OpenID Provider whose discovery document is asked for. */
export function answerAsProviders(): void {
  globalThis.fetch = (input, init) => {
    const { origin, pathname, href } = new URL(input instanceof Request ? input.url : input);
    const answer: unknown = {
      "/login/oauth/access_token": { access_token: "token", token_type: "bearer", scope: "read:user" },
      "/turnstile/v0/siteverify": { success: /response=passed/.test(String(init?.body)) },
      "/user": { id: 7, login: "ada", name: "Ada", email: "ada@example.com", avatar_url: null },
    }[pathname];
    if (answer !== undefined) return Promise.resolve(Response.json(answer));
    const issuer = /^(.*)\/\.well-known\/openid-configuration$/.exec(href)?.[1];
    if (issuer === undefined) throw new Error(`a snippet asked ${origin}${pathname}`);
    return Promise.resolve(Response.json({
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
    }));
  };
}
