/** The language of the built-in pages and mails. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig, LanguageRequest } from "fastify-authjs";
import CoreNodemailer from "@auth/core/providers/nodemailer";
import Email from "fastify-authjs/providers/email";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { startSmtp } from "../../support/smtp.ts";

/** The language of a page: its tag, its direction and its heading. */
function languageOf({ body, headers }: Answer): [lang: string, dir: string, heading: string] {
  const [, lang = "", dir = ""] = /<html lang="([^"]*)" dir="([^"]*)"/.exec(body) ?? [];
  assertEquals(headers["content-language"], lang);
  return [lang, dir, /<h1[^>]*>([^<]*)<\/h1>/.exec(body)?.[1] ?? ""];
}

async function pageFor(
  headers: Record<string, string>,
  { config = {}, url = "/auth/signin" }: { config?: Partial<FastifyAuthConfig>; url?: string } = {},
): Promise<ReturnType<typeof languageOf>> {
  await using app = await testApp(testConfig(config));
  return languageOf(await app.inject({ url, headers }));
}

/** What browsers and others send, and the language they get. */
const ACCEPTED: [acceptLanguage: string, lang: string, dir: string, heading: string][] = [
  ["de", "de", "ltr", "Anmelden"],
  ["de-AT,de;q=0.9,en;q=0.8", "de", "ltr", "Anmelden"],
  ["fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr", "ltr", "Se connecter"],
  ["es-419", "es", "ltr", "Iniciar sesión"],
  ["it", "it", "ltr", "Accedi"],
  ["pt-BR,pt;q=0.9", "pt", "ltr", "Entrar"],
  ["nl", "nl", "ltr", "Inloggen"],
  ["pl", "pl", "ltr", "Zaloguj się"],
  ["uk", "uk", "ltr", "Увійти"],
  ["tr-TR", "tr", "ltr", "Oturum aç"],
  ["ja", "ja", "ltr", "サインイン"],
  ["zh-CN,zh;q=0.9", "zh", "ltr", "登录"],
  ["zh-TW,zh;q=0.9,en-US;q=0.8", "zh-Hant", "ltr", "登入"],
  ["zh-HK", "zh-Hant", "ltr", "登入"],
  ["zh-Hant-TW", "zh-Hant", "ltr", "登入"],
  ["ar-EG", "ar", "rtl", "تسجيل الدخول"],
  ["he", "he", "rtl", "כניסה"],
  ["ko-KR", "ko", "ltr", "로그인"],
  ["ru", "ru", "ltr", "Вход"],
  ["sv-SE", "sv", "ltr", "Logga in"],
  ["da", "da", "ltr", "Log ind"],
  ["nb-NO", "nb", "ltr", "Logg inn"],
  ["no,en;q=0.8", "nb", "ltr", "Logg inn"],
  ["nn-NO", "nb", "ltr", "Logg inn"],
  ["fi", "fi", "ltr", "Kirjaudu sisään"],
  ["cs", "cs", "ltr", "Přihlášení"],
  ["id", "id", "ltr", "Masuk"],
  ["vi", "vi", "ltr", "Đăng nhập"],
  ["th-TH", "th", "ltr", "ลงชื่อเข้าใช้"],
  ["hi", "hi", "ltr", "साइन इन करें"],
  ["fa-IR", "fa", "rtl", "ورود"],
  ["pt", "pt", "ltr", "Entrar"],
  ["pt-PT,pt;q=0.9", "pt-PT", "ltr", "Iniciar sessão"],
  ["pt-AO", "pt-PT", "ltr", "Iniciar sessão"],
  ["DE-de", "de", "ltr", "Anmelden"],
  // The quality decides, and not the order.
  ["de;q=0.3, fr;q=0.9", "fr", "ltr", "Se connecter"],
  ["de;q=0, en", "en", "ltr", "Sign in"],
  // None of ours.
  ["cy", "en", "ltr", "Sign in"],
  ["*", "en", "ltr", "Sign in"],
  ["", "en", "ltr", "Sign in"],
  [";;;q=,,<script>", "en", "ltr", "Sign in"],
  ["__proto__, constructor", "en", "ltr", "Sign in"],
];

Deno.test("Accept-Language chooses by quality, also where only the language matches", async () => {
  await using app = await testApp();
  for (const [accepted, ...expected] of ACCEPTED) {
    const page = await app.inject({ url: "/auth/signin", headers: { "accept-language": accepted } });
    assertEquals(languageOf(page), expected, accepted);
  }
  assertEquals(languageOf(await app.inject("/auth/signin")), ["en", "ltr", "Sign in"]);
});

Deno.test("of Accept-Language 50 ranges are read", async () => {
  const languageAfter = async (others: number) => (await pageFor({ "accept-language": "x,".repeat(others) + "de" }))[0];
  assertEquals([await languageAfter(49), await languageAfter(50)], ["de", "en"]);
});

Deno.test("?ui_locales= wins over Accept-Language, in its order", async () => {
  const headers = { "accept-language": "ja" };
  for (
    const [locales, lang] of [
      ["de", "de"],
      ["de-CH fr", "de"],
      ["cy  fr-CA en", "fr"],
      ["en", "en"],
      ["cy", "ja"],
      ["", "ja"],
      ["../../etc <script>", "ja"],
      [`${"cy ".repeat(10)}de`, "ja"],
    ] as const
  ) {
    const url = `/auth/signin?${new URLSearchParams({ ui_locales: locales })}`;
    assertEquals((await pageFor(headers, { url }))[0], lang, locales);
  }
});

Deno.test("the language of ui_locales stays below any mount path", async () => {
  for (const [prefix, path] of [["/a;b", "/"], ["/x/a;b/c", "/x"], ["/a,b", "/a,b"]]) {
    await using app = await testApp(testConfig(), { prefix: prefix! });
    const client = new Client(app);
    const answer = await client.get(`${prefix}/signin?ui_locales=de`);
    assertEquals(languageOf(answer)[0], "de");
    assertStringIncludes(setCookies(answer).find((line) => line.includes("ui-locales"))!, `Path=${path};`);
  }
});

Deno.test("the language of ui_locales stays for the pages that follow, and another replaces it", async () => {
  await using app = await testApp();
  const client = new Client(app, { "accept-language": "fr" });
  const first = await client.get("/auth/signin?ui_locales=de");
  const line = setCookies(first).find((each) => each.startsWith("authjs.ui-locales"));
  assertEquals(line, "authjs.ui-locales=de; Path=/auth; HttpOnly; SameSite=Lax");
  assertEquals(languageOf(await client.get("/auth/error?error=AccessDenied"))[0], "de");
  assertEquals(languageOf(await client.get("/auth/signout?ui_locales=nl"))[0], "nl");
  assertEquals(languageOf(await client.get("/auth/signin"))[0], "nl");
  client.cookies.set("authjs.ui-locales", "cy");
  const page = await client.get("/auth/signin");
  assertEquals(languageOf(page)[0], "fr");
  assertEquals(setCookies(page).filter((each) => each.includes("ui-locales")), [], "none without ui_locales");
});

Deno.test("a function of the application chooses, and leaves the choice to the request with undefined", async () => {
  const seen: LanguageRequest[] = [];
  const language = (request: LanguageRequest) => {
    seen.push(request);
    return /lang=(\w+)/.exec(String(request.headers.cookie))?.[1];
  };
  const config = { pages: { language } };
  const url = "/auth/signin?ui_locales=it";
  assertEquals((await pageFor({ cookie: "lang=pl" }, { config, url }))[0], "pl");
  assertEquals((await pageFor({ cookie: "lang=cy" }, { config, url }))[0], "it", "not one of ours");
  assertEquals((await pageFor({ "accept-language": "ja" }, { config }))[0], "ja");
  assertEquals(seen[0]?.url, url);
});

Deno.test("a function of the application may look the language up", async () => {
  // What is no tag is none of ours, also in JavaScript.
  for (const [language, expected] of [["pl", "pl"], [undefined, "ja"], [null, "ja"], [5, "ja"]]) {
    const config = { pages: { language: () => Promise.resolve(language as string) } };
    assertEquals((await pageFor({ "accept-language": "ja" }, { config }))[0], expected);
  }
});

Deno.test("one language for everybody", async () => {
  const config = { pages: { language: "de" } };
  assertEquals(
    (await pageFor({ "accept-language": "fr" }, { config, url: "/auth/signin?ui_locales=it" }))[0],
    "de",
  );
});

Deno.test("every text can be replaced, and a language added", async () => {
  const config: Partial<FastifyAuthConfig> = {
    pages: {
      texts: { en: { "signIn.title": "Welcome <back>" }, cy: { "signIn.title": "Mewngofnodi" }, fa: {} },
    },
  };
  assertEquals(await pageFor({}, { config }), ["en", "ltr", "Welcome &lt;back&gt;"]);
  assertEquals(await pageFor({ "accept-language": "cy" }, { config }), ["cy", "ltr", "Mewngofnodi"]);
  assertEquals((await pageFor({ "accept-language": "fa" }, { config })).slice(0, 2), ["fa", "rtl"]);
  assertEquals((await pageFor({ "accept-language": "de" }, { config }))[2], "Anmelden");
  const error = "/auth/error?error=AccessDenied";
  const [, , heading] = await pageFor({ "accept-language": "cy" }, { config, url: error });
  assertEquals(heading, "You do not have access", "English where a text is missing");
});

Deno.test("texts for a region are added to those of the language, however their tag is written", async () => {
  const config: Partial<FastifyAuthConfig> = {
    pages: {
      texts: {
        DE: { "signOut.title": "Tschüss" },
        "de-at": { "signIn.title": "Servus" },
        "zh-TW": { "signIn.title": "歡迎" },
      },
    },
  };
  const headings = async (language: string) => {
    const headers = { "accept-language": language };
    const [signIn, signOut] = [
      await pageFor(headers, { config }),
      await pageFor(headers, { config, url: "/auth/signout" }),
    ];
    return [signIn[0], signIn[2], signOut[2]];
  };
  assertEquals(await headings("de-AT"), ["de-AT", "Servus", "Tschüss"]);
  assertEquals(await headings("de"), ["de", "Anmelden", "Tschüss"]);
  assertEquals(await headings("zh-TW"), ["zh-TW", "歡迎", "登出"]);
});

Deno.test("a language is written from the side that its script is", async () => {
  const tags = { ks: "rtl", "pa-Arab": "rtl", "az-arab": "rtl", pa: "ltr", "ar-Latn": "ltr", yi: "rtl" };
  const texts = Object.fromEntries(Object.keys(tags).map((tag) => [tag, {}]));
  for (const [tag, direction] of Object.entries(tags)) {
    const [, dir] = await pageFor({ "accept-language": tag }, { config: { pages: { texts } } });
    assertEquals(dir, direction, tag);
  }
});

Deno.test("what is no language or no text stops the boot with what to change", async () => {
  for (
    const [config, message] of [
      [{ pages: { language: "cy" } }, '`pages.language` is "cy"'],
      [{ pages: { language: 5 } }, "`pages.language` is 5"],
      [{ pages: { texts: { en: { "signIn.titel": "x" } } } }, '`pages.texts.en` has "signIn.titel"'],
      [{ pages: { texts: { en: { "signIn.title": 5 } } } }, '`pages.texts.en` has "signIn.title"'],
      [
        { pages: { texts: { en: { "signIn.title": "To {site}" } } } },
        '`pages.texts.en["signIn.title"]` has {site}; this text has none',
      ],
      [{ pages: { texts: { en: { "signIn.with": "With {name}" } } } }, "this text has {provider}"],
      [{ pages: { texts: { "not a tag": {} } } }, '`pages.texts` has "not a tag"'],
      [{ pages: { texts: { en: "x" } } }, '`pages.texts` has "en"'],
      // Dates could not be written in it.
      [{ pages: { texts: { abcd: {} } } }, '`pages.texts` has "abcd"'],
    ] as const
  ) {
    const said = await testApp(testConfig(config as never)).then(() => "started", (error) => error.message);
    assertStringIncludes(said, message);
  }
});

// The menu.

/** The addresses of the menu by their languages. */
const menuOf = ({ body }: Answer) =>
  new Map(
    [...body.matchAll(/<a href="([^"]*)" lang="([^"]*)" hreflang/g)].map(([, href, lang]) => [lang!, href!]),
  );

Deno.test("the menu of languages leads to the same page, and keeps the choice for a year", async () => {
  await using app = await testApp();
  const client = new Client(app, { "accept-language": "fr" });
  const page = await client.get("/auth/signin?callbackUrl=%2Fa%3Fb%26c&error=AccessDenied&lang=fr");
  const menu = menuOf(page);
  assertEquals(menu.size, 28);
  assertEquals(menu.get("de"), "?error=AccessDenied&amp;callbackUrl=%2Fa%3Fb%26c&amp;lang=de");
  assertMatch(page.body, /<button type="button" popovertarget="languages">[^]*<\/svg>\s*Français<\/button>/);
  assertMatch(page.body, /lang="fr" hreflang="fr" aria-current="true">Français</);
  assertMatch(page.body, />Português \(Brasil\)<[^]*>Português europeu<[^]*>简体中文<[^]*>繁體中文</);
  const chosen = await client.get(`/auth/signin${menu.get("de")!.replaceAll("&amp;", "&")}`);
  assertEquals(languageOf(chosen)[0], "de");
  const line = setCookies(chosen).find((each) => each.startsWith("authjs.ui-locales"));
  assertEquals(line, "authjs.ui-locales=de; Max-Age=31536000; Path=/auth; HttpOnly; SameSite=Lax");
  assertEquals(languageOf(await client.get("/auth/signout"))[0], "de");
  assertEquals(languageOf(await client.get("/auth/signin?lang=it&ui_locales=ja"))[0], "it");
});

Deno.test("each page that can be asked for again has the menu, and no answer to a form", async () => {
  await using app = await testApp();
  const client = new Client(app, { accept: "text/html" });
  for (const path of ["signin", "signout", "error?error=AccessDenied", "verify-request", "signout?done=1"]) {
    assertEquals(menuOf(await client.get(`/auth/${path}`)).size, 28, path);
  }
  const failed = await client.post("/auth/signin/unknown", {});
  assertEquals([failed.body.includes("<h1"), menuOf(failed).size], [true, 0]);
  assertEquals(menuOf(await client.get("/auth/nowhere")).size, 0);
  assertEquals(menuOf(await client.get(`/auth/signin?callbackUrl=/${"a".repeat(1000)}`)).size, 0);
});

Deno.test("there is no menu if the application says so, or chooses the language", async () => {
  const sizes = async (pages: FastifyAuthConfig["pages"]) => {
    await using app = await testApp(testConfig({ pages: pages! }));
    return menuOf(await app.inject("/auth/signin")).size;
  };
  assertEquals(await sizes({ languageMenu: false }), 0);
  assertEquals(await sizes({ language: "de" }), 0);
  assertEquals(await sizes({ language: () => undefined }), 0);
  assertEquals(await sizes({ language: () => undefined, languageMenu: true }), 28);
  assertEquals(await sizes({ texts: { cy: {} } }), 29);
});

// Mails.

async function mailFor(
  headers: Record<string, string>,
  config: Partial<FastifyAuthConfig> = {},
  settings: Record<string, unknown> = {},
) {
  await using smtp = await startSmtp();
  const server = { host: "127.0.0.1", port: smtp.port };
  const provider = Nodemailer({ server, from: "no-reply@example.com", maxAge: 3600, ...settings });
  await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider], ...config }));
  const client = new Client(app, headers);
  const csrfToken = await client.csrfToken();
  const answer = await client.post("/auth/signin/nodemailer", { csrfToken, email: "ada@example.com" });
  return { answer, client, message: smtp.mails[0]!.message };
}

Deno.test("the mail has a text and an HTML part in the language of the request, the site's name and its end", async () => {
  for (
    const [language, subject, dir, once] of [
      ["en", "<code> is your sign-in code for Engines & Co.", "ltr", /The link works once, until .+ UTC\./],
      [
        "de-AT",
        "<code> ist Ihr Anmeldecode für Engines & Co.",
        "ltr",
        /Der Link funktioniert einmal, bis .+ UTC\./,
      ],
      [
        "ja",
        "Engines & Co. のサインインコードは <code> です",
        "ltr",
        /リンクは .+UTC まで、1 回だけ使えます。/,
      ],
      [
        "ar",
        "\u2068<code>\u2069 هو رمز تسجيل الدخول إلى \u2068Engines & Co.\u2069",
        "rtl",
        /يعمل الرابط مرة واحدة حتى .+\./,
      ],
    ] as const
  ) {
    const { message } = await mailFor({ "accept-language": language }, {
      pages: { siteName: "Engines & Co." },
    });
    const { text, html } = message;
    assertEquals(message.subject!.replace(/\d{6}/, "<code>"), subject);
    assertMatch(text!, once);
    const year = new Intl.DateTimeFormat(language, { year: "numeric", timeZone: "UTC" })
      .format(Date.now() + 3600e3);
    assertStringIncludes(text!, year.replace(/[^\d٠-٩]/g, ""));
    const url = text!.match(/^http\S+$/m)![0];
    assertStringIncludes(html!, `href="${url.replaceAll("&", "&amp;")}"`);
    assertStringIncludes(html!, `dir="${dir}"`);
    assertStringIncludes(html!, "Engines &amp; Co.");
  }
});

Deno.test("the mail is in the language of the page that asked for it", async () => {
  await using smtp = await startSmtp();
  const server = { host: "127.0.0.1", port: smtp.port };
  const provider = Nodemailer({ server, from: "no-reply@example.com" });
  await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider] }));
  const client = new Client(app, { "accept-language": "fr" });
  await client.get("/auth/signin?ui_locales=de");
  const csrfToken = await client.csrfToken();
  await client.post("/auth/signin/nodemailer", { csrfToken, email: "ada@example.com" });
  assertMatch(smtp.mails[0]!.message.subject!, /^\d{6} ist Ihr Anmeldecode für localhost$/);
});

const SMTP_PROVIDERS = {
  "fastify-authjs/providers/nodemailer": Nodemailer,
  "fastify-authjs/providers/email": Email,
  "@auth/core/providers/nodemailer": CoreNodemailer,
};

for (const [module, factory] of Object.entries(SMTP_PROVIDERS)) {
  Deno.test(`a provider of ${module} mails in the language of the user`, async () => {
    await using smtp = await startSmtp();
    const server = { host: "127.0.0.1", port: smtp.port };
    const provider = factory({ server, from: "no-reply@example.com" }) as ReturnType<typeof Nodemailer>;
    await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider] }));
    const client = new Client(app, { "accept-language": "nl" });
    const csrfToken = await client.csrfToken();
    await client.post(`/auth/signin/${provider.id}`, { csrfToken, email: "ada@example.com" });
    assertMatch(smtp.mails[0]!.message.subject!, /^\d{6} is je inlogcode voor localhost$/);
  });
}

Deno.test("emailMessage writes the mail, from the built-in one or anew", async () => {
  const { message } = await mailFor({ "accept-language": "de" }, {
    pages: { siteName: "Engines" },
    emailMessage: ({ identifier, url, site, language, expires, message }) => {
      assert(expires instanceof Date && url.startsWith("http://localhost/auth/callback/nodemailer?"));
      return { ...message, subject: `${identifier} ${site} ${language}`, html: "<p>Ours</p>" };
    },
  });
  assertEquals([message.subject, message.html?.trim()], ["ada@example.com Engines de", "<p>Ours</p>"]);
  assertStringIncludes(message.text!, "Öffnen Sie diesen Link");
});

Deno.test("colours of the theme are those of the button", async () => {
  const { message } = await mailFor({}, { theme: { brandColor: "#123456", buttonText: "#fedcba" } });
  assertStringIncludes(message.html!, "color:#fedcba;background:#123456");
});

Deno.test("the button of a mail can be read without a theme, and with any colour", async () => {
  for (
    const [brandColor, colours] of [
      [undefined, "color:#ffffff;background:#4338ca"],
      ["#ffee00", "color:#000000;background:#ffee00"],
      ["#fe0f", "color:#000000;background:#fe0f"],
      ["#0b6e4f", "color:#ffffff;background:#0b6e4f"],
    ] as const
  ) {
    const { message } = await mailFor({}, brandColor ? { theme: { brandColor } } : {});
    assertStringIncludes(message.html!, colours);
  }
});

Deno.test("an application's own sendVerificationRequest is called as before, however it is given", async () => {
  for (const spread of [false, true]) {
    const calls: string[] = [];
    const sendVerificationRequest = ({ url, provider }: { url: string; provider: { from?: string } }) =>
      void calls.push(`${provider.from} ${new URL(url).pathname}`);
    const settings = { server: "smtp://127.0.0.1:1", from: "no-reply@example.com" };
    const provider = spread
      ? { ...Nodemailer(settings), sendVerificationRequest }
      : Nodemailer({ ...settings, sendVerificationRequest } as never);
    const emailMessage = () => Promise.reject(new Error("not called"));
    await using app = await testApp(
      testConfig({ adapter: memoryAdapter(), providers: [provider as never], emailMessage }),
    );
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signin/nodemailer", { csrfToken, email: "ada@example.com" });
    assertStringIncludes(String(answer.headers.location), "/verify-request");
    assertEquals(calls, ["no-reply@example.com /auth/callback/nodemailer"]);
  }
});

for (
  const [what, emailMessage, reason] of [
    ["fails", () => Promise.reject(new Error("no template")), "no template"],
    ["returns nothing", () => {}, "`emailMessage` returned no text and no HTML"],
    ["returns no link", () => Promise.resolve({ subject: "Hello" }), "`emailMessage` returned no text and no HTML"],
  ] as const
) {
  Deno.test(`an emailMessage that ${what} is a mail that was not sent, with the reason in the log`, async () => {
    const errors: Error[] = [];
    await using app = await testApp(testConfig({
      adapter: memoryAdapter(),
      providers: [Nodemailer({ server: "smtp://127.0.0.1:1", from: "no-reply@example.com" })],
      emailMessage: emailMessage as FastifyAuthConfig["emailMessage"] & object,
      logger: { error: (error) => errors.push(error) },
    }));
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signin/nodemailer", { csrfToken, email: "ada@example.com" });
    assertStringIncludes(String(answer.headers.location), "error=EmailSignin");
    assertEquals(errors.length, 1);
    assertStringIncludes((errors[0]!.cause as Error).message, reason);
  });
}

Deno.test("siteName is on the pages", async () => {
  await using app = await testApp(testConfig({ pages: { siteName: "Engines & Co." } }));
  const { body } = await app.inject("/auth/signin");
  assertStringIncludes(body, "<title>Sign in · Engines &amp; Co.</title>");
  assertStringIncludes(body, "to continue to Engines &amp; Co.");
});
