/** Going back after a sign-out, in a browser that keeps whole pages. */
import { assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import type { AddressInfo } from "node:net";
import { createAuth } from "fastify-authjs";
import { testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";

const ONE_FIELD =
  "<form method=post action=/login><input name=username><input name=password><button>in</button></form>";

browserTest(
  "G1: after signing out, Back does not show a guarded page again",
  async (page) => {
    const auth = createAuth(testConfig());
    await using app = Fastify({ forceCloseConnections: true }) as FastifyInstance;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string" },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(body as string))),
    );
    const html = (body: string) => `<!doctype html><title>Test</title>${body}`;
    app.get("/", (_request, reply) => reply.type("text/html").send(html(ONE_FIELD)));
    app.get("/mine", { config: { auth: true } }, (_request, reply) =>
      reply.type("text/html").send(
        html("<p>secret</p><form method=post action=/logout><button>out</button></form>"),
      ));
    app.post(
      "/login",
      (request, reply) => auth.signIn(request, reply, "credentials", { fields: request.body, callbackUrl: "/mine" }),
    );
    app.post("/logout", (request, reply) => auth.signOut(request, reply, { callbackUrl: "/" }));
    await app.listen({ port: 0, host: "127.0.0.1" });
    const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
    await page.goto(origin);
    await page.fill("[name=username]", "ada");
    await page.fill("[name=password]", "open");
    await page.click("button");
    assertEquals(await page.innerText("p"), "secret");
    await page.click("button");
    await page.waitForSelector("[name=password]");
    await page.goBack();
    await page.waitForLoadState();
    assertEquals(await page.locator("text=secret").count(), 0);
  },
  {},
  ["--disable-back-forward-cache"],
);
