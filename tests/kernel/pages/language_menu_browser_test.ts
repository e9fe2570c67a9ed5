/** The menu of languages in a browser. */
import { assert, assertEquals } from "@std/assert";
import axe, { type AxeResults } from "axe-core";
import { browserTest } from "../../support/browser.ts";
import { overlapsOf } from "../../support/overlaps.ts";
import { listeningApp, pagesConfig } from "../../support/pages_app.ts";

browserTest("without JavaScript the menu opens, and a language of it stays", async (page) => {
  await using app = await listeningApp(pagesConfig());
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2Fx`);
  const arabic = page.getByRole("link", { name: "العربية" });
  assert(!await arabic.isVisible());
  await page.getByRole("navigation", { name: "Language" }).getByRole("button", { name: "English" }).click();
  await arabic.click();
  await page.locator("html[lang=ar][dir=rtl]").waitFor();
  assertEquals(new URL(page.url()).search, "?callbackUrl=%2Fx&lang=ar");
  await page.goto(`${app.origin}/auth/signin`);
  await page.locator("html[lang=ar]").waitFor();
}, { javaScriptEnabled: false });

browserTest("in a browser the open menu fits, axe finds nothing, and Escape closes it", async (page) => {
  await using app = await listeningApp(pagesConfig());
  for (const lang of ["en", "fa"]) {
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 600 });
      for (const colorScheme of ["light", "dark"] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.goto(`${app.origin}/auth/signin?lang=${lang}`);
        const state = `${lang} ${width} ${colorScheme}`;
        assertEquals(await overlapsOf(page), [], state);
        await page.locator(".languages > button").focus();
        await page.keyboard.press("Enter");
        const menu = page.locator("#languages");
        const box = (await menu.boundingBox())!;
        assert(box.x >= 0 && box.x + box.width <= width && box.y >= 0 && box.y + box.height <= 600, state);
        assertEquals(await page.evaluate("languages.scrollWidth - languages.clientWidth"), 0, state);
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate("axe.run()") as AxeResults;
        assertEquals(
          violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html}`)),
          [],
          state,
        );
        await page.keyboard.press("Tab");
        assertEquals(
          await page.evaluate("document.activeElement.closest('#languages') !== null"),
          true,
          state,
        );
        await page.keyboard.press("Escape");
        assert(!await menu.isVisible(), state);
      }
    }
  }
});
