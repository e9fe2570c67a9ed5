/** What the mail with a sign-in link says, and that nothing which it says is taken for HTML. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { startSmtp } from "../../support/smtp.ts";

const FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0";

async function mailFor(config: Partial<FastifyAuthConfig> = {}, agent = FIREFOX, email = "ada@example.com") {
  await using smtp = await startSmtp();
  const server = { host: "127.0.0.1", port: smtp.port };
  const provider = Nodemailer({ server, from: "no-reply@example.com" });
  await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider], ...config }));
  const client = new Client(app, { "user-agent": agent });
  await client.post("/auth/signin/nodemailer", { csrfToken: await client.csrfToken(), email });
  const { text = "", html = "", headers, subject = "" } = smtp.mails[0]!.message;
  return { text, html, subject, headers: new Map(headers.map(({ key, value }) => [key, value])) };
}

/** What a mail program shows of a document. */
const shown = (html: string) =>
  html.replace(/<head>.*<\/head>|<!--.*?-->|<[^>]*>|[\u034f\u200b\u200c\u00a0]/gs, " ")
    .replaceAll("&amp;", "&").replace(/\s+/g, " ").replace(/ (?=\.)/g, "");

Deno.test("the text part and the HTML part of a mail say the same", async () => {
  const { text, html, subject, headers } = await mailFor({ pages: { siteName: "Acme" } });
  assertEquals(headers.get("auto-submitted"), "auto-generated");
  for (const line of text.split("\n").filter(Boolean)) assertStringIncludes(shown(html), line.trim());
  assertStringIncludes(text, "Requested with: Firefox · Windows\n");
  const [code] = subject.match(/^\d{6}(?= is your sign-in code for Acme$)/)!;
  assertStringIncludes(text, `Enter this code where you asked to sign in:\n${code}\n\nOpen this link`);
  assertStringIncludes(text, "The code works for 10 minutes.");
  const [link] = text.match(/^http\S+$/m)!;
  assertEquals(
    html.split(link.replaceAll("&", "&amp;")).length,
    4,
    "the button, and a link that can be read",
  );
  const [, preview] = /<body[^>]*>\s*<div style="display:none[^>]*>([^<]*)/.exec(html)!;
  assertMatch(preview!, /^The link works once, until /);
  assertMatch(html, /<table role="presentation"/);
  assertFalse(/<(?:script|link|form|div style="(?!display:none))/.test(html));
});

Deno.test("the logo of a mail has an absolute address, and its colours are those of the pages", async () => {
  const { html } = await mailFor({
    origin: "https://app.example",
    pages: { siteName: "Acme" },
    theme: { logo: '/logo.png?a="b"', colorScheme: "dark" },
  });
  assertStringIncludes(html, 'src="https://app.example/logo.png?a=%22b%22" alt="Acme"');
  assertStringIncludes(html, "background:#121116");
  assertFalse(html.includes("prefers-color-scheme"), "the application has chosen");
  assertStringIncludes((await mailFor()).html, "prefers-color-scheme:dark");
});

const AGENTS: Readonly<Record<string, string>> = {
  "Edge · Windows":
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0",
  "Chrome · Android": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/140.0.0.0 Mobile Safari/537.36",
  "Safari · iPhone":
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Version/18.0 Mobile/15E148 Safari/604.1",
  "Safari · macOS": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15",
  "Chrome · Linux": "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/140.0.0.0 Safari/537.36",
  "iPhone":
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148 App/1 Safari/604",
  "Linux": "curl/8 (Linux)",
};

for (const [device, agent] of Object.entries(AGENTS)) {
  Deno.test(`a mail says that it was requested with ${device}`, async () => {
    assertStringIncludes((await mailFor({}, agent)).text, `\nRequested with: ${device}\n`);
  });
}

Deno.test("a mail does not say which device asked if that is unknown", async () => {
  const { text, html } = await mailFor({}, "okhttp/5");
  assertFalse(`${text}${html}`.includes("Requested with"));
});

Deno.test("L8: the name of the site, the address and the device of a mail are no HTML", async () => {
  const { html, subject } = await mailFor(
    {
      pages: { siteName: 'Evil" onload="x"><script>alert(1)</script>' },
      callbacks: { redirect: () => 'http://localhost/"><script>alert(2)</script>' },
    },
    `Firefox/1 Windows <script>alert(3)</script>"`,
    "o'brien{}|`=?&#x3c;@example.com".replace(";", ""),
  );
  assertFalse(/<script|onload="/.test(html), html);
  assertStringIncludes(html, "&lt;script&gt;alert(1)");
  assertEquals(
    subject.replace(/^\d{6}/, ""),
    ' is your sign-in code for Evil" onload="x"><script>alert(1)</script>',
  );
  assert(!html.includes("alert(3)"), "nothing of the header is repeated");
});
