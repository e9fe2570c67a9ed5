/** The example for React, in a browser. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth } from "fastify-authjs";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { compileClient } from "../support/client_page.ts";
import { reactModule } from "../support/react.ts";

const example = new URL("../../examples/react/", import.meta.url);

const PAGE = `<!DOCTYPE html>
<title>React</title>
<link rel="icon" href="data:,">
<script type="importmap">
  { "imports": { "react": "/react.js", "react-dom/client": "/react.js", "fastify-authjs/client": "/client/mod.ts" } }
</script>
<body><script type="module" src="/app.js"></script>`;

/** The application with the page; `reads` are the requests for the session, and `hold` may delay their replies. */
async function startApp(reads: string[], hold: () => Promise<void>): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true });
  app.addHook("onRequest", ({ method, url }, _reply, done) => {
    if (url === "/auth/session") reads.push(method);
    done();
  });
  app.addHook("onSend", async ({ url }) => {
    if (url === "/auth/session") await hold();
  });
  const { origin: _none, ...config } = testConfig({ trustHost: true });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", (_request, reply) => reply.type("text/html").send(PAGE));
  const script = (path: string, source: (name: string) => Promise<string>) =>
    app.get<{ Params: { name: string } }>(
      path,
      async ({ params }, reply) => reply.type("text/javascript").send(await source(params.name)),
    );
  script("/react.js", reactModule);
  script("/client/:name", compileClient);
  script("/:name(^[a-z_]+\\.js$)", (name) => readFile(new URL(name, example), "utf8"));
  await app.listen({ port: 0, host: "localhost" });
  return app;
}

browserTest("example: useSession() of React follows a sign-in, a sign-out and the focus", async (page) => {
  const reads: string[] = [];
  let hold = () => Promise.resolve();
  await using app = await startApp(reads, () => hold());
  const origin = `http://localhost:${(app.server.address() as AddressInfo).port}`;
  // Less than the 20 seconds that Chrome's cache holds a request back for another one of the same address.
  const timeout = 15_000;
  const heading = (text: string) =>
    page.getByRole("heading", { name: text, exact: true }).waitFor({ timeout });
  await page.goto(origin);
  await heading("signed-out");
  assertEquals(reads, ["GET"]); // once for both components

  await page.getByLabel("User name").fill("ada");
  await page.getByLabel("Password").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("CredentialsSignin").waitFor();
  await heading("signed-out");
  await page.getByLabel("Password").fill("open");
  await page.getByRole("button", { name: "Sign in" }).click();
  await heading("ada");

  await page.getByRole("button", { name: "Sign out" }).click();
  await heading("signed-out");

  // Signed in meanwhile, in another window.
  await page.evaluate(`import("/client/mod.ts").then(({ createAuthClient }) =>
    createAuthClient().signIn("credentials", { fields: { username: "bob", password: "open" }, redirect: false }))`);
  await heading("signed-out");
  await page.evaluate(`window.dispatchEvent(new Event("focus"))`);
  await heading("bob");

  // An answer that was under way during the sign-out is older than the next one.
  const [read, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  hold = () => {
    hold = () => Promise.resolve();
    read.resolve();
    return held.promise;
  };
  const answer = page.waitForResponse("**/auth/session");
  answer.catch(() => {}); // It is awaited below, unless the test fails before.
  await page.evaluate(`window.dispatchEvent(new Event("focus"))`);
  await read.promise;
  await page.getByRole("button", { name: "Sign out" }).click();
  await heading("signed-out");
  held.resolve();
  await (await answer).finished();
  await page.evaluate(`fetch("/auth/session").then((answer) => answer.text())`);
  await heading("signed-out");

  // Shown again by the back button.
  await page.evaluate(`import("/client/mod.ts").then(({ createAuthClient }) =>
    createAuthClient().signIn("credentials", { fields: { username: "eve", password: "open" }, redirect: false }))`);
  await page.evaluate(`window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
  await heading("eve");

  // The session is still shown while the server does not answer.
  await page.route("**/auth/session", (route) => route.abort());
  await page.evaluate(`window.dispatchEvent(new Event("focus"))`);
  await heading("unknown");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
});

Deno.test("example: the documentation has the code of useSession()", async () => {
  const source = await readFile(new URL("use_session.js", example), "utf8");
  const documented = await readFile(new URL("../../docs/client.md", import.meta.url), "utf8");
  assertStringIncludes(documented, source.slice(source.indexOf("import ")).trimEnd());
});
