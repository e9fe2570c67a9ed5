/** How long a session lasts after the last request that read it, and what a read says of its end. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { decode, encode, type JWT } from "@auth/core/jwt";
import fc from "../../support/property.ts";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { createHmac } from "node:crypto";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { type Clock, withClock } from "../../support/clock.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const NAME = "authjs.session-token";
const DAY = 86_400;
/** By how much the clocks of two machines may differ: core accepts a token for so long after its end. */
const TOLERANCE = 15;
/** The middle of a second. */
const NOON = Date.UTC(2030, 0, 1, 12, 0, 0, 500);

const expiryOf = (line: string) => Date.parse(/; Expires=([^;]+)/.exec(line)?.[1] ?? "");

/** When a cookie ends that is set now: Max-Age counts before Expires (RFC 6265, section 5.3). */
function endOf(line: string, now: number): number {
  const [, age] = /; Max-Age=([^;]+)/.exec(line) ?? [];
  return age === undefined ? expiryOf(line) : now + Number(age) * 1000;
}

/** A browser that forgets a cookie when its time is over. */
class Browser extends Client {
  /** When the session cookie ends. */
  ends = NaN;

  constructor(at: FastifyInstance, private readonly clock: Clock, private readonly other = at) {
    super(at);
  }

  override async request(...args: Parameters<Client["request"]>): Promise<Answer> {
    if (this.ends <= this.clock.now) this.cookies.delete(NAME);
    const answer = await super.request(...args);
    for (const line of setCookies(answer)) {
      if (line.startsWith(`${NAME}=`)) this.ends = endOf(line, this.clock.now);
    }
    return answer;
  }

  /** The end of the session as a read says it, in milliseconds; `undefined` if there is no session. */
  async read(url = "/me"): Promise<number | undefined> {
    const answer = (await this.get(url)).json();
    const session = url === "/me" ? answer.session : answer;
    return session === null ? undefined : Date.parse(session.expires);
  }

  /** The same, by an update of the session. */
  async update(): Promise<number | undefined> {
    const csrfToken = await this.csrfToken();
    const session = (await this.request("POST", "/auth/session", { json: { csrfToken } })).json();
    return session === null ? undefined : Date.parse(session.expires);
  }

  /** The same browser, to try what comes of a read without it having happened. */
  copy(): Browser {
    const copy = new Browser(this.other, this.clock);
    for (const [name, value] of this.cookies) copy.cookies.set(name, value);
    copy.ends = this.ends;
    return copy;
  }
}

/** Seconds, from one to three years, as often few as many. */
const anyAge = (least: number) =>
  fc.oneof(
    fc.integer({ min: least, max: 60 }),
    fc.integer({ min: 60, max: 7200 }),
    fc.integer({ min: 3600, max: 60 * DAY }),
    fc.integer({ min: DAY, max: 400 * DAY }),
  );

const anyUse = fc.record({
  session: fc.record({ maxAge: anyAge(1), updateAge: anyAge(0) }, { requiredKeys: ["maxAge"] }),
  tokenMaxAge: fc.option(anyAge(1), { nil: undefined }),
  cookieMaxAge: fc.option(anyAge(1), { nil: undefined }),
  /** What part of the session's life goes by before the next read. */
  gaps: fc.array(fc.double({ min: 0, max: 0.95, noNaN: true }), { maxLength: 12 }),
  second: fc.integer({ min: 0, max: 999 }),
  callback: fc.constantFrom("none", "session", "writes"),
});
type Use = typeof anyUse extends fc.Arbitrary<infer T> ? T : never;

function callbacksOf({ callback }: Use): FastifyAuthConfig["callbacks"] {
  if (callback === "none") return {};
  if (callback === "session") return { session: ({ session }) => session };
  let reads = 0;
  return { jwt: ({ token }) => reads++ % 3 === 0 ? { ...token, reads } : token };
}

function cookieOf({ cookieMaxAge }: Pick<Use, "cookieMaxAge">): Partial<FastifyAuthConfig> {
  return cookieMaxAge === undefined ? {} : { cookies: { sessionToken: { options: { maxAge: cookieMaxAge } } } };
}

/**
 * Uses a session as a browser does, and compares what it is told with what it holds.
 *
 * @param heldUntil When what the server keeps, or has sealed in the token, ends.
 * @param keep Keeps what the server has, and gives a function that puts it back.
 */
async function useSession(
  browser: Browser,
  clock: Clock,
  { session, tokenMaxAge = session.maxAge, cookieMaxAge = session.maxAge, gaps }: Use,
  heldUntil: (token: string) => Promise<number>,
  keep: () => () => void = () => () => {},
): Promise<void> {
  const life = Math.min(session.maxAge, tokenMaxAge, cookieMaxAge) * 1000;
  let told: number | undefined;
  for (const [i, gap] of [0, ...gaps].entries()) {
    clock.now += Math.floor(gap * life);
    told = await [
      () => browser.read(),
      () => browser.read("/auth/session"),
      () => browser.update(),
    ][i % 3]!();
    assert(told !== undefined, `read ${i}: signed out`);
    assert(told <= browser.ends, `read ${i}: told ${told}, the cookie ends ${browser.ends}`);
    const held = await heldUntil(browser.cookies.get(NAME)!);
    assert(told <= held, `read ${i}: told ${told}, what it names ends ${held}`);
  }
  clock.now += Math.floor(0.95 * life);
  const restore = keep();
  assert(await browser.copy().read() !== undefined, "signed out before 95 % of the life were over");
  restore();
  clock.now = told! + (TOLERANCE + 1) * 1000;
  assertEquals(await browser.read(), undefined, "signed in after the end that it was told");
}

/** To the millisecond at the end of 95 %. */
const EXACT: Use = {
  session: { maxAge: 5 },
  tokenMaxAge: undefined,
  cookieMaxAge: undefined,
  gaps: [0.9498],
  second: 1,
  callback: "none",
};

const PARAMETERS = { numRuns: 60, endOnFailure: false, examples: [[EXACT]] as [[Use]] };

Deno.test("whatever maxAge, updateAge, jwt.maxAge and the cookie's Max-Age are, a token lasts 95 % of its life after each read, and ends when it was said to", async () => {
  await withClock((clock) =>
    fc.assert(
      fc.asyncProperty(anyUse, async (use) => {
        clock.now = NOON + use.second;
        const { session, tokenMaxAge } = use;
        const config = testConfig({
          session,
          ...(tokenMaxAge !== undefined && { jwt: { maxAge: tokenMaxAge } }),
          ...cookieOf(use),
          callbacks: callbacksOf(use)!,
        });
        await using app = await testApp(config);
        // Where what is read there becomes nothing of the session here.
        await using other = await testApp({ ...config });
        const browser = new Browser(app, clock, other);
        await browser.signIn({ username: "ada", password: "open" });
        await useSession(browser, clock, use, async (token) => {
          const now = clock.now;
          clock.now = 0; // Whatever became of it.
          const claims = await decode({ token, secret: SECRET, salt: NAME });
          clock.now = now;
          return claims!.exp! * 1000;
        });
      }),
      PARAMETERS,
    )
  );
});

Deno.test("whatever maxAge, updateAge and the cookie's Max-Age are, a session in a database lasts as long", async () => {
  await withClock((clock) =>
    fc.assert(
      fc.asyncProperty(anyUse, async ({ tokenMaxAge: _, ...use }) => {
        clock.now = NOON + use.second;
        const { app, tables } = await databaseApp({ session: use.session, ...cookieOf(use) });
        await using _app = app;
        const browser = new Browser(app, clock);
        await signInAs(browser, "one", { id: "ada", email: "ada@example.com" });
        await useSession(
          browser,
          clock,
          { ...use, tokenMaxAge: undefined },
          (token) => Promise.resolve(tables.sessions.get(token)!.expires.getTime()),
          () => {
            const rows = [...tables.sessions].map(([token, row]) => [token, { ...row }] as const);
            return () => rows.forEach(([token, row]) => tables.sessions.set(token, row));
          },
        );
      }),
      PARAMETERS,
    )
  );
});

type ServerOptions = Parameters<typeof testApp>[1];

async function databaseApp(overrides: Partial<FastifyAuthConfig>, options?: ServerOptions) {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const config = testConfig({
    providers: [identityProvider("one")],
    adapter: memoryAdapter(tables),
    ...overrides,
  });
  return { app: await testApp(config, options), tables };
}

/** Signed in with a session of half an hour, in a token or in a database. */
const KINDS = {
  "a token": async (overrides: Partial<FastifyAuthConfig> = {}, options: ServerOptions = {}) => {
    const app = await testApp(testConfig({ session: { maxAge: 1800 }, ...overrides }), options);
    return { app, signIn: (client: Client) => client.signIn({ username: "ada", password: "open" }) };
  },
  "a database": async (overrides: Partial<FastifyAuthConfig> = {}, options: ServerOptions = {}) => {
    const { app } = await databaseApp({ session: { maxAge: 1800 }, ...overrides }, options);
    return {
      app,
      signIn: (client: Client) => signInAs(client, "one", { id: "ada", email: "ada@example.com" }),
    };
  },
};

for (const [kind, open] of Object.entries(KINDS)) {
  Deno.test(`half an hour in ${kind}: a user is signed in after 28 minutes without a request, however the session was used before`, async () => {
    await withClock(async (clock) => {
      const { app, signIn } = await open();
      await using _app = app;
      for (const minutes of [0, 1, 13, 14, 16, 28]) {
        const browser = new Browser(app, clock);
        await signIn(browser);
        clock.now += minutes * 60_000;
        assert(await browser.read() !== undefined);
        clock.now += 28 * 60_000;
        assert(await browser.read() !== undefined, `read after ${minutes} minutes`);
      }
    }, NOON);
  });

  Deno.test(`half an hour in ${kind}, read every ten seconds: the cookie is set every minute and a half`, async () => {
    await withClock(async (clock) => {
      const { app, signIn } = await open();
      await using _app = app;
      const browser = new Browser(app, clock);
      await signIn(browser);
      let set = 0;
      for (let read = 0; read < 90; read++) {
        clock.now += 10_000;
        set += setCookies(await browser.get("/me")).length;
      }
      assertEquals(set, 10);
    }, NOON);
  });

  Deno.test(`a session in ${kind} is renewed after updateAge where that is sooner`, async () => {
    await withClock(async (clock) => {
      const { app, signIn } = await open({ session: { maxAge: 30 * DAY, updateAge: 60 } });
      await using _app = app;
      const browser = new Browser(app, clock);
      await signIn(browser);
      clock.now += 50_000;
      assertEquals(setCookies(await browser.get("/me")).length, 0);
      clock.now += 10_000;
      assertEquals(setCookies(await browser.get("/me")).length, 1);
    }, NOON);
  });

  Deno.test(`clocks that jump: a session in ${kind} from the future is read, and its end is no date beyond its life`, async () => {
    await withClock(async (clock) => {
      const { app, signIn } = await open();
      await using _app = app;
      for (const jump of [1, 10, 100, DAY, 5 * 365 * DAY]) {
        const browser = new Browser(app, clock);
        clock.now = NOON + jump * 1000;
        await signIn(browser);
        clock.now = NOON;
        const told = await browser.read();
        assert(
          told !== undefined && told <= browser.ends,
          `${jump} seconds`,
        );
        if (kind === "a token" && jump > TOLERANCE) assertEquals(told, Math.floor(NOON / 1000 + 1800) * 1000);
      }
    });
  });
}

Deno.test("where no cookie can reach the browser, the end is that of what it holds, and a row is not prolonged", async () => {
  await withClock(async (clock) => {
    const expires = new Date((Math.floor(NOON / 1000) + 1800) * 1000);
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const user = { id: "u1", name: "ada", email: "ada@example.com", emailVerified: null };
    tables.users.set(user.id, user);
    tables.sessions.set("token", { sessionToken: "token", userId: user.id, expires });
    const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME, maxAge: 1800 });
    const session = { maxAge: 1800 };
    for (
      const [cookie, config] of [
        [token, testConfig({ session })],
        ["token", testConfig({ session, providers: [], adapter: memoryAdapter(tables) })],
      ] as const
    ) {
      clock.now = NOON + 20 * 60_000;
      await using app = Fastify() as unknown as FastifyInstance;
      const read = {
        websocket: undefined as unknown,
        again: undefined as unknown,
        after: [] as unknown[],
        logged: () => {},
      };
      await app.register(async (scope) => {
        await scope.register(FastifyAuth(config), { prefix: "/auth" });
        scope.get("/inside", async (request) => ({ session: await getSession(request, config) }));
        const after = async (request: FastifyRequest) => {
          read.after.push((await getSession(request, config))?.expires);
        };
        const log = (request: FastifyRequest) => after(request).then(read.logged);
        scope.get("/after", { onSend: after, onResponse: log }, () => "sent");
        scope.get("/logged", { onResponse: log }, () => "sent");
        scope.get("/late", async (request, reply) => {
          clock.now = NOON; // Not due yet.
          await getSession(request, config);
          reply.send("sent");
          clock.now = NOON + 20 * 60_000;
          read.again = (await getSession(request, config))?.expires;
        });
      });
      app.get("/outside", async (request) => ({ session: await getSession(request, config) }));
      const headers = { cookie: `${NAME}=${cookie}` };
      const socket = { connection: "upgrade", upgrade: "websocket" };
      const expected = expires.toISOString();
      const of = async (url: string, more = {}) =>
        (await app.inject({ url, headers: { ...headers, ...more } })).json().session.expires;
      assertEquals(await of("/outside"), expected);
      assertEquals(await of("/inside", socket), expected);
      for (const url of ["/after", "/logged"]) {
        const logged = new Promise<void>((resolve) => read.logged = resolve);
        await Promise.all([app.inject({ url, headers }), logged]);
      }
      assertEquals(read.after, [expected, expected, expected]);
      await app.inject({ url: "/late", headers });
      assertEquals(read.again, expected);
      assertEquals(tables.sessions.get("token")!.expires, expires);
      // Where it can, it does.
      assert(Date.parse(await of("/inside")) > clock.now + 0.95 * 1_800_000);
    }
  }, NOON);
});

Deno.test("a token of a configuration with a longer or a shorter life is renewed by the next read", async () => {
  await withClock(async () => {
    await using app = await testApp(testConfig({ session: { maxAge: 1800 } }));
    for (const maxAge of [600, 1700, 3600, 30 * DAY]) {
      const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME, maxAge });
      const answer = await app.inject({ url: "/me", headers: { cookie: `${NAME}=${token}` } });
      assertEquals(answer.json().session.expires, "2030-01-01T12:30:00.000Z");
      assertEquals(setCookies(answer).map(expiryOf), [Date.UTC(2030, 0, 1, 12, 30)]);
    }
  }, NOON);
});

/** Codecs of applications: tokens that are names, and signed ones that keep the times they are given or set their own. */
function codecs(clock: Clock): Record<string, NonNullable<FastifyAuthConfig["jwt"]>> {
  const store = new Map<string, JWT>();
  const seconds = () => Math.floor(clock.now / 1000);
  const signed = (stamp: (token: JWT) => JWT) => ({
    encode: ({ token }: { token?: JWT }) => {
      const text = JSON.stringify(stamp(token!));
      return `ey${btoa(text).replaceAll("=", "")}.${createHmac("sha256", SECRET).update(text).digest("hex")}`;
    },
    decode: ({ token }: { token?: string }) => {
      const claims = JSON.parse(atob(token!.slice(2).split(".")[0]!)) as JWT;
      return claims.exp! <= seconds() ? null : claims;
    },
  });
  return {
    "opaque": {
      encode: ({ token }) => {
        const name = `ey${store.size}`;
        store.set(name, { ...token });
        return name;
      },
      decode: ({ token }) => store.get(token!) ?? null,
    },
    "keeps iat and exp": signed((token) => ({ iat: seconds(), exp: seconds() + 600, ...token })),
    "keeps iat": signed((token) => ({ iat: seconds(), ...token, exp: seconds() + 600 })),
    "sets its own": signed((token) => ({ ...token, iat: seconds(), exp: seconds() + 600 })),
    "sets no iat": signed(({ iat: _, ...token }) => ({ ...token, exp: seconds() + 600 })),
  };
}

for (const name of Object.keys(codecs({ now: 0, jumped: 0 }))) {
  Deno.test(`an application's own codec, which ${name}: no end is told that is later than the token's`, async () => {
    await withClock(async (clock) => {
      const jwt = codecs(clock)[name]!;
      await using app = await testApp(testConfig({ jwt, session: { maxAge: 1800 } }));
      const browser = new Browser(app, clock);
      await browser.signIn({ username: "ada", password: "open" });
      for (const seconds of [0, 1, 20, 40, 100, 200, 100]) {
        clock.now += seconds * 1000;
        const told = await browser.read();
        assert(told !== undefined && told > clock.now);
        const { exp = Infinity } = (await jwt.decode!({ token: browser.cookies.get(NAME)! } as never))!;
        assert(told <= browser.ends && told <= exp * 1000, `after ${seconds} seconds`);
      }
    }, NOON);
  });
}

Deno.test("an application's own tokens that live shorter than maxAge are renewed by their own life, not with each read", async () => {
  await withClock(async (clock) => {
    await using app = await testApp(
      testConfig({ jwt: codecs(clock)["sets its own"]!, session: { maxAge: 1800 } }),
    );
    const browser = new Browser(app, clock);
    await browser.signIn({ username: "ada", password: "open" });
    const set = [];
    for (const seconds of [10, 10, 10, 10]) {
      clock.now += seconds * 1000;
      set.push(setCookies(await browser.get("/me")).length);
    }
    assertEquals(set, [0, 0, 1, 0]);
  }, NOON);
});

Deno.test("POST /auth/session renews a row in the database, and tells its new end where the session callback keeps it", async () => {
  await withClock(async (clock) => {
    for (
      const [session, end] of [
        [undefined, 50],
        [({ session }) => session, 50],
        [({ session }) => ({ ...session, expires: "2040-01-01T00:00:00.000Z" }), undefined],
      ] as [NonNullable<FastifyAuthConfig["callbacks"]>["session"], number | undefined][]
    ) {
      clock.now = NOON;
      const { app, tables } = await databaseApp({
        session: { maxAge: 1800 },
        callbacks: session ? { session } : {},
      });
      await using _app = app;
      const browser = new Browser(app, clock);
      await signInAs(browser, "one", { id: "ada", email: "ada@example.com" });
      clock.now = NOON + 20 * 60_000;
      const told = await browser.update();
      const row = tables.sessions.get(browser.cookies.get(NAME)!)!;
      assertEquals(row.expires.toISOString(), "2030-01-01T12:50:00.000Z");
      assertEquals(browser.ends, row.expires.getTime());
      assertEquals(told, end === undefined ? Date.UTC(2040, 0) : Date.UTC(2030, 0, 1, 12, end));
    }
  }, NOON);
});

Deno.test("POST /auth/session tells the end of the token that it sets, and its cookie lasts as long", async () => {
  await withClock(async (clock) => {
    const cases: Partial<FastifyAuthConfig>[] = [
      { session: { maxAge: 1800 } },
      { session: { maxAge: 1800 }, jwt: { maxAge: 600 } },
      { session: { maxAge: 1800 }, jwt: codecs(clock)["sets its own"]! },
    ];
    for (const overrides of cases) {
      await using app = await testApp(testConfig({
        ...overrides,
        callbacks: {
          jwt: ({ token }) => token,
          session({ session }) {
            clock.now += 3_000; // A lookup that takes its time.
            return session;
          },
        },
      }));
      const browser = new Browser(app, clock);
      await browser.signIn({ username: "ada", password: "open" });
      const json = { csrfToken: await browser.csrfToken(), data: {} };
      const { expires } = (await browser.request("POST", "/auth/session", { json })).json();
      const told = Date.parse(expires);
      assertEquals(browser.ends, Math.floor(clock.now / 1000 + 1800) * 1000);
      assertEquals(told, Math.floor(clock.now / 1000 + (overrides.jwt ? 600 : 1800)) * 1000);
    }
  }, NOON);
});

Deno.test("a lifetime that is none stops the boot, and says which", async () => {
  const bad: [Partial<FastifyAuthConfig>, string][] = [
    ...[0, -1, NaN, Infinity, "1800", null].map((maxAge): [Partial<FastifyAuthConfig>, string] => [
      { session: { maxAge: maxAge as number } },
      "`session.maxAge`",
    ]),
    [{ session: { updateAge: -1 } }, "`session.updateAge`"],
    [{ session: { updateAge: "60" as never } }, "`session.updateAge`"],
    [{ jwt: { maxAge: 0 } }, "`jwt.maxAge`"],
    [{ cookies: { sessionToken: { options: { maxAge: 0 } } } }, "`cookies.sessionToken.options.maxAge`"],
  ];
  for (const [overrides, name] of bad) {
    const error = await testApp(testConfig(overrides)).then(() => undefined, (error) => error);
    assertEquals(error?.code, "FST_AUTHJS_CONFIG_INVALID", JSON.stringify(overrides));
    assertStringIncludes(error.message, `${name} must be a number of seconds`);
  }
});

Deno.test("more than 400 days, which no browser keeps a cookie for, are warned of, and no later end is told", async () => {
  for (const open of Object.values(KINDS)) {
    const { logger, lines } = captureLog();
    const { app, signIn } = await open({ session: { maxAge: 1000 * DAY } }, { logger });
    await using _app = app;
    assertEquals(lines.filter(({ level }) => level === 40).map(({ msg }) => msg.includes("400 days")), [
      true,
    ]);
    const client = new Client(app);
    await signIn(client);
    const { expires } = (await client.get("/auth/session")).json();
    assert(Date.parse(expires) <= Date.now() + 400 * DAY * 1000);
  }
});

Deno.test("a young token that a callback changes is renewed, and the end is that of the new one", async () => {
  const jwt = ({ token }: { token: JWT }) => ({ ...token, read: ((token.read as number) ?? 0) + 1 });
  const session = ({ session, token }: { session: never; token: JWT }) => {
    token.read = ((token.read as number) ?? 0) + 1;
    return session;
  };
  for (const callbacks of [{ jwt }, { session }] as FastifyAuthConfig["callbacks"][]) {
    await withClock(async (clock) => {
      await using app = await testApp(testConfig({ callbacks: callbacks!, session: { maxAge: 1800 } }));
      const browser = new Browser(app, clock);
      await browser.signIn({ username: "ada", password: "open" });
      for (let read = 0; read < 3; read++) {
        clock.now += 60_000;
        assertEquals(await browser.read(), browser.ends);
        assertEquals(browser.ends, Math.floor(clock.now / 1000 + 1800) * 1000);
      }
    }, NOON);
  }
});

Deno.test("a session that has a toJSON() is what that says, also where its end is that of a new token", async () => {
  class View {
    constructor(readonly user: object, readonly expires: unknown) {}
    toJSON() {
      return { user: { ...this.user, role: "admin" }, expires: this.expires };
    }
  }
  const jwt = ({ token }: { token: JWT }) => ({ ...token, read: ((token.read as number) ?? 0) + 1 });
  const session = ({ session }: { session: { user: object; expires: unknown } }) =>
    new View(session.user, session.expires);
  const callbacks = { jwt, session } as unknown as NonNullable<FastifyAuthConfig["callbacks"]>;
  await withClock(async (clock) => {
    await using app = await testApp(testConfig({ callbacks, session: { maxAge: 1800 } }));
    const browser = new Browser(app, clock);
    await browser.signIn({ username: "ada", password: "open" });
    for (let read = 0; read < 2; read++) {
      clock.now += 60_000;
      const { user, expires } = (await browser.get("/me")).json().session;
      assertEquals([user, Date.parse(expires)], [{ name: "ada", role: "admin" }, browser.ends]);
    }
  }, NOON);
});
