/** ID tokens without the user's data, which then come from the userinfo endpoint. */
import { assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import type { Client } from "../../support/client.ts";
import { locationOf, oauthApp, pathOf, type ProviderSettings, startSignIn } from "../../support/oauth_client.ts";
import { ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";
import { PATHS, type Script, signRs256 } from "../../support/scripted_provider.ts";
import { oauthSettings, type ScriptedParts, signInThrough, withProvider } from "../../support/scripted_sign_in.ts";

const SIGNED_IN = "http://localhost";
const SIGN_IN_PAGE = "http://localhost/auth/signin?error=OAuthCallbackError";

/** An ID token that says no more than who it is about. */
const BARE = { name: undefined, email: undefined };
const FROM_USERINFO = { name: "Ada of userinfo", email: "ada@example.com" };

async function userOf(client: Client): Promise<unknown> {
  return (await client.get("/me")).json<{ session: { user?: unknown } | null }>().session?.user;
}

function asked({ provider }: ScriptedParts): boolean {
  return provider.paths.includes(PATHS.userinfo);
}

/** Signs in with a provider whose ID token is bare, and ends as expected. */
async function signsIn(
  user: unknown,
  { claims, ...script }: Script = {},
  settings: ProviderSettings | ((issuer: string) => ProviderSettings) = {},
  check: (parts: ScriptedParts) => void = () => {},
): Promise<void> {
  await withProvider({ claims: { ...BARE, ...claims }, ...script }, async (parts) => {
    const answer = await signInThrough(parts.client, parts.provider);
    if (answer.statusCode !== 503) {
      assertEquals(locationOf(answer), user === undefined ? SIGN_IN_PAGE : SIGNED_IN);
    }
    assertEquals(await userOf(parts.client), user);
    check(parts);
  }, settings);
}

Deno.test("a server with oidc-provider's defaults, or LemonLDAP::NG's, signs in a user with name and e-mail", async () => {
  const metadata = {
    client_id: "client",
    client_secret: "secret",
    redirect_uris: ["http://localhost/auth/callback/op"],
  };
  // `conformIdTokenClaims` is true by default: the claims of the scopes are at the userinfo endpoint alone.
  await using provider = await startOpenIdProvider([metadata], { conformIdTokenClaims: true });
  for (const settings of [{}, { checks: ["state", "pkce", "nonce"] }]) {
    const { app, browser } = await oauthApp({ issuer: provider.issuer, ...settings });
    await using _app = app;
    const client = browser();
    const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(client)));
    await client.get(pathOf(url));
    assertEquals(await userOf(client), { name: "Ada", email: "ada@example.com" });
    assertEquals(provider.requests.slice(-3), ["POST /token", "GET /jwks", "GET /me"]);
  }
});

Deno.test("an ID token without the user's data has them asked for at the userinfo endpoint", async () => {
  await signsIn(FROM_USERINFO, {}, {}, ({ provider }) => {
    const { headers } = provider.requests.find(({ path }) => path === PATHS.userinfo)!;
    assertEquals(headers.authorization, "Bearer an-access-token");
    assertEquals(provider.paths.filter((path) => path === PATHS.discovery).length, 1);
  });
  const empty = { name: null, email: "", picture: undefined, locale: "en", email_verified: true };
  await signsIn(FROM_USERINFO, { claims: empty });
});

Deno.test("an ID token with any of the user's data is all that is looked at", async () => {
  for (const name of ["name", "nickname", "preferred_username", "picture", "email"]) {
    const user = name === "picture" ? "image" : name === "email" ? "email" : "name";
    await signsIn({ [user]: "ada" }, { claims: { [name]: "ada" } }, {}, (parts) => assertFalse(asked(parts)));
  }
});

Deno.test("the userinfo endpoint is asked where profile or email was granted", async () => {
  const scope = (scope: string) => ({ authorization: { params: { scope } } });
  const cases: [granted: string | undefined, settings: ProviderSettings, asks: boolean][] = [
    [undefined, {}, true],
    [undefined, scope("openid email"), true],
    [undefined, scope("openid profile"), true],
    [undefined, scope("openid"), false],
    [undefined, scope("openid user:read:email profile2"), false],
    ["openid", {}, false],
    ["openid profile", {}, true],
    ["openid profile", scope("openid"), true],
  ];
  for (const [granted, settings, asks] of cases) {
    const script = granted === undefined ? {} : { tokens: { scope: granted } };
    await signsIn(asks ? FROM_USERINFO : {}, script, settings, (parts) => assertEquals(asked(parts), asks));
  }
});

Deno.test("an idToken that the application sets stands", async () => {
  await signsIn({}, {}, { idToken: true }, (parts) => assertFalse(asked(parts)));
  const claims = { name: "Ada of the ID token", email: "other@example.com" };
  await signsIn(FROM_USERINFO, { claims }, { idToken: false });
});

Deno.test("the user's data of another subject are refused", async () => {
  for (const userinfo of [{ sub: "eve", name: "Eve" }, { name: "Eve" }, { sub: 7, name: "Eve" }]) {
    await signsIn(undefined, { userinfo }, {}, ({ lines }) => {
      const [line] = lines.filter(({ authjs }) => authjs);
      assertEquals(line?.level, 50);
      assertMatch(JSON.stringify(line), /\bsub\b/);
    });
  }
});

Deno.test("a userinfo endpoint that fails fails the sign-in, and is logged", async () => {
  const failures = {
    error: { body: '{"error":"invalid_token"}', status: 401, says: /"op" answered invalid_token$/ },
    page: { body: "<h1>down</h1>", status: 500, says: /"op" answered 500 at http:\S+\/userinfo\.$/ },
    garbage: {
      body: "{",
      status: 200,
      says: /"op" answered 200 at \S+\/userinfo without a JSON object \(application\/json\)\.$/,
    },
  };
  for (const { body, status, says } of Object.values(failures)) {
    const userinfo: NonNullable<Script["answer"]>["userinfo"] = (_request, response) => {
      response.writeHead(status, { "content-type": "application/json" }).end(body);
    };
    await signsIn(undefined, { answer: { userinfo: userinfo! } }, {}, ({ lines }) => {
      const errors = lines.filter(({ authjs }) => authjs);
      assertEquals(errors.length, 1);
      assertMatch(errors[0]!.msg, says);
      assertEquals(errors[0]!.level, 40);
    });
  }
});

Deno.test("a userinfo endpoint that hangs is not waited for longer than for any other", async () => {
  const script = { claims: BARE, answer: { userinfo: () => {} } };
  await withProvider(
    script,
    async ({ client, provider, lines }) => {
      await signInThrough(client, provider);
      assertEquals(await userOf(client), undefined);
      assertStringIncludes(JSON.stringify(lines), "in 300 ms");
    },
    {},
    { providerTimeout: 300 },
  );
});

Deno.test("callbacks and the provider's profile() get the claims of both, the ID token's first", async () => {
  const userinfo = {
    sub: "ada",
    iss: "https://other.example",
    roles: ["user"],
    given_name: "Ada",
    locale: "en",
  };
  const seen: Record<string, unknown>[] = [];
  let made: Record<string, unknown> = {};
  const profile = (claims: Record<string, unknown>) => {
    made = { ...claims };
    return { id: claims.sub, name: claims.given_name };
  };
  const callbacks = {
    signIn: ({ profile }: { profile?: object }) => seen.push({ ...profile }) > 0,
    jwt: ({ token, profile }: { token: object; profile?: object }) => {
      if (profile) seen.push({ ...profile });
      return token;
    },
  };
  await withProvider(
    { claims: { ...BARE, roles: ["admin"] }, userinfo },
    async ({ client, provider }) => {
      await signInThrough(client, provider);
      assertEquals(await userOf(client), { name: "Ada" });
      assertEquals(seen.length, 2);
      for (const { iss, aud, roles, given_name, locale } of [made, ...seen]) {
        assertEquals({ iss, aud, roles, given_name, locale }, {
          iss: provider.issuer,
          aud: "client",
          roles: ["admin"],
          given_name: "Ada",
          locale: "en",
        });
      }
    },
    { profile },
    { callbacks: callbacks as never },
  );
});

Deno.test("claims of userinfo cannot become a prototype", async () => {
  const answer = '{"sub":"ada","name":"Ada","__proto__":{"email":"eve@example.com"}}';
  const userinfo: NonNullable<NonNullable<Script["answer"]>["userinfo"]> = (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" }).end(answer);
  };
  await signsIn({ name: "Ada" }, { answer: { userinfo } });
});

Deno.test("userinfo that is a signed JWT is read", async () => {
  await withProvider({ claims: BARE }, async ({ client, provider }) => {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { sub: "ada", iss: provider.issuer, aud: "client", name: "Ada of a JWT" };
    const input = `${part({ alg: "RS256" })}.${part(claims)}`;
    provider.script.metadata = { userinfo_signing_alg_values_supported: ["RS256"] };
    provider.script.answer = {
      userinfo: (_request, response) => {
        response.writeHead(200, { "content-type": "application/jwt" }).end(`${input}.${signRs256(input)}`);
      },
    };
    await signInThrough(client, provider);
    assertEquals(await userOf(client), { name: "Ada of a JWT" });
  });
});

Deno.test("the userinfo endpoint may be configured, and its own request is used", async () => {
  const endpoints = (issuer: string, userinfo: unknown) => ({
    authorization: `${issuer}/authorize`,
    token: `${issuer}${PATHS.token}`,
    userinfo,
    jwks_endpoint: `${issuer}${PATHS.jwks}`,
  });
  await signsIn(FROM_USERINFO, {}, (issuer) => endpoints(issuer, `${issuer}${PATHS.userinfo}`), (parts) => {
    assertFalse(parts.provider.paths.includes(PATHS.discovery));
  });
  for (const sub of ["ada", "eve"]) {
    const request = ({ tokens }: { tokens: { access_token: string } }) => ({
      sub,
      name: tokens.access_token,
    });
    const user = sub === "ada" ? { name: "an-access-token" } : undefined;
    await signsIn(user, {}, (issuer) => endpoints(issuer, { url: `${issuer}/none`, request }));
  }
});

Deno.test("a userinfo endpoint is discovered where only the token endpoint is configured, if there is one", async () => {
  const settings = (issuer: string) => ({
    authorization: `${issuer}/authorize`,
    token: `${issuer}${PATHS.token}`,
  });
  await signsIn(FROM_USERINFO, {}, settings);
  const discovery = (status: number): Script => ({
    answer: { discovery: (_request, response) => void response.writeHead(status).end() },
  });
  await signsIn({}, discovery(404), settings);
  await signsIn(undefined, discovery(500), settings);
  const withKeys = (issuer: string) => ({ ...settings(issuer), jwks_endpoint: `${issuer}${PATHS.jwks}` });
  await signsIn(undefined, discovery(500), withKeys);
});

Deno.test("the user is made as core makes it where the provider has no profile()", async () => {
  const cases = [
    { name: "Ada", nickname: "a", preferred_username: "al", picture: "https://images.example/ada.png" },
    { name: undefined, nickname: "a", preferred_username: "al", email: "Ada@Example.com" },
    { name: undefined, preferred_username: "al", picture: null, email: undefined },
    { name: null, nickname: null, email: "ada@example.com" },
  ];
  for (const claims of cases) {
    const made: unknown[] = [];
    // With `idToken` the `profile` is core's own.
    for (const settings of [{}, { idToken: true }]) {
      const signIn = ({ user, account }: { user: object; account?: object | null }) => {
        made.push({ ...user, id: "random" }, (account as { providerAccountId: string }).providerAccountId);
      };
      await withProvider(
        { claims },
        async ({ client, provider }) => {
          await signInThrough(client, provider);
        },
        settings,
        { events: { signIn } },
      );
    }
    const [ours, ourId, theirs, theirId] = made;
    assertEquals([ours, ourId], [theirs, theirId]);
  }
});

Deno.test("without profile() the id of an OAuth user is a text, and a user without one is logged once", async () => {
  const ids: unknown[] = [];
  const signIn = ({ account }: { account?: { providerAccountId: string } | null }) => {
    ids.push(account!.providerAccountId);
    return true;
  };
  const script = { tokens: { id_token: undefined }, userinfo: { id: 7, name: "Ada" } };
  await withProvider(
    script,
    async ({ client, provider, lines }) => {
      const warnings = () => lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK");
      await signInThrough(client, provider);
      assertEquals([ids, warnings()], [["7"], []]);
      provider.script = { ...script, userinfo: { name: "Ada" } };
      for (let i = 0; i < 2; i++) await signInThrough(client, provider);
      const [{ msg } = { msg: "" }, ...more] = warnings();
      assertStringIncludes(
        msg,
        "came from the userinfo endpoint, so the default `profile()` of the provider",
      );
      assertEquals(more, []);
      assertEquals(new Set(ids).size, 3);
    },
    oauthSettings,
    { callbacks: { signIn } },
  );
});
