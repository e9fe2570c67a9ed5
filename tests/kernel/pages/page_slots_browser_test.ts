/** What an application puts into the built-in pages: links, logos, colours and a panel. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import axe, { type AxeResults } from "axe-core";
import { FastifyAuthError } from "fastify-authjs";
import { testApp, testConfig } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";
import { overlapsOf } from "../../support/overlaps.ts";
import { BUTTONS, BY_ADDRESS, EMAIL, listeningApp, pagesConfig } from "../../support/pages_app.ts";

const picture = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="120" height="40"><rect width="120" height="40" fill="${colour}"/></svg>`;

const PAGES = {
  siteName: "Acme",
  links: { signUp: "/join", forgotPassword: "/forgot", terms: "/terms", privacy: "/privacy", help: "/help" },
  darkLogo: "/dark.svg",
  favicon: "/icon.svg",
  themeColor: "#146c43",
  panel: { image: "/panel.svg" },
  texts: { en: { "panel.title": "Tea for two" } },
};

browserTest("in a browser an application's links, logos and panel are on the sign-in page", async (page) => {
  const config = pagesConfig({
    providers: [BY_ADDRESS, EMAIL, ...BUTTONS.slice(0, 2)],
    pages: PAGES,
    theme: { logo: "/light.svg", brandColor: "#146c43" },
  });
  await using app = await listeningApp(config, (app) => {
    for (
      const [file, colour] of [["light", "#ddd"], ["dark", "#333"], ["icon", "red"], ["panel", "#cfe8dc"]]
    ) {
      app.get(`/${file}.svg`, (_request, reply) => reply.type("image/svg+xml").send(picture(colour!)));
    }
  });
  const complaints: string[] = [];
  page.on("console", (message) => void (message.type() === "error" && complaints.push(message.text())));
  for (const width of [320, 390, 1280]) {
    await page.setViewportSize({ width, height: 800 });
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.goto(`${app.origin}/auth/signin`, { waitUntil: "networkidle" });
      const shown = await page.evaluate('document.querySelector(".logo").currentSrc') as string;
      assertEquals(new URL(shown).pathname, `/${colorScheme}.svg`);
      assertEquals(await page.getByText("Tea for two").isVisible(), width === 1280);
      assertEquals(await overlapsOf(page), [], `${width} ${colorScheme}`);
      assertEquals(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate("axe.run()") as AxeResults;
      assertEquals(violations.flatMap(({ help, nodes }) => nodes.map(({ html }) => `${help}: ${html}`)), []);
    }
  }
  const links = await page.getByRole("link").evaluateAll((links) =>
    links.map((link) => [link.textContent, link.getAttribute("href")])
  );
  assertEquals(links, [
    ["Forgot your password?", "/forgot"],
    ["No account yet? Sign up", "/join"],
    ["Terms", "/terms"],
    ["Privacy", "/privacy"],
    ["Help", "/help"],
  ]);
  assertEquals(await page.locator("meta[name=theme-color]").getAttribute("content"), "#146c43");
  assertEquals(await page.locator("link[rel=icon]").getAttribute("href"), "/icon.svg");
  assertEquals(await page.title(), "Sign in · Acme");
  assertEquals(complaints, []);
});

browserTest("in a browser the page that leads on names the site", async (page) => {
  await using app = await listeningApp(pagesConfig({ providers: [BY_ADDRESS], pages: { siteName: "Acme" } }));
  await page.goto(`${app.origin}/auth/signin?callbackUrl=%2F`);
  await page.getByLabel("E-mail address").fill("ada@example.com");
  await page.getByLabel("Password").fill("open");
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.request().method() === "POST"),
    page.getByRole("button", { name: "Sign in with a password" }).click(),
  ]);
  const body = await page.request.fetch(answer.request(), { maxRedirects: 0 }).then((copy) => copy.text());
  assert(body.includes("Continuing to Acme"), body);
});

Deno.test("a link of the pages may lead to an e-mail address", async () => {
  await using app = await testApp(pagesConfig({ pages: { links: { help: "mailto:help@acme.example" } } }));
  const { body } = await app.inject({ url: "/auth/signin", headers: { accept: "text/html" } });
  assert(body.includes('<a href="mailto:help@acme.example">Help</a>'), body);
});

Deno.test("an address or a colour in `pages` that is none stops the boot, which names it", async () => {
  for (
    const [pages, name] of [
      [{ links: { terms: "terms" } }, "pages.links.terms"],
      [{ panel: { image: "javascript:alert(1)" } }, "pages.panel.image"],
      [{ favicon: "icon.png" }, "pages.favicon"],
      [{ themeColor: "red;" }, "pages.themeColor"],
    ] as const
  ) {
    const error = await assertRejects(
      () => testApp(testConfig({ pages: pages as never })),
      FastifyAuthError,
      undefined,
      name,
    );
    assert(error.message.includes(name), error.message);
  }
});
