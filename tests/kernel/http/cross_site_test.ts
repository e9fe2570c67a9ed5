/** POSTs that another site makes a browser send are refused before core and before their body is read. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, FastifyAuthError, getSession } from "fastify-authjs";
import Apple from "fastify-authjs/providers/apple";
import GitHub from "fastify-authjs/providers/github";
import type { AddressInfo, Server } from "node:net";
import { browserTest } from "../../support/browser.ts";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

const ada = { username: "ada", password: "open" };
const ORIGIN = "https://app.example";

type Headers = Record<string, string>;

const PASSES: Headers[] = [
  {},
  { "sec-fetch-site": "same-origin" },
  { "sec-fetch-site": "same-origin", origin: ORIGIN },
  // A page with `Referrer-Policy: no-referrer`
  { "sec-fetch-site": "same-origin", origin: "null" },
  { "sec-fetch-site": "none" },
  // An older browser
  { origin: ORIGIN },
  { "sec-fetch-site": "", origin: ORIGIN },
];

const REFUSED: Headers[] = [
  { "sec-fetch-site": "cross-site" },
  { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
  { "sec-fetch-site": "cross-site", origin: ORIGIN },
  { "sec-fetch-site": "cross-site", origin: "null" },
  { "sec-fetch-site": "same-site" },
  { "sec-fetch-site": "same-site", origin: "https://sibling.app.example" },
  { "sec-fetch-site": "same-origin, same-origin" },
  { "sec-fetch-site": "Same-Origin" },
  { "sec-fetch-site": "something-new" },
  { origin: "null" },
  { origin: "" },
  { origin: "https://evil.example" },
  { origin: "http://app.example" },
  { origin: "https://app.example:8443" },
  { origin: "https://app.example/" },
  { origin: "https://app.example.evil.example" },
  { origin: "https://app.example, https://app.example" },
];

async function signInWith(app: FastifyInstance, headers: Headers) {
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const answer = await client.post("/auth/callback/credentials", { ...ada, csrfToken }, headers);
  const { session } = (await client.get("/me")).json();
  return { answer, session, client };
}

Deno.test("a sign-in passes from the application's own pages and from what is no browser", async () => {
  await using app = await testApp(testConfig({ origin: ORIGIN }));
  for (const headers of PASSES) {
    const { answer, session } = await signInWith(app, headers);
    assertEquals([answer.statusCode, session?.user.name], [302, "ada"], JSON.stringify(headers));
  }
});

Deno.test("a sign-in is refused from anywhere else, with a valid CSRF token too", async () => {
  let authorized = 0;
  const { logger, lines } = captureLog();
  const providers = [passwordProvider(() => authorized++)];
  await using app = await testApp(testConfig({ origin: ORIGIN, providers }), { logger });
  for (const headers of REFUSED) {
    const { answer, session } = await signInWith(app, headers);
    assertEquals(
      [answer.statusCode, answer.json().code, session],
      [403, "FST_AUTHJS_CROSS_SITE", null],
      JSON.stringify(headers),
    );
    assertStringIncludes(answer.json().message, "`trustedOrigins`");
  }
  assertEquals(authorized, 0);
  assertEquals(lines.filter(({ level }) => level >= 40), []);
});

Deno.test("every POST is covered but the callbacks that providers post to, and no GET is", async () => {
  const providers = [passwordProvider(), GitHub({ clientId: "id", clientSecret: "secret" })];
  await using app = await testApp(testConfig({ providers }));
  const headers = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
  for (
    const path of [
      "signin",
      "signin/github",
      "signin/credentials",
      "signout",
      "session",
      "callback/credentials",
    ]
  ) {
    const answer = await app.inject({ method: "POST", url: `/auth/${path}`, headers });
    assertEquals([answer.statusCode, answer.json().code], [403, "FST_AUTHJS_CROSS_SITE"], path);
  }
  const callback = await app.inject({ method: "POST", url: "/auth/callback/github", headers });
  assertEquals(
    callback.statusCode,
    302,
    "as without a cookie of the sign-in, but not refused for its origin",
  );
  for (
    const path of ["signin", "signin/github", "signout", "session", "csrf", "providers", "callback/github"]
  ) {
    const answer = await app.inject({ url: `/auth/${path}`, headers });
    assert(answer.statusCode < 400, path);
  }
});

Deno.test("the body of a refused request is not read", async () => {
  await using app = await testApp();
  const answer = await app.inject({
    method: "POST",
    url: "/auth/signout",
    headers: { "sec-fetch-site": "cross-site", "content-type": "application/json" },
    payload: "{",
  });
  assertEquals(answer.statusCode, 403);
});

Deno.test("a cross-site form_post reaches the callback of its provider", async () => {
  await using app = await testApp(
    testConfig({ providers: [Apple({ clientId: "id", clientSecret: "secret" })] }),
  );
  const answer = await app.inject({
    method: "POST",
    url: "/auth/callback/apple",
    headers: {
      "sec-fetch-site": "cross-site",
      origin: "https://appleid.apple.com",
      "content-type": "application/x-www-form-urlencoded",
    },
    payload: "code=abc&state=def",
  });
  assertEquals(answer.statusCode, 302);
  assertStringIncludes(String(answer.headers.location), "/auth/error?error=Configuration");
});

Deno.test("trustedOrigins lets those origins pass, and only those", async () => {
  const trustedOrigins = ["https://SPA.example:443/", "http://localhost:5173", "capacitor://localhost"];
  await using app = await testApp(testConfig({ origin: ORIGIN, trustedOrigins }));
  for (const origin of ["https://spa.example", "http://localhost:5173", "capacitor://localhost"]) {
    for (const site of [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }, {}]) {
      const { session } = await signInWith(app, { origin, ...site } as Headers);
      assertEquals(session?.user.name, "ada", origin);
    }
  }
  for (
    const origin of [
      "http://spa.example",
      "https://a.spa.example",
      "http://localhost",
      "null",
      "capacitor://x",
    ]
  ) {
    const { answer } = await signInWith(app, { origin, "sec-fetch-site": "cross-site" });
    assertEquals(answer.statusCode, 403, origin);
  }
});

Deno.test("what is no origin in trustedOrigins is a boot error that names it", async () => {
  for (
    const entry of [
      "spa.example",
      "https://spa.example/app",
      "https://*.example",
      "*",
      "null",
      "",
      "https://user@spa.example",
      "https://spa.example?x",
      "https://a.example, https://b.example",
      "https://",
      "https://spa.example:99999",
      undefined,
      /spa/,
    ]
  ) {
    const config = testConfig({ trustedOrigins: ["https://fine.example", entry] as string[] });
    const error = await assertRejects(() => testApp(config), FastifyAuthError, "`trustedOrigins`");
    assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
  }
  const text = testConfig({ trustedOrigins: "https://spa.example" as unknown as string[] });
  await assertRejects(() => testApp(text), FastifyAuthError, "must be an array");
});

interface Sites {
  readonly app: string;
  readonly other: string;
  /** Sets the page that the other site shows. */
  setPage(html: string): void;
}

/** An application, and a page of another site. */
async function withSites(use: (sites: Sites) => Promise<void>): Promise<void> {
  const config = testConfig();
  // A browser opens connections ahead that it may never use.
  const options = { forceCloseConnections: true } as const;
  await using app = Fastify(options) as unknown as FastifyInstance;
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", async (request) => ({ session: await getSession(request, config) }));
  await using other = Fastify(options);
  let html = "";
  other.get("/", (_request, reply) => reply.type("text/html").send(html));
  for (const server of [app, other]) await server.listen({ port: 0, host: "127.0.0.1" });
  const portOf = ({ server }: { server: unknown }) => ((server as Server).address() as AddressInfo).port;
  await use({
    app: `http://localhost:${portOf(app)}`,
    other: `http://127.0.0.1:${portOf(other)}`,
    setPage: (page) => html = page,
  });
}

browserTest("in a browser the forms of the sign-in and sign-out pages work", async (page) => {
  await withSites(async ({ app }) => {
    await page.goto(`${app}/auth/signin?callbackUrl=/`);
    await page.fill('input[name="username"]', "ada");
    await page.fill('input[name="password"]', "open");
    await Promise.all([page.waitForURL(`${app}/`), page.click('button[type="submit"]')]);
    assertStringIncludes(await page.textContent("body") ?? "", '"name":"ada"');
    await page.goto(`${app}/auth/signout?callbackUrl=/`);
    await Promise.all([page.waitForURL((url) => url.pathname === "/"), page.click('button[type="submit"]')]);
    assertEquals(await page.textContent("body"), '{"session":null}');
  });
});

browserTest("in a browser the form of another site, and one in a sandbox, are refused", async (page) => {
  await withSites(async ({ app, other, setPage }) => {
    const form = `<form method="post" action="${app}/auth/signout"><button>Go</button></form>`;
    setPage(form);
    await page.goto(other);
    const [crossSite] = await Promise.all([page.waitForNavigation(), page.click("button")]);
    assertEquals(crossSite?.status(), 403);
    assertStringIncludes(await page.textContent("body") ?? "", "FST_AUTHJS_CROSS_SITE");

    setPage(`<iframe sandbox="allow-forms" srcdoc='${form}'></iframe>`);
    await page.goto(other);
    const [refused] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith("/auth/signout")),
      page.frameLocator("iframe").locator("button").click(),
    ]);
    assertEquals(refused.status(), 403);
  });
});
