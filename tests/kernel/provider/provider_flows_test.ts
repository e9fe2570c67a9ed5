/**
 * Signs in with every OAuth and OpenID Connect provider of core, from the button to the session, against a stand-in
 * that expects what the provider's documentation says.
 *
 * @module
 */
import { Auth, type AuthConfig } from "@auth/core";
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import Fastify from "fastify";
import { customFetch, FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import { SECRET } from "../../support/app.ts";
import {
  assertAuthorizationRequest,
  assertRequests,
  Browser,
  finishSignIn,
  type Handler,
  ORIGIN,
  startSignIn,
  through,
} from "../../support/provider_flow.ts";
import { AS_SHIPPED } from "../../support/provider_problems.ts";
import { CLIENT, type Json, type ProviderSample } from "../../support/provider_sample.ts";
import { PROVIDER_SAMPLES, UNUSABLE_PROVIDERS } from "../../support/provider_samples.ts";
import { KEYS, StandIn } from "../../support/provider_standin.ts";

type OAuthProvider = Provider & { id: string; name: string };

/** The provider as an application configures it. */
async function configured(module: string, sample: ProviderSample, standIn: StandIn): Promise<OAuthProvider> {
  const { default: create } = await import(`fastify-authjs/providers/${module}`);
  return create({
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    [customFetch]: standIn.fetch,
    ...sample.options,
  });
}

/** Without a discovery document the keys are configured. */
function withKeys(sample: ProviderSample): ProviderSample {
  return sample.documents ? sample : { ...sample, options: { ...sample.options, jwks_endpoint: KEYS } };
}

/** The signature of an ID token is verified, with a published key or the client secret. */
function keyRequests({ idToken, idTokenAlgorithm }: ProviderSample, { type }: Json): ["keys"] | [] {
  return idToken !== undefined && type === "oidc" && idTokenAlgorithm !== "HS256" ? ["keys"] : [];
}

/** The application; `accounts` are those that signed in. */
async function application(provider: OAuthProvider, overrides: Partial<FastifyAuthConfig> = {}) {
  const accounts: Json[] = [];
  const config: FastifyAuthConfig = {
    providers: [provider],
    secret: SECRET,
    origin: ORIGIN,
    events: { signIn: ({ account }) => void accounts.push({ ...account }) },
    ...overrides,
  };
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  return { app, accounts, browser: new Browser(through(app)) };
}

/** From the button to the session. */
function signsIn(module: string, sample: ProviderSample): Promise<void> {
  return StandIn.during(sample, async (standIn) => {
    const provider = await configured(module, withKeys(sample), standIn);
    const { id } = provider;
    assertEquals(id, sample.id ?? module);
    const { app, accounts, browser } = await application(provider);
    await using _app = app;

    const url = await startSignIn(browser, id);
    assertAuthorizationRequest(url, id, sample);
    assertEquals(browser.attempts(), 1);

    const end = await finishSignIn(browser, id, sample, standIn.authorize(url));
    assertEquals(end, `${ORIGIN}/welcome`);
    assertEquals(browser.attempts(), 0);

    assertEquals(accounts.length, 1);
    assertRequests(standIn, sample, keyRequests(sample, accounts[0]!));
    assertAccount(accounts[0]!, id, sample);
    const { id: _accountId, ...user } = sample.user;
    const { session } = await (await browser.send("/me")).json();
    assertEquals(session.user, user);
    assertEquals((await (await browser.send("/auth/session")).json()).user, user);
  });
}

for (const [module, sample] of Object.entries(PROVIDER_SAMPLES)) {
  Deno.test(`${module} signs in`, () => signsIn(module, sample));
}

for (const [module, sample] of Object.entries(PROVIDER_SAMPLES)) {
  if (sample.idToken === undefined) continue;
  Deno.test(`${module} signs in, with verifyIdTokens`, () =>
    StandIn.during(sample, async (standIn) => {
      const provider = await configured(module, withKeys(sample), standIn);
      const { app, accounts, browser } = await application(provider, { verifyIdTokens: true });
      await using _app = app;
      const url = await startSignIn(browser, provider.id);
      const end = await finishSignIn(browser, provider.id, sample, standIn.authorize(url));
      assertEquals(end, `${ORIGIN}/welcome`);
      assertEquals(accounts.length, 1);
      assertRequests(standIn, sample, keyRequests(sample, accounts[0]!));
      // The keys of all tenants would also accept a token that is signed with the key of another one.
      const { tid } = sample.idToken as { tid?: string };
      if (tid) assertStringIncludes(standIn.askedForKeys[0]!, tid);
    }));
}

Deno.test("microsoft-entra-id signs in a person without a photo", () => {
  const { user, userinfo = [], ...sample } = PROVIDER_SAMPLES["microsoft-entra-id"];
  return signsIn("microsoft-entra-id", {
    ...sample,
    userinfo: userinfo.map(({ url }) => ({ url, status: 404, answer: { error: { code: "ImageNotFound" } } })),
    user: { ...user, image: null },
  });
});

Deno.test("A9: of a provider with many tenants a hundred discovery documents are kept", () => {
  const { documents, idToken, ...others } = PROVIDER_SAMPLES["microsoft-entra-id"];
  const sample: ProviderSample = { ...others };
  return StandIn.during(sample, async (standIn) => {
    const provider = await configured("microsoft-entra-id", sample, standIn);
    const { app } = await application(provider);
    await using _app = app;
    /** Signs in a user of a tenant, and gives how many documents were asked for. */
    const signIn = async (tenant: number) => {
      const ofTenant = JSON.stringify({ documents, idToken }).replaceAll(
        String(idToken!.tid),
        `tenant-${tenant}`,
      );
      Object.assign(sample, JSON.parse(ofTenant));
      standIn.requests.length = 0;
      const browser = new Browser(through(app));
      const asked = await startSignIn(browser, provider.id);
      assertEquals(
        await finishSignIn(browser, provider.id, sample, standIn.authorize(asked)),
        `${ORIGIN}/welcome`,
      );
      return standIn.requests.filter(({ kind }) => kind === "discovery").length;
    };
    assertEquals(await signIn(0), 2, "that of all tenants, and that of the tenant");
    for (let tenant = 1; tenant <= 100; tenant++) assertEquals(await signIn(tenant), 1);
    assertEquals(await signIn(100), 0);
    assertEquals(await signIn(0), 1, "forgotten");
  });
});

Deno.test("apple signs in a person again, without the name", () => {
  const { posts: _first, user, ...sample } = PROVIDER_SAMPLES.apple;
  return signsIn("apple", { ...sample, posts: {}, user: { ...user, name: user.email! } });
});

Deno.test("apple signs in a person whose address it keeps, without asking at an endpoint that it does not have", () => {
  const { posts: _first, user, idToken, ...sample } = PROVIDER_SAMPLES.apple;
  const { email: _email, ...claims } = idToken!;
  const { iss } = idToken!;
  return signsIn("apple", {
    ...sample,
    posts: {},
    idToken: { ...claims, iss },
    user: { id: user.id, image: null },
  });
});

Deno.test("zitadel signs in a person whose data are at the userinfo endpoint", () => {
  const { idToken, documents = {}, ...sample } = PROVIDER_SAMPLES.zitadel;
  const { iss, sub, ...answer } = idToken!;
  const [document] = Object.values(documents);
  const url = String(document!.userinfo_endpoint);
  return signsIn("zitadel", {
    ...sample,
    documents,
    idToken: { iss, sub },
    userinfo: [{ url, answer: { sub, ...answer } }],
  });
});

Deno.test("github signs in a person with a public address, without asking for more", () => {
  const { userinfo = [], ...sample } = PROVIDER_SAMPLES.github;
  const [profile] = userinfo;
  const answer = { ...profile!.answer as Json, email: "ada@example.com" };
  return signsIn("github", { ...sample, userinfo: [{ ...profile!, answer }] });
});

/** The account has what the token response had, in the form that applications rely on. */
function assertAccount(account: Json, id: string, { token, user }: ProviderSample): void {
  const { scope, refresh_token, expires_in } = token.answer;
  assertEquals(account.provider, id);
  assertEquals(account.providerAccountId, user.id);
  assertEquals(account.access_token, "access-9012");
  assertEquals(account.token_type, "bearer");
  assertEquals(account.refresh_token, refresh_token);
  assertEquals(account.scope, (Array.isArray(scope) ? scope.join(" ") : scope) ?? undefined);
  if (account.type === "oidc") assertMatch(String(account.id_token), /^[\w-]+\.[\w-]+\.[\w-]+$/);
  else assertEquals(account.type, "oauth");
  if (!expires_in) return;
  const lifetime = Number(account.expires_at) - Date.now() / 1000;
  assert(Math.abs(lifetime - Number(expires_in)) < 60, `${lifetime} s left of ${expires_in}`);
}

Deno.test("there are 93 providers of OAuth and OpenID Connect, and a sample for each", () => {
  const modules = new Set([...Object.keys(PROVIDER_SAMPLES), ...Object.keys(UNUSABLE_PROVIDERS)]);
  assertEquals(modules.size, 93);
});

Deno.test("azure-devops cannot sign in: core does not make the token request that it needs", () => {
  const sample: ProviderSample = UNUSABLE_PROVIDERS["azure-devops"];
  return StandIn.during(sample, async (standIn) => {
    const { app, accounts, browser } = await application(await configured("azure-devops", sample, standIn));
    await using _app = app;
    const url = await startSignIn(browser, "azure-devops");
    assertAuthorizationRequest(url, "azure-devops", sample);
    const end = await finishSignIn(browser, "azure-devops", sample, standIn.authorize(url));
    assertMatch(
      standIn.complaints.join(),
      /body of the token request: .*"authorization_code".*, not .*jwt-bearer/,
    );
    assertEquals(end, `${ORIGIN}/auth/error?error=Configuration`);
    assertEquals(accounts, []);
  });
});

/** Core without the plugin. */
function coreAlone(provider: OAuthProvider, own: Partial<AuthConfig> = {}) {
  const errors: string[] = [];
  const handler: Handler = (request) =>
    Auth(request, {
      providers: [provider],
      secret: SECRET,
      trustHost: true,
      basePath: "/auth",
      logger: { error: (error) => errors.push(reasonOf(error)) },
      ...own,
    });
  return { browser: new Browser(handler), errors };
}

function reasonOf({ message, cause }: Error): string {
  const { err } = (cause ?? {}) as { err?: Error };
  return err ? `${message}: ${err.message}` : message;
}

for (const [module, problem] of Object.entries(AS_SHIPPED)) {
  Deno.test(`core alone does not sign in with ${module}`, () => {
    const documented: ProviderSample = PROVIDER_SAMPLES[module as keyof typeof PROVIDER_SAMPLES];
    const sample: ProviderSample = "letIn" in problem
      ? { ...documented, ...problem.letIn, token: { ...documented.token, auth: "basic" } }
      : documented;
    return StandIn.during(sample, async (standIn) => {
      const provider = await configured(module, sample, standIn);
      const { browser, errors } = coreAlone(provider);
      if ("asks" in problem) {
        const asked = problem.asks(await startSignIn(browser, provider.id));
        assertEquals(asked, problem.for);
        return;
      }
      const response = await browser.send("/auth/csrf");
      if (response.ok) {
        const url = await startSignIn(browser, provider.id);
        const end = await finishSignIn(browser, provider.id, sample, standIn.authorize(url));
        assertNotEquals(end, `${ORIGIN}/welcome`);
      }
      assertMatch(errors.join(), problem.fails);
    });
  });
}

Deno.test("core alone takes an id that is a number for the account's", () => {
  const sample = PROVIDER_SAMPLES.strava;
  return StandIn.during(sample, async (standIn) => {
    const ids: unknown[] = [];
    const { browser } = coreAlone(await configured("strava", sample, standIn), {
      events: { signIn: ({ account }) => void ids.push(account?.providerAccountId) },
    });
    const url = await startSignIn(browser, "strava");
    await finishSignIn(browser, "strava", sample, standIn.authorize(url));
    assertEquals(ids, [134815]);
  });
});
