/** The code of a mail in a real browser: the page that takes it. */
import { assertEquals } from "@std/assert";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import type { VerificationMailParams } from "fastify-authjs";
import { browserTest, openPage } from "../../support/browser.ts";
import { overlapsOf } from "../../support/overlaps.ts";
import { listeningApp, pagesConfig } from "../../support/pages_app.ts";

const ADA = "ada@example.com";

async function withPage(page: Page, run: (origin: string, mails: VerificationMailParams[]) => Promise<void>) {
  const mails: VerificationMailParams[] = [];
  const email = {
    id: "email",
    type: "email",
    name: "Email",
    sendVerificationRequest: (mail: VerificationMailParams) => {
      mails.push(mail);
      return void mail.code;
    },
  };
  await using app = await listeningApp(pagesConfig({ providers: [email as never] }));
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F%3Fnext`);
  await page.getByLabel("E-mail address").fill(ADA);
  await page.locator("form button[type=submit]").click();
  await page.waitForURL(/verify-request/);
  await run(app.origin, mails);
}

const field = (page: Page) => page.getByLabel("Code from the e-mail");
const wrong = (code: string, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, "0");

async function enter(page: Page, code: string): Promise<void> {
  await field(page).fill(code);
  await page.getByRole("button", { name: "Sign in" }).click();
}

for (const javaScriptEnabled of [true, false]) {
  const scripts = javaScriptEnabled ? "" : ", where scripts are off";
  browserTest(`in the browser that asked a code signs in after a wrong one${scripts}`, async (window) => {
    const page = await openPage(window.context().browser()!, { javaScriptEnabled });
    await withPage(page, async (origin, mails) => {
      const code = mails[0]!.code!;
      await enter(page, wrong(code));
      await page.waitForURL(/EmailCodeWrong/);
      await page.getByRole("alert").getByText("That is not the code.").waitFor();
      assertEquals(await field(page).getAttribute("aria-invalid"), "true");
      assertEquals(await field(page).inputValue(), "");
      // The focus may come after the alert.
      if (javaScriptEnabled) await page.locator("#code:focus").waitFor();
      await enter(page, `${code.slice(0, 3)} ${code.slice(3)}`);
      await page.waitForURL(`${origin}/?next`);
      assertEquals(mails.length, 1);
      await page.goto(`${origin}/auth/verify-request`);
      assertEquals(await field(page).count(), 0);
    });
    await page.context().close();
  });
}

browserTest(
  "a browser that has used up its guesses is told that the link works, which signs in",
  (page) =>
    withPage(page, async (origin, mails) => {
      const { code = "", url } = mails[0]!;
      for (let guess = 1; guess <= 5; guess++) await enter(page, wrong(code, guess));
      await page.getByText("The link in the e-mail still signs you in.").waitFor();
      assertEquals(await field(page).count(), 0);
      await page.goto(url);
      await page.waitForURL(`${origin}/?next`);
    }),
);

browserTest(
  "axe finds nothing on the page that takes a code, at any width and in any scheme",
  (page) =>
    withPage(page, async (origin) => {
      for (
        const error of [
          "",
          "?error=EmailCodeWrong",
          "?error=EmailCodeSpent",
          "?error=EmailCodeWrong&ui_locales=ar",
        ]
      ) {
        await page.goto(`${origin}/auth/verify-request${error}`);
        await page.evaluate(axe.source);
        for (const width of [320, 390, 1280]) {
          for (const colorScheme of ["light", "dark"] as const) {
            await page.setViewportSize({ width, height: 800 });
            await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
            const { violations } = await page.evaluate("axe.run()") as AxeResults;
            assertEquals(violations.map(({ help }) => help), []);
            assertEquals(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
            assertEquals(await overlapsOf(page), []);
          }
        }
      }
    }),
);
