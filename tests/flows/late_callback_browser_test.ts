/** Callbacks that come too late or once more, in a real browser. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { testApp, testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";

interface Scene {
  readonly origin: string;
  readonly provider: ScriptedProvider;
  readonly links: string[];
}

async function withSite(run: (scene: Scene) => Promise<void>): Promise<void> {
  await using provider = await ScriptedProvider.start();
  provider.documents.set("/authorize", { question: "who are you?" });
  const links: string[] = [];
  const sendVerificationRequest = ({ url }: { url: string }) => void links.push(url);
  const providers = [
    {
      id: "op",
      name: "OP",
      type: "oidc",
      clientId: "client",
      clientSecret: "secret",
      issuer: provider.issuer,
      checks: ALL_CHECKS,
    },
    { id: "email", name: "Email", type: "email", maxAge: 600, sendVerificationRequest },
  ] as unknown as FastifyAuthConfig["providers"];
  const config = testConfig({ providers, adapter: memoryAdapter() });
  await using app = await testApp(config, { forceCloseConnections: true });
  app.get("/pages/:name", (request, reply) => reply.type("text/html").send(`<h1>${request.url}</h1>`));
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  await run({ origin: `http://localhost:${port}`, provider, links });
}

/** Begins at the sign-in page; returns the address of the callback. */
async function begin(page: Page, { origin, provider }: Scene, path: string): Promise<string> {
  await page.goto(`${origin}/auth/signin?${new URLSearchParams({ callbackUrl: path })}`);
  await page.locator('form[action$="/signin/op"] button').click();
  await page.waitForURL(`${provider.issuer}/**`);
  return provider.authorize(page.url());
}

browserTest(
  "in a browser a callback that is opened again, from the history or twice leads the user on",
  (page) =>
    withSite(async (scene) => {
      const { origin } = scene;
      const callback = await begin(page, scene, "/pages/one");
      await page.goto(callback);
      assertEquals(page.url(), `${origin}/pages/one`);
      await page.goto(callback);
      assertEquals(page.url(), `${origin}/pages/one`);
      // Back at the provider, which answers as before.
      await page.goBack();
      await page.goto(callback);
      await page.reload();
      assertEquals(page.url(), `${origin}/pages/one`);
      const other = await page.context().newPage();
      await other.goto(callback);
      assertEquals(other.url(), `${origin}/pages/one`);
    }),
);

browserTest(
  "in a browser without a session a callback that is used up begins again with one click",
  (page) =>
    withSite(async (scene) => {
      const { origin, provider } = scene;
      const callback = await begin(page, scene, "/pages/one");
      await page.goto(callback);
      await page.context().clearCookies({ name: "authjs.session-token" });
      await page.goto(callback);
      assertEquals(new URL(page.url()).pathname, "/auth/error");
      assertStringIncludes(await page.locator("h1").innerText(), "expired");
      await page.locator("main form button.primary").click();
      await page.waitForURL(`${provider.issuer}/**`);
      await page.goto(provider.authorize(page.url()));
      assertEquals(page.url(), `${origin}/pages/one`);
    }),
);

browserTest(
  "in a browser a mailed link that is used up mails another one with one click",
  (page) =>
    withSite(async ({ origin, links }) => {
      await page.goto(`${origin}/auth/signin?callbackUrl=%2Fpages%2Fmail`);
      await page.locator("input[name=email]").fill("ada@example.com");
      await page.locator("form[action$='/signin/email'] button").click();
      await page.waitForURL(/verify-request/);
      await page.goto(links[0]!);
      await page.waitForURL(`${origin}/pages/mail`);
      // A second click on the link in the mail: this browser is signed in.
      await page.goto(links[0]!);
      await page.locator("#confirm button").click();
      await page.waitForURL(`${origin}/pages/mail`);

      await page.context().clearCookies();
      await page.goto(links[0]!);
      await page.locator("#confirm button").click();
      await page.waitForURL(/\/auth\/error/);
      assertEquals(await page.locator("input[name=email]").inputValue(), "ada@example.com");
      await page.locator("main form button.primary").click();
      await page.waitForURL(/verify-request/);
      await page.goto(links[1]!);
      await page.waitForURL(`${origin}/pages/mail`);
    }),
);
