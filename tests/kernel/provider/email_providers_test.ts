/** The mail services: what each is sent, field by field, and what becomes of its errors. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { ServerResponse } from "node:http";
import type { FastifyAuthConfig } from "fastify-authjs";
import ForwardEmail from "fastify-authjs/providers/forwardemail";
import Loops from "fastify-authjs/providers/loops";
import Mailgun from "fastify-authjs/providers/mailgun";
import Postmark from "fastify-authjs/providers/postmark";
import Resend from "fastify-authjs/providers/resend";
import SendGrid from "fastify-authjs/providers/sendgrid";
import { captureLog, type LogLine, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { withEnvironment } from "../../support/environment.ts";
import { type MailRequest, type Respond, withMailApi } from "../../support/mail_api.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const ADA = "ada@example.com";
const KEY = "the-api-key-of-the-service";
const ADDRESS = "no-reply@example.com";
const NAMED = `Example <${ADDRESS}>`;
/** The subject has the code, which differs each time. */
const withoutCode = (subject: string) => subject.replace(/^\d{6}/, "<code>");
const SUBJECT = "<code> is your sign-in code for app.example";
const AUTOMATIC = { "Auto-Submitted": "auto-generated" };

/** One service. */
interface Service {
  readonly id: string;
  /** The provider, configured with what it needs besides the key. */
  readonly provider: (settings: { from?: string; apiKey?: string }) => FastifyAuthConfig["providers"][number];
  readonly url: string;
  /** The header that has the key. */
  readonly key: [header: string, value: string];
  /** What the service is to find in the request, if the mail is from `NAMED`. */
  readonly verify: (request: MailRequest) => void | Promise<void>;
  /** The sign-in link in the request. */
  readonly link: (request: MailRequest) => string;
}

const json = (request: MailRequest) => JSON.parse(request.body);
const linkInText = (text: string) => text.match(/https:[^\s"]+/)![0];
const basic = (credentials: string) => `Basic ${btoa(credentials)}`;

/** The two forms of the mail, which are the same for all services that are sent them. */
function assertMail(text: string, html: string): void {
  const link = linkInText(text);
  assertStringIncludes(
    text,
    `Open this link to sign in to app.example:\n${link}\n\nThe link works once, until `,
  );
  assertStringIncludes(html, `href="${link.replaceAll("&", "&amp;")}"`);
  assertStringIncludes(html, "app\u200b.example");
}

/** What Resend and Forward Email are sent alike. */
function assertPlainJson(request: MailRequest): void {
  const { text, html, subject, ...rest } = json(request);
  assertEquals(request.headers["content-type"], "application/json");
  assertEquals(rest, { from: NAMED, to: ADA, headers: AUTOMATIC });
  assertEquals(withoutCode(subject), SUBJECT);
  assertMail(text, html);
}

/** A form has its line ends as MIME wants them. */
async function formOf({ headers, body }: MailRequest): Promise<Record<string, string>> {
  const form = await new Response(body, { headers: { "content-type": headers["content-type"]! } }).formData();
  return Object.fromEntries([...form].map(([name, value]) => [name, String(value).replaceAll("\r\n", "\n")]));
}

const SERVICES: Service[] = [
  {
    id: "resend",
    provider: (settings) => Resend(settings),
    url: "https://api.resend.com/emails",
    key: ["authorization", `Bearer ${KEY}`],
    verify: assertPlainJson,
    link: (request) => linkInText(json(request).text),
  },
  {
    id: "forwardemail",
    provider: (settings) => ForwardEmail(settings),
    url: "https://api.forwardemail.net/v1/emails",
    key: ["authorization", basic(`${KEY}:`)],
    verify: assertPlainJson,
    link: (request) => linkInText(json(request).text),
  },
  {
    id: "sendgrid",
    provider: (settings) => SendGrid(settings),
    url: "https://api.sendgrid.com/v3/mail/send",
    key: ["authorization", `Bearer ${KEY}`],
    verify(request) {
      const { content, subject, ...rest } = json(request);
      assertEquals(request.headers["content-type"], "application/json");
      assertEquals(rest, {
        personalizations: [{ to: [{ email: ADA }] }],
        from: { email: ADDRESS },
        headers: AUTOMATIC,
      });
      assertEquals(withoutCode(subject), SUBJECT);
      assertEquals(content.map(({ type }: { type: string }) => type), ["text/plain", "text/html"]);
      assertMail(content[0].value, content[1].value);
    },
    link: (request) => linkInText(json(request).content[0].value),
  },
  {
    id: "postmark",
    provider: (settings) => Postmark(settings),
    url: "https://api.postmarkapp.com/email",
    key: ["x-postmark-server-token", KEY],
    verify(request) {
      const { TextBody, HtmlBody, Subject, ...rest } = json(request);
      assertEquals(request.headers.accept, "application/json");
      assertEquals(request.headers["content-type"], "application/json");
      assertEquals(rest, {
        From: NAMED,
        To: ADA,
        MessageStream: "outbound",
        Headers: [{ Name: "Auto-Submitted", Value: "auto-generated" }],
      });
      assertEquals(withoutCode(Subject), SUBJECT);
      assertMail(TextBody, HtmlBody);
    },
    link: (request) => linkInText(json(request).TextBody),
  },
  {
    id: "mailgun",
    provider: (settings) => Mailgun(settings),
    url: "https://api.mailgun.net/v3/example.com/messages",
    key: ["authorization", basic(`api:${KEY}`)],
    async verify(request) {
      assertMatch(request.headers["content-type"]!, /^multipart\/form-data; boundary=/);
      const { text, html, subject, ...rest } = await formOf(request);
      assertEquals(rest, {
        from: `Mailgun <${ADDRESS}>`,
        to: ADA,
        "h:Auto-Submitted": "auto-generated",
      });
      assertEquals(withoutCode(subject!), SUBJECT);
      assertMail(text!, html!);
    },
    link: (request) => linkInText(request.body),
  },
  {
    id: "loops",
    provider: (settings) => Loops({ transactionalId: "the-template", ...settings } as never),
    url: "https://app.loops.so/api/v1/transactional",
    key: ["authorization", `Bearer ${KEY}`],
    verify(request) {
      const { dataVariables, ...rest } = json(request);
      assertEquals(request.headers["content-type"], "application/json");
      // The subject and the text are in the template, and so is the sender.
      assertEquals(rest, { transactionalId: "the-template", email: ADA });
      assertEquals(Object.keys(dataVariables), ["url"]);
    },
    link: (request) => json(request).dataVariables.url,
  },
];

const accept: Respond = (response) => response.writeHead(202).end("{}");

interface Outcome {
  readonly client: Client;
  readonly answer: Answer;
  readonly requests: MailRequest[];
  readonly log: LogLine[];
}

/** Asks for a sign-in link. */
async function ask(
  { id, provider, url }: Pick<Service, "id" | "provider" | "url">,
  respond: Respond,
  look: (outcome: Outcome) => void | Promise<void>,
  settings: { from?: string; apiKey?: string } = { from: NAMED, apiKey: KEY },
): Promise<void> {
  await withMailApi(new URL(url).host, respond, async (requests) => {
    const { logger, lines: log } = captureLog();
    await using app = await testApp(
      testConfig({
        adapter: memoryAdapter(),
        providers: [provider(settings)],
        origin: "https://app.example",
        providerTimeout: 500,
      }),
      { logger },
    );
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const answer = await client.post(`/auth/signin/${id}`, { csrfToken, email: ADA });
    await look({ client, answer, requests, log });
  });
}

function assertNotSent({ answer, log }: Outcome): void {
  assertEquals([answer.statusCode, answer.headers.location], [
    302,
    "https://app.example/auth/signin?error=EmailSignin",
  ]);
  const errors = log.filter(({ level }) => level >= 50);
  assertEquals(errors.length, 1);
  assertStringIncludes(errors[0]!.msg, "Auth.js: The sign-in link could not be mailed: ");
  for (const secret of [KEY, ADA, "token="]) assertFalse(JSON.stringify(log).includes(secret), secret);
}

for (const service of SERVICES) {
  const { id, url, key: [header, value], verify, link } = service;

  Deno.test(`${id} is sent what it documents, and the link signs in`, () =>
    ask(service, accept, async ({ client, answer, requests }) => {
      const verifyPage = `https://app.example/auth/verify-request?provider=${id}&type=email`;
      assertEquals([answer.statusCode, answer.headers.location], [302, verifyPage]);
      const [request] = requests;
      assertEquals(requests.length, 1);
      assertEquals([request!.method, request!.url], ["POST", url]);
      assertEquals(request!.headers[header], value);
      await verify(request!);

      const { origin, pathname, search, searchParams } = new URL(link(request!));
      assertEquals(origin + pathname, `https://app.example/auth/callback/${id}`);
      assertEquals(searchParams.get("email"), ADA);
      assertMatch(searchParams.get("token")!, /^[0-9a-f]{64}$/);
      await client.confirm(pathname + search);
      assertEquals((await client.get("/me")).json().session.user.email, ADA);
    }));

  const variable = `AUTH_${id.toUpperCase()}_KEY`;
  Deno.test(`${id} finds its key in ${variable}`, () =>
    withEnvironment({ [variable]: KEY }, () =>
      ask(service, accept, ({ requests: [request] }) => {
        assertEquals(request!.headers[header], value);
      }, { from: NAMED })));

  const refusals: [what: string, respond: Respond][] = [
    [
      "refuses the key",
      (response) => answerWith(response, 401, JSON.stringify({ message: `Bad key ${KEY}` })),
    ],
    [
      "refuses the mail",
      (response) => answerWith(response, 422, JSON.stringify({ to: ADA, error: "invalid" })),
    ],
    ["answers with a page of HTML", (response) => answerWith(response, 502, "<h1>Bad Gateway</h1>")],
    ["breaks off", (response) => response.socket!.destroy()],
    ["does not answer", () => {}],
  ];
  for (const [what, respond] of refusals) {
    Deno.test(`the sign-in page says that no mail was sent where ${id} ${what}`, () =>
      ask(service, respond, (outcome) => assertNotSent(outcome)));
  }
}

function answerWith(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

Deno.test("a plain sender's address is sent as it is", async () => {
  for (const service of SERVICES.filter(({ id }) => id !== "loops")) {
    await ask(service, accept, ({ requests: [request] }) => {
      assert(request!.body.includes(ADDRESS), service.id);
      assertFalse(request!.body.includes("Example"), service.id);
    }, { from: ADDRESS, apiKey: KEY });
  }
});

Deno.test("mailgun in the EU is another host, and the name of the provider is the sender's", () => {
  const url = "https://api.eu.mailgun.net/v3/example.com/messages";
  const provider: Service["provider"] = (settings) => Mailgun({ ...settings, region: "EU", name: "Example" } as never);
  return ask({ id: "mailgun", provider, url }, accept, async ({ requests: [request] }) => {
    assertEquals(request!.url, url);
    assertEquals((await formOf(request!)).from, `Example <${ADDRESS}>`);
  });
});

Deno.test("a service with an id of its own is sent the same", () => {
  const url = "https://api.mailgun.net/v3/example.com/messages";
  const provider: Service["provider"] = (settings) => Mailgun({ ...settings, id: "letters" } as never);
  return ask({ id: "letters", provider, url }, accept, async ({ requests: [request] }) => {
    assertEquals(request!.url, url);
    assertEquals((await formOf(request!)).from, `Mailgun <${ADDRESS}>`);
  });
});

Deno.test("what a service cannot do without is named in the log", async () => {
  const withoutKey = SERVICES.find(({ id }) => id === "postmark")!;
  const provider: Service["provider"] = (settings) => Loops({ transactionalId: "", ...settings } as never);
  const withoutTemplate = { ...SERVICES.find(({ id }) => id === "loops")!, provider };
  const withoutDomain = SERVICES.find(({ id }) => id === "mailgun")!;
  const cases = [
    [withoutKey, { from: NAMED }, "The provider has no `apiKey`"],
    [withoutTemplate, { from: NAMED, apiKey: KEY }, "Missing Loops API Key or TransactionalId"],
    [withoutDomain, { from: "no-reply", apiKey: KEY }, "`from` of the provider has no domain"],
  ] as const;
  for (const [service, settings, message] of cases) {
    await ask(service, accept, (outcome) => {
      assertNotSent(outcome);
      assertEquals(outcome.requests, []);
      assertStringIncludes(JSON.stringify(outcome.log), message);
    }, settings);
  }
});
