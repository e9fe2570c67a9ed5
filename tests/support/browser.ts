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

// Ten times what the slowest test takes on a quiet machine
const TEST_SECONDS = 300;
const CLOSING_SECONDS = 60;
const STEP_MILLISECONDS = 120_000;

/** Where the browser is: `TEST_CHROMIUM`, or where Debian puts it. */
const executablePath = process.env.TEST_CHROMIUM || "/usr/bin/chromium";

/**
 * Starts the browser.
 *
 * @param without Arguments that playwright gives it by itself, and which it is not to have.
 */
export function launchBrowser(without: readonly string[] = []): Promise<Browser> {
  const options = { executablePath, args: ARGUMENTS, ignoreDefaultArgs: [...without] };
  return chromium.launch({ ...options, timeout: STEP_MILLISECONDS });
}

/** Opens a page in a window of its own, whose steps wait long enough for a slow machine. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(STEP_MILLISECONDS);
  return await context.newPage();
}

/**
 * A test that needs a browser. Without one it says that it did not run; in CI, which has to have one, it fails.
 * It fails, too, if it has not ended after five minutes.
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
    const running = openPage(browser, options).then(run);
    const inTime = await settles(running, TEST_SECONDS);
    await settles(browser.close(), CLOSING_SECONDS);
    if (inTime) return await running;
    // Without the browser the call that the test waited for has failed.
    const cause = await settles(running, CLOSING_SECONDS) ? await running.catch((error) => error) : undefined;
    throw new Error(`Not ended within ${TEST_SECONDS} seconds. The cause says what it waited for.`, {
      cause,
    });
  });
}

/** Whether a promise is settled within some seconds. */
async function settles(promise: Promise<unknown>, seconds: number): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => timer = setTimeout(resolve, seconds * 1000, false));
  const settled = await Promise.race([promise.then(() => true, () => true), late]);
  clearTimeout(timer);
  return settled;
}
