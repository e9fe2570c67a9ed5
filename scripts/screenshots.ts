/**
 * Takes the pictures of the built-in pages in `docs/images/`: of the demo and its mail, in light,
 * dark, on a phone, and in a language that is written from the right. It needs Chromium, like the tests, and fails if
 * elements overlap.
 *
 * @module
 */
import type { Page } from "playwright-core";
import { launchBrowser } from "../tests/support/browser.ts";
import { withDemo } from "../tests/support/demo.ts";
import { overlapsOf } from "../tests/support/overlaps.ts";

const IMAGES = new URL("../docs/images/", import.meta.url);

const DESKTOP = { width: 1000, height: 960 };
const PHONE = { width: 390, height: 844 };
const MAIL = { width: 640, height: 620 };
const SMALL = { width: 360, height: 730 };

interface Picture {
  readonly file: string;
  readonly path: string;
  readonly viewport: { readonly width: number; readonly height: number };
  readonly colorScheme: "light" | "dark";
  /** A cookie that the browser has, without the prefix of its name. */
  readonly cookie?: string;
  /** What is done on the page first. */
  readonly prepare?: (page: Page) => Promise<void>;
}

const PICTURES: readonly Picture[] = [
  { file: "demo.png", path: "/auth/signin", viewport: DESKTOP, colorScheme: "light" },
  {
    file: "signin-dark.png",
    path: "/auth/signin",
    viewport: DESKTOP,
    colorScheme: "dark",
    async prepare(page) {
      await sendPassword(page, "byron");
      await page.getByRole("alert").waitFor();
    },
  },
  { file: "signin-phone.png", path: "/auth/signin", viewport: PHONE, colorScheme: "light" },
  { file: "signin-rtl.png", path: "/auth/signin?ui_locales=ar", viewport: PHONE, colorScheme: "light" },
  { file: "error.png", path: "/auth/error?error=Verification", viewport: PHONE, colorScheme: "light" },
  {
    file: "signin-last-used.png",
    path: "/auth/signin",
    viewport: PHONE,
    colorScheme: "dark",
    cookie: "last-used=work",
  },
  {
    file: "verify-request.png",
    path: "/auth/signin",
    viewport: PHONE,
    colorScheme: "light",
    prepare: askForMail,
  },
  { file: "mail.png", path: "/auth/signin", viewport: MAIL, colorScheme: "light", prepare: openMail },
  { file: "mail-phone.png", path: "/auth/signin", viewport: SMALL, colorScheme: "dark", prepare: openMail },
  { file: "passkey-offer.png", path: "/auth/signin", viewport: PHONE, colorScheme: "light", prepare: signIn },
  {
    file: "signed-in.png",
    path: "/auth/signin",
    viewport: PHONE,
    colorScheme: "light",
    prepare: (page) => signIn(page, "/auth/signin"),
  },
  {
    file: "step-up.png",
    path: "/auth/signin",
    viewport: PHONE,
    colorScheme: "dark",
    prepare: (page) => signIn(page, "/auth/signin?prompt=login&ways=credentials+passkey"),
  },
  { file: "signed-out.png", path: "/auth/signout?done=1", viewport: PHONE, colorScheme: "light" },
];

/** Signs in, and goes on from the offer of a passkey. */
async function signIn(page: Page, next?: string): Promise<void> {
  await sendPassword(page, "lovelace");
  await page.getByRole("heading", { name: "Sign in faster next time" }).waitFor();
  if (next !== undefined) await page.goto(new URL(next, page.url()).href, { waitUntil: "networkidle" });
}

async function askForMail(page: Page): Promise<void> {
  await page.getByLabel("User name or e-mail address").fill("ada@example.com");
  await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
  await page.getByRole("heading", { name: "Check your e-mail" }).waitFor();
}

/** As a mail program shows it: the demo has a frame for it, without scripts. */
async function openMail(page: Page): Promise<void> {
  await askForMail(page);
  await page.goto(new URL("/inbox", page.url()).href);
  const message = await page.locator("main a").first().getAttribute("href");
  await page.goto(new URL(`${message}/html`, page.url()).href, { waitUntil: "networkidle" });
}

async function sendPassword(page: Page, password: string): Promise<void> {
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in with a password" }).click();
}

await withDemo(async ({ origin }) => {
  const browser = await launchBrowser();
  try {
    for (const { file, path, viewport, colorScheme, cookie, prepare } of PICTURES) {
      const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
      const [name, value = ""] = cookie?.split("=") ?? [];
      if (name) await page.context().addCookies([{ name: `authjs.${name}`, value, url: origin }]);
      await page.goto(origin + path, { waitUntil: "networkidle" });
      await prepare?.(page);
      // The port and the token differ each time.
      await page.evaluate(`
        for (const element of document.querySelectorAll("body *")) {
          for (const node of element.childNodes) {
            if (node.nodeType !== 3) continue;
            node.data = node.data.replace(/localhost(:|%3A)\\d+/g, "app.example").replace(/token=\\w+/, "token=4f1d…");
          }
        }
      `);
      const overlaps = await overlapsOf(page);
      if (overlaps.length > 0) throw new Error(`${file}: ${overlaps.join("; ")}`);
      await page.screenshot({ path: new URL(file, IMAGES).pathname });
      await page.close();
    }
  } finally {
    await browser.close();
  }
});
