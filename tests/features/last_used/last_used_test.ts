/** The sign-in page marks the method that a browser used last. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import GitHub from "fastify-authjs/providers/github";
import { passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { EMAIL, pagesConfig } from "../../support/pages_app.ts";

const FIELDS = { username: "ada", password: "open" };
const MARK = "Last used";
const github = () => GitHub({ clientId: "id", clientSecret: "secret" });
const both = (overrides: Partial<FastifyAuthConfig> = {}) =>
  testConfig({ providers: [passwordProvider(), github()], ...overrides });

const markOf = (answer: Answer) => setCookies(answer).filter((line) => /^authjs\.last-used=/.test(line));

/** The buttons that are marked, by the address of their forms. */
function marked({ body }: Answer): string[] {
  const forms = [...body.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)];
  return forms.filter(([, , content]) => content!.includes(MARK)).map(([, action]) => action!);
}

Deno.test("after a sign-in the page marks its method, by a cookie with its id alone", async () => {
  await using app = await testApp(both());
  const client = new Client(app);
  assertEquals(marked(await client.get("/auth/signin")), []);
  const [cookie, ...others] = markOf(await client.signIn(FIELDS));
  assertEquals(others, []);
  assertMatch(cookie!, /^authjs\.last-used=credentials; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Lax$/);
  await client.signOut();
  assertEquals(marked(await client.get("/auth/signin")), ["/auth/callback/credentials"]);
});

Deno.test("a mailed link that shares its field is marked at its own button", async () => {
  await using app = await testApp(pagesConfig({ providers: [passwordProvider(), EMAIL] }));
  const client = new Client(app);
  client.cookies.set("authjs.last-used", EMAIL.id);
  assertMatch((await client.get("/auth/signin")).body, /sign-in link<\/span>\s*<small[^>]*>Last used/);
});

Deno.test("a failed sign-in, and a cookie of no provider, mark nothing", async () => {
  await using app = await testApp(both());
  const client = new Client(app);
  assertEquals(markOf(await client.signIn({ ...FIELDS, password: "wrong" })), []);
  client.cookies.set("authjs.last-used", "%3Cb%3E");
  const page = await client.get("/auth/signin");
  assertEquals([marked(page), page.body.includes("<b>")], [[], false]);
});

Deno.test("a provider that was used last is not behind More options", async () => {
  const providers = ["a", "b", "c", "d", "e", "f"].map((id) => ({
    ...github(),
    id,
    name: id,
    options: undefined,
  }));
  await using app = await testApp(testConfig({ providers: providers as never }));
  const client = new Client(app);
  client.cookies.set("authjs.last-used", "f");
  const [shown = "", folded = ""] = (await client.get("/auth/signin")).body.split("<details");
  assertStringIncludes(shown, "/auth/signin/f");
  assertFalse(folded.includes('/auth/signin/f"'));
  assert(folded.includes("/auth/signin/e"));
});

Deno.test("nothing is kept with one method, with a page of the application, or with pages.lastUsed: false", async () => {
  const configs = [
    testConfig(),
    both({ pages: { signIn: "/login" } }),
    both({ pages: { lastUsed: false } }),
  ];
  for (const config of configs) {
    await using app = await testApp(config);
    assertEquals(markOf(await new Client(app).signIn(FIELDS)), []);
  }
});
