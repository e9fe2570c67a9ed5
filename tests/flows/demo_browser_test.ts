import { assert, assertEquals } from "@std/assert";
import axe, { type AxeResults } from "axe-core";
import type { Page } from "playwright-core";
import { browserTest, openPage } from "../support/browser.ts";
import { addAuthenticator, holdOffers } from "../support/webauthn_browser.ts";
import { type RunningDemo, withDemo } from "../support/demo.ts";
import { someOf } from "../support/thorough.ts";

/** Gives a running demo and a window on it; whatever its pages complain about fails the test. */
async function withDemoIn(page: Page, use: (demo: RunningDemo) => Promise<void>): Promise<void> {
  const complaints: string[] = [];
  page.context().on("console", (message) => {
    if (message.type() === "error") complaints.push(message.text());
  });
  page.context().on("weberror", (error) => complaints.push(String(error.error())));
  await withDemo(async (demo) => {
    await use(demo);
    // Before the demo ends: what a page is still loading would be missing.
    for (const open of page.context().pages()) await open.close();
  });
  assertEquals(complaints, []);
}

/** Opens the protected page without a session, and is sent to sign in. */
async function beSentToSignIn(page: Page, { origin }: RunningDemo): Promise<void> {
  await page.goto(`${origin}/protected`);
  assertEquals(new URL(page.url()).pathname, "/auth/signin");
  await page.getByText("Please sign in to access this page.").waitFor();
}

/** Goes on without a passkey, which is offered once. */
const notNow = (page: Page) => page.getByRole("link", { name: "Not now" }).click();

/** Arrives at the protected page, looks at the session, signs out, and is kept out. */
async function comeInAndGoOut(
  page: Page,
  { origin }: RunningDemo,
  name: string,
  provider: string,
): Promise<void> {
  if (provider !== "passkey") await notNow(page);
  await page.waitForURL(`${origin}/protected`);
  await page.getByRole("heading", { name: `Come in, ${name}.` }).waitFor();

  await page.getByRole("link", { name: "Session" }).click();
  const session = await page.getByRole("region", { name: "The session" }).textContent();
  assertEquals(JSON.parse(session ?? "").provider, provider);

  await page.getByRole("button", { name: "Sign out" }).click();
  await page.waitForURL(`${origin}/`);
  await page.getByRole("banner").getByRole("link", { name: "Sign in" }).waitFor();
  await beSentToSignIn(page, { origin } as RunningDemo);
}

browserTest("demo in a browser: a wrong password is told, the right one signs in and out", async (page) => {
  await withDemoIn(page, async (demo) => {
    await beSentToSignIn(page, demo);
    const signIn = async (password: string) => {
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password", { exact: true }).fill(password);
      await page.getByRole("button", { name: "Sign in with a password" }).click();
    };
    await signIn("byron");
    await page.getByRole("alert").getByText("Sign in failed.").waitFor();
    await signIn("lovelace");
    await comeInAndGoOut(page, demo, "Ada Lovelace", "credentials");
  });
});

browserTest("demo in a browser: the OpenID Provider signs in, and out again", async (page) => {
  await withDemoIn(page, async (demo) => {
    await beSentToSignIn(page, demo);
    await page.getByRole("button", { name: "Sign in with Loopback ID" }).click();
    await page.getByRole("heading", { name: "Who are you?" }).waitFor();
    assertEquals(new URL(page.url()).origin, demo.issuer);
    await page.getByLabel("Login").fill("grace");
    await page.getByLabel("Password").fill("hopper");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Grace Hopper, is this all right?" }).waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    await comeInAndGoOut(page, demo, "Grace Hopper", "local");
  });
});

browserTest("demo in a browser: a magic link in the inbox signs in, and out again", async (page) => {
  await withDemoIn(page, async (demo) => {
    await beSentToSignIn(page, demo);
    await page.getByLabel("E-mail address").fill("charles@example.com");
    await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
    await page.getByRole("heading", { name: "Check your e-mail" }).waitFor();
    await page.goto(`${demo.origin}/inbox`);
    await page.getByRole("link", { name: "to charles@example.com" }).click();

    // As in a mail program, the link opens a window of its own.
    const opened = page.context().waitForEvent("page");
    await page.frameLocator("iframe").getByRole("link", { name: "Sign in" }).click();
    await comeInAndGoOut(await opened, demo, "charles@example.com", "nodemailer");
  });
});

browserTest("demo in a browser: a code from the panel signs in where it was asked for", async (page) => {
  await withDemoIn(page, async (demo) => {
    const beside = await page.context().newPage();
    await beside.goto(demo.origin);
    await beSentToSignIn(page, demo);
    await page.getByLabel("E-mail address").fill("mary@example.com");
    await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
    const panel = beside.getByRole("complementary", { name: "Inbox" });
    await panel.getByText("mary@example.com").waitFor();
    await page.getByLabel("Code from the e-mail").fill((await panel.locator("code").textContent())!);
    await page.getByRole("button", { name: "Sign in" }).click();
    await comeInAndGoOut(page, demo, "mary@example.com", "nodemailer");
  });
});

browserTest(
  "demo in a browser: a passkey is added, signs in with a click and without, and is removed",
  async (page) => {
    await withDemoIn(page, async (demo) => {
      await addAuthenticator(page);
      const takeUpOffers = await holdOffers(page);
      await page.goto(`${demo.origin}/auth/signin?callbackUrl=%2Fpasskeys`);
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password", { exact: true }).fill("lovelace");
      await page.getByRole("button", { name: "Sign in with a password" }).click();
      await notNow(page);
      await page.getByText("None yet.").waitFor();
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByText("On one device").waitFor();
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByText("This device has a passkey of yours already.").waitFor();
      await assertGoodPage(page);
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(`${demo.origin}/`);

      await beSentToSignIn(page, demo);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await comeInAndGoOut(page, demo, "Ada Lovelace", "passkey");

      await takeUpOffers();
      await page.goto(`${demo.origin}/auth/signin?callbackUrl=%2Fpasskeys`);
      await page.getByLabel("User name").focus();
      await page.waitForURL(`${demo.origin}/passkeys`);
      await page.getByText("On one device").waitFor();
      await page.getByRole("button", { name: "Remove passkey" }).click();
      await page.getByText("None yet.").waitFor();
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.waitForURL(`${demo.origin}/`);
      await page.goto(`${demo.origin}/auth/signin`);
      await page.getByLabel("User name").focus();
      await page.getByRole("heading", { name: "The passkey was not accepted" }).waitFor();
    });
  },
);

browserTest("demo in a browser: a user sees three devices, and signs two of them out", async (page) => {
  await withDemoIn(page, async ({ origin }) => {
    const browser = page.context().browser()!;
    const agents = ["Mozilla/5.0 (X11; Linux) Firefox/140.0", "Mozilla/5.0 (iPhone) Safari/605.1", undefined];
    const windows = await Promise.all(
      agents.map(async (userAgent) => userAgent === undefined ? page : await openPage(browser, { userAgent })),
    );
    for (const window of windows) {
      await window.goto(`${origin}/auth/signin?callbackUrl=%2Fdevices`);
      await window.getByLabel("User name").fill("ada");
      await window.getByLabel("Password", { exact: true }).fill("lovelace");
      await window.getByRole("button", { name: "Sign in with a password" }).click();
      await notNow(window);
      await window.waitForURL(`${origin}/devices`);
    }
    const heading = (devices: string) => page.getByRole("heading", { name: `Signed in on ${devices}` });
    await heading("three devices").waitFor();
    await page.getByText("(this device)").waitFor();
    await assertGoodPage(page);

    await page.getByRole("button", { name: "Sign out Safari on iPhone" }).click();
    await heading("two devices").waitFor();
    const [laptop, phone] = windows as [Page, Page, Page];
    await phone.reload();
    assertEquals(new URL(phone.url()).pathname, "/auth/signin");
    await laptop.reload();
    await laptop.getByRole("heading", { name: "Signed in on two devices" }).waitFor();

    await page.getByRole("button", { name: "Sign out everywhere else" }).click();
    await heading("one device").waitFor();
    await laptop.reload();
    assertEquals(new URL(laptop.url()).pathname, "/auth/signin");
    for (const window of [laptop, phone]) await window.context().close();
  });
});

const SIZES = { phone: { width: 360, height: 740 }, desktop: { width: 1280, height: 800 } };
const PAGES = [
  "/",
  "/auth/signin?error=CredentialsSignin",
  "/session",
  "/inbox",
  "/nowhere",
];

for (const [turn, [size, viewport]] of Object.entries(SIZES).entries()) {
  for (const colorScheme of someOf(["light", "dark"] as const, turn, 2)) {
    browserTest(
      `demo in a browser: every page fits a ${size} and is accessible, ${colorScheme}`,
      async (page) => {
        await withDemo(async ({ origin, issuer }) => {
          for (const path of PAGES) {
            await page.goto(origin + path);
            await assertGoodPage(page);
          }
          await page.goto(`${origin}/auth/signin`);
          await page.getByRole("button", { name: "Sign in with Loopback ID" }).click();
          await page.waitForURL(`${issuer}/interaction/**`);
          await assertGoodPage(page);
        });
      },
      { viewport, colorScheme },
    );
  }
}

/** Nothing to scroll sideways for, and nothing that axe finds wrong, contrast included. */
async function assertGoodPage(page: Page): Promise<void> {
  const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth") as number;
  assert(overflow <= 0, `${page.url()} is ${overflow}px too wide`);
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate("axe.run()") as AxeResults;
  const found = violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html}`));
  assertEquals(found, [], page.url());
}
