/** Tabs of a real browser that sign in at the same time. */
import { assertEquals, assertLess } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { testApp, testConfig } from "../support/app.ts";
import { ATTEMPT } from "../support/attempts.ts";
import { browserTest } from "../support/browser.ts";
import { OPENID_CLIENT } from "../support/oauth_client.ts";
import { seededRandom } from "../support/random.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";
import { emptyTables, webAuthnConfig } from "../support/webauthn.ts";
import { addAuthenticator, holdOffers } from "../support/webauthn_browser.ts";
import { goThrough, withSite } from "../support/webauthn_page.ts";

interface Scene {
  readonly origin: string;
  readonly provider: ScriptedProvider;
}

/** A site with one provider, and pages to sign in for. */
async function withProviderSite(run: (scene: Scene) => Promise<void>): Promise<void> {
  await using provider = await ScriptedProvider.start();
  provider.documents.set("/authorize", { question: "who are you?" });
  const providers = [{ ...OPENID_CLIENT, issuer: provider.issuer, checks: ALL_CHECKS }];
  const config = testConfig({ providers: providers as unknown as FastifyAuthConfig["providers"] });
  await using app = await testApp(config, { forceCloseConnections: true });
  app.get<{ Params: { name: string } }>(
    "/pages/:name",
    (request, reply) => reply.type("text/html").send(`<h1>${request.params.name}</h1>`),
  );
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  await run({ origin: `http://localhost:${port}`, provider });
}

/** Goes to the sign-in page and on to the provider; returns where the provider is to ask its user. */
async function begin(page: Page, { origin, provider }: Scene, name: string): Promise<string> {
  await page.goto(`${origin}/auth/signin?${new URLSearchParams({ callbackUrl: `/pages/${name}` })}`);
  await page.locator('form[action$="/signin/op"] button').click();
  await page.waitForURL(`${provider.issuer}/**`);
  return page.url();
}

/** Comes back from the provider; returns where that leads. */
async function end(page: Page, { provider }: Scene, authorization: string): Promise<string> {
  await page.goto(provider.authorize(authorization));
  return page.url();
}

for (const count of [2, 4]) {
  browserTest(
    `in a browser ${count} tabs sign in, whichever ends first`,
    (page) =>
      withProviderSite(async (scene) => {
        const context = page.context();
        const random = seededRandom();
        for (const reversed of [false, true]) {
          await context.clearCookies();
          const tabs: { tab: Page; name: string; at: string }[] = [];
          for (let i = 0; i < count; i++) {
            const tab = await context.newPage();
            tabs.push({ tab, name: `tab-${i}`, at: await begin(tab, scene, `tab-${i}`) });
          }
          if (reversed) tabs.reverse();
          else tabs.sort(() => random.int(2) - 0.5);
          for (const { tab, name, at } of tabs) {
            assertEquals(await end(tab, scene, at), `${scene.origin}/pages/${name}`);
            await tab.close();
          }
        }
      }),
  );
}

browserTest(
  "in a browser the latest of 30 tabs sign in, and the first of them begins again",
  (page) =>
    withProviderSite(async (scene) => {
      const authorizations: string[] = [];
      for (let i = 0; i < 30; i++) authorizations.push(await begin(page, scene, `tab-${i}`));
      const cookies = (await page.context().cookies(scene.origin)).filter(({ name }) => ATTEMPT.test(name));
      assertLess(3, cookies.length);
      assertLess(cookies.map(({ name, value }) => `${name}=${value}`).join("; ").length, 4097);
      const kept = Array.from({ length: cookies.length }, (_, i) => 29 - i).sort((a, b) => a % 3 - b % 3);
      for (const i of kept) {
        assertEquals(await end(page, scene, authorizations[i]!), `${scene.origin}/pages/tab-${i}`);
      }
      // The tabs that ended have signed the user in.
      assertEquals(await end(page, scene, authorizations[0]!), `${scene.origin}/pages/tab-29`);
      await page.context().clearCookies({ name: "authjs.session-token" });
      assertEquals(new URL(await end(page, scene, authorizations[0]!)).pathname, "/auth/error");
      await page.locator('form[action$="/signin/op"] button').click();
      await page.waitForURL(`${scene.provider.issuer}/**`);
      assertEquals(await end(page, scene, page.url()), `${scene.origin}/pages/tab-29`);
    }),
);

browserTest(
  "in a browser the passkey that one tab offers signs in after another tab has offered one",
  async (page) => {
    const { origin: _none, ...config } = webAuthnConfig(emptyTables(), { trustHost: true });
    await withSite(config, async ({ origin }) => {
      await page.goto(origin);
      await addAuthenticator(page);
      await goThrough(page, { action: "register", email: "ada@example.com" });
      await page.context().clearCookies();

      await holdFirstOffer(page);
      const offered = (tab: Page) => tab.waitForResponse(/webauthn-options/);
      await page.goto(`${origin}/auth/signin?callbackUrl=%2F%3Ffirst`);
      await Promise.all([offered(page), page.focus("input[name=email]")]);
      await page.waitForFunction("globalThis.takeUp !== undefined");
      const other = await page.context().newPage();
      await holdOffers(other);
      await other.goto(`${origin}/auth/signin`);
      await Promise.all([offered(other), other.focus("input[name=email]")]);
      const attempts = (await page.context().cookies(origin)).filter(({ name }) => ATTEMPT.test(name));
      assertEquals(attempts.length, 2);

      await page.evaluate("globalThis.takeUp()");
      await page.waitForURL(`${origin}/?first`);
      const { session } = await page.evaluate(`fetch("/me").then((response) => response.json())`) as {
        session: { user: { email: string } };
      };
      assertEquals(session.user.email, "ada@example.com");
    });
  },
);

/** Keeps the offer of a page waiting until `takeUp()` is called there. */
async function holdFirstOffer(page: Page): Promise<void> {
  await page.addInitScript(`{
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = async (options) => {
      await new Promise((resolve) => globalThis.takeUp = resolve);
      return await get(options);
    };
  }`);
}
