/** Signing in with a password: what the application is given, and what each client gets. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { FastifyInstance } from "fastify";
import { CredentialsSignin, type FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, type LogLine, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";

const PASSWORD = "correct horse battery staple";

class SecondFactorMissing extends CredentialsSignin {
  override code = "second-factor";
}

class AccountLocked extends CredentialsSignin {
  override code = "locked";
  constructor() {
    super("The account of ada is locked");
  }
}

type Fields = Record<string, string>;
type Authorize = (fields: Fields, request: Request) => unknown;

/** What the application says of a name. */
const authorize: Authorize = ({ username, password }) => {
  if (username === "otp") throw new SecondFactorMissing();
  if (username === "locked") throw new AccountLocked();
  if (username === "broken") throw new Error(`The users' database is down, asked for ${password}`);
  return password === PASSWORD ? { id: `id-${username}`, name: username, email: `${username}@example.com` } : null;
};

async function withApp(
  run: (setup: { app: FastifyInstance; client: Client; log: LogLine[] }) => Promise<void>,
  options: { authorize?: Authorize; config?: Partial<FastifyAuthConfig> } = {},
): Promise<void> {
  const { logger, lines: log } = captureLog();
  const provider = Credentials({
    credentials: { username: {}, password: {} },
    authorize: (fields, request) => (options.authorize ?? authorize)(fields as Fields, request) as never,
  });
  await using app = await testApp(testConfig({ providers: [provider], ...options.config }), { logger });
  await run({ app, client: new Client(app), log });
}

/** How clients send a password. */
const CLIENTS = {
  "a form": (client: Client, fields: Fields) => client.post("/auth/callback/credentials", fields),
  "JSON": (client: Client, fields: Fields) => client.request("POST", "/auth/callback/credentials", { json: fields }),
  "a form that asks for the address": (client: Client, fields: Fields) =>
    client.post("/auth/callback/credentials", fields, { "x-auth-return-redirect": "1" }),
  "JSON that asks for the address": (client: Client, fields: Fields) =>
    client.request("POST", "/auth/callback/credentials", {
      json: fields,
      headers: { "x-auth-return-redirect": "1" },
    }),
};

async function send(kind: keyof typeof CLIENTS, client: Client, fields: Fields): Promise<Answer> {
  return await CLIENTS[kind](client, { csrfToken: await client.csrfToken(), ...fields });
}

/** Where the answer leads, in whichever way it says so. */
function target(kind: string, answer: Answer): string {
  if (!kind.includes("asks")) {
    assertEquals([answer.statusCode, answer.body], [302, ""]);
    return String(answer.headers.location);
  }
  assertEquals(answer.statusCode, 200);
  assertMatch(String(answer.headers["content-type"]), /^application\/json/);
  assertEquals(Object.keys(answer.json()), ["url"]);
  return answer.json().url;
}

async function reader(client: Client): Promise<string | null> {
  const { session } = (await client.get("/me")).json<{ session: { user: { name: string } } | null }>();
  return session?.user.name ?? null;
}

for (const kind of Object.keys(CLIENTS) as (keyof typeof CLIENTS)[]) {
  Deno.test(`the right password as ${kind} opens a session and leads to callbackUrl`, () =>
    withApp(async ({ client }) => {
      const answer = await send(kind, client, { username: "ada", password: PASSWORD, callbackUrl: "/home" });
      assertEquals(target(kind, answer), "http://localhost/home");
      assertEquals(await reader(client), "ada");
    }));

  Deno.test(`a wrong password as ${kind} leads to the sign-in page, with an error and no session`, () =>
    withApp(async ({ client, log }) => {
      const answer = await send(kind, client, { username: "ada", password: "a-wrong-password" });
      assertEquals(
        target(kind, answer),
        "http://localhost/auth/signin?error=CredentialsSignin&code=credentials",
      );
      assertEquals(await reader(client), null);
      assertFalse([...client.cookies.keys()].some((name) => name.includes("session-token")));
      assertFalse(JSON.stringify(log).includes("a-wrong-password"));
    }));

  Deno.test(`the code of the application's own error reaches ${kind}`, () =>
    withApp(async ({ client }) => {
      for (const [username, code] of [["otp", "second-factor"], ["locked", "locked"]] as const) {
        const answer = await send(kind, client, { username, password: PASSWORD });
        assertEquals(
          target(kind, answer),
          `http://localhost/auth/signin?error=CredentialsSignin&code=${code}`,
        );
        assertEquals(await reader(client), null);
      }
    }));

  Deno.test(`an authorize() that fails by itself is an error of the server's for ${kind}`, () =>
    withApp(async ({ client, log }) => {
      const answer = await send(kind, client, { username: "broken", password: "a-password-that-leaks" });
      assertEquals(target(kind, answer), "http://localhost/auth/error?error=Configuration");
      assertEquals(await reader(client), null);
      assertFalse(answer.body.includes("database"));
      const errors = log.filter(({ level }) => level >= 50);
      assertEquals(errors.length, 1);
      assertStringIncludes(JSON.stringify(errors), "The users' database is down");
      assertStringIncludes(JSON.stringify(errors), '"stack"');
    }));
}

Deno.test("the sign-in page says that the details are wrong, and takes the next attempt", () =>
  withApp(async ({ client }) => {
    await client.signIn({ username: "ada", password: "wrong" });
    const page = await client.get("/auth/signin?error=CredentialsSignin&code=credentials");
    assertEquals(page.statusCode, 200);
    assertStringIncludes(page.body, "Sign in failed. Check the details you provided are correct.");
    await client.signIn({ username: "ada", password: PASSWORD });
    assertEquals(await reader(client), "ada");
  }));

Deno.test("refused passwords are a line each in the log, at level info and without a stack", () =>
  withApp(async ({ client, log }) => {
    for (const username of ["ada", "otp", "locked"]) {
      await client.signIn({ username, password: "guess-of-many" });
    }
    const lines = log.filter(({ msg }) => msg.startsWith("Auth.js"));
    assertEquals(lines.map(({ level }) => level), [30, 30, 30]);
    assertEquals(
      lines.map(({ authjs }) => (authjs as { type: string }).type),
      Array(3).fill("CredentialsSignin"),
    );
    const text = JSON.stringify(log);
    assertFalse(text.includes("stack") || text.includes("guess-of-many"));
    assertEquals(log.filter(({ level }) => level > 30), []);
  }));

Deno.test("what a logger writes to the error of a wrong password is not on the next one", async () => {
  const errors: Error[] = [];
  const logger = { error: (error: Error) => void errors.push(Object.assign(error, { attempt: errors.length })) };
  await withApp(async ({ client }) => {
    for (const password of ["wrong", "wrong, too"]) await send("a form", client, { username: "ada", password });
    const kept = errors.map((error) => [error instanceof CredentialsSignin, Reflect.get(error, "attempt")]);
    assertEquals(kept, [[true, 0], [true, 1]]);
    assertFalse("attempt" in Object.getPrototypeOf(errors[0]));
  }, { config: { logger } });
});

Deno.test("authorize() gets the fields as texts, and the request they came in", async () => {
  const seen: { fields: Fields; request: Request; body: unknown }[] = [];
  await withApp(async ({ client }) => {
    const fields = { username: "ädä 日本", password: " spaces stay \u0000 ", other: "" };
    await send("JSON", client, fields);
    await send("a form", client, fields);
    assertEquals(seen.length, 2);
    for (const { fields: { csrfToken, ...rest }, request, body } of seen) {
      assertEquals(rest, fields);
      assertEquals(body, { csrfToken, ...fields });
      assertEquals([request.method, new URL(request.url).pathname], ["POST", "/auth/callback/credentials"]);
      assertStringIncludes(request.headers.get("cookie")!, "authjs.csrf-token");
    }
  }, {
    authorize: async (fields, request) => {
      seen.push({ fields, request, body: await request.json() });
      return null;
    },
  });
});

Deno.test("authorize() gets the headers that were sent, and the signIn callback the fields", async () => {
  let userAgent: string | null = null;
  let credentials: unknown;
  await withApp(async ({ client }) => {
    const fields = { csrfToken: await client.csrfToken(), username: "ada", password: PASSWORD };
    const headers = { "user-agent": "Browser/1.0" };
    await client.post("/auth/callback/credentials", fields, headers);
    assertEquals([userAgent, credentials], ["Browser/1.0", fields]);
  }, {
    authorize: (_fields, request) => {
      userAgent = request.headers.get("user-agent");
      return { id: "1" };
    },
    config: {
      callbacks: {
        signIn(params) {
          credentials = params.credentials;
          return true;
        },
      },
    },
  });
});

Deno.test("authorize() is not asked without a CSRF token, with values that a form could not send, or by another method", async () => {
  let asked = 0;
  await withApp(async ({ app, client }) => {
    const answer = await client.post("/auth/callback/credentials", { username: "ada", password: PASSWORD });
    assertEquals(
      answer.headers.location,
      "http://localhost/auth/signin?error=MissingCSRF&code=csrf_token_missing",
    );
    const csrfToken = await client.csrfToken();
    for (const password of [null, [PASSWORD], { $gt: "" }]) {
      const json = { csrfToken, username: "ada", password };
      const { statusCode } = await client.request("POST", "/auth/callback/credentials", { json });
      assertEquals(statusCode, 400, JSON.stringify(password));
    }
    for (const method of ["GET", "HEAD", "PUT", "DELETE"] as const) {
      const url = `/auth/callback/credentials?csrfToken=${csrfToken}&username=ada&password=${PASSWORD}`;
      const headers = { cookie: client.cookie! };
      assertEquals((await app.inject({ method, url, headers })).statusCode, 405, method);
    }
    assertEquals(asked, 0);
  }, { authorize: () => void asked++ });
});

Deno.test("anything but a user is a failed sign-in", async () => {
  for (const result of [null, undefined, false, 0, ""]) {
    await withApp(async ({ client }) => {
      const answer = await client.signIn({ username: "ada", password: PASSWORD });
      assertStringIncludes(String(answer.headers.location), "error=CredentialsSignin&code=credentials");
      assertEquals(await reader(client), null);
    }, { authorize: () => result });
  }
});

Deno.test("a user's id becomes the text that the token has, and one without gets a random one", async () => {
  const ids: unknown[] = [];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt({ token, user, account }) {
      if (user) ids.push(token.sub, account?.providerAccountId);
      return token;
    },
  };
  for (const user of [{ id: 7, name: "seven" }, { name: "no id" }]) {
    await withApp(async ({ client }) => {
      await client.signIn({ username: "ada", password: PASSWORD });
      assertEquals(await reader(client), user.name);
    }, { authorize: () => user, config: { callbacks } });
  }
  assertEquals(ids.slice(0, 2), ["7", "7"]);
  assertMatch(String(ids[2]), /^[0-9a-f-]{36}$/);
  assertEquals(ids[2], ids[3]);
});

Deno.test("the user that authorize() returns may be frozen, and stays as it is", async () => {
  const users = [{ id: 1, name: "ada" }, Object.freeze({ id: "2", name: "grace" })];
  await withApp(async ({ client }) => {
    for (const { name } of users) {
      await client.signIn({ username: name });
      assertEquals((await client.get("/me")).json().session.user.name, name);
    }
  }, { authorize: ({ username }) => users.find(({ name }) => name === username) });
  assertEquals(users.map(({ id }) => id), [1, "2"]);
});

Deno.test("the user that authorize() returns may be of a class whose id cannot be set", async () => {
  class Row {
    constructor(readonly id: unknown, readonly name: string) {}
    get email() {
      return `${this.name}@example.com`;
    }
  }
  class Entity {
    readonly name = "grace";
    get id() {
      return 2;
    }
  }
  const seen: unknown[] = [];
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt({ token, user }) {
      if (user) seen.push([token.sub, user.id, user.name, user.email, user instanceof Row || user instanceof Entity]);
      return token;
    },
  };
  const users = [Object.freeze(new Row(1, "ada")), new Entity()];
  for (const user of users) {
    await withApp(async ({ client }) => {
      await client.signIn({ username: user.name });
      assertEquals(await reader(client), user.name);
    }, { authorize: () => user, config: { callbacks } });
  }
  assertEquals(seen, [["1", "1", "ada", "ada@example.com", true], ["2", "2", "grace", undefined, true]]);
  assertEquals(users.map(({ id }) => id), [1, 2]);
});

Deno.test("the signIn callback refuses, or leads elsewhere, and no session is opened", async () => {
  const answers = [
    [() => false, "http://localhost/auth/error?error=AccessDenied"],
    [() => "/blocked", "http://localhost/blocked"],
    [() => "https://evil.example/", "http://localhost"],
    [() => {
      throw new Error("no");
    }, "http://localhost/auth/error?error=AccessDenied"],
  ] as const;
  for (const [signIn, location] of answers) {
    await withApp(async ({ client }) => {
      const answer = await client.signIn({ username: "ada", password: PASSWORD });
      assertEquals([answer.headers.location, await reader(client)], [location, null]);
    }, { config: { callbacks: { signIn } } });
  }
});

Deno.test("a page of the application's own gets the error and its code", () =>
  withApp(async ({ client }) => {
    const { headers } = await client.signIn({ username: "otp", password: PASSWORD });
    assertEquals(headers.location, "http://localhost/login?error=CredentialsSignin&code=second-factor");
  }, { config: { pages: { signIn: "/login" } } }));

Deno.test("signing in as another user replaces the session", () =>
  withApp(async ({ client }) => {
    await client.signIn({ username: "ada", password: PASSWORD });
    await client.signIn({ username: "bob", password: PASSWORD });
    assertEquals(await reader(client), "bob");
    await client.signIn({ username: "ada", password: "wrong" });
    assertEquals(await reader(client), "bob", "a failed attempt does not sign the user out");
  }));

Deno.test("with a database, tokens still hold the sessions of passwords and nothing is stored", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const config = { adapter: memoryAdapter(tables), session: { strategy: "jwt" as const } };
  await withApp(async ({ client }) => {
    await client.signIn({ username: "ada", password: PASSWORD });
    assertEquals(await reader(client), "ada");
    await client.signOut();
    assertEquals(await reader(client), null);
  }, { config });
  assertEquals([tables.users.size, tables.accounts.length, tables.sessions.size], [0, 0, 0]);
});

Deno.test("an application that keeps sessions of passwords in its database ends the old one at the next sign-in", async () => {
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const adapter = memoryAdapter(tables);
  const user = { id: "1", name: "ada", email: "ada@example.com", emailVerified: null };
  tables.users.set(user.id, user);
  const jwt: FastifyAuthConfig["jwt"] = {
    encode({ token }) {
      const sessionToken = crypto.randomUUID();
      adapter.createSession({ sessionToken, userId: token!.sub!, expires: new Date(Date.now() + 1e6) });
      return sessionToken;
    },
  };
  await withApp(async ({ client }) => {
    await client.signIn({ username: "ada", password: PASSWORD });
    assertEquals(await reader(client), "ada");
    const old = client.cookies.get("authjs.session-token")!;
    await client.signIn({ username: "ada", password: PASSWORD });
    assertEquals([await reader(client), tables.sessions.size], ["ada", 1]);
    assert(!tables.sessions.has(old));
  }, { authorize: () => user, config: { adapter, session: { strategy: "database" }, jwt } });
});
