/** The page that a guard shows if a callback fails, in a real browser: on a phone, dark, written from the right. */
import { assert, assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import { testConfig } from "../../support/app.ts";
import { browserTest } from "../../support/browser.ts";

browserTest(
  "F3: a user whose session cannot be read signs in again, and is back at the page",
  async (page) => {
    let fails = false;
    const auth: AuthObject = createAuth(testConfig({
      callbacks: {
        jwt({ token, account }) {
          if (account) return { ...token, old: fails ? false : true };
          if (token.old && fails) throw new Error("what earlier sessions lack");
          return token;
        },
      },
    }) as FastifyAuthConfig);
    await using app = Fastify({ forceCloseConnections: true }) as unknown as FastifyInstance & AsyncDisposable;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/guarded", { onRequest: auth.requireSession() }, (_request, reply) => {
      return reply.type("text/html").send("<h1>guarded</h1>");
    });
    await app.listen({ port: 0 });
    const origin = `http://localhost:${(app.server.address() as AddressInfo).port}`;
    const signIn = async () => {
      await page.getByRole("textbox").first().fill("ada");
      await page.locator('input[type="password"]').fill("open");
      await page.locator('button[type="submit"]').click();
      await page.getByText("guarded").waitFor();
    };
    await page.goto(`${origin}/guarded`);
    await signIn();

    fails = true;
    const reply = await page.reload();
    assertEquals(reply?.status(), 503);
    assertEquals(await page.locator("html").getAttribute("dir"), "rtl");
    const width = "document.documentElement.scrollWidth <= innerWidth";
    assert(await page.evaluate(width), "nothing is cut off");
    await page.locator("a.primary").click();
    await signIn();
    assertEquals(page.url(), `${origin}/guarded`);
  },
  { viewport: { width: 360, height: 640 }, colorScheme: "dark", locale: "ar" },
);
