/** The code in a mail with a sign-in link: who it signs in, and how often it can be guessed. */
import { assert, assertEquals, assertFalse, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import rateLimit from "@fastify/rate-limit";
import type { FastifyInstance } from "fastify";
import {
  createAuth,
  type FastifyAuthConfig,
  memoryStore,
  type Store,
  type VerificationMailParams,
} from "fastify-authjs";
import { redisStore } from "fastify-authjs/redis";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import { Redis } from "ioredis";
import { captureLog, type LogLine, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, formIn, setCookies } from "../../support/client.ts";
import { withClock } from "../../support/clock.ts";
import { serverUrl } from "../../support/databases.ts";
import { withEnvironment } from "../../support/environment.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { startSmtp } from "../../support/smtp.ts";

const ADA = "ada@example.com";
const COOKIE = "authjs.email-code";
const VERIFY = "http://localhost/auth/verify-request?provider=email&type=email";
const WRONG = `${VERIFY}&error=EmailCodeWrong`;
const SPENT = `${VERIFY}&error=EmailCodeSpent`;
const EXPIRED = `${VERIFY}&error=EmailCodeExpired`;

interface Sent {
  readonly url: string;
  readonly code: string;
}

interface Setup {
  readonly app: FastifyInstance;
  readonly tables: MemoryTables;
  readonly log: LogLine[];
  readonly mails: Sent[];
  /** Asks for a mail. */
  readonly ask: (client: Client, email?: string) => Promise<Sent>;
}

interface Options extends Partial<FastifyAuthConfig> {
  /** Of the provider. */
  readonly maxAge?: number;
  readonly send?: (params: VerificationMailParams) => void | Promise<void>;
}

async function withCodes(run: (setup: Setup) => Promise<void>, options: Options = {}): Promise<void> {
  const { maxAge = 3600, send, ...config } = options;
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const { logger, lines: log } = captureLog();
  const mails: Sent[] = [];
  const email = {
    id: "email",
    type: "email" as const,
    name: "E-mail",
    maxAge,
    sendVerificationRequest: send ?? (({ url, code }: VerificationMailParams) => {
      mails.push({ url, code: code! });
    }),
  };
  await using app = await testApp(
    testConfig({ adapter: memoryAdapter(tables), providers: [email as never], ...config }),
    { logger },
  );
  const ask: Setup["ask"] = async (client, email = ADA) => {
    const csrfToken = await client.csrfToken();
    await client.post("/auth/signin/email", { csrfToken, email, callbackUrl: "/home?a=1" });
    return mails.at(-1)!;
  };
  await run({ app, tables, log, mails, ask });
}

async function enter(client: Client, code: string, headers?: Record<string, string>): Promise<Answer> {
  return await client.post("/auth/callback/email", { csrfToken: await client.csrfToken(), code }, headers);
}

/** A code that is not that of the mail. */
const other = ({ code }: Sent, by = 1) => String((Number(code) + by) % 1_000_000).padStart(6, "0");

const reader = async (client: Client): Promise<string | null> =>
  (await client.get("/me")).json().session?.user.email ?? null;

/** A store that takes its time, and keeps what it was called with. */
function slowStore(): Store & { readonly calls: string[] } {
  const store = memoryStore();
  const calls: string[] = [];
  const slowly = <Name extends keyof Store>(name: Name) => async (...args: Parameters<Store[Name]>) => {
    calls.push(JSON.stringify(args));
    for (let turns = calls.length % 4; turns > 0; turns--) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    return await (store[name] as (...args: unknown[]) => Promise<never>)(...args);
  };
  return { ...store, calls, members: slowly("members"), add: slowly("add"), remove: slowly("remove") };
}

const linkOf = ({ url }: Sent) => url.replace("http://localhost", "");

Deno.test("the page after a mail takes its code, which signs in at the callbackUrl, once", () =>
  withCodes(async ({ app, ask, tables }) => {
    const client = new Client(app);
    const mail = await ask(client);
    assertMatch(mail.code, /^\d{6}$/);
    const page = await client.get(VERIFY);
    const { action, fields } = formIn(page);
    assertEquals([action, Object.keys(fields)], ["/auth/callback/email", ["csrfToken"]]);
    assertMatch(
      page.body,
      /<input[^>]* autocomplete="one-time-code"[^>]* inputmode="numeric"[^>]* name="code"/,
    );

    const before = new Map(client.cookies);
    const answer = await client.post(action, { ...fields, code: mail.code });
    assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost/home?a=1"]);
    assertEquals([await reader(client), tables.tokens.length], [ADA, 0]);
    assertFalse(client.cookies.has(COOKIE), "it has done its work");

    // The link and the code are used up, also with the cookies of before.
    const again = new Client(app);
    for (const [name, value] of before) again.cookies.set(name, value);
    const used = "http://localhost/auth/error?error=Verification";
    assertEquals((await again.post(action, { ...fields, code: mail.code })).headers.location, used);
    assertEquals((await again.confirm(linkOf(mail))).headers.location, used);
    assertEquals(await reader(again), null);
  }));

Deno.test("a code signs in at the longest callbackUrl, too", () =>
  withCodes(async ({ app, mails }) => {
    for (const length of [250, 330]) {
      const client = new Client(app);
      const callbackUrl = `/authorize?${"a=%2F&".repeat(length)}`;
      const csrfToken = await client.csrfToken();
      const asked = await client.post("/auth/signin/email", { csrfToken, email: ADA, callbackUrl });
      // Browsers drop longer ones.
      for (const cookie of setCookies(asked)) assertLess(cookie.split(";")[0]!.length, 4096);
      assertEquals((await enter(client, mails.at(-1)!.code)).headers.location, `http://localhost${callbackUrl}`);
    }
  }));

Deno.test("L9: a code signs in no other browser than the one that asked, where the link still does", () =>
  withCodes(async ({ app, ask }) => {
    const [asker, stranger] = [new Client(app), new Client(app)];
    const mail = await ask(asker);
    assertEquals((await enter(stranger, mail.code)).headers.location, EXPIRED);
    // Nor one that asked for a mail to itself.
    await ask(stranger, "eve@evil.example");
    assertEquals((await enter(stranger, mail.code)).headers.location, WRONG);
    for (const value of ["", "x", asker.cookies.get(COOKIE)!.slice(0, -1), `A${asker.cookies.get(COOKIE)}`]) {
      stranger.cookies.set(COOKIE, value);
      assertEquals((await enter(stranger, mail.code)).headers.location, EXPIRED, value);
      assertFalse((await stranger.get(VERIFY)).body.includes("<form"), "nothing to enter it into");
    }
    assertEquals(await reader(stranger), null);
    await stranger.confirm(linkOf(mail));
    assertEquals(await reader(stranger), ADA);
  }));

Deno.test("a wrong code is told at the field, sends no mail, and leaves the code as it is", () =>
  withCodes(async ({ app, ask, mails, log }) => {
    const client = new Client(app);
    const mail = await ask(client);
    const answer = await enter(client, other(mail));
    assertEquals([answer.statusCode, answer.headers.location], [302, WRONG]);
    const { body } = await client.get(WRONG);
    assertMatch(body, /<input[^>]* aria-describedby="code-error" aria-invalid="true"/);
    assertMatch(body, /id="code-error"><p class="alert" role="alert">That is not the code/);
    assertEquals(mails.length, 1);
    assertEquals(log.filter(({ level }) => level > 30), [], "an everyday mistake");
    assertEquals((await client.get("/auth/signin")).body.includes('role="alert"'), false);
    await enter(client, mail.code);
    assertEquals(await reader(client), ADA);
  }));

Deno.test("L10: after five wrong codes the right one is refused, and the link signs in, as the page says", () =>
  withCodes(async ({ app, ask }) => {
    const client = new Client(app);
    const mail = await ask(client);
    for (let guess = 1; guess < 5; guess++) {
      assertEquals((await enter(client, other(mail, guess))).headers.location, WRONG);
    }
    assertEquals((await enter(client, other(mail, 5))).headers.location, SPENT);
    assertEquals((await enter(client, mail.code)).headers.location, SPENT);
    const { body } = await client.get(SPENT);
    assertStringIncludes(body, "The link in the e-mail still signs you in.");
    assertFalse(body.includes("<form"));
    await client.confirm(linkOf(mail));
    assertEquals(await reader(client), ADA);
  }));

Deno.test("L10: of guesses at once no more than five are compared, in memory and in a slow store", async () => {
  for (const store of [undefined, slowStore()]) {
    await withCodes(async ({ app, ask }) => {
      const client = new Client(app);
      const mail = await ask(client);
      const csrfToken = await client.csrfToken();
      const answers = await Promise.all(
        Array.from(
          { length: 30 },
          (_, index) => client.post("/auth/callback/email", { csrfToken, code: other(mail, index + 1) }),
        ),
      );
      const places = answers.map(({ headers }) => headers.location);
      assertEquals(places.filter((place) => place !== WRONG && place !== SPENT), []);
      assert(places.filter((place) => place === WRONG).length <= 5);
      // Some of them were not compared, and did not count.
      for (let guess = 31; guess < 36; guess++) await enter(client, other(mail, guess));
      assertEquals((await enter(client, mail.code)).headers.location, SPENT);
    }, store && { store });
  }
});

const redisUrl = serverUrl("TEST_REDIS_URL", "the test of guesses at codes counted in Redis");
if (redisUrl) {
  Deno.test("L10: of guesses at once at two processes with Redis no more than five are compared", async () => {
    const redis = new Redis(redisUrl);
    const prefix = `test:${crypto.randomUUID()}:`;
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const options = { store: redisStore(redis, { prefix }), adapter: memoryAdapter(tables) };
    try {
      await withCodes(({ app, ask }) =>
        withCodes(async (second) => {
          const client = new Client(app);
          const elsewhere = new Client(second.app);
          const mail = await ask(client);
          const csrfToken = await client.csrfToken();
          for (const [name, value] of client.cookies) elsewhere.cookies.set(name, value);
          const answers = await Promise.all(Array.from({ length: 30 }, (_, index) => {
            const form = { csrfToken, code: other(mail, index + 1) };
            return (index % 2 ? client : elsewhere).post("/auth/callback/email", form);
          }));
          assert(answers.filter(({ headers }) => headers.location === WRONG).length <= 5);
          for (let guess = 31; guess < 36; guess++) await enter(elsewhere, other(mail, guess));
          assertEquals((await enter(client, mail.code)).headers.location, SPENT);
          await client.confirm(linkOf(mail));
          assertEquals(await reader(client), ADA);
        }, options), options);
    } finally {
      const keys = await redis.keys(`${prefix}*`);
      if (keys.length > 0) await redis.del(...keys);
      await redis.quit();
    }
  });
}

Deno.test("a route of the application that has a mail sent gives its browser the code's cookie", async () => {
  let code = "";
  const mail = {
    id: "email",
    name: "E-mail",
    type: "email" as const,
    sendVerificationRequest: (mail: VerificationMailParams) => void (code = mail.code!),
  };
  const auth = createAuth(testConfig({ adapter: memoryAdapter(), providers: [mail as never] }));
  await using app = await testApp(auth.config);
  app.post(
    "/join",
    async (request, reply) => await auth.signIn(request, reply, "email", { fields: { email: ADA } }),
  );
  const client = new Client(app);
  await client.request("POST", "/join", { json: {}, headers: { origin: "http://localhost" } });
  assertMatch(code, /^\d{6}$/);
  await enter(client, code);
  assertEquals(await reader(client), ADA);
});

Deno.test("L11: of one recipient twenty wrong codes a day are compared, however the address is written", () =>
  withClock((clock) =>
    withCodes(async ({ app, ask }) => {
      for (const email of [ADA, " ADA@Example.com", "ａｄａ@example.com", "àda@example.com"]) {
        const client = new Client(app);
        const mail = await ask(client, email);
        for (let guess = 1; guess <= 5; guess++) await enter(client, other(mail, guess));
      }
      const client = new Client(app);
      assertEquals((await enter(client, (await ask(client)).code)).headers.location, SPENT);
      const eve = new Client(app);
      await enter(eve, (await ask(eve, "eve@example.com")).code);
      assertEquals(await reader(eve), "eve@example.com", "others are not concerned");
      clock.now += 24 * 3600_000 + 1000;
      await enter(client, (await ask(client)).code);
      assertEquals(await reader(client), ADA);
    })
  ));

Deno.test("right codes do not use up what is allowed", () =>
  withCodes(async ({ app, ask }) => {
    for (let time = 0; time < 25; time++) {
      const client = new Client(app);
      await enter(client, (await ask(client)).code);
      assertEquals(await reader(client), ADA);
    }
  }));

Deno.test("L12: processes with one store count together, and keep neither address, token nor code there", async () => {
  const store = slowStore();
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = memoryAdapter(tables);
  await withCodes(({ app, ask }) =>
    withCodes(async (second) => {
      const client = new Client(app);
      const elsewhere = new Client(second.app);
      const mail = await ask(client);
      for (const [name, value] of client.cookies) elsewhere.cookies.set(name, value);
      for (let guess = 1; guess <= 5; guess++) {
        await enter(guess % 2 ? client : elsewhere, other(mail, guess));
      }
      assertEquals((await enter(elsewhere, mail.code)).headers.location, SPENT);
      assert(store.calls.length > 20);
      const kept = store.calls.join();
      for (const secret of [ADA, mail.code, new URL(mail.url).searchParams.get("token")!]) {
        assertFalse(kept.includes(secret));
      }
    }, { store, adapter }), { store, adapter });
});

Deno.test("L12: while the store fails no code is compared (503), and the link signs in", async () => {
  const failing: Store = { ...memoryStore(), members: () => Promise.reject(new Error("Redis is down")) };
  await withCodes(async ({ app, ask }) => {
    const client = new Client(app);
    const mail = await ask(client);
    assertEquals((await enter(client, mail.code)).statusCode, 503);
    assertEquals(await reader(client), null);
    await client.confirm(linkOf(mail));
    assertEquals(await reader(client), ADA);
  }, { store: failing });
});

Deno.test("L13: a code ends after ten minutes, and with its link", async () => {
  for (const [maxAge, seconds] of [[3600, 600], [60, 60]] as const) {
    await withClock((clock) =>
      withCodes(async ({ app, ask }) => {
        const client = new Client(app);
        const mail = await ask(client);
        clock.now += seconds * 1000 - 1;
        assertStringIncludes((await client.get(VERIFY)).body, 'name="code"');
        const early = new Client(app);
        for (const [name, value] of client.cookies) early.cookies.set(name, value);
        clock.now += 1;
        assertEquals((await enter(early, mail.code)).headers.location, EXPIRED);
        const { body } = await client.get(EXPIRED);
        assertFalse(body.includes('name="code"'));
        assertStringIncludes(body, "The code has expired");
        if (maxAge > seconds) {
          await client.confirm(linkOf(mail));
          assertEquals(await reader(client), ADA);
        }
      }, { maxAge })
    );
  }
});

Deno.test("L14: neither the code nor the token is in a log or readable in a cookie", () =>
  withCodes(async ({ app, ask, log }) => {
    const client = new Client(app);
    const mail = await ask(client);
    const sealed = client.cookies.get(COOKIE)!;
    assertMatch(sealed, /^[\w-]+$/);
    for (const guess of [1, 2, 3, 4, 5, 6]) await enter(client, other(mail, guess));
    await enter(client, mail.code);
    const readable = JSON.stringify(log) + atob(sealed.replaceAll("-", "+").replaceAll("_", "/"));
    const token = new URL(mail.url).searchParams.get("token")!;
    for (const secret of [mail.code, token, other(mail)]) assertFalse(readable.includes(secret));
  }));

Deno.test("L14: a mail that was not sent leaves no cookie, and its code is not in the log", async () => {
  let sent = "";
  await withCodes(async ({ app, ask, log }) => {
    const client = new Client(app);
    await ask(client);
    assertMatch(sent, /^\d{6}$/);
    assertFalse(client.cookies.has(COOKIE));
    const errors = log.filter(({ level }) => level >= 50);
    assertStringIncludes(errors[0]!.msg, "could not be mailed");
    assertFalse(JSON.stringify(errors).includes(sent));
  }, {
    send({ code }) {
      sent = code!;
      return Promise.reject(new Error(`The service refused "${code}"`));
    },
  });
});

Deno.test("L14: the cookie is for this host alone, not for scripts, and ends with the code", () =>
  withCodes(async ({ app }) => {
    const client = new Client(app, { host: "app.example" });
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signin/email", { csrfToken, email: ADA });
    const line = setCookies(answer).find((each) => each.includes("email-code"))!;
    assertMatch(
      line,
      /^__Host-authjs\.email-code=[\w-]+; Path=\/; Expires=[^;]+; HttpOnly; Secure; SameSite=Lax$/,
    );
    const lasts = Date.parse(/Expires=([^;]+)/.exec(line)![1]!) - Date.now();
    assert(lasts > 590_000 && lasts <= 600_000);
  }, { origin: "https://app.example" }));

Deno.test("L15: a code without its CSRF token, or from another site, is not compared", () =>
  withCodes(async ({ app, ask }) => {
    const client = new Client(app);
    const mail = await ask(client);
    const csrfToken = await client.csrfToken();
    for (let time = 0; time < 6; time++) {
      const answer = await client.post("/auth/callback/email", { code: other(mail) });
      assertStringIncludes(String(answer.headers.location), "code=csrf_token_missing");
      const crossSite = { "sec-fetch-site": "cross-site" };
      const foreign = await client.post("/auth/callback/email", { csrfToken, code: mail.code }, crossSite);
      assertEquals(foreign.statusCode, 403);
    }
    await enter(client, mail.code);
    assertEquals(await reader(client), ADA);
  }));

for (const emailConfirm of [true, false]) {
  Deno.test(`L15: a code needs a CSRF token with emailConfirm: ${emailConfirm}`, () =>
    withCodes(async ({ app, ask }) => {
      const client = new Client(app);
      const mail = await ask(client);
      const answer = await client.post("/auth/callback/email", { code: mail.code });
      assertStringIncludes(String(answer.headers.location), "code=csrf_token_missing");
      assertEquals(await reader(client), null);
      await enter(client, mail.code);
      assertEquals(await reader(client), ADA);
    }, { emailConfirm }));
}

Deno.test("a code may be typed with spaces and in the digits of any script, and what is none is no guess", () =>
  withCodes(async ({ app, ask }) => {
    const forms: ((code: string) => string)[] = [
      (code) => ` ${code.slice(0, 3)} ${code.slice(3)}\u00a0`,
      (code) => code.replace(/\d/g, (digit) => String.fromCodePoint(0x660 + Number(digit))),
      (code) => code.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
    ];
    for (const form of forms) {
      const client = new Client(app);
      const { code } = await ask(client);
      for (const typo of ["", "12345", "1234567", "abcdef", code.slice(1), `${code}0`]) {
        assertEquals((await enter(client, typo)).headers.location, WRONG);
      }
      await enter(client, form(code));
      assertEquals(await reader(client), ADA);
    }
  }));

Deno.test("the latest mail of a browser counts, and a mail that another function sends has a code if that asks", async () => {
  await withCodes(async ({ app, ask }) => {
    const client = new Client(app);
    const first = await ask(client);
    const second = await ask(client);
    if (first.code !== second.code) assertEquals((await enter(client, first.code)).headers.location, WRONG);
    await enter(client, second.code);
    assertEquals(await reader(client), ADA);
  });
  await withCodes(async ({ app }) => {
    const client = new Client(app);
    await client.post("/auth/signin/email", { csrfToken: await client.csrfToken(), email: ADA });
    assertFalse(client.cookies.has(COOKIE));
    const { body } = await client.get(VERIFY);
    assertFalse(body.includes('name="code"'), "the mail has none");
    assertStringIncludes(body, "A sign-in link has been sent");
  }, { send: () => {} });
});

Deno.test("an emailMessage gets the code, and the page asks for one if the mail has one", async () => {
  await using smtp = await startSmtp();
  const server = { host: "127.0.0.1", port: smtp.port };
  const provider = Nodemailer({ server, from: "no-reply@example.com" });
  const own = { subject: "Ours", text: "ours", html: "ours" };
  const writers: [hasCode: boolean, NonNullable<FastifyAuthConfig["emailMessage"]>][] = [
    [false, ({ url }) => ({ ...own, text: url })],
    [true, ({ url, code }) => ({ ...own, text: `${url} ${code}` })],
    [true, ({ message }) => message],
  ];
  for (const [hasCode, emailMessage] of writers) {
    await using app = await testApp(
      testConfig({ adapter: memoryAdapter(), providers: [provider], emailMessage }),
    );
    const client = new Client(app);
    await client.post("/auth/signin/nodemailer", { csrfToken: await client.csrfToken(), email: ADA });
    assertEquals((await client.get(VERIFY)).body.includes('name="code"'), hasCode);
    const { text, subject } = smtp.mails.at(-1)!.message;
    const [code] = /(?<![\d/%])\b\d{6}\b/.exec(`${subject} ${text!.replace(/http\S+/, "")}`) ?? [];
    assertEquals(code !== undefined, hasCode);
    if (!hasCode) continue;
    const csrfToken = await client.csrfToken();
    await client.post("/auth/callback/nodemailer", { csrfToken, code: code! });
    assertEquals(await reader(client), ADA);
  }
});

Deno.test("a JSON client posts the code, and is told by the status and the error what is wrong", () =>
  withCodes(async ({ app, ask, log }) => {
    const client = new Client(app, { accept: "application/json" });
    const csrfToken = await client.csrfToken();
    const post = (fields: Record<string, unknown>) =>
      client.request("POST", "/auth/callback/email", { json: { csrfToken, ...fields } });
    const early = await post({ code: "123456" });
    assertEquals([early.statusCode, early.json().error], [401, "EmailCodeExpired"]);
    const mail = await ask(client);
    const wrong = await post({ code: other(mail) });
    assertEquals([wrong.statusCode, wrong.json()], [401, {
      error: "EmailCodeWrong",
      message: "That is not the code of the mail that this browser asked for last.",
    }]);
    assertFalse(client.cookies.has("authjs.form"));
    const right = await post({ code: mail.code });
    assertEquals([right.statusCode, right.json()], [200, { url: "http://localhost/home?a=1" }]);
    assertEquals(await reader(client), ADA);
    const next = await ask(client);
    for (let guess = 1; guess <= 5; guess++) await post({ code: other(next, guess) });
    const spent = await post({ code: next.code });
    assertEquals([spent.statusCode, spent.json().error], [401, "EmailCodeSpent"]);
    assertEquals(log.filter(({ level }) => level > 40), []);
  }));

Deno.test("a page of the application's own gets the error of a code, and no other", () =>
  withCodes(async ({ app, ask }) => {
    const client = new Client(app);
    const mail = await ask(client);
    const { location } = (await enter(client, other(mail))).headers;
    assertEquals(location, "http://localhost/mailed?provider=email&type=email&error=EmailCodeWrong");
    const forged = await client.get("/auth/verify-request?provider=email&error=%3Cscript%3E");
    assertEquals(forged.headers.location, "/mailed?provider=email");
  }, { pages: { verifyRequest: "/mailed" } }));

Deno.test("L16: rateLimit takes codes of others for no attempts on one account", () =>
  withCodes(async ({ app, ask }) => {
    for (let time = 0; time < 15; time++) {
      assertEquals((await enter(new Client(app), "123456")).headers.location, EXPIRED);
    }
    const client = new Client(app);
    await enter(client, (await ask(client)).code);
    assertEquals(await reader(client), ADA);
  }, { rateLimit: { plugin: rateLimit } }));

Deno.test("a code that was mailed before the secret was rotated still signs in", async () => {
  const older = "an-older-secret-of-32-characters-or-more";
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = memoryAdapter(tables);
  await withCodes(async ({ app, ask }) => {
    const asker = new Client(app);
    const mail = await ask(asker);
    await withCodes(async (rotated) => {
      const client = new Client(rotated.app);
      for (const [name, value] of asker.cookies) client.cookies.set(name, value);
      await enter(client, mail.code);
      assertEquals(await reader(client), ADA);
    }, { secret: [SECRET, older], adapter });
  }, { secret: older, adapter });
});

Deno.test("of several processes without a store the second warns with the first code", () =>
  withEnvironment({ NODE_APP_INSTANCE: "1" }, () =>
    withCodes(async ({ app, ask, log }) => {
      const warnings = () => log.filter(({ code }) => code === "FST_AUTHJS_WARN_NO_STORE");
      assertEquals(warnings(), []);
      await ask(new Client(app));
      await ask(new Client(app));
      assertEquals(warnings().length, 1);
      assertStringIncludes(warnings()[0]!.msg, "wrong codes");
    })));
