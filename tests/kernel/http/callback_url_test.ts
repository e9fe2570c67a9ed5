/** The callback URL: where a sign-in leads, after failed attempts too. */
import { assertEquals, assertMatch } from "@std/assert";
import { FastifyAuth, type FastifyAuthConfig, requireSession } from "fastify-authjs";
import Fastify from "fastify";
import { testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

async function appWith(config: FastifyAuthConfig) {
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/secret", { onRequest: requireSession(config) }, () => "secret");
  return app;
}

for (const pages of [{}, { signIn: "/login" }]) {
  const page = pages.signIn ?? "/auth/signin";
  for (const json of [false, true]) {
    const how = json ? "JSON" : "a form";
    Deno.test(`after a wrong password, by ${how}, the right one leads where the first was to lead: ${page}`, async () => {
      const client = new Client(await appWith(testConfig({ pages })));
      const sent = await client.get("/secret", { headers: { accept: "text/html" } });
      const signIn = new URL(String(sent.headers.location), "http://localhost");
      assertEquals([signIn.pathname, signIn.searchParams.get("callbackUrl")], [page, "/secret"]);

      const attempt = async (password: string, callbackUrl?: string) => {
        const csrfToken = await client.csrfToken();
        const fields = { csrfToken, username: "ada", password, ...(callbackUrl && { callbackUrl }) };
        const headers = { "x-auth-return-redirect": "1" };
        const answer = json
          ? await client.request("POST", "/auth/callback/credentials", { json: fields, headers })
          : await client.post("/auth/callback/credentials", fields);
        return new URL(json ? answer.json().url : String(answer.headers.location));
      };
      const failed = (await attempt("wrong", "/secret")).searchParams;
      assertEquals(failed.get("error"), "CredentialsSignin");
      assertEquals((await attempt("open", failed.get("callbackUrl")!)).href, "http://localhost/secret");
    });
  }
}

Deno.test("a failed sign-in has the browser remember nothing that leads elsewhere", async () => {
  const app = await appWith(testConfig());
  for (
    const callbackUrl of ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
  ) {
    const client = new Client(app);
    const failed = await client.signIn({ username: "ada", password: "wrong", callbackUrl });
    assertEquals(failed.statusCode, 302);
    const answer = await client.signIn({ username: "ada", password: "open" });
    assertEquals(new URL(String(answer.headers.location)).host, "localhost");
  }
});

Deno.test("a redirect callback may return a relative address of any characters", async () => {
  const addresses = { "日本": "%E6%97%A5%E6%9C%AC", "home?a=é b": "home?a=%C3%A9 b", "a\nb\ud800": "a%0Ab%EF%BF%BD" };
  for (const [returned, location] of Object.entries(addresses)) {
    await using app = await appWith(testConfig({ callbacks: { redirect: () => returned } }));
    const answer = await new Client(app).signIn({ username: "ada", password: "open" });
    assertEquals([answer.statusCode, answer.headers.location], [302, location]);
  }
});

Deno.test("an origin that a redirect callback returns stays as it is, so that the next call can compare it", async () => {
  const redirect = ({ url, baseUrl }: { url: string; baseUrl: string }) =>
    url === baseUrl ? "/home" : url.startsWith("/") ? url : baseUrl;
  await using app = await appWith(testConfig({ callbacks: { redirect } }));
  const client = new Client(app);
  const ada = { username: "ada", password: "open" };
  const first = await client.signIn({ ...ada, callbackUrl: "https://partner.example/x" });
  assertEquals(first.headers.location, "http://localhost");
  assertEquals((await client.signIn(ada)).headers.location, "/home");
});

/** Where a sign-in that failed leads, and what the browser remembers. */
async function failed(callbackUrl: string, config: FastifyAuthConfig) {
  await using app = await appWith(config);
  const client = new Client(app);
  const answer = await client.signIn({ username: "ada", password: "wrong", callbackUrl });
  const { pathname, searchParams } = new URL(String(answer.headers.location));
  assertEquals(client.cookies.get("authjs.callback-url"), encodeURIComponent("http://localhost"));
  return [pathname, searchParams.get("error"), searchParams.get("callbackUrl")];
}

Deno.test("a failed sign-in leads to no address of another origin, and leaves none for the next one", async () => {
  for (
    const [callbackUrl, kept] of [
      ["/secret", "http://localhost/secret"],
      ["http://localhost/secret", "http://localhost/secret"],
      ["https://evil.example/", "http://localhost"],
      ["http://localhost.evil.example/", "http://localhost"],
      ["https://localhost/secret", "http://localhost"],
      ["//evil.example", "http://localhost/evil.example"],
      ["javascript:alert(1)", "http://localhost"],
    ] as const
  ) {
    assertEquals(
      await failed(callbackUrl, testConfig()),
      ["/auth/signin", "CredentialsSignin", kept],
      callbackUrl,
    );
  }
});

Deno.test("where a failed sign-in leads is up to the redirect callback", async () => {
  const redirect = (allow: (url: string) => string) => testConfig({ callbacks: { redirect: ({ url }) => allow(url) } });
  const partner = "https://partner.example/x";
  const kept = async (url: string, allow: (url: string) => string) =>
    (await failed(url, redirect((url) => url === "http://localhost" ? url : allow(url))))[2];
  assertEquals(await kept(partner, (url) => url), partner);
  assertEquals(await kept("/x", () => "http://localhost/home"), "http://localhost/home");
  assertEquals(await kept("/x", () => ""), "http://localhost");
  const thrown = redirect(({ length }) => {
    if (length > 2) return "http://localhost";
    throw new Error("no");
  });
  assertEquals(await failed("/x", thrown), ["/auth/error", "Configuration", null]);
});

Deno.test("a refused callbackUrl leads to the front page, not to an earlier one", async () => {
  for (const refused of ["javascript:alert(1)", "https://user:secret@localhost/", "page", "x".repeat(3000)]) {
    const client = new Client(await appWith(testConfig()));
    await client.signIn({ username: "ada", password: "open", callbackUrl: "/secret" });
    await client.signOut();
    const answer = await client.signIn({ username: "ada", password: "open", callbackUrl: refused });
    assertEquals(String(answer.headers.location), "http://localhost", refused);
  }
});

Deno.test("a POST without a CSRF token has the browser remember no address of another origin", async () => {
  const client = new Client(await appWith(testConfig()));
  for (const path of ["/auth/callback/credentials", "/auth/signin/credentials"]) {
    const answer = await client.post(path, { callbackUrl: "https://evil.example/" });
    assertMatch(String(answer.headers.location), /error=MissingCSRF/);
    assertEquals(client.cookies.get("authjs.callback-url"), undefined, path);
  }
});
