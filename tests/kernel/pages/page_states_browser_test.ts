/** The pages for users who are signed in, are to sign in again, or have signed out. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { createAuth } from "fastify-authjs";
import { passwordProvider } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";
import { BUTTONS, EMAIL, listeningApp, pagesConfig } from "../../support/pages_app.ts";
import type { Provider } from "fastify-authjs/providers";

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
}

browserTest("in a browser a user who is signed in goes on, or switches the account", async (page) => {
  const config = pagesConfig({ providers: [passwordProvider(), BUTTONS[0]!], pages: { siteName: "Acme" } });
  await using app = await listeningApp(config);
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  await signIn(page);
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F%3Fa`);
  await page.getByRole("heading", { name: "You are signed in as ada" }).waitFor();
  await page.getByRole("link", { name: "Continue to Acme" }).click();
  await page.waitForURL(`${app.origin}/?a`);
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F%3Fb`);
  await page.getByRole("button", { name: "Switch account" }).click();
  await signIn(page);
  await page.waitForURL(`${app.origin}/?b`);
});

browserTest("in a browser a sign-out ends on a page that says so, and not on a guarded one", async (page) => {
  const auth = createAuth(pagesConfig({ providers: [passwordProvider()], pages: { siteName: "Acme" } }));
  await using app = await listeningApp(auth.config, (app) => {
    app.get("/secret", { onRequest: auth.requireSession() }, () => "secret");
  });
  await page.goto(`${app.origin}/secret`);
  assertEquals(await page.getByRole("alert").count(), 0, "to sign in is no failure");
  await page.getByText("Please sign in to access this page.").waitFor();
  await signIn(page);
  await page.waitForURL(`${app.origin}/secret`);
  await page.goto(`${app.origin}/auth/signout`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  await page.getByText("You have signed out of Acme.").waitFor();
  await page.getByRole("link", { name: "Sign in again" }).click();
  await signIn(page);
  await page.waitForURL(`${app.origin}/secret`);
});

browserTest("in a browser a user confirms who it is, in a way that counts", async (page) => {
  const time = Date.now;
  const providers = [passwordProvider() as Provider, BUTTONS[1]!, EMAIL];
  const auth = createAuth(pagesConfig({ providers, stepUp: true }));
  await using app = await listeningApp(auth.config, (app) => {
    app.get("/secret", { onRequest: auth.requireSession({ maxAge: 60 }) }, () => "secret");
  });
  await page.goto(`${app.origin}/secret`);
  await signIn(page);
  await page.waitForURL(`${app.origin}/secret`);
  try {
    // From here on, however long the sign-in took
    const now = time() + 61_000;
    Date.now = () => now;
    await page.goto(`${app.origin}/secret`);
    await page.getByRole("heading", { name: "Confirm it's you" }).waitFor();
    await page.getByText("To continue, sign in again as ada.").waitFor();
    // Plain OAuth does not say when a user was authenticated.
    assertEquals(await page.getByRole("button", { name: "GitHub" }).count(), 0);
    await page.getByRole("button", { name: "E-mail me a sign-in link" }).waitFor();
    await signIn(page);
    await page.waitForURL(`${app.origin}/secret`);
  } finally {
    Date.now = time;
  }
});
