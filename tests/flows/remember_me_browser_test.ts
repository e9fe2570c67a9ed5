/** The check mark "Remember me" of the sign-in page in a real browser. */
import { assert, assertEquals } from "@std/assert";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import type { FastifyAuthConfig } from "fastify-authjs";
import { passwordProvider, testApp, testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { ALL_CHECKS } from "../support/scripted_sign_in.ts";
import { ScriptedProvider } from "../support/scripted_provider.ts";

type Providers = FastifyAuthConfig["providers"];

/** A site with one provider, and others before it. */
async function withSite(
  others: Providers,
  run: (origin: string, provider: ScriptedProvider) => Promise<void>,
): Promise<void> {
  await using provider = await ScriptedProvider.start();
  provider.documents.set("/authorize", { question: "who are you?" });
  const settings = { id: "op", name: "OP", type: "oidc", clientId: "client", clientSecret: "secret" };
  const own = { ...settings, issuer: provider.issuer, checks: ALL_CHECKS } as unknown as Providers[number];
  await using app = await testApp(testConfig({ providers: [...others, own] }), {
    forceCloseConnections: true,
  });
  app.get("/", (_request, reply) => reply.type("text/html").send("<h1>home</h1>"));
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  await run(`http://localhost:${port}`, provider);
}

/** Whether the browser keeps the session when it is closed. */
async function isKept(page: Page): Promise<boolean> {
  const cookies = await page.context().cookies();
  const session = cookies.find(({ name }) => name === "authjs.session-token");
  assert(session, "nobody is signed in");
  return session.expires !== -1;
}

for (const javaScriptEnabled of [true, false]) {
  const without = javaScriptEnabled ? "" : "without JavaScript ";
  browserTest(
    `${without}a password signs in as the check mark says, which a failure leaves as it was`,
    (page) =>
      withSite([passwordProvider()], async (origin) => {
        await page.goto(`${origin}/auth/signin?callbackUrl=%2F`);
        const choice = page.getByLabel("Remember me");
        assertEquals([await choice.count(), await choice.isChecked()], [1, true]);
        await choice.uncheck();
        await page.getByLabel("User name").fill("ada");
        await page.getByLabel("Password").fill("wrong");
        await page.getByRole("button", { name: "Sign in with a password" }).click();
        await page.getByRole("alert").waitFor();
        assertEquals(await choice.isChecked(), false);
        await page.getByLabel("Password").fill("open");
        await page.getByRole("button", { name: "Sign in with a password" }).click();
        await page.getByRole("heading", { name: "home" }).waitFor();
        assertEquals(await isKept(page), false);
        await page.context().clearCookies();
        await page.goto(`${origin}/auth/signin?callbackUrl=%2F`);
        await page.getByLabel("User name").fill("ada");
        await page.getByLabel("Password").fill("open");
        await page.getByRole("button", { name: "Sign in with a password" }).click();
        await page.getByRole("heading", { name: "home" }).waitFor();
        assertEquals(await isKept(page), true);
      }),
    { javaScriptEnabled },
  );
}

for (const others of [[passwordProvider()], []]) {
  const beside = others.length > 0 ? " beside a form" : " alone";
  browserTest(
    `the button of a provider${beside} does as the check mark says`,
    (page) =>
      withSite(others, async (origin, provider) => {
        for (const isRemembered of [false, true]) {
          await page.context().clearCookies();
          await page.goto(`${origin}/auth/signin?callbackUrl=%2F`);
          await page.getByLabel("Remember me").setChecked(isRemembered);
          await page.locator('form[action$="/signin/op"] button').click();
          await page.waitForURL(`${provider.issuer}/**`);
          await page.goto(provider.authorize(page.url()));
          await page.getByRole("heading", { name: "home" }).waitFor();
          assertEquals(await isKept(page), isRemembered);
        }
      }),
  );
}

browserTest(
  "without JavaScript a page of buttons has no check mark, and signs in",
  (page) =>
    withSite([], async (origin, provider) => {
      await page.goto(`${origin}/auth/signin?callbackUrl=%2F`);
      assertEquals(await page.getByLabel("Remember me").isVisible(), false);
      await page.locator('form[action$="/signin/op"] button').click();
      await page.waitForURL(`${provider.issuer}/**`);
      await page.goto(provider.authorize(page.url()));
      await page.getByRole("heading", { name: "home" }).waitFor();
      assertEquals(await isKept(page), true);
    }),
  { javaScriptEnabled: false },
);
