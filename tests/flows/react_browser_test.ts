/** The example for React, in a browser. */
import { assertEquals, assertLess } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { minify } from "terser";
import { build } from "../../examples/react/server.ts";
import { testConfig } from "../support/app.ts";
import { browserTest } from "../support/browser.ts";
import { compileClient } from "../support/client_page.ts";
import { deferred } from "../support/deferred.ts";
import { denoFlags } from "../support/deno_flags.ts";

/** The application with the page; `reads` are the requests for the session, and `hold` may delay their replies. */
async function startApp(reads: string[], hold: () => Promise<void>, other = ""): Promise<FastifyInstance> {
  const app = Fastify({ forceCloseConnections: true });
  app.addHook("onRequest", ({ method, url }, _reply, done) => {
    if (url === "/auth/session") reads.push(method);
    done();
  });
  app.addHook("onSend", async ({ url }) => {
    if (url === "/auth/session") await hold();
  });
  const { origin: _none, ...config } = testConfig({ trustHost: true });
  await build(config, app);
  app.get("/client/client.ts", async (_request, reply) => {
    return reply.type("text/javascript").send(await compileClient("client.ts"));
  });
  app.get("/other", (_request, reply) => reply.type("text/html").send(`<body><script type="module">${other}</script>`));
  await app.listen({ port: 0, host: "localhost" });
  return app;
}

/** A script of a page, with what it imports. */
async function bundle(script: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "react-"));
  const file = join(directory, "page.js");
  await writeFile(file, script);
  const flags = ["--quiet", "--no-lock", "--platform=browser", "--minify", ...denoFlags()];
  const { stdout } = await promisify(execFile)(process.execPath, ["bundle", ...flags, file], { maxBuffer: 2 ** 24 });
  await rm(directory, { recursive: true });
  return stdout.replaceAll("</script", "<\\/script");
}

browserTest("example: useSession() of React follows a sign-in, a sign-out and the focus", async (page) => {
  const reads: string[] = [];
  let hold = () => Promise.resolve();
  await using app = await startApp(reads, () => hold());
  const origin = `http://localhost:${(app.server.address() as AddressInfo).port}`;
  // Less than the 20 seconds that Chrome's cache holds a request back for another one of the same address.
  const timeout = 15_000;
  const heading = (text: string) => page.getByRole("heading", { name: text, exact: true }).waitFor({ timeout });
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
  await page.evaluate(`import("/client/client.ts").then(({ createAuthClient }) =>
    createAuthClient().signIn("credentials", { fields: { username: "bob", password: "open" }, redirect: false }))`);
  await heading("signed-out");
  await page.evaluate(`window.dispatchEvent(new Event("focus"))`);
  await heading("bob");

  // An answer that was under way during the sign-out is older than the next one.
  const [read, held] = [deferred(), deferred()];
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
  await page.evaluate(`import("/client/client.ts").then(({ createAuthClient }) =>
    createAuthClient().signIn("credentials", { fields: { username: "eve", password: "open" }, redirect: false }))`);
  await page.evaluate(`window.dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }))`);
  await heading("eve");

  // The session is still shown while the server does not answer.
  await page.route("**/auth/session", (route) => route.abort());
  await page.evaluate(`window.dispatchEvent(new Event("focus"))`);
  await heading("unknown");
  await page.getByRole("button", { name: "Sign out" }).waitFor();
});

const PAGE_THAT_HIDES = `
import { createAuthClient } from "fastify-authjs/client";
import { SessionProvider, useSession } from "fastify-authjs/react";
import { createElement as h, useState } from "react";
import { createRoot } from "react-dom/client";

const client = createAuthClient();
function Name() {
  const { status, session } = useSession();
  return h("h1", null, session ? session.user.name : status);
}
function Page() {
  const [shown, show] = useState("name");
  Object.assign(window, { client, show });
  return shown === "nothing" ? h("h1", null, shown) : h("div", { id: shown }, h(Name, { key: shown }));
}
createRoot(document.body).render(h(SessionProvider, { client }, h(Page)));
`;

browserTest("a component that is shown after the others had gone reads the session again", async (page) => {
  const script = await bundle(PAGE_THAT_HIDES);
  const reads: string[] = [];
  await using app = await startApp(reads, () => Promise.resolve(), script);
  const heading = (text: string) => page.getByRole("heading", { name: text, exact: true }).waitFor({ timeout: 15_000 });
  const signIn = (username: string) =>
    page.evaluate(
      `client.signIn("credentials", { fields: { username: "${username}", password: "open" }, redirect: false })`,
    );
  await page.goto(`http://localhost:${(app.server.address() as AddressInfo).port}/other`);
  await heading("signed-out");
  await signIn("ada");
  await heading("ada");
  await page.evaluate(`show("nothing")`);
  await heading("nothing");
  await signIn("bob");
  await page.evaluate(`show("name")`);
  await heading("bob");
  // One that takes the place of another has missed nothing.
  const { length } = reads;
  await page.evaluate(`show("other")`);
  await page.locator("#other").waitFor();
  await signIn("eve");
  await heading("eve");
  assertEquals(reads.length, length + 1);
});

Deno.test("fastify-authjs/react is less than 2 KB without the client", async () => {
  const code = await compileClient("react.ts");
  const { code: small = "" } = await minify(code, { module: true });
  assertLess(small.length, 2048);
  const imported = [...code.matchAll(/from "([^"]+)"/g)].map(([, name]) => name);
  assertEquals(imported, ["react", "./client.ts"]);
});
