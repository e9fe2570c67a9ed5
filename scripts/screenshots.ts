/**
 * Takes the pictures of the built-in pages in `docs/images/`: of the demo, in light, dark, on a phone, and in a language
 * that is written from the right. It needs Chromium, like the tests, and fails if elements overlap.
 *
 * @module
 */
import { launchBrowser } from "../tests/support/browser.ts";
import { withDemo } from "../tests/support/demo.ts";
import { overlapsOf } from "../tests/support/overlaps.ts";

const IMAGES = new URL("../docs/images/", import.meta.url);

const DESKTOP = { width: 1000, height: 900 };
const PHONE = { width: 390, height: 844 };

const PICTURES = [
  { file: "demo.png", path: "/auth/signin", viewport: DESKTOP, colorScheme: "light" },
  {
    file: "signin-dark.png",
    path: "/auth/signin?error=CredentialsSignin",
    viewport: DESKTOP,
    colorScheme: "dark",
  },
  { file: "signin-phone.png", path: "/auth/signin", viewport: PHONE, colorScheme: "light" },
  { file: "signin-rtl.png", path: "/auth/signin?ui_locales=ar", viewport: PHONE, colorScheme: "light" },
  { file: "error.png", path: "/auth/error?error=Verification", viewport: PHONE, colorScheme: "light" },
] as const;

await withDemo(async ({ origin }) => {
  const browser = await launchBrowser();
  try {
    for (const { file, path, viewport, colorScheme } of PICTURES) {
      const page = await browser.newPage({ viewport, colorScheme, reducedMotion: "reduce" });
      await page.goto(origin + path, { waitUntil: "networkidle" });
      // The port differs each time.
      await page.evaluate(`
        for (const element of document.querySelectorAll("main *")) {
          for (const node of element.childNodes) {
            if (node.nodeType === 3) node.data = node.data.replaceAll(location.host, "app.example");
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
