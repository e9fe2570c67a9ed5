/**
 * The built-in pages, without a browser: their HTML, headers and files.
 */
import { assert, assertEquals, assertMatch, assertNotEquals, assertRejects, assertStringIncludes } from "@std/assert";
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { FastifyAuth, FastifyAuthError } from "fastify-authjs";
import type { Provider } from "fastify-authjs/providers";
import Auth0 from "fastify-authjs/providers/auth0";
import Credentials from "fastify-authjs/providers/credentials";
import GitHub from "fastify-authjs/providers/github";
import Loops from "fastify-authjs/providers/loops";
import Mailgun from "fastify-authjs/providers/mailgun";
import Resend from "fastify-authjs/providers/resend";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { EMAIL, ERRORS, pagesConfig, PASSKEY } from "../../support/pages_app.ts";

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };

const PAGES = ["/signin", "/signout", "/error?error=AccessDenied", "/verify-request", "/nowhere"];

async function open(app: FastifyInstance, path: string, headers: Record<string, string> = BROWSER) {
  return await app.inject({ url: `/auth${path}`, headers });
}

/** The directives of a page's policy. */
function policyOf({ headers }: { headers: Record<string, unknown> }): Map<string, string> {
  return new Map(
    String(headers["content-security-policy"]).split("; ").map((directive) => {
      const [name = "", ...values] = directive.split(" ");
      return [name, values.join(" ")];
    }),
  );
}

/** The hidden fields of the form that is posted to an address. */
function fieldsOf(body: string, action: string): Record<string, string> {
  const [, form = ""] = new RegExp(`<form [^>]*action="${action}"[^>]*>([^]*?)</form>`).exec(body) ?? [];
  assertNotEquals(form, "", action);
  return Object.fromEntries(
    [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)].map(([, name, value]) => [
      name!,
      value!,
    ]),
  );
}

Deno.test("every page has a policy with a new nonce, and is neither stored nor framed nor sniffed", async () => {
  await using app = await testApp(pagesConfig());
  const nonces = new Set<string>();
  for (const path of PAGES) {
    const page = await open(app, path);
    assertMatch(String(page.headers["content-type"]), /^text\/html; charset=utf-8/, path);
    const policy = policyOf(page);
    const [, nonce = ""] = /^'nonce-([\w-]{22,})'$/.exec(policy.get("script-src") ?? "") ?? [];
    assert(nonce !== "" && !nonces.has(nonce), path);
    nonces.add(nonce);
    assertEquals(policy.get("default-src"), "'none'", path);
    assertEquals(policy.get("base-uri"), "'none'", path);
    assertEquals(policy.get("frame-ancestors"), "'none'", path);
    assertEquals(policy.get("img-src"), "'self'", path);
    assertEquals(policy.get("connect-src"), "'self'", path);
    assertEquals(policy.get("style-src"), `'self' 'nonce-${nonce}'`, path);
    for (const [, attributes = ""] of page.body.matchAll(/<script([^>]*)>/g)) {
      assert(attributes.includes(`nonce="${nonce}"`), path);
    }
    assertEquals(page.headers["referrer-policy"], "same-origin", path);
    assertEquals(page.headers["x-content-type-options"], "nosniff", path);
    assertMatch(String(page.headers["cache-control"]), /no-store/, path);
    assertEquals(/(?:src|href|action)="(?:https?:)?\/\/(?!localhost)[^"]*"/.exec(page.body), null, path);
    assertEquals(/ on\w+="| style="|<style/.exec(page.body), null, path);
  }
});

Deno.test("form-action names the authorization servers, and the origin that the sign-in ends on", async () => {
  const config = testConfig({
    providers: [
      passwordProvider(),
      GitHub({ clientId: "id", clientSecret: "secret" }),
      Auth0({ clientId: "id", clientSecret: "secret", issuer: "https://tenant.auth0.example/" }),
    ],
    callbacks: { redirect: ({ url }) => url },
  });
  await using app = await testApp(config);
  const sources = async (query: string) => policyOf(await open(app, `/signin${query}`)).get("form-action");
  const providers = "'self' https://github.com https://tenant.auth0.example";
  assertEquals(await sources("?callbackUrl=%2Fapp"), providers);
  assertEquals(
    await sources("?callbackUrl=https%3A%2F%2Fspa.example%2Fapp"),
    `${providers} https://spa.example`,
  );
  for (const host of ["a;sandbox", "a,default-src", "*"]) {
    const query = `?callbackUrl=${encodeURIComponent(`https://${host}/`)}`;
    const policy = String((await open(app, `/signin${query}`)).headers["content-security-policy"]);
    assert(policy.includes(`form-action ${providers};`), policy);
  }
});

Deno.test("a logo may be at an address without a scheme", async () => {
  await using app = await testApp(testConfig({ theme: { logo: "//cdn.example:8443/logo.svg" } }));
  assertEquals(policyOf(await open(app, "/signin")).get("img-src"), "'self' cdn.example:8443");
});

Deno.test("where @fastify/helmet made nonces, pages have them, and one policy", async () => {
  await using server = Fastify();
  await server.register(helmet, { enableCSPNonces: true });
  let nonce: { script: string; style: string } | undefined;
  server.addHook("onSend", (_request, reply, payload, done) => {
    nonce = (reply as FastifyReply & { cspNonce: typeof nonce }).cspNonce;
    done(null, payload);
  });
  await server.register(FastifyAuth(pagesConfig()), { prefix: "/auth" });
  const address = await server.listen({ port: 0, host: "127.0.0.1" });
  const page = await fetch(`${address}/auth/signin`, { headers: BROWSER });
  const body = await page.text();
  const policy = page.headers.get("content-security-policy") ?? "";
  assert(policy.includes(`script-src 'nonce-${nonce!.script}';`), policy);
  assert(policy.includes(`style-src 'self' 'nonce-${nonce!.style}'`), policy);
  assert(body.includes(`nonce="${nonce!.script}"`));
  assertEquals(policy.split("default-src").length, 2);
  assertMatch(policy, /form-action 'self' https:\/\/accounts\.google\.com/);
});

Deno.test("assets have names by their content and may be kept for ever; an older name still gives a file", async () => {
  await using app = await testApp(pagesConfig());
  const { body } = await open(app, "/signin");
  const addresses = [...body.matchAll(/(?:href|src)="(\/auth\/assets\/[^"#]+)/g)].map(([, address]) => address!);
  const names = [...new Set(addresses.map((address) => address.replace(/-[0-9a-f]{12}\./, ".")))].sort();
  assertEquals(names, [
    "/auth/assets/logos.svg",
    "/auth/assets/page.js",
    "/auth/assets/passkey.js",
    "/auth/assets/style.css",
  ]);
  for (const address of addresses) {
    const file = await app.inject(address);
    assertEquals(file.statusCode, 200, address);
    assertEquals(file.headers["cache-control"], "public, max-age=31536000, immutable", address);
    assertEquals(file.headers["x-content-type-options"], "nosniff", address);
    const older = await app.inject(address.replace(/-[0-9a-f]{12}\./, "-000000000000."));
    assertEquals([older.statusCode, older.headers["cache-control"]], [200, "no-cache"], address);
    assertEquals(older.body, file.body);
  }
  assertEquals((await app.inject("/auth/assets/other.css")).statusCode, 404);
});

Deno.test("only the logos of the configured providers are served, and the passkey script where one is", async () => {
  const client = { clientId: "id", clientSecret: "secret" };
  await using app = await testApp(
    testConfig({ providers: [GitHub({ ...client, id: "github-work" }), GitHub(client), passwordProvider()] }),
  );
  const { body } = await open(app, "/signin");
  const [, address = "", id] = /<use href="([^"#]+)#([^"]+)"/.exec(body) ?? [];
  assertEquals(id, "github");
  assertEquals(body.match(/<use /g)?.length, 2);
  const { body: logos } = await app.inject(address);
  assertEquals([...logos.matchAll(/<symbol id="([^"]+)"/g)].map(([, symbol]) => symbol), ["github"]);
  assert(!body.includes("passkey"));
  await using plain = await testApp();
  assert(!(await open(plain, "/signin")).body.includes("logos"));
});

Deno.test("the forms carry the CSRF token and the callback URL, and work as they are", async () => {
  await using app = await testApp(pagesConfig());
  const client = new Client(app);
  const { body } = await client.get("/auth/signin?callbackUrl=%2Fafter", { headers: BROWSER });
  for (const action of ["/auth/signin/google", "/auth/callback/credentials"]) {
    const fields = fieldsOf(body, action);
    assertMatch(fields.csrfToken ?? "", /^[0-9a-f]{64}$/, action);
    assertEquals(fields.callbackUrl, "http://localhost/after", action);
  }
  const form = { ...fieldsOf(body, "/auth/callback/credentials"), username: "ada", password: "open" };
  const signedIn = await client.post("/auth/callback/credentials", form, BROWSER);
  assertEquals([signedIn.statusCode, signedIn.headers.location], [302, "http://localhost/after"]);

  const page = await client.get("/auth/signout", { headers: BROWSER });
  const signedOut = await client.post("/auth/signout", fieldsOf(page.body, "/auth/signout"), BROWSER);
  assertEquals(signedOut.statusCode, 302);
  assertEquals((await client.get("/me")).json(), { session: null });
});

Deno.test("a user name, a mailed link and a passkey have one field, which is written from the left", async () => {
  await using app = await testApp(pagesConfig());
  const { body } = await open(app, "/signin?ui_locales=ar");
  const fields = [...body.matchAll(/<input (?!type="hidden")[^>]*name="(?:username|email)"[^>]*>/g)];
  assertEquals(fields.length, 1, body);
  for (const attribute of ['name="username"', 'autocomplete="username webauthn"', 'dir="ltr"']) {
    assertStringIncludes(fields[0]![0], attribute);
  }
  assertStringIncludes(body, 'formaction="/auth/signin/nodemailer"');
});

Deno.test("a form of ours gets a page that leads on: browsers apply form-action to every redirect", async () => {
  await using app = await testApp(pagesConfig());
  const client = new Client(app);
  const { body } = await client.get("/auth/signin", { headers: BROWSER });
  const fields = fieldsOf(body, "/auth/signin/github");
  const headers = { ...BROWSER, referer: "http://localhost/auth/signin?error=Default" };
  const page = await client.post("/auth/signin/github", fields, headers);
  assertEquals([page.statusCode, page.headers.location], [200, undefined]);
  const [, refresh = ""] = /<meta http-equiv="refresh" content="0;url=([^"]+)"/.exec(page.body) ?? [];
  assertMatch(refresh, /^https:\/\/github\.com\/login\/oauth\/authorize\?/);
  assert(page.body.includes("Continuing to GitHub"));
  assert(page.body.includes(`href="${refresh}"`));

  // Pages of the application, and of ours that follow, are redirected to.
  const other = await client.post("/auth/signin/github", fields, {
    ...BROWSER,
    referer: "http://localhost/",
  });
  assertEquals(other.statusCode, 302);
  const wrong = await client.post(
    "/auth/callback/credentials",
    { ...fields, username: "a", password: "b" },
    headers,
  );
  assertMatch(String(wrong.headers.location), /\/auth\/signin\?error=CredentialsSignin/);
});

Deno.test("a form ends where the redirect callback says: without a scheme, and where that is no URL", async () => {
  for (const url of ["//spa.example/a", "http://"]) {
    await using app = await testApp(testConfig({ callbacks: { redirect: () => url } }));
    const answer = await new Client(app, BROWSER).signIn({ username: "ada", password: "open" });
    assertEquals([answer.statusCode, answer.headers.location], [302, url]);
    const ours = new Client(app, { ...BROWSER, referer: "http://localhost/auth/signin" });
    assert((await ours.signIn({ username: "ada", password: "open" })).statusCode < 400, url);
  }
});

Deno.test("a form that signs in names where it leads to, and not what the user signed in with", async () => {
  const redirect = () => "https://spa.example/a";
  await using app = await testApp(testConfig({ callbacks: { redirect } }));
  const client = new Client(app, { ...BROWSER, referer: "http://localhost/auth/signin" });
  const { body } = await client.signIn({ username: "ada", password: "open" });
  assertMatch(body, /<h1>Continuing to spa\.example<\/h1>/);
});

Deno.test("every error has a title, a text and a link to go on, without a technical word", async () => {
  await using app = await testApp(pagesConfig());
  for (const error of ERRORS) {
    const page = await open(app, `/error?error=${error}&callbackUrl=%2Fafter`);
    const status = error === "AccessDenied" || error === "Verification" ? 403 : 200;
    assertEquals(page.statusCode, status, error);
    assertMatch(page.body, /<h1>[^<]{6,}<\/h1>/, error);
    assertMatch(page.body, /<p class="text">[^<]{20,}<\/p>/, error);
    assertMatch(page.body, /href="http:\/\/localhost\/after"/, error);
    assertEquals(
      /server|log\b|configuration|cookie limit|oauth|token|undefined/i.exec(textOf(page.body)),
      null,
      error,
    );
    const signIn = await open(app, `/signin?error=${error}`);
    // To sign in is no failure.
    const notice = error === "SessionRequired" ? /<p class="notice">/ : /<p class="alert" role="alert">/;
    assertMatch(signIn.body, new RegExp(`${notice.source}[^<]{15,}</p>`), error);
  }
});

/** What is read of a page. */
function textOf(body: string): string {
  return body.replace(/<head>[^]*?<\/head>|<[^>]+>/g, " ");
}

Deno.test("an unknown path answers a browser with a page, a program with JSON, and is logged", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(pagesConfig(), { logger });
  for (const path of ["/nowhere", "/callback/unknown?code=secret-code", "/assets", "/signin/a/b"]) {
    const page = await open(app, path);
    assertEquals(page.statusCode, 404, path);
    assertMatch(page.body, /<h1>This page does not exist<\/h1>/, path);
    assert(!page.body.includes("secret-code"));
    assertEquals((await open(app, path, { accept: "*/*" })).json().code, "FST_AUTHJS_NOT_FOUND", path);
  }
  assertMatch((await open(app, "/callback/credentials")).body, /<h1>That did not work<\/h1>/);
  assertEquals(lines.filter(({ msg }) => /There is no such/.test(msg)).length, 8);
});

Deno.test("an application with an error page of its own gets unknown paths as errors", async () => {
  await using app = await testApp(testConfig({ pages: { error: "/failed" } }));
  assertEquals((await open(app, "/nowhere")).json().code, "FST_AUTHJS_NOT_FOUND");
});

Deno.test("each page of the configuration replaces ours", async () => {
  const pages = { signIn: "/in", signOut: "/out", error: "https://help.example/e", verifyRequest: "/mailed" };
  await using app = await testApp(testConfig({ pages }));
  const location = async (path: string) => (await open(app, path)).headers.location;
  assertMatch(String(await location("/signin?callbackUrl=%2Fa")), /^\/in\?callbackUrl=/);
  assertEquals(await location("/signout"), "/out");
  assertEquals(await location("/error?error=Verification"), "https://help.example/e?error=Verification");
  assertEquals(await location("/verify-request"), "/mailed");
});

Deno.test("a page of the configuration keeps a query of its own", async () => {
  const pages = { signIn: "/?page=in", error: "/?page=failed", verifyRequest: "/?page=mailed" };
  await using app = await testApp(testConfig({ pages }));
  for (const path of ["/signin?callbackUrl=%2Fa", "/error?error=Verification", "/verify-request?provider=email"]) {
    const location = new URL(String((await open(app, path)).headers.location), "http://localhost");
    assertMatch(location.search, /^\?page=(?:in|failed|mailed)&(?:callbackUrl|error|provider)=[^?]+$/);
  }
});

Deno.test("a page of the configuration may have a fragment, and is told the code of an error", async () => {
  const pages = { signIn: "/app#/in?a=1", error: "/?page=failed#/b", verifyRequest: "https://app.example#/mailed" };
  await using app = await testApp(testConfig({ pages }));
  const location = async (path: string) => String((await open(app, path)).headers.location);
  assertEquals(
    await location("/signin?callbackUrl=%2Fa&error=CredentialsSignin"),
    "/app?callbackUrl=http%3A%2F%2Flocalhost%2Fa&error=CredentialsSignin#/in?a=1",
  );
  assertEquals(
    await location("/error?error=Configuration&code=sign_in_expired"),
    "/?page=failed&error=Configuration&code=sign_in_expired#/b",
  );
  assertEquals(await location("/verify-request?type=email"), "https://app.example?type=email#/mailed");
});

Deno.test("a page that is neither a path nor a URL stops the boot, which names it", async () => {
  const bad = ["signin", "//evil.example", "/\\evil.example", "localhost:3000/in", "javascript:alert(1)", ""];
  for (const name of ["signIn", "signOut", "error", "verifyRequest", "newUser", "style"] as const) {
    for (const page of bad) {
      const error = await assertRejects(
        () => testApp(testConfig({ pages: { [name]: page } })),
        FastifyAuthError,
      );
      assertEquals(error.code, "FST_AUTHJS_CONFIG_INVALID");
      assert(error.message.includes(`pages.${name}`), error.message);
    }
  }
});

Deno.test("the theme and a stylesheet of the application decide about the look", async () => {
  const theme = {
    brandColor: "#ffd400",
    logo: "https://cdn.example/logo.svg",
    colorScheme: "dark",
  } as const;
  await using app = await testApp(testConfig({ theme, pages: { style: "https://css.example/auth.css" } }));
  const page = await open(app, "/signin");
  assertMatch(page.body, /<html lang="en" dir="ltr" data-color-scheme="dark">/);
  assertMatch(page.body, /<img class="logo" src="https:\/\/cdn\.example\/logo\.svg"/);
  const sheets = [...page.body.matchAll(/<link rel="stylesheet" href="([^"]+)"/g)].map(([, href]) => href!);
  assertEquals(sheets[1], "https://css.example/auth.css");
  const policy = policyOf(page);
  assertEquals(policy.get("img-src"), "'self' https://cdn.example");
  assertMatch(policy.get("style-src") ?? "", / https:\/\/css\.example$/);
  const { body: css } = await app.inject(sheets[0]!);
  assertMatch(css, /:root \{ --auth-brand: #ffd400; --auth-brand-text: #000000; \}\s*$/);

  await using other = await testApp(testConfig({ theme: { brandColor: "#123", buttonText: "ivory" } }));
  const [sheet = ""] = /\/auth\/assets\/style-\w+\.css/.exec((await open(other, "/signin")).body) ?? [];
  assertMatch((await other.inject(sheet)).body, /--auth-brand: #123; --auth-brand-text: ivory;/);
  assertNotEquals(sheet, sheets[0]);

  for (const brandColor of ["red } body { display: none", "red/*", "0b6e4f", "FFF", "#0b6e4", "#green"]) {
    const error = await assertRejects(() => testApp(testConfig({ theme: { brandColor } })), FastifyAuthError);
    assertStringIncludes(error.message, `${JSON.stringify(brandColor)}, which is no colour`);
  }
  for (const brandColor of ["#fff", "#FFF8", "#0b6e4f", "#0b6e4fcc", "beige", "oklch(60% .1 200)", "var(--brand)"]) {
    await using _ = await testApp(testConfig({ theme: { brandColor } }));
  }
});

Deno.test("buttons name the provider, or what happens where its name says nothing to a user", async () => {
  const mail = { from: "a@app.example", apiKey: "key" };
  const providers: [Provider, string][] = [
    [GitHub({ clientId: "id", clientSecret: "secret" }), "Sign in with GitHub"],
    [GitHub({ clientId: "id", clientSecret: "secret", id: "corp", name: "Corp" }), "Sign in with Corp"],
    [passwordProvider() as Provider, "Sign in with a password"],
    [Credentials({ id: "pin", credentials: { pin: {} }, authorize: () => null }), "Sign in"],
    [Credentials({ id: "ldap", name: "LDAP", credentials: {}, authorize: () => null }), "Sign in with LDAP"],
    [EMAIL, "E-mail me a sign-in link"],
    [Resend(mail) as Provider, "E-mail me a sign-in link"],
    [Mailgun(mail) as Provider, "E-mail me a sign-in link"],
    [Loops({ ...mail, transactionalId: "id" }) as Provider, "E-mail me a sign-in link"],
    [PASSKEY, "Sign in with a passkey"],
  ];
  await using app = await testApp(pagesConfig({ providers: providers.map(([provider]) => provider) }));
  const { body } = await open(app, "/signin");
  const labels = [...body.matchAll(/<span>(Sign in[^<]*|E-mail[^<]*)<\/span>/g)].map(([, label]) => label!);
  assertEquals(labels.sort(), providers.map(([, label]) => label).sort());
});

Deno.test("a form asks for the fields that credentials declare, with their attributes and no script", async () => {
  const credentials = {
    domain: { label: "Domain <b>", placeholder: 'e.g. "corp"', autoComplete: "organization", required: true },
    code: { type: "text", inputMode: "numeric", maxLength: 6, disabled: false, onfocus: "alert(1)" },
    remember: { type: "checkbox", label: "Stay signed in" },
    tenant: { type: "hidden", value: "t1" },
  };
  const provider = Credentials({ name: '"><script>', credentials, authorize: () => null } as never);
  await using app = await testApp(testConfig({ providers: [provider] }));
  const { body } = await open(app, "/signin");
  assert(body.includes("Domain &lt;b&gt;</label>"));
  const inputs = [...body.matchAll(/<input[^>]* id="credentials-\d"[^>]*>|<input[^>]*name="tenant"[^>]*>/g)]
    .map(([input]) => input);
  assertEquals(inputs, [
    '<input placeholder="e.g. &quot;corp&quot;" autocomplete="organization" required id="credentials-0" name="domain" type="text">',
    '<input type="text" inputmode="numeric" maxlength="6" id="credentials-1" name="code">',
    '<input type="checkbox" id="credentials-2" name="remember">',
    '<input type="hidden" value="t1" id="credentials-3" name="tenant">',
  ]);
  assert(!/<script(?! src="\/auth\/)/.test(body) && !body.includes("onfocus"));
  const hostile = await open(app, `/signin?email=${encodeURIComponent('"><img src=x>')}`);
  assert(!hostile.body.includes("<img"));
});

const REPLACED = {
  signIn: "/signin",
  signOut: "/signout",
  error: "/error?error=AccessDenied",
  verifyRequest: "/verify-request",
} as const;

Deno.test("a field named password is hidden from who looks on, if its type says nothing else", async () => {
  const fieldOf = async (password: object) => {
    const provider = Credentials({ credentials: { username: {}, password }, authorize: () => null });
    await using app = await testApp(testConfig({ providers: [provider] }));
    const { body } = await open(app, "/signin");
    return /<input [^>]*name="password"[^>]*>/.exec(body)![0];
  };
  for (const field of [{}, { label: "Password" }, { type: undefined }, { type: "password" }]) {
    assertMatch(await fieldOf(field), / type="password"/);
  }
  assertMatch(await fieldOf({ type: "text" }), / type="text"/);
});

Deno.test("a page that is the built-in one at the origin of the request is shown, and the log says so once", async () => {
  const { logger, lines } = captureLog();
  const urls = Object.entries(REPLACED).map(([name, path]) => [name, `http://localhost/auth${path}`]);
  await using app = await testApp(pagesConfig({ pages: Object.fromEntries(urls) }), { logger });
  for (let round = 0; round < 2; round++) {
    for (const path of Object.values(REPLACED)) {
      const page = await open(app, path);
      assertEquals([page.statusCode < 400 || page.statusCode === 403, page.headers.location], [
        true,
        undefined,
      ]);
      assertMatch(page.body, /<form|<h1/);
    }
  }
  const elsewhere = await app.inject({ url: "/auth/signin", headers: { ...BROWSER, host: "other.example" } });
  assertMatch(String(elsewhere.headers.location), /^http:\/\/localhost\/auth\/signin\?/);
  const warnings = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_PAGE").map(({ msg }) => msg);
  assertEquals(warnings.map((msg) => /^`pages\.(\w+)` is/.exec(msg.replace("Auth.js: ", ""))?.[1]), [
    ...Object.keys(REPLACED),
  ]);
});

Deno.test("the wait of an error with the status 429 is that of each, and only the name comes back", async () => {
  let seconds = 90;
  const authorize = () => {
    throw Object.assign(new Error("slow down"), {
      statusCode: 429,
      headers: { "retry-after": `${seconds}` },
    });
  };
  const credentials = { username: {}, password: { type: "password" } };
  const provider = Credentials({ credentials, authorize } as never);
  await using app = await testApp(testConfig({ providers: [provider] }));
  for (const [wait, words] of [[90, "in 2 minutes"], [40, "in 40 seconds"]] as const) {
    seconds = wait;
    const client = new Client(app, BROWSER);
    const { body: form } = await client.get("/auth/signin");
    const fields = fieldsOf(form, "/auth/callback/credentials");
    const typed = { ...fields, username: '"><b>', password: "kept-by-nobody" };
    const failed = await client.post("/auth/callback/credentials", typed, BROWSER);
    assert(!JSON.stringify(failed.headers).includes("kept-by-nobody"));
    const { body } = await client.get(
      new URL(String(failed.headers.location)).pathname + "?error=TooManyRequests",
    );
    assertMatch(body, new RegExp(`Try again ${words}\\.`));
    assert(body.includes('value="&quot;&gt;&lt;b&gt;"') && !body.includes("kept-by-nobody"), body);
  }
});

Deno.test("the sign-in page shows no wait and no provider of a forged cookie that cannot be", async () => {
  await using app = await testApp(testConfig());
  const shown = async (form?: string) => {
    const cookie = form === undefined ? {} : { cookie: `authjs.form=${encodeURIComponent(form)}` };
    const page = await open(app, "/signin?error=CredentialsSignin", { ...BROWSER, ...cookie });
    const main = /<main[^]*<\/main>/.exec(page.body)?.[0].replaceAll(/ value="[\w-]{40,}"/g, "");
    return [page.statusCode, main];
  };
  const plain = await shown();
  assertEquals(plain[0], 200);
  for (const ends of ["1e999", "1e300", "-1e999", '"soon"', '{"toString":1}']) {
    assertEquals(await shown(`{"ends":${ends}}`), plain, ends);
  }
  for (const failed of ['"nobody"', '"__proto__"', "{}"]) {
    assertEquals(await shown(`{"failed":${failed}}`), plain, failed);
  }
});
