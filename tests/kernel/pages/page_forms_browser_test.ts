/** What the forms of the built-in pages do in a browser: while they are sent, and after they failed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { Page } from "playwright-core";
import type { FastifyAuthConfig } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import { passwordProvider } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";
import { BUTTONS, BY_ADDRESS, EMAIL, listeningApp, pagesConfig, PASSKEY_OF_ADDRESS } from "../../support/pages_app.ts";

const TOGETHER = [BY_ADDRESS, EMAIL, PASSKEY_OF_ADDRESS];

function appWith(providers: readonly Provider[], overrides: Partial<FastifyAuthConfig> = {}) {
  return listeningApp(pagesConfig({ providers: [...providers], ...overrides }));
}

/** The field that has the focus, and what is said of it. */
async function focused(page: Page): Promise<unknown> {
  // The focus may come after the alert.
  await page.locator("input:focus").waitFor();
  return await page.evaluate(`
    (({ activeElement: field }) => [
      field.name,
      field.getAttribute("aria-invalid"),
      document.getElementById(field.getAttribute("aria-describedby"))?.textContent.trim(),
    ])(document)
  `);
}

const FAILED = "Sign in failed. Check the details you provided are correct.";

for (const javaScriptEnabled of [true, false]) {
  const without = javaScriptEnabled ? "" : "without JavaScript ";
  browserTest(
    `${without}after a wrong password the name stays, and the password is focused`,
    async (page) => {
      await using app = await appWith([passwordProvider() as Provider, EMAIL]);
      await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill("wrong");
      await page.getByRole("button", { name: "Sign in with a password" }).click();
      await page.getByRole("alert").waitFor();
      assertEquals(await page.getByLabel("User name").inputValue(), "ada");
      if (javaScriptEnabled) assertEquals(await focused(page), ["password", "true", FAILED]);
      assert(!page.url().includes("ada"), "addresses are logged");
      await page.goto(`${app.origin}/auth/signin`);
      assertEquals(await page.getByLabel("User name").inputValue(), "", "it is shown once");
    },
    { javaScriptEnabled },
  );
}

browserTest(
  "in a browser an address that gets no mail stays, with the message at its field",
  async (page) => {
    await using app = await appWith([passwordProvider() as Provider, EMAIL]);
    await page.goto(`${app.origin}/auth/signin`);
    // A user name and an address have one field together.
    const field = page.getByLabel("User name or e-mail address");
    assertEquals(await page.locator("input[dir=ltr]").count(), 1);
    await field.fill("ada@example.com");
    await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
    await page.getByRole("alert").waitFor();
    assertEquals(await field.inputValue(), "ada@example.com");
    assertEquals(await focused(page), [
      "username",
      "true",
      "The e-mail could not be sent. Check the address, or try again later.",
    ]);
  },
);

browserTest("in a browser a form is sent once, and shows that it is on its way", async (page) => {
  let requests = 0;
  let answer = () => {};
  const held = new Promise<void>((resolve) => answer = resolve);
  const config = pagesConfig({ providers: [passwordProvider()] });
  await using app = await listeningApp(config, (app) => {
    app.addHook("onRequest", async ({ method }) => {
      if (method !== "POST") return;
      requests++;
      await held;
    });
  });
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  // In one call: others wait until the browser has gone on.
  const shown = await page.evaluate(`
    (() => {
      const button = document.querySelector("[type=submit]");
      button.click();
      button.form.requestSubmit();
      return [
        button.disabled,
        button.className,
        button.form.getAttribute("aria-busy"),
        document.querySelector(".progress").textContent,
      ];
    })()
  `);
  assertEquals(shown, [true, "button primary busy", "true", "One moment…"]);
  answer();
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
  assertEquals(requests, 1);
});

browserTest("in a browser a password can be shown, and the caps lock is told", async (page) => {
  await using app = await appWith([BY_ADDRESS]);
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  await page.getByLabel("E-mail address").fill("ada@example.com");
  const password = page.getByLabel("Password");
  await password.fill("open");
  await page.getByRole("button", { name: "Show" }).click();
  assertEquals(await password.getAttribute("type"), "text");
  await page.getByRole("button", { name: "Hide" }).click();
  assertEquals(await password.getAttribute("type"), "password");
  const press = (on: boolean) =>
    password.evaluate((field, on) => {
      const event = new KeyboardEvent("keydown", { key: "A", modifierCapsLock: on });
      field.dispatchEvent(event);
    }, on);
  await press(true);
  await page.getByText("Caps Lock is on.").waitFor();
  await press(false);
  await page.getByText("Caps Lock is on.").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Show" }).click();
  await password.press("Enter");
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
});

browserTest(
  "in a browser too many attempts keep the form, and count down until the next one",
  async (page) => {
    await using app = await appWith([passwordProvider() as Provider, BUTTONS[1]!], {
      rateLimit: { address: { max: 1, timeWindow: 5_000 } },
    });
    await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
    const button = page.getByRole("button", { name: "Sign in with a password" });
    const send = async (password: string) => {
      await page.getByLabel("User name").fill("ada");
      await page.getByLabel("Password").fill(password);
      const [answer] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "POST"),
        button.click(),
      ]);
      return answer;
    };
    await send("wrong");
    await page.getByRole("alert").waitFor();
    const answer = await send("open");
    assertEquals(answer.status(), 429);
    await page.getByText(/Try again in \d seconds?\./).waitFor();
    assertEquals(await page.getByLabel("User name").inputValue(), "ada");
    assert(Number(await answer.headerValue("retry-after")) <= 5);
    assertMatch(await page.locator(".clock").textContent() ?? "", /^00:0[1-5]$/);
    assert(await button.isDisabled());
    assert(await page.getByRole("button", { name: "Sign in with GitHub" }).isEnabled());
    await page.getByRole("alert").waitFor({ state: "hidden" });
    assert(await button.isEnabled());
    await send("open");
    await page.getByRole("heading", { name: "Hello ada" }).waitFor();
  },
);

browserTest("without JavaScript too many attempts keep the form, and say how long to wait", async (page) => {
  await using app = await appWith([EMAIL], { rateLimit: { address: { max: 1, timeWindow: 300_000 } } });
  await page.goto(`${app.origin}/auth/signin`);
  for (const problem of ["The e-mail could not be sent.", "Try again in 5 minutes."]) {
    await page.getByLabel("E-mail address").fill("ada@example.com");
    await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
    await page.getByRole("alert").getByText(problem).waitFor();
    assertEquals(await page.getByLabel("E-mail address").inputValue(), "ada@example.com");
  }
}, { javaScriptEnabled: false });

browserTest("in a browser one field serves a password, a mailed link and a passkey", async (page) => {
  // A dialogue of the browser would cover the page.
  await page.addInitScript(`
    navigator.credentials.get = () => Promise.reject(new DOMException("", "NotAllowedError"));
  `);
  await using app = await appWith(TOGETHER);
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F&ui_locales=ar`);
  const field = page.locator("input[name=email]:visible");
  assertEquals(await field.count(), 1);
  assertEquals(
    [await field.getAttribute("autocomplete"), await field.getAttribute("dir")],
    ["username webauthn", "ltr"],
  );
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F&ui_locales=en`);
  await field.fill("ada@example.com");
  const asked = page.waitForRequest((request) => /webauthn-options.*email=/.test(request.url()));
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  const { searchParams } = new URL((await asked).url());
  assertEquals([...searchParams], [["email", "ada@example.com"], ["action", "authenticate"]]);
  await page.getByRole("status").getByText("No passkey was used.").waitFor();
  // The link is mailed without a password.
  await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
  await page.getByRole("alert").getByText("The e-mail could not be sent.").waitFor();
  assertEquals(await field.inputValue(), "ada@example.com");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
});

browserTest("in a browser more than four providers fold", async (page) => {
  await using app = await appWith(BUTTONS);
  await page.goto(`${app.origin}/auth/signin`);
  const last = page.getByRole("button", { name: "Sign in with Discord" });
  assert(await page.getByRole("button", { name: "Sign in with Microsoft" }).isVisible());
  assert(!await last.isVisible());
  await page.getByText("More options").press("Enter");
  assert(await last.isVisible());
});

browserTest("the pages leave alone what the application keeps for the tab", async (page) => {
  await using app = await appWith(TOGETHER);
  await page.goto(`${app.origin}/auth/signin`);
  await page.evaluate(`sessionStorage.setItem("passkey", "of the application")`);
  await page.goto(`${app.origin}/auth/signin?error=WebAuthnVerificationError`);
  await page.getByRole("alert").waitFor();
  assertEquals(await page.evaluate(`sessionStorage.getItem("passkey")`), "of the application");
});
