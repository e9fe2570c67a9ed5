/** The page of a mailed sign-in link in a real browser. */
import { assertEquals, assertMatch } from "@std/assert";
import type { AddressInfo } from "node:net";
import type { BrowserContextOptions, Page } from "playwright-core";
import { testApp, testConfig } from "../../support/app.ts";
import { browserTest, openPage } from "../../support/browser.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ADA = "ada@example.com";

/** A request as it arrived. */
interface Seen {
  readonly method: string;
  readonly path: string;
  readonly referer: string | undefined;
  readonly origin: string | undefined;
}

interface Scene {
  readonly origin: string;
  readonly tables: MemoryTables;
  readonly seen: Seen[];
  /** Asks for a link on the sign-in page, and gives it. */
  ask(page: Page): Promise<string>;
}

async function withScene(run: (scene: Scene) => Promise<void>): Promise<void> {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const links: string[] = [];
  const email = {
    id: "email",
    type: "email",
    name: "Email",
    maxAge: 600,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
  };
  const config = testConfig({ adapter: memoryAdapter(tables), providers: [email as never] });
  await using app = await testApp(config, { forceCloseConnections: true });
  const seen: Seen[] = [];
  app.addHook("onRequest", (request, _reply, done) => {
    const { referer, origin } = request.headers;
    seen.push({ method: request.method, path: request.url.split("?")[0]!, referer, origin });
    done();
  });
  app.get("/home", (_request, reply) => reply.type("text/html").send("<title>Home</title>"));
  // A browser asks for it, and an answer of 404 would be on its console.
  app.get("/favicon.ico", (_request, reply) => reply.code(204).send());
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  await run({
    origin,
    tables,
    seen,
    async ask(page) {
      await page.goto(`${origin}/auth/signin?callbackUrl=%2Fhome`);
      await page.locator("input[name=email]").fill(ADA);
      await page.locator("form[action$='/signin/email'] button").click();
      await page.waitForURL(/verify-request/);
      return links.at(-1)!;
    },
  });
}

/** Gives the page of another browser, as far as the server can tell. */
async function inOtherBrowser(
  page: Page,
  use: (page: Page) => Promise<void>,
  options: BrowserContextOptions = {},
): Promise<void> {
  const other = await openPage(browserOf(page), options);
  try {
    await use(other);
  } finally {
    await other.context().close();
  }
}

const browserOf = (page: Page) => page.context().browser()!;
const button = (page: Page) => page.getByRole("button", { name: "Confirm sign-in" });
const readerOf = async (page: Page, { origin }: Scene) =>
  (await (await page.request.get(`${origin}/me`)).json()).session?.user.email ?? null;

browserTest(
  "in the browser that asked a link signs in at once, and tells nobody its address",
  (page) =>
    withScene(async (scene) => {
      const { origin, tables, seen } = scene;
      const complaints: string[] = [];
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
      await page.goto(await scene.ask(page));
      await page.waitForURL(`${origin}/home`);
      assertEquals([await readerOf(page, scene), tables.tokens.length], [ADA, 0]);
      const posts = seen.filter(({ method, path }) => method === "POST" && path.includes("/callback/"));
      assertEquals(posts, [
        { method: "POST", path: "/auth/callback/email", referer: `${origin}/`, origin },
      ]);
      const home = seen.filter(({ path }) => path === "/home");
      assertEquals(home.map(({ referer = "" }) => new URL(referer || origin).search), [""]);
      assertEquals(complaints, []);
    }),
);

browserTest(
  "in another browser a link waits for one click, however often it is clicked",
  (page) =>
    withScene(async (scene) => {
      const { origin, tables, seen } = scene;
      const link = await scene.ask(page);
      await inOtherBrowser(page, async (other) => {
        await other.goto(link);
        await button(other).waitFor();
        assertMatch(await other.locator("main").innerText(), /ada@example\.com/);
        await other.waitForLoadState("networkidle");
        assertEquals([tables.tokens.length, await readerOf(other, scene)], [1, null]);
        await other.evaluate(`for (const click of "123") document.querySelector("#confirm button").click()`);
        await other.waitForURL(`${origin}/home`);
        assertEquals([await readerOf(other, scene), tables.tokens.length], [ADA, 0]);
        assertEquals(
          seen.filter(({ method, path }) => method === "POST" && path.includes("/callback/")).length,
          1,
        );
      });
    }),
);

browserTest("a link signs in with a click where scripts are off", (page) =>
  withScene(async (scene) => {
    const link = await scene.ask(page);
    await inOtherBrowser(page, async (other) => {
      await other.goto(link);
      await button(other).click();
      await other.waitForURL(`${scene.origin}/home`);
      assertEquals(await readerOf(other, scene), ADA);
    }, { javaScriptEnabled: false });
  }));

browserTest(
  "a page that is rendered in advance waits until it is shown",
  (page) =>
    withScene(async (scene) => {
      const link = await scene.ask(page);
      await page.addInitScript(`Object.defineProperty(document, "prerendering", { value: true })`);
      await page.goto(link);
      await button(page).waitFor();
      await page.waitForLoadState("networkidle");
      assertEquals(scene.tables.tokens.length, 1);
      await page.evaluate(`document.dispatchEvent(new Event("prerenderingchange"))`);
      await page.waitForURL(`${scene.origin}/home`);
      assertEquals(await readerOf(page, scene), ADA);
    }),
);
