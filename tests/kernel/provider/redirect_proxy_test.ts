/** `redirectProxyUrl`: to which deployments the stable one sends the codes of their sign-ins. */
import { assert, assertEquals, assertFalse, assertMatch, assertRejects } from "@std/assert";
import { type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import { redirectProxyOrigins } from "../../../src/config/redirect_proxy.ts";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { withEnvironment } from "../../support/environment.ts";
import { clearedCookies, locationOf, oauthApp, pathOf, reasons, startSignIn } from "../../support/oauth_client.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";
import { oauthSettings } from "../../support/scripted_sign_in.ts";

const STABLE = "https://app.example";
const PATTERN = "https://*.preview.example";
const ERROR = `${STABLE}/auth/error?error=Configuration`;

/** The callback at the stable deployment of a sign-in that begins at another. */
async function handOn(from: { origin?: string; host?: string }, allowed: string[] = [PATTERN]) {
  await using provider = await ScriptedProvider.start();
  const settings = oauthSettings(provider.issuer);
  const shared = { redirectProxyUrl: `${STABLE}/auth`, redirectProxyOrigins: allowed };
  const { origin, host } = from;
  const preview = await oauthApp(settings, { ...shared, ...(origin ? { origin } : { trustHost: true }) });
  await using _preview = preview.app;
  const stable = await oauthApp(settings, { ...shared, origin: STABLE });
  await using _stable = stable.app;
  const began = preview.browser(host === undefined ? {} : { host });
  const callback = pathOf(provider.authorize(locationOf(await startSignIn(began))));
  // A sign-in at the stable deployment itself is under way in the browser.
  const client = stable.browser();
  await startSignIn(client);
  const answer = await client.get(callback);
  assertEquals(clearedCookies(answer), []);
  assertFalse(provider.paths.includes("/token"));
  return {
    location: locationOf(answer),
    search: new URL(`${STABLE}${callback}`).search,
    log: reasons(stable.lines),
  };
}

Deno.test("P5: a callback is handed on to an origin of the list, as it came", async () => {
  const allowed = ["https://staging.example:8443", PATTERN];
  for (const origin of ["https://pr-7.preview.example", "https://staging.example:8443"]) {
    const { location, search } = await handOn({ origin }, allowed);
    assertEquals(location, `${origin}/auth/callback/op${search}`);
  }
});

Deno.test("P5: no code is sent to another origin, whatever a client said was the host of a deployment", async () => {
  const origins = [
    "https://evil.example",
    "https://preview.example",
    "https://evilpreview.example",
    "https://a.b.preview.example",
    "https://pr-7.preview.example.evil.example",
    "https://pr-7.preview.example:8443",
    "http://pr-7.preview.example",
  ];
  for (const origin of origins) {
    const { location, log } = await handOn({ origin });
    assertEquals(location, ERROR, origin);
    assert(log.includes(`is for a deployment at ${origin}, which is not in \`redirectProxyOrigins\``), log);
  }
  // A deployment whose origin follows the Host header.
  const { location } = await handOn({ host: "evil.example" });
  assertEquals(location, ERROR);
});

Deno.test("P5: a list that is empty or missing stops the boot of the stable deployment, and of no other", async () => {
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" })];
  const start = (config: Partial<FastifyAuthConfig>, env = {}) =>
    withEnvironment(env, async () => {
      const { logger, lines } = captureLog();
      await using _app = await testApp(testConfig({ providers, ...config }), { logger });
      return lines.filter(({ level }) => level === 40).map(({ msg }) => msg).join();
    });
  const redirectProxyUrl = `${STABLE}/auth`;
  const own = [GitHub({ clientId: "id", clientSecret: "secret", redirectProxyUrl })];
  const stable: [Partial<FastifyAuthConfig>, env?: Record<string, string>][] = [
    [{ origin: STABLE, redirectProxyUrl }],
    [{ origin: STABLE, redirectProxyUrl, redirectProxyOrigins: [] }],
    [{ origin: STABLE, providers: own }],
    [{ redirectProxyUrl }, { AUTH_URL: `${STABLE}/auth` }],
    [{ origin: STABLE }, { AUTH_REDIRECT_PROXY_URL: redirectProxyUrl }],
  ];
  for (const [config, env] of stable) {
    const { code, message } = await assertRejects(() => start(config, env), FastifyAuthError);
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    assertMatch(
      message,
      /stable deployment .*https:\/\/app\.example.*list their origins in `redirectProxyOrigins`/,
    );
  }
  assertEquals(await start({ origin: STABLE, redirectProxyUrl, redirectProxyOrigins: [PATTERN] }), "");
  assertEquals(await start({ origin: "https://pr-7.preview.example", redirectProxyUrl }), "");
  // Which one it is follows from each request.
  assertMatch(await start({ trustHost: true, redirectProxyUrl }), /is set without `redirectProxyOrigins`/);
});

Deno.test("P5: without a list nothing is handed on where the origin follows the request", async () => {
  await using provider = await ScriptedProvider.start();
  const { app, browser, lines } = await oauthApp(oauthSettings(provider.issuer), {
    trustHost: true,
    redirectProxyUrl: "http://app.example/auth",
  });
  await using _app = app;
  const began = locationOf(await startSignIn(browser({ host: "pr-7.preview.example" })));
  const answer = await browser({ host: "app.example" }).get(pathOf(provider.authorize(began)));
  assertEquals(locationOf(answer), "http://app.example/auth/error?error=Configuration");
  assertMatch(reasons(lines), /is not in `redirectProxyOrigins`, so it does not get the code/);
});

Deno.test("P5: a state that this deployment did not seal is refused", async () => {
  await using provider = await ScriptedProvider.start();
  const config = { origin: STABLE, redirectProxyUrl: `${STABLE}/auth`, redirectProxyOrigins: [PATTERN] };
  const { app, browser, lines } = await oauthApp(oauthSettings(provider.issuer), config);
  await using _app = app;
  const answer = await browser().get("/auth/callback/op?code=a&state=https%3A%2F%2Fpr-7.preview.example");
  assertEquals(locationOf(answer), ERROR);
  assertMatch(reasons(lines), /has a `state` that is none of ours/);
});

Deno.test("P5: an origin of the list is compared with its scheme, host and port, and without a user", () => {
  const list = redirectProxyOrigins([PATTERN, "https://app-*-team.host.example", "http://127.0.0.1:3000"]);
  const addresses: Record<string, boolean> = {
    "https://pr-7.preview.example/auth/callback/op": true,
    "https://PR-7.Preview.Example:443/x": true,
    "https://app-main-team.host.example": true,
    "http://127.0.0.1:3000/auth": true,
    "https://user@pr-7.preview.example": false,
    "https://user:secret@pr-7.preview.example": false,
    "https://pr-7.preview.example@evil.example": false,
    "https://.preview.example": false,
    "https://preview.example": false,
    "https://pr.7.preview.example": false,
    "https://evil.example/.preview.example": false,
    "https://evil.example?.preview.example": false,
    "https://evil.example#.preview.example": false,
    "https://evil.example\\.preview.example": false,
    "https://app--team.host.example": false,
    "https://app-x-team.host.example.": false,
    "http://127.0.0.1": false,
    "http://127x0.0.1:3000": false,
    "javascript://pr-7.preview.example": false,
    "pr-7.preview.example": false,
  };
  for (const [address, expected] of Object.entries(addresses)) {
    assertEquals(list.has(address), expected, address);
  }
});

Deno.test("P5: what is no origin stops the boot: a path, a user, a wildcard for a whole domain", async () => {
  const entries = [
    "*",
    "https://*",
    "https://*.example",
    "https://preview.*",
    "https://*.*",
    "https://**.preview.example",
    "https://*.preview.example/auth",
    "https://*.preview.example:*",
    "*://a.preview.example",
    "*.preview.example",
    "https://user@*.preview.example",
    "https://user@a.preview.example",
    "https://a.preview.example?x",
    "ftp://a.preview.example",
    "a.preview.example",
    "",
    7,
    null,
  ];
  for (const entry of [...entries, undefined]) {
    const config = testConfig({ redirectProxyOrigins: [entry as string] });
    const { code, message } = await assertRejects(
      () => testApp(config),
      FastifyAuthError,
      undefined,
      String(entry),
    );
    assertEquals(code, "FST_AUTHJS_CONFIG_INVALID");
    assertMatch(message, /`redirectProxyOrigins` cannot contain .+https:\/\/\*\.preview\.example/);
  }
  const config = testConfig({ redirectProxyOrigins: PATTERN as never });
  await assertRejects(() => testApp(config), FastifyAuthError, "must be an array of origins");
});
