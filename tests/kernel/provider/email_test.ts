/** Sign-in links by e-mail: Nodemailer against a real SMTP server, and what is typed as an address. */
import {
  assert,
  assertEquals,
  assertFalse,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import type { FastifyInstance } from "fastify";
import { type FastifyAuthConfig, FastifyAuthError, type VerificationMailParams } from "fastify-authjs";
import Email from "fastify-authjs/providers/email";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { captureLog, type LogLine, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { certificate, type Mail, type SmtpOptions, type SmtpServer, startSmtp } from "../../support/smtp.ts";

const ADA = "ada@example.com";
const FROM = "Example <no-reply@example.com>";

interface Setup {
  readonly app: FastifyInstance;
  readonly smtp: SmtpServer;
  readonly tables: MemoryTables;
  readonly log: LogLine[];
}

/** The settings of nodemailer, or of the whole provider. */
type Settings = Record<string, unknown>;

interface Options {
  readonly smtp?: SmtpOptions;
  /** Added to `{ host, port }`. */
  readonly server?: Settings;
  /** Added to `{ server, from }`. */
  readonly provider?: Settings;
  readonly config?: Partial<FastifyAuthConfig>;
}

async function withMail(options: Options, run: (setup: Setup) => Promise<void>): Promise<void> {
  await using smtp = await startSmtp(options.smtp);
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const { logger, lines: log } = captureLog();
  const server = { host: "127.0.0.1", port: smtp.port, ...options.server };
  const config = testConfig({
    adapter: memoryAdapter(tables),
    providers: [Nodemailer({ server, from: FROM, ...options.provider })],
    ...options.config,
  });
  await using app = await testApp(config, { logger });
  await run({ app, smtp, tables, log });
}

async function ask(client: Client, email?: string, headers: Record<string, string> = {}): Promise<Answer> {
  const csrfToken = await client.csrfToken();
  const form = { csrfToken, ...(email !== undefined && { email }) };
  return await client.post("/auth/signin/nodemailer", form, headers);
}

/** The link in a mail, as a path. */
function linkIn({ message }: Mail): string {
  const [link = ""] = message.text!.match(/http\S+/) ?? [];
  const { pathname, search } = new URL(link);
  return pathname + search;
}

async function reader(client: Client): Promise<string | null> {
  const { session } = (await client.get("/me")).json<{ session: { user: { email: string } } | null }>();
  return session?.user.email ?? null;
}

const VERIFY = "http://localhost/auth/verify-request?provider=nodemailer&type=email";
const NOT_SENT = "http://localhost/auth/signin?error=EmailSignin";

Deno.test("the sign-in link is mailed as text and as HTML, and signs in", () =>
  withMail({}, async ({ app, smtp, tables }) => {
    const client = new Client(app);
    const answer = await ask(client, ADA);
    assertEquals([answer.statusCode, answer.headers.location], [302, VERIFY]);
    assertEquals((await client.get("/auth/verify-request?provider=nodemailer&type=email")).statusCode, 200);

    const [mail] = smtp.mails;
    assertEquals(smtp.mails.length, 1);
    assertEquals(mail!.recipients, [ADA]);
    const { from, to, subject, text, html, headers } = mail!.message;
    assertEquals([from?.address, from?.name], ["no-reply@example.com", "Example"]);
    assertEquals(to?.map(({ address }) => address), [ADA]);
    assertMatch(subject!, /^\d{6} is your sign-in code for localhost$/);
    const type = headers.find(({ key }) => key === "content-type")!.value;
    assertMatch(type, /^multipart\/alternative;/);

    const link = new URL(text!.match(/http\S+/)![0]);
    assertStringIncludes(text!, `Open this link to sign in to localhost:\n${link.href}\n`);
    assertStringIncludes(html!, `href="${link.href.replaceAll("&", "&amp;")}"`);
    assertEquals(link.origin + link.pathname, "http://localhost/auth/callback/nodemailer");
    assertEquals([...link.searchParams.keys()], ["callbackUrl", "token", "email"]);
    assertEquals(link.searchParams.get("email"), ADA);
    assertMatch(link.searchParams.get("token")!, /^[0-9a-f]{64}$/);
    assertFalse(
      tables.tokens.some(({ token }) => token === link.searchParams.get("token")),
      "kept as a hash",
    );

    await client.confirm(linkIn(mail!));
    assertEquals(await reader(client), ADA);
  }));

for (const strategy of ["database", "jwt"] as const) {
  Deno.test(`an adapter for e-mail alone signs in, again and out, with a ${strategy} session`, () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const { linkAccount: _link, getUserByAccount: _byAccount, getUser: _get, ...adapter } = memoryAdapter(
      tables,
    );
    return withMail({ config: { adapter, session: { strategy } } }, async ({ app, smtp, log }) => {
      const client = new Client(app);
      for (const mails of [1, 2]) {
        await ask(client, ADA);
        await client.confirm(linkIn(smtp.mails[mails - 1]!));
        assertEquals(await reader(client), ADA);
      }
      await client.signOut();
      assertEquals(await reader(client), null);
      assertEquals(log.filter(({ level }) => level >= 40), []);
    });
  });
}

Deno.test("STARTTLS, a certificate and a password are used where they are set", async () => {
  const login = { user: "mailer", pass: "mail-password" };
  const server = { requireTLS: true, tls: { ca: await certificate() }, auth: login };
  await withMail({ smtp: { tls: "starttls", login }, server }, async ({ app, smtp }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, VERIFY);
    const [mail] = smtp.mails;
    assertEquals([mail!.secure, mail!.user, mail!.recipients], [true, "mailer", [ADA]]);
  });
});

Deno.test("TLS from the first byte is used where it is set", async () => {
  const server = { secure: true, tls: { ca: await certificate() } };
  await withMail({ smtp: { tls: "implicit" }, server }, async ({ app, smtp }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, VERIFY);
    assertEquals(smtp.mails.map(({ secure }) => secure), [true]);
  });
});

Deno.test("the server may be a URL", async () => {
  await using smtp = await startSmtp({ login: { user: "mailer", pass: "mail-password" } });
  const server = `smtp://mailer:mail-password@127.0.0.1:${smtp.port}`;
  await withMail({ provider: { server } }, async ({ app }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, VERIFY);
    assertEquals(smtp.mails.map(({ user }) => user), ["mailer"]);
  });
});

Deno.test("no password is sent where none is set", async () => {
  // Core's default is an empty user name, which a server that knows AUTH refuses.
  await using smtp = await startSmtp({
    tls: "starttls",
    login: { user: "mailer", pass: "mail-password" },
    open: true,
  });
  const server = { host: "127.0.0.1", port: smtp.port, tls: { ca: await certificate() } };
  await withMail({ provider: { server } }, async ({ app }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, VERIFY);
    assertEquals(smtp.mails.map(({ user }) => user), [undefined]);
  });
});

Deno.test('the deprecated provider "email" is the same under another id', () =>
  withMail({}, async ({ smtp }) => {
    const server = { host: "127.0.0.1", port: smtp.port };
    await withMail({ config: { providers: [Email({ server, from: FROM })] } }, async ({ app }) => {
      const client = new Client(app);
      const csrfToken = await client.csrfToken();
      const answer = await client.post("/auth/signin/email", { csrfToken, email: ADA });
      assertEquals(answer.headers.location, VERIFY.replace("nodemailer", "email"));
      await client.confirm(linkIn(smtp.mails[0]!));
      assertEquals(await reader(client), ADA);
    });
  }));

Deno.test("the link names the pinned origin, whatever the Host header says", () =>
  withMail({ config: { origin: "https://app.example" } }, async ({ app, smtp }) => {
    await ask(new Client(app, { host: "evil.example" }), ADA);
    const { subject, text, html } = smtp.mails[0]!.message;
    assertMatch(subject!, /^\d{6} is your sign-in code for app\.example$/);
    assertStringIncludes(text!, "https://app.example/auth/callback/nodemailer?");
    assertFalse((text! + html!).includes("evil.example"));
  }));

// When no mail can be sent.

const FAILURES: [what: string, Options][] = [
  ["the certificate is not trusted", { smtp: { tls: "implicit" }, server: { secure: true } }],
  ["the server has no TLS and the settings ask for it", { server: { requireTLS: true } }],
  ["the password is wrong", {
    smtp: { tls: "starttls", login: { user: "mailer", pass: "right" } },
    server: { tls: { rejectUnauthorized: false }, auth: { user: "mailer", pass: "mail-password" } },
  }],
  ["the mailbox is refused", { smtp: { refuses: ADA } }],
  ["nothing listens", { server: { port: 1 } }],
  ["the server says nothing", { smtp: { silent: true }, config: { providerTimeout: 100 } }],
];

for (const [what, options] of FAILURES) {
  Deno.test(`the sign-in page says that no mail was sent where ${what}`, () =>
    withMail(options, async ({ app, smtp, log }) => {
      const client = new Client(app);
      const answer = await ask(client, ADA);
      assertEquals([answer.statusCode, answer.headers.location], [302, NOT_SENT]);
      const page = await client.get("/auth/signin?error=EmailSignin");
      assertEquals(page.statusCode, 200);
      assertStringIncludes(page.body, "The e-mail could not be sent.");
      assertEquals(smtp.mails, []);

      const errors = log.filter(({ level }) => level >= 50);
      assertEquals(errors.length, 1);
      assertStringIncludes(errors[0]!.msg, "Auth.js: The sign-in link could not be mailed: ");
      for (const secret of ["mail-password", ADA, "token="]) {
        assertFalse(JSON.stringify(log).includes(secret), secret);
      }
    }));
}

Deno.test("a client that asks for the address gets it in the body when no mail was sent", () =>
  withMail({ smtp: { refuses: ADA } }, async ({ app }) => {
    const answer = await ask(new Client(app), ADA, { "x-auth-return-redirect": "1" });
    assertEquals([answer.statusCode, answer.json()], [200, { url: NOT_SENT }]);
  }));

Deno.test("a page of the application's own is where a person is sent when no mail was sent", () =>
  withMail({ smtp: { refuses: ADA }, config: { pages: { signIn: "/login?lang=de" } } }, async ({ app }) => {
    const { location } = (await ask(new Client(app), ADA)).headers;
    assertStringIncludes(String(location), "http://localhost/login?");
    assertStringIncludes(String(location), "error=EmailSignin");
  }));

// Links.

Deno.test("a link works once", () =>
  withMail({}, async ({ app, smtp }) => {
    const client = new Client(app);
    await ask(client, ADA);
    const link = linkIn(smtp.mails[0]!);
    await client.confirm(link);
    assertEquals(await reader(client), ADA);

    const second = new Client(app);
    const answer = await second.confirm(link);
    assertEquals(answer.headers.location, "http://localhost/auth/error?error=Verification");
    assertEquals((await second.get("/auth/error?error=Verification")).statusCode, 403);
    assertEquals(await reader(second), null);
  }));

Deno.test("two requests in a row mail two links, each of which works once", () =>
  withMail({}, async ({ app, smtp }) => {
    await ask(new Client(app), ADA);
    await ask(new Client(app), ADA);
    const links = smtp.mails.map(linkIn);
    assertNotEquals(links[0], links[1]);
    for (const link of [...links].reverse()) {
      const client = new Client(app);
      await client.confirm(link);
      assertEquals(await reader(client), ADA);
      const again = new Client(app);
      await again.confirm(link);
      assertEquals(await reader(again), null);
    }
  }));

Deno.test("a link expires, after a day or after maxAge", () =>
  withMail({}, async ({ app, smtp, tables }) => {
    const client = new Client(app);
    await ask(client, ADA);
    const [row] = tables.tokens;
    const lifetime = row!.expires.valueOf() - Date.now();
    assert(lifetime > 23.9 * 3600e3 && lifetime <= 24 * 3600e3, String(lifetime));
    row!.expires = new Date(Date.now() - 1);
    const answer = await client.confirm(linkIn(smtp.mails[0]!));
    assertEquals(answer.headers.location, "http://localhost/auth/error?error=Verification");
    assertEquals([await reader(client), tables.tokens.length], [null, 0]);
  }));

Deno.test("a link for another address, with another token or cut short is no link", () =>
  withMail({}, async ({ app, smtp, log }) => {
    const client = new Client(app);
    await ask(client, ADA);
    const link = linkIn(smtp.mails[0]!);
    const others = [
      link.replace("email=ada", "email=bob"),
      link.replace("token=", "token=0"),
      link.slice(0, link.indexOf("&email=")),
      link.slice(0, link.indexOf("&token=")),
      "/auth/callback/nodemailer",
      "/auth/callback/nodemailer?token=&email=",
      "/auth/callback/nodemailer?token=a&token=b&email=x&email=y",
      "/auth/callback/nodemailer?token=%00&email=%00",
    ];
    for (const other of others) {
      const answer = await client.confirm(other);
      assertEquals(answer.headers.location, "http://localhost/auth/error?error=Verification", other);
      assertEquals(await reader(client), null, other);
    }
    assertEquals(log.filter(({ level }) => level >= 50), []);
    assertFalse(JSON.stringify(log).includes(link.match(/token=(\w+)/)![1]!));
    await client.confirm(link);
    assertEquals(await reader(client), ADA);
  }));

Deno.test("nobody signs in as the owner of a similar address that the database takes for the same", async () => {
  const adapter = memoryAdapter();
  await adapter.createUser({ id: "1", email: ADA, emailVerified: new Date() });
  const withoutAccents = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "");
  const getUserByEmail = (email: string) => adapter.getUserByEmail(withoutAccents(email));
  await withMail({ config: { adapter: { ...adapter, getUserByEmail } } }, async ({ app, smtp }) => {
    const client = new Client(app);
    assertEquals((await ask(client, "áda@example.com")).statusCode, 503);
    for (const mail of smtp.mails) await client.confirm(linkIn(mail));
    assertEquals(await reader(client), null);
  });
});

Deno.test("what sends the mail gets the request, with all fields of the form, as it gets it from core", async () => {
  const sent: unknown[] = [];
  const sendVerificationRequest = async ({ identifier, url, request }: VerificationMailParams) => {
    const { method, headers } = request;
    const { email, language, callbackUrl } = await request.json();
    const { pathname, search } = new URL(request.url);
    const link = new URL(url).searchParams.get("callbackUrl");
    sent.push([identifier, link, `${method} ${pathname}${search}`, headers.get("accept-language")]);
    sent.push({ email, language, callbackUrl });
  };
  const provider = Nodemailer({ server: "smtp://127.0.0.1:1", from: FROM, sendVerificationRequest });
  await using app = await testApp(testConfig({ adapter: memoryAdapter(), providers: [provider] }));
  const client = new Client(app);
  const form = {
    csrfToken: await client.csrfToken(),
    email: "Ada@Example.com",
    language: "de",
    callbackUrl: "/a?b=c&d",
  };
  const { headers } = await client.post("/auth/signin/nodemailer", form, { "accept-language": "de" });
  assertStringIncludes(String(headers.location), "/auth/verify-request");
  assertEquals(sent, [
    [ADA, "http://localhost/a?b=c&d", "POST /auth/signin/nodemailer", "de"],
    { email: "Ada@Example.com", language: "de", callbackUrl: "/a?b=c&d" },
  ]);
});

Deno.test("the callback URL in the link never leaves the origin", () =>
  withMail({}, async ({ app, smtp }) => {
    for (const [asked, followed] of [["/welcome", "/welcome"], ["https://evil.example/", ""]] as const) {
      const client = new Client(app);
      const csrfToken = await client.csrfToken();
      await client.post("/auth/signin/nodemailer", { csrfToken, email: ADA, callbackUrl: asked });
      const answer = await client.confirm(linkIn(smtp.mails.at(-1)!));
      assertEquals(answer.headers.location, `http://localhost${followed}`, asked);
    }
  }));

Deno.test("the provider's own token and lifetime are used", () =>
  withMail({
    provider: { generateVerificationToken: () => "123456", maxAge: 600 },
  }, async ({ app, smtp, tables }) => {
    const client = new Client(app);
    await ask(client, ADA);
    assert(tables.tokens[0]!.expires.valueOf() <= Date.now() + 600e3);
    const link = linkIn(smtp.mails[0]!);
    assertStringIncludes(link, "token=123456&");
    await client.confirm(link);
    assertEquals(await reader(client), ADA);
  }));

Deno.test("a setting with which no link works is a boot error that says what to write", async () => {
  for (const maxAge of [NaN, -1, 0, Infinity, 1e15, "600", "10m", {}]) {
    const error = await assertRejects(
      () => withMail({ provider: { maxAge } }, async () => {}),
      FastifyAuthError,
    );
    assertEquals(error.code, "FST_AUTHJS_PROVIDER_INVALID", String(maxAge));
    assertStringIncludes(error.message, 'The `maxAge` of the provider "nodemailer" is ');
    assertStringIncludes(error.message, "15 * 60");
  }
  const settings = ["generateVerificationToken", "normalizeIdentifier", "sendVerificationRequest"];
  for (const name of settings) {
    const provider = { [name]: "text" };
    const error = await assertRejects(() => withMail({ provider }, async () => {}), FastifyAuthError);
    assertStringIncludes(error.message, `The \`${name}\` of the provider "nodemailer" is a string`);
  }
});

Deno.test("a recipient that the transport refuses is a mail that was not sent", () => {
  const refusing = {
    name: "refusing",
    version: "1",
    send: (_mail: unknown, done: (error: null, info: object) => void) => done(null, { rejected: ["ada@example.com"] }),
  };
  return withMail({ provider: { server: refusing } }, async ({ app, log }) => {
    const answer = await ask(new Client(app), "ada@example.com");
    assert(String(answer.headers.location).includes("error="), String(answer.headers.location));
    assert(log.some((line) => JSON.stringify(line).includes("refused the recipient")), JSON.stringify(log));
  });
});

Deno.test("an error that repeats a part of the mail leaves token and address out of the log, also encoded", async () => {
  const token = "a token/with=signs+";
  const repeats: ((url: URL) => string)[] = [
    ({ search }) => search,
    ({ href }) => `<a href="${href.replaceAll("&", "&amp;")}">`,
    ({ searchParams }) => `${searchParams.get("token")} for ${searchParams.get("email")}`,
  ];
  for (const repeat of repeats) {
    const provider = {
      generateVerificationToken: () => token,
      sendVerificationRequest: ({ url }: { url: string }) => Promise.reject(new Error(repeat(new URL(url)))),
    };
    const texts: string[] = [];
    const error = ({ message, cause }: Error) => void texts.push(`${message}: ${(cause as Error).message}`);
    await withMail({ provider, config: { logger: { error } } }, async ({ app }) => {
      await ask(new Client(app), ADA);
      assertStringIncludes(texts.join(), "[redacted]");
      for (const secret of [token, ADA]) {
        const encoded = new URLSearchParams({ "": secret }).toString().slice(1);
        assertFalse([secret, encoded].some((each) => texts.join().includes(each)), texts.join());
      }
    });
  }
});

Deno.test("a token that is no text sends no mail, and the log says what to return", async () => {
  for (const token of ["", {}, true, NaN, ["secret"], Symbol("token")]) {
    const provider = { generateVerificationToken: () => Promise.resolve(token) };
    await withMail({ provider }, async ({ app, smtp, tables, log }) => {
      const answer = await ask(new Client(app), ADA);
      assertEquals(answer.headers.location, "http://localhost/auth/error?error=Configuration");
      assertEquals([smtp.mails.length, tables.tokens.length], [0, 0]);
      const [line] = log.filter(({ level }) => level >= 50);
      assertStringIncludes(line!.msg, 'generateVerificationToken() of the provider "nodemailer" returned');
    });
  }
});

Deno.test("a token that is a number signs in, and without one core makes it", async () => {
  for (const token of [271828, undefined, null]) {
    await withMail({ provider: { generateVerificationToken: () => token } }, async ({ app, smtp }) => {
      const client = new Client(app);
      await ask(client, ADA);
      const sent = new URL(linkIn(smtp.mails[0]!), "http://localhost").searchParams.get("token")!;
      assert(token ? sent === String(token) : sent.length >= 32);
      await client.confirm(linkIn(smtp.mails[0]!));
      assertEquals(await reader(client), ADA);
    });
  }
});

Deno.test("no mail is sent where the signIn callback refuses", () =>
  withMail({
    config: { callbacks: { signIn: ({ email }) => !email?.verificationRequest } },
  }, async ({ app, smtp, tables }) => {
    const answer = await ask(new Client(app), ADA);
    assertEquals(answer.headers.location, "http://localhost/auth/error?error=AccessDenied");
    assertEquals([smtp.mails.length, tables.tokens.length], [0, 0]);
  }));

// Addresses.

const ADDRESSES: [typed: string, mailed: string][] = [
  ["  Ada@Example.COM ", ADA],
  ["ada+tag@example.com", "ada+tag@example.com"],
  ["o'brien@example.com", "o'brien@example.com"],
  ["first.last/dept@mail.example.com", "first.last/dept@mail.example.com"],
  ["ａｄａ@example.com", ADA],
  ["ada＠example.com", ADA],
  ["ada@example.com,", ADA],
  ["ada@example.com，evil.example", ADA],
  ["ada@localhost", "ada@localhost"],
];

for (const [typed, mailed] of ADDRESSES) {
  Deno.test(`${JSON.stringify(typed)} is mailed to one recipient: ${mailed}`, () =>
    withMail({}, async ({ app, smtp, tables }) => {
      const client = new Client(app);
      assertEquals((await ask(client, typed)).headers.location, VERIFY);
      assertEquals(smtp.mails.map(({ recipients }) => recipients), [[mailed]]);
      assertEquals(tables.tokens.map(({ identifier }) => identifier), [mailed]);
      await client.confirm(linkIn(smtp.mails[0]!));
      assertEquals(await reader(client), mailed);
    }));
}

const NO_ADDRESSES = [
  undefined,
  "",
  "   ",
  "ada",
  "@example.com",
  "ada@",
  "ada@,example.com",
  "ada@@example.com",
  "ada@example.com@evil.example",
  "ada＠evil.example@example.com",
  "ada﹫evil.example@example.com",
  '"ada@evil.example"@example.com',
  "＂ada＂@example.com",
  "evil,ada@example.com",
  "evil，ada@example.com",
  "evil;ada@example.com",
  "group:ada@example.com;",
  "Ada <ada@example.com>",
  "<ada@example.com>",
  "ada(comment)@example.com",
  "a da@example.com",
  "ada@exam ple.com",
  "ada@example.com\r\nBcc: evil@evil.example",
  "ada@example.com\nevil.example",
  "ada\0@example.com",
  "ada\u202e@example.com",
  "ada@example.com?.evil.example",
  "ada@example.com/.evil.example",
  "ada@example.com:25",
  "ada@example..com",
  "ada@[127.0.0.1]",
  "\ud800@example.com",
  `${"a".repeat(65)}@example.com`,
  `ada@${"a.".repeat(150)}com`,
  `${"a".repeat(50_000)}@example.com`,
];

Deno.test("what is no address, or more than one, is not mailed to and is no server error", () =>
  withMail({}, async ({ app, smtp, tables, log }) => {
    const client = new Client(app);
    for (const typed of NO_ADDRESSES) {
      const answer = await ask(client, typed);
      const name = JSON.stringify(typed)?.slice(0, 60);
      assertEquals([answer.statusCode, answer.headers.location], [302, NOT_SENT], name);
    }
    assertEquals([smtp.mails.length, tables.tokens.length], [0, 0]);
    assertEquals((await client.get("/auth/signin?error=EmailSignin")).statusCode, 200);
    // A person's mistake: a line each, without the address.
    assertEquals(log.filter(({ level }) => level > 30), []);
    assertEquals(log.filter(({ msg }) => msg.startsWith("Auth.js")).length, NO_ADDRESSES.length);
    assertFalse(/evil|example\.com/.test(JSON.stringify(log)));
  }));

Deno.test("a JSON client without an address is told so, and one with something else gets 400", () =>
  withMail({}, async ({ app, smtp }) => {
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    const send = (fields: Record<string, unknown>) =>
      client.request("POST", "/auth/signin/nodemailer", {
        json: { csrfToken, ...fields },
        headers: { "x-auth-return-redirect": "1" },
      });
    const missing = await send({});
    assertEquals([missing.statusCode, missing.json()], [200, { url: NOT_SENT }]);
    for (const email of [null, [ADA], [ADA, "evil@evil.example"], { address: ADA }]) {
      assertEquals((await send({ email })).statusCode, 400, JSON.stringify(email));
    }
    assertEquals(smtp.mails, []);
    const sent = await send({ email: ADA });
    assertEquals([sent.statusCode, sent.json()], [200, { url: VERIFY }]);
  }));

Deno.test("the provider's own normalizeIdentifier decides", () =>
  withMail({
    provider: {
      normalizeIdentifier(typed: string) {
        if (!typed.endsWith("@example.com")) throw new Error(`${typed} is not one of us`);
        return typed.replace(/\+.*@/, "@");
      },
    },
  }, async ({ app, smtp, log }) => {
    const client = new Client(app);
    assertEquals((await ask(client, "ada+list@example.com")).headers.location, VERIFY);
    assertEquals((await ask(client, "eve@evil.example")).headers.location, NOT_SENT);
    assertEquals(smtp.mails.map(({ recipients }) => recipients), [[ADA]]);
    assertFalse(JSON.stringify(log).includes("eve@"));
    assertEquals(log.filter(({ level }) => level > 30), []);
  }));

Deno.test("a normalizeIdentifier that returns no text sends no mail, and the log says what to return", async () => {
  const returned: [() => unknown, string][] = [
    [() => Promise.reject(new Error("no such domain")), "a promise"],
    [() => undefined, "undefined"],
  ];
  for (const [normalizeIdentifier, what] of returned) {
    await withMail({ provider: { normalizeIdentifier } }, async ({ app, smtp, tables, log }) => {
      const answer = await ask(new Client(app), ADA);
      assertEquals(answer.headers.location, "http://localhost/auth/error?error=Configuration");
      assertEquals([smtp.mails.length, tables.tokens.length], [0, 0]);
      assert(
        log.some(({ level, msg }) => level === 50 && msg.includes(`returned ${what}: it is not awaited`)),
      );
    });
  }
  await withMail({ provider: { normalizeIdentifier: () => "" } }, async ({ app, smtp }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, NOT_SENT);
    assertEquals(smtp.mails, []);
  });
});

Deno.test("mails from the address in core's factories are warned of once", () =>
  withMail({ provider: { from: undefined } }, async ({ app, smtp, log }) => {
    const client = new Client(app);
    for (let i = 0; i < 2; i++) assertEquals((await ask(client, ADA)).headers.location, VERIFY);
    assertEquals(smtp.mails.length, 2);
    const warnings = log.filter(({ level }) => level === 40).map(({ code, msg }) => `${code} ${msg}`);
    assertEquals(warnings.length, 1);
    assertMatch(warnings[0]!, /^FST_AUTHJS_WARN_PROVIDER .*"nodemailer" has no `from`.*no-reply@authjs\.dev/);
  }));

Deno.test("mails from an address of the application are not warned of", () =>
  withMail({}, async ({ app, log }) => {
    assertEquals((await ask(new Client(app), ADA)).headers.location, VERIFY);
    assertEquals(log.filter(({ level }) => level >= 40), []);
  }));
