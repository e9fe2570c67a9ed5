/** The issuer that an authorization response or an ID token names (RFC 9207), if the provider is configured without. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { attemptsOf } from "../support/attempts.ts";
import type { LogLine } from "../support/app.ts";
import { locationOf, oauthApp, pathOf, reasons, signedInName, startSignIn } from "../support/oauth_client.ts";
import { ProviderBrowser, startOpenIdProvider } from "../support/openid_provider.ts";
import { PATHS, type Script, ScriptedProvider } from "../support/scripted_provider.ts";
import { oauthSettings, type ScriptedParts, signInThrough, withProvider } from "../support/scripted_sign_in.ts";

const ERROR_PAGE = "http://localhost/auth/error?error=Configuration";
const OTHER = "https://other-issuer.example";

/** No ID token: this is OAuth. */
const OAUTH: Script = { tokens: { id_token: undefined } };

/** What was logged of a sign-in that failed: one line. */
function refusal(lines: readonly LogLine[]): string {
  const errors = lines.filter(({ level }) => level >= 40);
  assertEquals(errors.length, 1, JSON.stringify(errors));
  assertEquals(errors[0]!.level, 40);
  assertFalse(JSON.stringify(errors).includes("authjs.dev"), "core's placeholder");
  return errors[0]!.msg;
}

async function assertRefused(parts: ScriptedParts, iss: string): Promise<string> {
  const answer = await signInThrough(parts.client, parts.provider, { iss });
  assertEquals(locationOf(answer), ERROR_PAGE);
  assertEquals(await signedInName(parts.client), undefined);
  assertFalse(parts.provider.paths.includes(PATHS.token), "the code goes nowhere");
  return refusal(parts.lines);
}

async function assertAccepted({ client, provider, lines }: ScriptedParts, iss: string): Promise<void> {
  const answer = await signInThrough(client, provider, { iss });
  assertEquals(locationOf(answer), "http://localhost", JSON.stringify(lines));
  assertEquals(await signedInName(client), "Ada of userinfo");
  assertEquals(lines.filter(({ level }) => level >= 40), []);
}

/** A provider whose metadata is not about the endpoints that are configured. */
function withOtherEndpoints(issuer: string) {
  return {
    ...oauthSettings(issuer),
    token: `${issuer}${PATHS.token}?tenant=1`,
    authorization: `${issuer}/auth`,
  };
}

Deno.test("an OAuth provider without an issuer is known by the metadata that it publishes", async () => {
  await withProvider(OAUTH, (parts) => assertAccepted(parts, parts.provider.issuer), oauthSettings);
});

Deno.test("a real server that sends its issuer signs in without one being configured", async () => {
  const metadata = {
    client_id: "client",
    client_secret: "secret",
    redirect_uris: ["http://localhost/auth/callback/op"],
  };
  await using provider = await startOpenIdProvider([metadata]);
  const { issuer } = provider;
  const { app, browser, lines } = await oauthApp({
    type: "oauth",
    checks: ["state", "pkce"],
    authorization: { url: `${issuer}/auth`, params: { scope: "openid profile email" } },
    token: `${issuer}/token`,
    userinfo: `${issuer}/me`,
  });
  await using _app = app;
  const client = browser();
  const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(client)));
  assertEquals(new URL(url).searchParams.get("iss"), issuer);
  await client.get(pathOf(url));
  assertEquals(await signedInName(client), "Ada", JSON.stringify(lines));
});

Deno.test("an OAuth provider without an issuer is known by the document configured as wellKnown", async () => {
  const settings = (issuer: string) => ({
    ...withOtherEndpoints(issuer),
    token: `${issuer}${PATHS.token}`,
    wellKnown: `${issuer}${PATHS.discovery}`,
  });
  await withProvider(OAUTH, (parts) => assertAccepted(parts, parts.provider.issuer), settings);
  await withProvider(OAUTH, async (parts) => {
    // To the letter: the document names it without the slash.
    assertMatch(await assertRefused(parts, `${parts.provider.issuer}/`), /names the issuer "http:[^"]+\/"/);
  }, settings);
  await withProvider(OAUTH, (parts) => assertRefused(parts, OTHER).then(() => {}), settings);
});

Deno.test("metadata where RFC 8414 has them are found as well, and observed as discovery", async () => {
  const endpoints: string[] = [];
  const note = (message: unknown) => void endpoints.push((message as { endpoint: string }).endpoint);
  const channel = "tracing:fastify-authjs.provider-request:asyncEnd";
  subscribe(channel, note);
  await withProvider(OAUTH, async (parts) => {
    const issuer = `${parts.provider.issuer}/tenant`;
    parts.provider.documents.set("/.well-known/oauth-authorization-server/tenant", {
      issuer,
      authorization_endpoint: `${parts.provider.issuer}/authorize`,
      token_endpoint: `${parts.provider.issuer}${PATHS.token}`,
    });
    await assertAccepted(parts, issuer);
  }, oauthSettings).finally(() => unsubscribe(channel, note));
  assertEquals(endpoints, ["discovery", "token", "userinfo"]);
});

Deno.test("an issuer that cannot be known is refused, and the log says which setting it takes", async () => {
  const silent: Script = {
    ...OAUTH,
    answer: { discovery: (_request, response) => response.writeHead(404).end() },
  };
  await withProvider(silent, async (parts) => {
    const { issuer } = parts.provider;
    const message = await assertRefused(parts, issuer);
    assertStringIncludes(message, `The callback of "op" names the issuer "${issuer}"`);
    assertStringIncludes(message, `set \`issuer: "${issuer}"\``);
  }, oauthSettings);
});

Deno.test("where the metadata do not come, the provider did not answer", async () => {
  const silent: Script = { ...OAUTH, answer: { discovery: () => {} } };
  await withProvider(
    silent,
    async ({ client, provider }) => {
      const answer = await signInThrough(client, provider, { iss: provider.issuer });
      assertEquals([answer.statusCode, answer.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
      assertEquals(attemptsOf(client), []);
    },
    oauthSettings,
    { providerTimeout: 300 },
  );
});

Deno.test("the setting that the log names is the one it takes", async () => {
  await withProvider(OAUTH, (parts) => assertAccepted(parts, parts.provider.issuer), (issuer) => ({
    ...oauthSettings(issuer),
    issuer,
  }));
});

Deno.test("a mix-up: the issuer of another server is refused, and that server is not asked", async () => {
  await using other = await ScriptedProvider.start();
  await withProvider(OAUTH, async (parts) => {
    await assertRefused(parts, other.issuer);
    assertEquals(other.paths, []);
  }, oauthSettings);
});

Deno.test("a mix-up: an issuer on the same host with endpoints of its own is refused", async () => {
  await withProvider(
    OAUTH,
    (parts) => assertRefused(parts, parts.provider.issuer).then(() => {}),
    withOtherEndpoints,
  );
  await withProvider(OAUTH, async (parts) => {
    // The attacker's document cannot name an issuer that it is not found at.
    const { issuer } = parts.provider;
    const honest = {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}${PATHS.token}`,
    };
    parts.provider.documents.set("/~eve/.well-known/openid-configuration", honest);
    parts.provider.documents.set("/.well-known/oauth-authorization-server/~eve", honest);
    await assertRefused(parts, `${issuer}/~eve`);
  }, oauthSettings);
});

Deno.test("an issuer whose metadata lack an endpoint that is configured is refused", async () => {
  await withProvider(OAUTH, async (parts) => {
    const { issuer } = parts.provider;
    const lacking = { issuer, token_endpoint: `${issuer}${PATHS.token}` };
    parts.provider.documents.set("/.well-known/oauth-authorization-server", lacking);
    await assertRefused(parts, issuer);
  }, oauthSettings);
});

Deno.test("an issuer that is no such thing is refused without a request", async () => {
  for (const suffix of ["?a=b", "#a"]) {
    await withProvider(OAUTH, async (parts) => {
      await assertRefused(parts, `${parts.provider.issuer}${suffix}`);
      assertEquals(parts.provider.paths, []);
    }, oauthSettings);
  }
  for (const iss of ["nonsense", "javascript:alert(1)", `https://a.example/\r\n${"x".repeat(5000)}`]) {
    await withProvider(OAUTH, async (parts) => {
      const message = await assertRefused(parts, iss);
      assert(message.length < 800, String(message.length));
      assertEquals(parts.provider.paths, []);
    }, oauthSettings);
  }
});

Deno.test("a response without the issuer that the metadata promise is refused, and the log says so", async () => {
  await withProvider(
    { metadata: { authorization_response_iss_parameter_supported: true } },
    async ({ client, provider, lines }) => {
      assertEquals(
        locationOf(await signInThrough(client, provider)),
        "http://localhost/auth/error?error=Configuration",
      );
      assertStringIncludes(reasons(lines), 'InvalidCheck: The callback of "op" names no issuer');
    },
  );
});

Deno.test("an issuer that is configured is compared to the letter, and the log has both", async () => {
  const settings = (issuer: string) => ({ ...oauthSettings(issuer), issuer });
  for (const iss of [OTHER, "/"]) {
    await withProvider(OAUTH, async (parts) => {
      const { issuer } = parts.provider;
      const sent = iss === "/" ? `${issuer}/` : iss;
      const message = await assertRefused(parts, sent);
      assertStringIncludes(
        message,
        `"op" names the issuer "${sent}" (RFC 9207), and "${issuer}" is expected`,
      );
      assertFalse(parts.provider.paths.includes(PATHS.discovery));
    }, settings);
  }
});

Deno.test("an error from an issuer that cannot be known is logged with it", async () => {
  await withProvider(OAUTH, async ({ client, provider, lines }) => {
    await signInThrough(client, provider, { code: "", iss: OTHER, error: "access_denied" });
    const message = refusal(lines);
    assertStringIncludes(message, OTHER);
    assertStringIncludes(message, "access_denied");
  }, oauthSettings);
});

Deno.test("an ID token without an issuer to compare with is refused, and the log says which setting it takes", async () => {
  for (const type of ["oauth", "oidc"]) {
    await withProvider({}, async ({ client, provider, lines }) => {
      assertEquals(locationOf(await signInThrough(client, provider)), ERROR_PAGE);
      assertStringIncludes(refusal(lines), `The ID token of "op" names the issuer "${provider.issuer}"`);
      assertStringIncludes(refusal(lines), `set \`issuer: "${provider.issuer}"\``);
    }, (issuer) => ({ ...oauthSettings(issuer), type }));
  }
});

Deno.test("a callback that is not this browser's sends no request for its issuer", async () => {
  await withProvider(OAUTH, async ({ client, provider }) => {
    const { issuer } = provider;
    const answer = await client.get(`/auth/callback/op?code=a&state=b&iss=${encodeURIComponent(issuer)}`);
    assertEquals(locationOf(answer), `${ERROR_PAGE}&code=sign_in_expired`);
    assertEquals(provider.paths, []);
  }, oauthSettings);
});

Deno.test("one of two providers that names itself does not change the other", async () => {
  await using provider = await ScriptedProvider.start(OAUTH);
  const { issuer } = provider;
  const first = { clientId: "client", clientSecret: "secret", name: "OP", ...oauthSettings(issuer) };
  const providers = [{ ...first, id: "op" }, { ...first, id: "second" }] as never;
  const { app, browser } = await oauthApp({}, { providers });
  await using _app = app;
  for (const id of ["op", "second"]) {
    const client = browser();
    const url = provider.authorize(locationOf(await startSignIn(client, id)), { iss: issuer });
    assertEquals(locationOf(await client.get(pathOf(url))), "http://localhost");
  }
});
