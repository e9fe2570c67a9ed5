/**
 * A real browser for tests: the system's Chromium, driven by playwright-core.
 *
 * @module
 */
import { existsSync } from "node:fs";
import process from "node:process";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";

const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-background-networking",
  "--disable-component-update",
  "--no-first-run",
];

/** Where the browser is: `TEST_CHROMIUM`, or where Debian puts it. */
const executablePath = process.env.TEST_CHROMIUM || "/usr/bin/chromium";

/**
 * Starts the browser.
 *
 * @param without Arguments that playwright gives it by itself, and which it is not to have.
 */
export function launchBrowser(without: readonly string[] = []): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS, ignoreDefaultArgs: [...without] });
}

/**
 * A test that needs a browser. Without one it says that it did not run; in CI, where there has to be one, it fails.
 *
 * @param name The test's name.
 * @param run Gets a fresh window with no cookies.
 * @param options The window: its size, its colours.
 * @param without Arguments of the browser that playwright is not to give it.
 */
export function browserTest(
  name: string,
  run: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
  without: readonly string[] = [],
): void {
  if (!existsSync(executablePath)) {
    const text = `Not run, for want of a browser (${executablePath}; TEST_CHROMIUM names another): ${name}`;
    if (process.env.CI) Deno.test(name, () => Promise.reject(new Error(text)));
    else console.warn(text);
    return;
  }
  Deno.test(name, async () => {
    const browser = await launchBrowser(without);
    try {
      const context = await browser.newContext(options);
      await run(await context.newPage());
    } finally {
      await browser.close();
    }
  });
}
