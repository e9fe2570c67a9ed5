/** After another sign-in a page offers to add a passkey. */
import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { browserTest } from "../support/browser.ts";
import { offerConfig } from "../support/passkey_offer.ts";
import { addAuthenticator } from "../support/webauthn_browser.ts";
import { withSite } from "../support/webauthn_page.ts";

async function signIn(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/auth/signin?callbackUrl=%2F%3Fdone`);
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
}

browserTest("after a password a passkey is offered and added, and the sign-in goes on", async (page) => {
  const { config, tables } = offerConfig();
  await withSite(config, async ({ origin }) => {
    const authenticator = await addAuthenticator(page);
    await signIn(page, origin);
    await page.getByRole("heading", { name: "Sign in faster next time" }).waitFor();
    await page.getByRole("button", { name: "Add a passkey" }).click();
    await page.waitForURL(`${origin}/?done`);
    assertEquals((await authenticator.credentials()).length, 1);
    assertEquals(tables.authenticators.size, 1);
    // Who has one is not asked. Plugged in, it would sign in by itself.
    await authenticator.remove();
    await page.context().clearCookies();
    await signIn(page, origin);
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("a passkey that is not wanted is not offered again", async (page) => {
  const { config } = offerConfig();
  await withSite(config, async ({ origin }) => {
    await addAuthenticator(page);
    await signIn(page, origin);
    await page.getByRole("link", { name: "Not now" }).click();
    await page.waitForURL(`${origin}/?done`);
    const kept = (await page.context().cookies()).find(({ name }) => name === "authjs.passkey-offer")!;
    assertEquals(Math.round((kept.expires - Date.now() / 1000) / 86400), 30);
    await page.context().clearCookies({ name: "authjs.session-token" });
    await signIn(page, origin);
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("a browser that has no passkeys goes on", async (page) => {
  const { config } = offerConfig();
  await page.addInitScript("delete globalThis.PublicKeyCredential");
  await withSite(config, async ({ origin }) => {
    const offered = page.waitForResponse((answer) => answer.url().includes("offer=passkey"));
    await signIn(page, origin);
    await offered;
    await page.waitForURL(`${origin}/?done`);
  });
});

browserTest("without JavaScript the offer has a way on", async (page) => {
  const { config } = offerConfig();
  await withSite(config, async ({ origin }) => {
    await signIn(page, origin);
    await page.getByRole("link", { name: "Not now" }).click();
    await page.waitForURL(`${origin}/?done`);
  });
}, { javaScriptEnabled: false });
