/**
 * The built-in pages in a browser that reaches nothing but their server.
 */
import { assert, assertEquals } from "@std/assert";
import axe, { type AxeResults } from "axe-core";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import type { Provider } from "fastify-authjs/providers";
import { passwordProvider } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";
import { deferred } from "../../support/deferred.ts";
import { overlapsOf } from "../../support/overlaps.ts";
import {
  BUTTONS,
  BY_ADDRESS,
  EMAIL,
  ERRORS,
  listeningApp,
  pagesConfig,
  PASSKEY,
  PASSKEY_OF_ADDRESS,
} from "../../support/pages_app.ts";
import { someOf } from "../../support/thorough.ts";

const WIDTHS = [320, 390, 1280];
const SCHEMES = ["light", "dark"] as const;

/** The providers of the sign-in page, and the paths below `/auth` to look at with them. */
const STATES: readonly [name: string, providers: readonly Provider[], paths: readonly string[]][] = [
  ["every method", pagesConfig().providers as Provider[], [
    "/signin",
    "/signin?error=CredentialsSignin",
    "/signout",
    "/signout?done=1",
    "/verify-request",
    "/callback/nodemailer?token=link&email=ada%40example.com",
    "/nowhere",
    ...ERRORS.map((error) => `/error?error=${error}`),
  ]],
  ["buttons", BUTTONS.slice(0, 3), ["/signin", "/signin?error=OAuthCallbackError"]],
  ["many buttons and a form", [...BUTTONS, PASSKEY, EMAIL], ["/signin"]],
  ["a form", [passwordProvider() as Provider], ["/signin"]],
  ["an e-mail address", [EMAIL], ["/signin?error=EmailSignin"]],
  ["one field for an address", [BY_ADDRESS, EMAIL, PASSKEY_OF_ADDRESS, ...BUTTONS], [
    "/signin",
    "/signin?error=CredentialsSignin",
    "/signin?error=SessionRequired",
  ]],
  ["nothing", [], ["/signin"]],
];

/** The pages for a user who is signed in. */
const STATES_OF_USER = [
  "/signin",
  "/signin?prompt=login&ways=credentials+passkey",
  "/signin?offer=passkey&callbackUrl=%2F",
];

/** Lets the browser reach one origin, and gives what it asked for: paths without hashes of contents. */
async function watch(page: Page, origin: string): Promise<string[]> {
  const requests: string[] = [];
  await page.route("**/*", (route) => {
    const url = new URL(route.request().url());
    const inside = url.origin === origin;
    requests.push(inside ? (url.pathname + url.search).replace(/-[0-9a-f]{12}\./, ".") : url.href);
    return inside ? route.continue() : route.abort();
  });
  return requests;
}

/** What the browser complains about. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
  page.on("pageerror", (error) => complaints.push(String(error)));
  return complaints;
}

/** A width and a colour scheme. */
const COMBINATIONS = SCHEMES.flatMap((colorScheme) => WIDTHS.map((width) => ({ width, colorScheme })));

/** Those of a page that is written from the right: with the colours of the page, or of the system. */
const FROM_THE_RIGHT = [
  { width: 320, colorScheme: "dark", forcedColors: "none" },
  { width: 390, colorScheme: "light", forcedColors: "none" },
  { width: 1280, colorScheme: "dark", forcedColors: "active" },
] as const;

interface Combination {
  readonly width: number;
  readonly colorScheme: typeof SCHEMES[number];
  readonly forcedColors?: "active" | "none";
}

/** What axe finds, and what is too wide. */
async function faultsOf(page: Page, combinations: readonly Combination[]): Promise<string[]> {
  await page.evaluate(axe.source);
  const faults: string[] = [];
  for (const { width, colorScheme, forcedColors = "none" } of combinations) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, forcedColors, reducedMotion: "reduce" });
    const { violations } = await page.evaluate('axe.run({ resultTypes: ["violations"] })') as AxeResults;
    const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth") as number;
    const found = violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html}`));
    if (overflow > 0) found.push(`${overflow}px too wide`);
    found.push(...await overlapsOf(page));
    faults.push(...found.map((fault) => `${page.url()} ${width} ${colorScheme}: ${fault}`));
  }
  return faults;
}

browserTest("in a browser axe finds nothing in any page and state, width and scheme", async (page) => {
  for (const [name, providers, paths] of STATES) {
    await using app = await listeningApp(pagesConfig({ providers: [...providers] }));
    await page.unrouteAll();
    const requests = await watch(page, app.origin);
    for (const [index, path] of paths.entries()) {
      await openIn("en", page, `${app.origin}/auth${path}`);
      // The error pages have the same elements, so one combination is enough for all but the first of them.
      const same = path.startsWith("/error") && !path.endsWith(ERRORS[0]!);
      const combinations = same ? [COMBINATIONS[index % COMBINATIONS.length]!] : someOf(COMBINATIONS, index, 2);
      assertEquals(await faultsOf(page, combinations), [], name);
      if (same) continue;
      await openIn("ar", page, `${app.origin}/auth${path}`);
      assertEquals(await faultsOf(page, someOf(FROM_THE_RIGHT, index, 3)), [], name);
    }
    assertEquals(requests.filter((url) => !url.startsWith("/")), []);
  }
});

async function openIn(language: "en" | "ar", page: Page, url: string): Promise<void> {
  await page.goto(`${url}${url.includes("?") ? "&" : "?"}ui_locales=${language}`);
  assertEquals(await page.locator("html").getAttribute("lang"), language);
}

browserTest("in a browser axe finds nothing in the pages of a user who is signed in", async (page) => {
  const config = pagesConfig({ providers: [passwordProvider(), PASSKEY, EMAIL, ...BUTTONS] });
  await using app = await listeningApp(config);
  await page.goto(`${app.origin}/auth/signin`);
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
  const headings = new Set<string | null>();
  for (const [index, path] of STATES_OF_USER.entries()) {
    await openIn("en", page, `${app.origin}/auth${path}`);
    headings.add(await page.getByRole("heading").textContent());
    assertEquals(await faultsOf(page, someOf(COMBINATIONS, index, 2)), []);
    await openIn("ar", page, `${app.origin}/auth${path}`);
    assertEquals(await faultsOf(page, someOf(FROM_THE_RIGHT, index, 3)), []);
  }
  assertEquals([...headings], ["You are signed in as ada", "Confirm it's you", "Sign in faster next time"]);
});

browserTest("in a browser axe finds nothing on the page that leads on from a form", async (page) => {
  await using app = await listeningApp(pagesConfig());
  await page.goto(`${app.origin}/auth/signin`);
  const csrfToken = await page.locator("input[name=csrfToken]").first().inputValue();
  const answer = await page.request.post(`${app.origin}/auth/signin/github`, {
    form: { csrfToken },
    headers: { accept: "text/html", origin: app.origin, referer: `${app.origin}/auth/signin` },
  });
  const sent = await answer.text();
  // It would be gone before axe has read it.
  const body = sent.replace(/<meta http-equiv="refresh"[^>]*>/, "");
  assert(body !== sent, sent);
  await page.route("**/auth/signin/github", (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto(`${app.origin}/auth/signin/github`);
  await page.getByRole("link", { name: "Continue" }).waitFor();
  assertEquals(await faultsOf(page, COMBINATIONS), []);
});

browserTest("in a browser the pages request these files, and nothing from another origin", async (page) => {
  await using app = await listeningApp(pagesConfig());
  const complaints = complaintsOf(page);
  const requests = await watch(page, app.origin);
  const requestsOf = async (path: string) => {
    requests.length = 0;
    await page.goto(app.origin + path, { waitUntil: "networkidle" });
    return requests.slice(1).sort();
  };
  assertEquals(await requestsOf("/auth/signin"), [
    "/auth/assets/logos.svg",
    "/auth/assets/page.js",
    "/auth/assets/passkey.js",
    "/auth/assets/style.css",
  ]);
  requests.length = 0;
  await Promise.all([
    page.waitForResponse(/webauthn-options/),
    page.getByLabel("User name").focus(),
  ]);
  assertEquals(requests, ["/auth/webauthn-options/passkey?action=authenticate"]);
  for (const path of ["/auth/signout", "/auth/error?error=AccessDenied", "/auth/verify-request"]) {
    assertEquals(await requestsOf(path), ["/auth/assets/page.js", "/auth/assets/style.css"], path);
  }
  assertEquals(complaints.filter((complaint) => !/403|404/.test(complaint)), []);
});

browserTest("in a browser a password signs in and the sign-out page signs out, by keyboard", async (page) => {
  await using app = await listeningApp(pagesConfig({ providers: [passwordProvider(), BUTTONS[1]!] }));
  await watch(page, app.origin);
  const complaints = complaintsOf(page);
  const focused = () =>
    page.evaluate("document.activeElement.name || document.activeElement.textContent") as Promise<string>;
  const fill = async (password: string) => {
    await page.keyboard.press("Tab");
    assertEquals(await focused(), "username");
    await page.keyboard.type("ada");
    await page.keyboard.press("Tab");
    assertEquals(await focused(), "password");
    await page.keyboard.type(password);
    await page.keyboard.press("Enter");
  };
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  assertEquals(await page.title(), `Sign in · ${new URL(app.origin).host}`);
  await fill("wrong");
  await page.getByRole("alert").getByText("Sign in failed").waitFor();
  // The name stays, and the password is typed anew. The focus may come after the alert.
  await page.locator("[name=password]:focus").waitFor();
  await page.keyboard.type("open");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();

  await page.goto(`${app.origin}/auth/signout`);
  await page.keyboard.press("Tab");
  assertEquals(await focused(), "Sign out");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  assertEquals(complaints, []);
});

browserTest("in a browser an address that no mail reaches is told, and the address stays", async (page) => {
  await using app = await listeningApp(pagesConfig({ providers: [EMAIL] }));
  await watch(page, app.origin);
  await page.goto(`${app.origin}/auth/signin`);
  await page.getByLabel("E-mail address").fill("ada@example.com");
  await page.getByRole("button", { name: "E-mail me a sign-in link" }).click();
  await page.getByRole("alert").getByText("The e-mail could not be sent.").waitFor();
  await page.goto(`${app.origin}/auth/error?error=Verification`);
  await page.getByRole("link", { name: "Sign in again" }).click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});

browserTest("in a browser another click on the passkey button begins anew", async (page) => {
  const [asked, held] = [deferred(), deferred()];
  let requests = 0;
  // The server holds the options of the second click, until those of the third have come: the browser may have the
  // challenge of either. An interception in the browser would not do. A request may hang if it begins while one ends.
  await using app = await listeningApp(pagesConfig({ providers: [PASSKEY, ...BUTTONS, EMAIL] }), (app) => {
    app.addHook("onSend", async ({ url }) => {
      if (!url.includes("/webauthn-options/") || ++requests !== 2) return;
      asked.resolve();
      await held.promise;
    });
  });
  // A dialogue that the user does not answer.
  await page.addInitScript(`
    window.dialogues = 0;
    navigator.credentials.get = ({ signal }) => new Promise((_, reject) => {
      dialogues++;
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  `);
  await page.goto(`${app.origin}/auth/signin`);
  const button = page.getByRole("button", { name: "Sign in with a passkey" });
  await button.click();
  await page.waitForFunction("dialogues === 1");
  await button.click();
  await asked.promise;
  await button.click();
  await page.waitForFunction("dialogues === 2");
  held.resolve();
  await page.evaluate(`fetch("/auth/providers").then((answer) => answer.text())`);
  assertEquals(await page.evaluate("dialogues"), 2);
  assertEquals(await page.getByRole("status").textContent(), "Follow the steps that your browser shows.");
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    assertEquals(await overlapsOf(page), []);
  }
}, { bypassCSP: true }); // for `waitForFunction()`

browserTest("without JavaScript a password signs in, and passkeys are said to need it", async (page) => {
  await using app = await listeningApp(pagesConfig());
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  assert(await page.locator("noscript .hint").isVisible());
  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in with a password" }).click();
  await page.getByRole("heading", { name: "Hello ada" }).waitFor();
}, { javaScriptEnabled: false });

browserTest(
  "in a browser with text of twice the size there is room for the words of a button",
  async (page) => {
    await using app = await listeningApp(pagesConfig({ providers: BUTTONS.slice(0, 3) }));
    // A phone of 390 pixels.
    await page.setViewportSize({ width: 195, height: 400 });
    await page.goto(`${app.origin}/auth/signin`);
    const [overflow, width] = await page.evaluate(`[
    document.documentElement.scrollWidth - innerWidth,
    document.querySelector("button span").getBoundingClientRect().width,
  ]`) as [number, number];
    assertEquals([overflow, width > 100], [0, true], `${width}`);
  },
);

/** A server on a port of its own, and so on another origin. */
async function listening(handle: RequestListener): Promise<{ server: Server; origin: string }> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

browserTest("in a browser a provider may send its users on to another origin", async (page) => {
  const login = await listening((_request, response) => {
    response.setHeader("content-type", "text/html").end(
      "<!doctype html><title>Login</title><h1>Who are you?</h1>",
    );
  });
  const provider = await listening((_request, response) => {
    response.writeHead(302, { location: `${login.origin}/login` }).end();
  });
  try {
    const acme: Provider = {
      id: "acme",
      name: "Acme",
      type: "oauth",
      clientId: "id",
      clientSecret: "secret",
      authorization: `${provider.origin}/authorize`,
      token: `${provider.origin}/token`,
      userinfo: `${provider.origin}/userinfo`,
      profile: () => ({ id: "1" }),
    } as unknown as Provider;
    await using app = await listeningApp(pagesConfig({ providers: [acme] }));
    await page.goto(`${app.origin}/auth/signin`);
    await page.getByRole("button", { name: "Sign in with Acme" }).click();
    await page.getByRole("heading", { name: "Who are you?" }).waitFor();
    // Back is the sign-in page again: the page in between took no place in the history.
    await page.goBack();
    assert(page.url().endsWith("/auth/signin"), page.url());
  } finally {
    for (const { server } of [login, provider]) {
      server.closeAllConnections();
      server.close();
    }
  }
});

browserTest("in a browser a stylesheet of the application has the last word", async (page) => {
  const config = pagesConfig({
    pages: { style: "/own.css" },
    theme: { brandColor: "#146c43", colorScheme: "light" },
    providers: [passwordProvider()],
  });
  await using app = await listeningApp(config, (app) => {
    app.get("/own.css", (_request, reply) => reply.type("text/css").send(":root { --auth-radius: 3px; }"));
  });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${app.origin}/auth/signin`);
  const styles = await page.evaluate(`
    const button = getComputedStyle(document.querySelector("[type=submit]"));
    [button.borderRadius, button.backgroundColor, getComputedStyle(document.body).colorScheme,
      getComputedStyle(document.querySelector(".card")).backgroundColor]
  `);
  assertEquals(styles, ["3px", "rgb(20, 108, 67)", "light", "rgb(255, 255, 255)"]);
});
