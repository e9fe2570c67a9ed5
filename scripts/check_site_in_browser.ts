/** Opens pages of the site in a browser: what it asks for, its errors, and whether the search finds something. */
import fastifyStatic from "@fastify/static";
import Fastify from "fastify";
import type { Page } from "playwright-core";
import { launchBrowser } from "../tests/support/browser.ts";

/** Words, and the page that the search has to find for them. */
const SEARCHES = [
  { word: "trustedOrigins", page: "options.html#trustedorigins" },
  { word: "remember me", page: "session-lifetime.html#remember-me" },
  { word: "requireSession", page: "reference/fastify-authjs.html#requiresession" },
  { word: "http 429", page: "FST_AUTHJS_TOO_MANY_REQUESTS.html" },
];

/** The width of a small phone. */
const PHONE = { width: 360, height: 740 };

/**
 * Checks the site in a browser.
 *
 * @param dist The directory of the site.
 * @param pages The names of those to open, such as `guards.html`.
 * @returns What is wrong.
 */
export async function siteFaults(dist: URL, pages: readonly string[]): Promise<string[]> {
  const app = Fastify();
  await app.register(fastifyStatic, { root: decodeURIComponent(dist.pathname) });
  const site = await app.listen({ port: 0, host: "127.0.0.1" });
  const browser = await launchBrowser();
  const faults: string[] = [];
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(120_000);
    let current = "";
    page.on("request", (request) => {
      if (!request.url().startsWith(site) && !request.url().startsWith("data:")) {
        faults.push(`${current} asks for ${request.url()}`);
      }
    });
    page.on("pageerror", (error) => faults.push(`${current} has an error: ${error.message}`));
    for (current of pages) {
      await page.setViewportSize(PHONE);
      await page.goto(`${site}/${current}`, { waitUntil: "networkidle" });
      const width = await page.evaluate("document.documentElement.scrollWidth");
      if (Number(width) > PHONE.width) faults.push(`${current} is ${width} pixels wide on a phone`);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
    for (const search of SEARCHES) faults.push(...await searchFaults(page, site, search));
  } finally {
    await browser.close();
    await app.close();
  }
  return faults;
}

async function searchFaults(
  page: Page,
  site: string,
  { word, page: wanted }: { word: string; page: string },
): Promise<string[]> {
  await page.goto(`${site}/index.html`);
  const box = page.locator(".VPLocalSearchBox input");
  // A click before the script of the page has run does nothing
  for (let clicks = 0; clicks < 20 && !await box.isVisible(); clicks++) {
    await page.locator(".VPNavBarSearch button").first().click();
    await box.waitFor({ timeout: 6_000 }).catch(() => {});
  }
  await box.fill(word);
  const found = page.locator(`.VPLocalSearchBox a[href*="${wanted}"]`);
  return await found.first().waitFor({ timeout: 120_000 }).then(
    () => [],
    () => [`the search for ${word} does not find ${wanted}`],
  );
}
