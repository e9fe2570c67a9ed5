/** Sign-ins that a page of another site begins, in a real browser. */
import { assertEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import Fastify from "fastify";
import type { AddressInfo } from "node:net";
import { testApp, testConfig } from "../../support/app.ts";
import { ATTEMPT } from "../../support/attempts.ts";
import { browserTest } from "../../support/browser.ts";
import { ScriptedProvider } from "../../support/scripted_provider.ts";

browserTest("in a browser a portal's link and form begin a sign-in, and its frame none", async (page) => {
  await using provider = await ScriptedProvider.start();
  provider.documents.set("/authorize", { question: "who are you?" });
  const { issuer } = provider;
  const op = {
    id: "op",
    name: "OP",
    type: "oidc",
    clientId: "client",
    clientSecret: "secret",
    issuer,
    initiateLogin: true,
  };
  const config = testConfig({ providers: [op] as unknown as FastifyAuthConfig["providers"] });
  await using app = await testApp(config, { forceCloseConnections: true });
  app.get("/report", (_request, reply) => reply.type("text/html").send("<h1>Report</h1>"));
  await app.listen({ port: 0, host: "localhost" });
  const origin = `http://localhost:${(app.server.address() as AddressInfo).port}`;

  const portal = Fastify({ forceCloseConnections: true });
  const address = `${origin}/auth/signin/op`;
  const link = `${address}?${new URLSearchParams({ iss: issuer, target_link_uri: `${origin}/report` })}`;
  portal.get("/", (_request, reply) =>
    reply.type("text/html").send(`
      <a href="${link.replaceAll("&", "&amp;")}">App</a>
      <form method="post" action="${address}">
        <input type="hidden" name="iss" value="${issuer}">
        <input type="hidden" name="target_link_uri" value="${origin}/report">
        <button>App</button>
      </form>`));
  portal.get("/framed", (_request, reply) => reply.type("text/html").send(`<iframe src="${link}"></iframe>`));
  // Another site than "localhost".
  await portal.listen({ port: 0, host: "127.0.0.1" });
  const portalOrigin = `http://127.0.0.1:${(portal.server.address() as AddressInfo).port}`;
  try {
    for (const element of ["a", "button"]) {
      await page.context().clearCookies();
      await page.goto(portalOrigin);
      await page.locator(element).click();
      await page.waitForURL(`${issuer}/**`);
      await page.goto(provider.authorize(page.url()));
      assertEquals([page.url(), await page.locator("h1").innerText()], [`${origin}/report`, "Report"]);
    }
    await page.context().clearCookies();
    await page.goto(`${portalOrigin}/framed`, { waitUntil: "networkidle" });
    const cookies = await page.context().cookies(origin);
    assertEquals(cookies.filter(({ name }) => ATTEMPT.test(name)), []);
  } finally {
    await portal.close();
  }
});
