/** Sign-in links that only a person uses up: the page that a link opens, and its form. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, type LogLine, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, formIn, setCookies } from "../../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const ADA = "ada@example.com";
const EVE = "eve@evil.example";
const VERIFICATION = "http://localhost/auth/error?error=Verification";
const COOKIE = "authjs.email-confirm";

interface Setup {
  readonly app: FastifyInstance;
  readonly tables: MemoryTables;
  readonly log: LogLine[];
  /** Asks for a link, and gives its path and query. */
  readonly ask: (client: Client, email?: string, form?: Record<string, string>) => Promise<string>;
}

async function withLinks(
  run: (setup: Setup) => Promise<void>,
  config: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const { logger, lines: log } = captureLog();
  const links: string[] = [];
  const email = {
    id: "email",
    type: "email" as const,
    name: "E-mail",
    maxAge: 600,
    sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
  };
  await using app = await testApp(
    testConfig({ adapter: memoryAdapter(tables), providers: [email as never], ...config }),
    { logger },
  );
  const ask: Setup["ask"] = async (client, email = ADA, form = {}) => {
    const csrfToken = await client.csrfToken();
    await client.post("/auth/signin/email", { csrfToken, email, callbackUrl: "/home?a=1", ...form });
    const { pathname, search } = new URL(links.at(-1)!);
    return pathname + search;
  };
  await run({ app, tables, log, ask });
}

async function reader(client: Client): Promise<string | null> {
  return (await client.get("/me")).json().session?.user.email ?? null;
}

/** Whether the script of the page sends its form at once. */
const isAutomatic = ({ body }: Answer) => body.includes('data-automatic="true"');

Deno.test("a link opens a page, and only its form signs in, with the callbackUrl", () =>
  withLinks(async ({ app, tables, ask }) => {
    const asker = new Client(app);
    const link = await ask(asker);
    const phone = new Client(app);
    const page = await phone.get(link);
    assertEquals(page.statusCode, 200);
    assertMatch(String(page.headers["content-type"]), /^text\/html/);
    assertEquals([tables.tokens.length, await reader(phone)], [1, null]);
    assertStringIncludes(page.body, ADA);

    const { action, fields } = formIn(page);
    assertEquals(action, "/auth/callback/email");
    const token = new URLSearchParams(link.split("?")[1]).get("token");
    assertEquals(fields, {
      csrfToken: fields.csrfToken,
      callbackUrl: "http://localhost/home?a=1",
      token,
      email: ADA,
    } as never);
    const answer = await phone.post(action, fields);
    assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost/home?a=1"]);
    assertEquals([tables.tokens.length, await reader(phone)], [0, ADA]);
  }));

Deno.test("the page sends its form by itself in the browser that asked, and in no other", () =>
  withLinks(async ({ app, ask }) => {
    const asker = new Client(app);
    const link = await ask(asker);
    assert(isAutomatic(await asker.get(link)), "asked here");
    assertFalse(isAutomatic(await new Client(app).get(link)), "a browser without the cookie, or a scanner");
    await asker.confirm(link);
    assertEquals(await reader(asker), ADA);
    assertFalse(asker.cookies.has(COOKIE), "the cookie has done its work");
  }));

Deno.test("L2: a link of somebody else is never confirmed by itself, though this browser asked for one", () =>
  withLinks(async ({ app, ask }) => {
    const [ada, eve] = [new Client(app), new Client(app)];
    const own = await ask(ada);
    const forged = await ask(eve, EVE);
    const page = await ada.get(forged);
    assertFalse(isAutomatic(page));
    assertStringIncludes(page.body, EVE);
    // Neither with her address in a link for Eve's token.
    const mixed = forged.replace(encodeURIComponent(EVE), encodeURIComponent(ADA));
    const answer = await ada.confirm(mixed);
    assertEquals([answer.headers.location, await reader(ada)], [VERIFICATION, null]);
    assert(isAutomatic(await ada.get(own)));
  }));

Deno.test("L3: the cookie is no readable address, cannot be made without the secret, and ends with the link", () =>
  withLinks(async ({ app, ask, tables }) => {
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signin/email", { csrfToken, email: ADA });
    const line = setCookies(answer).find((each) => each.startsWith(COOKIE))!;
    assertMatch(line, /^authjs\.email-confirm=[\w-]{43}; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Lax$/);
    const expires = Date.parse(/Expires=([^;]+)/.exec(line)![1]!);
    assertEquals(expires, Math.floor(tables.tokens[0]!.expires.valueOf() / 1000) * 1000);
    const stranger = new Client(app);
    const link = await ask(new Client(app));
    for (const value of ["", "true", ADA, "A".repeat(43)]) {
      stranger.cookies.set(COOKIE, value);
      assertFalse(isAutomatic(await stranger.get(link)), value);
    }
  }));

Deno.test("a browser that asked before the secret was rotated is still known", async () => {
  const older = "an-older-secret-of-32-characters-or-more";
  await withLinks(async ({ app, ask }) => {
    const asker = new Client(app);
    const link = await ask(asker);
    await withLinks(async (rotated) => {
      const client = new Client(rotated.app);
      for (const [name, value] of asker.cookies) client.cookies.set(name, value);
      assert(isAutomatic(await client.get(link)));
    }, { secret: [SECRET, older] });
  }, { secret: older });
});

/** Requests that no person made. */
const MACHINES: [name: string, method: string, headers: Record<string, string>][] = [
  ["HEAD", "HEAD", {}],
  ["a prefetch", "GET", { "sec-purpose": "prefetch" }],
  ["a prefetch through a proxy", "GET", { "sec-purpose": "prefetch;anonymous-client-ip" }],
  ["a prerender", "GET", { "sec-purpose": "prefetch;prerender" }],
  ["an older prefetch", "GET", { purpose: "prefetch" }],
  ["an older Firefox", "GET", { "x-moz": "prefetch" }],
  ["a preview of Safari", "GET", { "x-purpose": "preview" }],
  ["a link preview", "GET", { "user-agent": "Slackbot-LinkExpanding 1.0", accept: "*/*" }],
  ["a scanner", "GET", { "user-agent": "Mozilla/5.0", accept: "text/html" }],
  ["a script", "GET", { accept: "application/json" }],
];

for (const emailConfirm of [true, false]) {
  // Without the page only what a browser says about itself can be told from a person.
  const machines = MACHINES.filter(([, method, headers]) =>
    emailConfirm || method === "HEAD" || !("accept" in headers)
  );
  for (const [name, method, headers] of machines) {
    Deno.test(`L1: ${name} uses nothing up, emailConfirm: ${emailConfirm}`, () =>
      withLinks(async ({ app, tables, ask, log }) => {
        const asker = new Client(app);
        const link = await ask(asker);
        for (const client of [asker, new Client(app)]) {
          await client.request(method, link, { headers });
          assertEquals([tables.tokens.length, tables.sessions.size], [1, 0]);
          assertEquals(await reader(client), null);
        }
        assertEquals(log.filter(({ level }) => level > 30), []);
        await asker.confirm(link);
        assertEquals(await reader(asker), ADA);
      }, { emailConfirm }));
  }
}

Deno.test("with emailConfirm: false a link signs in, and no cookie is set", () =>
  withLinks(async ({ app, ask }) => {
    const client = new Client(app);
    const link = await ask(client);
    assertFalse(client.cookies.has(COOKIE));
    const answer = await client.get(link);
    assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost/home?a=1"]);
    assertEquals(await reader(client), ADA);
  }, { emailConfirm: false }));

Deno.test("L4: a form without its CSRF token, or from another site, uses nothing up", () =>
  withLinks(async ({ app, tables, ask }) => {
    const client = new Client(app);
    const link = await ask(client);
    const { action, fields } = formIn(await client.get(link));
    const { csrfToken: _token, ...others } = fields;
    const refused = await client.post(action, others);
    assertStringIncludes(String(refused.headers.location), "/auth/signin?error=MissingCSRF");
    // A form of another site in a browser without cookies, and the link itself as the address of a POST.
    const stranger = await new Client(app).post(action, fields);
    assertStringIncludes(String(stranger.headers.location), "code=csrf_cookie_missing");
    const posted = await new Client(app).post(link, {});
    assertStringIncludes(String(posted.headers.location), "error=MissingCSRF");
    const crossSite = await client.post(action, fields, { "sec-fetch-site": "cross-site" });
    assertEquals(crossSite.statusCode, 403);
    assertEquals([tables.tokens.length, await reader(client)], [1, null]);
    await client.post(action, fields, { "sec-fetch-site": "same-origin", origin: "http://localhost" });
    assertEquals(await reader(client), ADA);
  }));

Deno.test("a used, an expired and a guessed link lead to the page for it", () =>
  withLinks(async ({ app, tables, ask }) => {
    const client = new Client(app);
    const used = await ask(client);
    await client.confirm(used);
    const stranger = new Client(app);
    assertEquals((await stranger.confirm(used)).headers.location, VERIFICATION);
    const expired = await ask(new Client(app));
    tables.tokens[0]!.expires = new Date(Date.now() - 1000);
    assertEquals((await stranger.confirm(expired)).headers.location, VERIFICATION);
    assertEquals(
      (await stranger.confirm(used.replace(/token=\w+/, "token=guessed"))).headers.location,
      VERIFICATION,
    );
    // Without a token there is nothing to confirm.
    assertEquals((await stranger.get("/auth/callback/email?email=a")).headers.location, VERIFICATION);
    assertEquals(await reader(stranger), null);
    assertEquals((await stranger.get("/auth/error?error=Verification")).statusCode, 403);
  }));

Deno.test("L5: the page tells nobody the link", () =>
  withLinks(async ({ app, ask, log }) => {
    const client = new Client(app);
    const link = await ask(client);
    const page = await client.get(link);
    assertEquals(page.headers["cache-control"], "private, no-cache, no-store");
    assertEquals(page.headers["x-frame-options"], "DENY");
    assertStringIncludes(page.body, '<meta name="referrer" content="strict-origin">');
    assertStringIncludes(page.body, '<meta name="robots" content="noindex">');
    const policy = String(page.headers["content-security-policy"]);
    assertStringIncludes(policy, "default-src 'none'");
    const [nonce] = /(?<='nonce-)[\w-]+/.exec(policy)!;
    assertStringIncludes(page.body, `nonce="${nonce}"`);
    const token = new URLSearchParams(link.split("?")[1]).get("token")!;
    await client.confirm(link);
    assertFalse(JSON.stringify(log).includes(token));
    assertFalse(JSON.stringify(log).includes("ada@"));
  }));

Deno.test("L7: the form may lead to another origin that the redirect callback allows, and to no other", async () => {
  const redirect = ({ url, baseUrl }: { url: string; baseUrl: string }) =>
    url.startsWith("https://spa.example/") ? url : baseUrl;
  await withLinks(async ({ app }) => {
    for (
      const [callbackUrl, sources] of [["https://spa.example/a", " https://spa.example"], [
        "https://evil.example/",
        "",
      ]]
    ) {
      const query = new URLSearchParams({ token: "1", email: ADA, callbackUrl: callbackUrl! });
      const { headers } = await new Client(app).get(`/auth/callback/email?${query}`);
      const [, allowed] = /form-action 'self'([^;]*)/.exec(String(headers["content-security-policy"]))!;
      assertEquals(allowed!.replace(" http://localhost", ""), sources);
    }
  }, { callbacks: { redirect } });
});

Deno.test("a link for which the redirect callback throws leads to the error page", async () => {
  const redirect = ({ url }: { url: string }) => {
    if (url.endsWith("/home")) throw new Error("no such place");
    return url;
  };
  await withLinks(async ({ app, log }) => {
    const query = new URLSearchParams({ token: "1", email: ADA, callbackUrl: "/home" });
    const { statusCode, headers } = await new Client(app).get(`/auth/callback/email?${query}`);
    assertEquals(
      [statusCode, headers.location],
      [302, "http://localhost/auth/error?error=Configuration"],
    );
    assertEquals(log.filter(({ level }) => level >= 50).map(({ msg }) => msg), ["Auth.js: no such place"]);
  }, { callbacks: { redirect } });
});

Deno.test("L6: what a link holds cannot change the page", () =>
  withLinks(async ({ app }) => {
    const query = new URLSearchParams({
      token: `"><script>alert(1)</script>`,
      email: `</p><img src=x onerror=alert(1)>`,
      callbackUrl: `javascript:alert(1)`,
    });
    const page = await new Client(app).get(`/auth/callback/email?${query}`);
    assertEquals(page.statusCode, 200);
    assertFalse(/<img|alert\(1\)<\/script>|javascript:/.test(page.body), page.body);
    assertEquals(formIn(page).fields.token, `"><script>alert(1)</script>`);
  }));

Deno.test("pages.confirmEmail is the application's own page, with what its form needs", () =>
  withLinks(async ({ app, tables, ask }) => {
    const client = new Client(app);
    const link = await ask(client, ADA, { rememberMe: "false" });
    const { headers } = await client.get(link);
    const page = new URL(String(headers.location));
    assertEquals(page.pathname, "/confirm");
    const { provider, ...fields } = Object.fromEntries(page.searchParams);
    assertEquals([provider, fields.email, tables.tokens.length], ["email", ADA, 1]);
    assertEquals(Object.keys(fields).sort(), ["callbackUrl", "email", "rememberMe", "token"]);
    const csrfToken = await client.csrfToken();
    const answer = await client.post(`/auth/callback/${provider}`, { csrfToken, ...fields });
    assertEquals([answer.headers.location, await reader(client)], ["http://localhost/home?a=1", ADA]);
    const session = setCookies(answer).find((line) => line.startsWith("authjs.session-token="))!;
    assertFalse(/Max-Age|Expires/i.test(session), "it ends with the browser");
  }, { pages: { confirmEmail: "/confirm" } }));

Deno.test("a script confirms with JSON", () =>
  withLinks(async ({ app, ask }) => {
    const client = new Client(app);
    const link = new URLSearchParams((await ask(client)).split("?")[1]);
    const send = async () =>
      await client.request("POST", "/auth/callback/email", {
        json: { csrfToken: await client.csrfToken(), ...Object.fromEntries(link) },
        headers: { accept: "application/json" },
      });
    const first = await send();
    assertEquals([first.statusCode, first.json()], [200, { url: "http://localhost/home?a=1" }]);
    const second = await send();
    assertEquals([second.statusCode, second.json()], [401, { error: "Verification" }]);
  }));

Deno.test("an emailConfirm that is neither true nor false stops the boot", async () => {
  const message = await withLinks(() => Promise.resolve(), { emailConfirm: "no" as never }).then(
    () => "started",
    (error) => error.message,
  );
  assertEquals(message, '`emailConfirm` is "no": write true or false, or leave it out.');
});
