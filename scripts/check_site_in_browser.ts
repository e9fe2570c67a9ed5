/** Opens pages of the site in a browser: what it asks for, its errors, and whether the search finds something. */
import fastifyStatic from "@fastify/static";
import Fastify from "fastify";
import type { Page } from "playwright-core";
import { launchBrowser } from "../tests/support/browser.ts";

/** A word of the site, and the page that the search has to find for it. */
const SEARCH = { word: "trustedOrigins", page: "options.html#trustedorigins" };

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
    let current = "";
    page.on("request", (request) => {
      if (!request.url().startsWith(site) && !request.url().startsWith("data:")) {
        faults.push(`${current} asks for ${request.url()}`);
      }
    });
    page.on("pageerror", (error) => faults.push(`${current} has an error: ${error.message}`));
    for (current of pages) await page.goto(`${site}/${current}`, { waitUntil: "networkidle" });
    faults.push(...await searchFaults(page, site));
  } finally {
    await browser.close();
    await app.close();
  }
  return faults;
}

async function searchFaults(page: Page, site: string): Promise<string[]> {
  await page.goto(`${site}/index.html`);
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator(".VPLocalSearchBox input").fill(SEARCH.word);
  const found = page.locator(`.VPLocalSearchBox a[href$="${SEARCH.page}"]`);
  return await found.first().waitFor({ timeout: 120_000 }).then(
    () => [],
    () => [`the search for ${SEARCH.word} does not find ${SEARCH.page}`],
  );
}
