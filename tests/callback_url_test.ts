/** The callback URL: where a sign-in leads, after failed attempts too. */
import { assertEquals, assertMatch } from "@std/assert";
import { FastifyAuth, type FastifyAuthConfig, requireSession } from "fastify-authjs";
import Fastify from "fastify";
import { testConfig } from "./support/app.ts";
import { Client, setCookies } from "./support/client.ts";

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
      assertEquals((await attempt("wrong", "/secret")).searchParams.get("error"), "CredentialsSignin");
      assertEquals((await attempt("open")).href, "http://localhost/secret");
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

Deno.test("the cookie of a failed sign-in has the attributes of core's", async () => {
  const attributesOf = async (password: string, overrides: Partial<FastifyAuthConfig>) => {
    const app = await appWith(testConfig({ origin: "https://app.example", ...overrides }));
    const answer = await new Client(app).signIn({ username: "ada", password, callbackUrl: "/secret" });
    const line = setCookies(answer).find((each) => each.includes("callback"))!;
    assertMatch(line, /secret/);
    return [line.slice(0, line.indexOf("=")), line.split("; ").slice(1).sort()];
  };
  const cookies = { callbackUrl: { name: "callback", options: { domain: "app.example" } } } as never;
  for (const overrides of [{}, { useSecureCookies: false }, { cookies }]) {
    assertEquals(await attributesOf("wrong", overrides), await attributesOf("open", overrides));
  }
});

/** What a browser remembers of a sign-in that failed. */
async function remembered(callbackUrl: string, config: FastifyAuthConfig, provider = "credentials") {
  await using app = await appWith(config);
  const client = new Client(app);
  const failed = await client.signIn({ username: "ada", password: "wrong", callbackUrl }, provider);
  const cookie = client.cookies.get("authjs.callback-url");
  return { location: String(failed.headers.location), cookie: cookie && decodeURIComponent(cookie) };
}

Deno.test("a failed sign-in has the browser remember no address of another origin", async () => {
  for (
    const [callbackUrl, cookie] of [
      ["/secret", "http://localhost/secret"],
      ["http://localhost/secret", "http://localhost/secret"],
      ["https://evil.example/", "http://localhost"],
      ["http://localhost.evil.example/", "http://localhost"],
      ["https://localhost/secret", "http://localhost"],
      ["//evil.example", "http://localhost/evil.example"],
    ] as const
  ) {
    assertEquals((await remembered(callbackUrl, testConfig())).cookie, cookie, callbackUrl);
  }
});

Deno.test("what a failed sign-in has the browser remember is up to the redirect callback", async () => {
  const redirect = (allow: (url: string) => string) =>
    testConfig({ callbacks: { redirect: ({ url }) => allow(url) } });
  const partner = "https://partner.example/x";
  assertEquals((await remembered(partner, redirect((url) => url))).cookie, partner);
  assertEquals(
    (await remembered("/x", redirect(() => "http://localhost/home"))).cookie,
    "http://localhost/home",
  );
  // The one that core sets with the CSRF token stays.
  assertEquals((await remembered("/x", redirect(() => ""))).cookie, "http://localhost");
  const thrown = redirect(() => {
    throw new Error("no");
  });
  const { cookie, location } = await remembered("/x", thrown);
  assertEquals([cookie, location], ["http://localhost", "http://localhost/auth/error?error=Configuration"]);
});

Deno.test("a POST without a CSRF token has the browser remember no address of another origin", async () => {
  const client = new Client(await appWith(testConfig()));
  for (const path of ["/auth/callback/credentials", "/auth/signin/credentials"]) {
    const answer = await client.post(path, { callbackUrl: "https://evil.example/" });
    assertMatch(String(answer.headers.location), /error=MissingCSRF/);
    assertEquals(client.cookies.get("authjs.callback-url"), encodeURIComponent("http://localhost"), path);
  }
});
