/** "Confirm it's you": the page on which a user who is signed in does so again. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import GitHub from "fastify-authjs/providers/github";
import Google from "fastify-authjs/providers/google";
import { passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client, formIn } from "../../support/client.ts";

Deno.test("a password that fails leaves the page with its name and its ways", async () => {
  const providers = [passwordProvider(), GitHub({ clientId: "id", clientSecret: "secret" })];
  await using app = await testApp(testConfig({ providers }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  let page = await client.get("/auth/signin?prompt=login&ways=credentials&max_age=60&callbackUrl=%2Fbank");
  for (const shows of ["", 'role="alert"', 'role="alert"']) {
    assertStringIncludes(page.body, "<h1>Confirm it&#39;s you</h1>");
    assertStringIncludes(page.body, "sign in again as ada");
    assertStringIncludes(page.body, shows);
    assertEquals([page.body.includes("GitHub"), page.body.includes("Remember me")], [false, false]);
    const { action, fields } = formIn(page);
    const failed = await client.post(action, { ...fields, username: "ada", password: "wrong" });
    page = await client.get(String(failed.headers.location).slice("http://localhost".length));
  }
  const { action, fields } = formIn(page);
  const signedIn = await client.post(action, { ...fields, username: "ada", password: "open" });
  assertEquals(signedIn.headers.location, "http://localhost/bank");
  assertStringIncludes((await client.get("/auth/signin")).body, "You are signed in as");
});

Deno.test("the forms of authorization servers ask them for what the guard requires, and for nothing else", async () => {
  const settings = { clientId: "id", clientSecret: "secret" };
  await using app = await testApp(testConfig({ providers: [passwordProvider(), GitHub(settings), Google(settings)] }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const required = "max_age=60&acr_values=mfa&prompt=login";
  const page = await client.get(`/auth/signin?${required}&ways=github+google&email=ada%40example.com`);
  const actions = [...page.body.matchAll(/<form[^>]* action="([^"]+)"/g)].map(([, action]) => action);
  assertEquals(
    actions.map((action) => action?.replaceAll("&amp;", "&")),
    ["github", "google"].map((id) => `/auth/signin/${id}?${required}`),
  );
});
