/** Functions of the application that ask for the session which they are called for get an answer at once. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { decode, encode } from "@auth/core/jwt";
import { stub } from "@std/testing/mock";
import { AsyncLocalStorage } from "node:async_hooks";
import type { FastifyReply, FastifyRequest } from "fastify";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig, getSession, memoryStore } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";

/** The request that is being handled, which the application's functions know of. */
interface Current {
  request: FastifyRequest;
  reply: FastifyReply;
  auth: AuthObject;
  /** How often they have asked. */
  asked: number;
}

/** What functions of the application do to get the session of their request. */
const QUESTIONS: Record<string, (current: Current) => unknown> = {
  "getSession(request, config)": ({ request, auth }) => getSession(request, auth.config),
  "auth.getSession()": ({ request, auth }) => auth.getSession(request),
  "auth.getToken()": ({ request, auth }) => auth.getToken(request),
  "a guard": ({ request, reply, auth }) => auth.requireSession()(request, reply),
  // Without an end, the requests of an event would have events without end
  "requests with the same cookies": async ({ request, asked }) =>
    asked <= 5 &&
    (await request.server.inject({ url: "/me", headers: { cookie: request.headers.cookie! } })).json(),
};

type Ask = () => Promise<unknown>;

/** The functions that are called, each with the options in which it asks. */
const JWT_FUNCTIONS: Record<string, (ask: Ask) => Partial<FastifyAuthConfig>> = {
  "the jwt callback": (ask) => ({
    callbacks: {
      async jwt({ token }) {
        await ask();
        return token;
      },
    },
  }),
  "the jwt callback, after a while": (ask) => ({
    callbacks: {
      async jwt({ token }) {
        await new Promise((resolve) => setImmediate(resolve));
        await ask();
        return token;
      },
    },
  }),
  "the jwt callback, which changes the token, with a lock": (ask) => ({
    store: testStore(),
    callbacks: {
      async jwt({ token }) {
        await ask();
        return { ...token, count: Number(token.count ?? 0) + 1 };
      },
    },
  }),
  "the session callback": (ask) => ({
    callbacks: {
      async session({ session }) {
        await ask();
        return session;
      },
    },
  }),
  // That it waits shows once it has returned a promise. What it asks for then may be any request's
  "the session callback, a plain function": (ask) => ({
    providerTimeout: 100,
    callbacks: { session: ({ session }) => ask().then(() => session) as never },
  }),
  "the session callback, a plain function, after a while": (ask) => ({
    providerTimeout: 100,
    callbacks: {
      session: ({ session }) => new Promise((resolve) => setImmediate(resolve)).then(ask).then(() => session) as never,
    },
  }),
  "the session event": (ask) => ({ events: { session: async () => void await ask() } }),
  "the decoder": (ask) => ({
    jwt: {
      async decode(params) {
        await ask();
        return await decode(params);
      },
    },
  }),
  "the decoder, after a while": (ask) => ({
    jwt: {
      async decode(params) {
        await new Promise((resolve) => setImmediate(resolve));
        await ask();
        return await decode(params);
      },
    },
  }),
  "the encoder": (ask) => ({
    session: { updateAge: 0 },
    jwt: {
      async encode(params) {
        await ask();
        return await encode(params);
      },
    },
  }),
  "the store": (ask) => {
    const store = memoryStore();
    return {
      revocable: true,
      store: {
        ...store,
        async get(keys) {
          await ask();
          return await store.get(keys);
        },
      },
    };
  },
};

/** Options for sessions in a database whose adapter asks in one of its methods, or in none. */
function inDatabase(ask: Ask, name?: "getSessionAndUser" | "updateSession"): Partial<FastifyAuthConfig> {
  const adapter = memoryAdapter();
  const method = name && adapter[name] as (...args: unknown[]) => unknown;
  const asks = async (...args: unknown[]) => {
    await ask();
    return await method!(...args);
  };
  return {
    adapter: name === undefined ? adapter : { ...adapter, [name]: asks },
    session: { updateAge: 0 },
  };
}

const DATABASE_FUNCTIONS: typeof JWT_FUNCTIONS = {
  "the session callback": (ask) => ({ ...inDatabase(ask), ...JWT_FUNCTIONS["the session callback"]!(ask) }),
  "the session event": (ask) => ({ ...inDatabase(ask), ...JWT_FUNCTIONS["the session event"]!(ask) }),
  "the adapter's getSessionAndUser()": (ask) => inDatabase(ask, "getSessionAndUser"),
  "the adapter's updateSession()": (ask) => inDatabase(ask, "updateSession"),
};

interface Asking extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly client: Client;
  readonly auth: AuthObject;
  /** The answers that the function got. */
  readonly answers: unknown[];
}

/** An application in which functions ask the question with each request, once the user has signed in. */
async function asking(
  options: (ask: Ask) => Partial<FastifyAuthConfig>,
  question: (current: Current) => unknown,
  server: object = {},
): Promise<Asking> {
  const answers: unknown[] = [];
  let isSignedIn = false;
  let current: Current | undefined;
  const config = testConfig(options(async () => {
    if (current === undefined) return;
    current.asked++;
    answers.push(await question(current));
  }));
  const auth = createAuth(config);
  const app = Fastify(server) as unknown as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.addHook("onRequest", (request, reply, done) => {
    if (isSignedIn) current ??= { request, reply, auth, asked: 0 };
    done();
  });
  app.addHook("onResponse", (request, _reply, done) => {
    if (current?.request === request) current = undefined;
    done();
  });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.post("/update", async (request, reply) => ({
    session: await auth.updateSession(request, reply, { theme: "dark" }),
  }));
  const client = new Client(app);
  if (config.adapter === undefined) await client.signIn({ username: "ada", password: "open" });
  else await insertSession(config, client);
  isSignedIn = true;
  return { app, client, auth, answers, [Symbol.asyncDispose]: () => app.close() };
}

async function insertSession({ adapter }: FastifyAuthConfig, client: Client): Promise<void> {
  await adapter!.createUser!({ id: "1", name: "ada", email: "ada@example.com", emailVerified: null });
  const expires = new Date(Date.now() + 29 * 86_400_000);
  await adapter!.createSession!({ sessionToken: "token", userId: "1", expires });
  client.cookies.set("authjs.session-token", "token");
}

/** The request is a script's of the same origin. */
const OWN = { "sec-fetch-site": "same-origin" };

for (const functions of [JWT_FUNCTIONS, DATABASE_FUNCTIONS]) {
  const strategy = functions === JWT_FUNCTIONS ? "in a token" : "in a database";
  for (const [name, options] of Object.entries(functions)) {
    for (const [what, question] of Object.entries(QUESTIONS)) {
      const title = `F2: ${name} asks for its own session ${strategy} by ${what}, and gets an answer`;
      Deno.test(title, async () => {
        await using asked = await asking(options, async (current) => {
          try {
            return await question(current);
          } catch (error) {
            return error;
          }
        });
        assertEquals((await asked.client.get("/me")).json().session?.user.name, "ada");
        assert(asked.answers.length > 0, "it was called while the session is read");
        const { session } = (await asked.client.request("POST", "/update", { headers: OWN })).json();
        assertEquals(session?.user.name, "ada");
      });
    }
  }
}

const [JWT, SESSION, EVENT] = ["the jwt callback", "the session callback", "the session event"] as const;

Deno.test("F2: a callback gets the session as far as it is known, and the log says what to do", async () => {
  const { logger, lines } = captureLog();
  const get = ({ auth, request }: Current) => auth.getSession(request);
  for (const name of [JWT, SESSION, EVENT]) {
    await using asked = await asking(JWT_FUNCTIONS[name]!, get, { logger });
    await asked.client.get("/me");
    const [session] = asked.answers as { user: unknown; expires: string }[];
    assertEquals(session?.user, { name: "ada" });
    assert(Date.parse(session!.expires) > Date.now());
    const [warning, ...others] = lines.splice(0).filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK");
    assertStringIncludes(warning!.msg, "use the `session`, `token` or `user` that it is given");
    assertEquals(others, []);
  }
});

Deno.test("F2: an event gets the session that the callbacks have made", async () => {
  await using asked = await asking((ask) => ({
    callbacks: { session: ({ session }) => Object.assign(session, { plan: "paid" }) },
    events: { session: async () => void await ask() },
  }), ({ auth, request }) => auth.getSession(request));
  await asked.client.get("/me");
  assertEquals((asked.answers as { plan: string }[]).map(({ plan }) => plan), ["paid"]);
});

Deno.test("F2: an event that asks for the session by another request is not told of a mistake", async () => {
  const again = async ({ request, asked }: Current) =>
    asked === 1 && (await request.server.inject({ url: "/me", headers: { cookie: request.headers.cookie! } })).json();
  for (const options of [JWT_FUNCTIONS[EVENT]!, DATABASE_FUNCTIONS[EVENT]!]) {
    const { logger, lines } = captureLog();
    await using asked = await asking(options, again, { logger });
    await asked.client.get("/me");
    // The second request has its own event.
    const [inner, outer] = asked.answers as [false, { session: { user: { name: string } } }];
    assertEquals([inner, outer.session.user.name], [false, "ada"]);
    assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK"), []);
  }
});

Deno.test("F2: a guard that the adapter asks while it looks for the session refuses with 503", async () => {
  const name = "the adapter's getSessionAndUser()";
  await using asked = await asking(DATABASE_FUNCTIONS[name]!, async ({ auth, request, reply }) => {
    assertEquals(await auth.getSession(request), null);
    const error = await assertRejects(() => auth.requireSession()(request, reply) as Promise<unknown>);
    return (error as { statusCode?: number }).statusCode;
  });
  assertEquals((await asked.client.get("/me")).json().session.user.name, "ada");
  assertEquals(asked.answers, [503]);
});

Deno.test("F2: a callback that two requests share asks for the session of the other, and gets an answer at once", async () => {
  const requests: FastifyRequest[] = [];
  const answers: unknown[] = [];
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => arrive = resolve);
  const auth: AuthObject = createAuth(testConfig({
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        await arrived;
        answers.push((await auth.getSession(requests[1]!))?.user?.name);
        return token;
      },
    },
  }) as FastifyAuthConfig);
  await using app = Fastify() as unknown as FastifyInstance & AsyncDisposable;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => {
    const reading = auth.getSession(request);
    if (requests.push(request) === 2) arrive();
    return { session: await reading };
  });
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const replies = await Promise.all([client.get("/me"), client.get("/me")]);
  assertEquals(replies.map((reply) => reply.json().session.user.name), ["ada", "ada"]);
  assertEquals(answers, ["ada"]);
});

Deno.test("F2: reads of one request at the same time still share one call of the callbacks", async () => {
  let calls = 0;
  await using asked = await asking((ask) => ({
    callbacks: {
      async jwt({ token }) {
        await ask();
        calls++;
        return token;
      },
    },
  }), () => undefined);
  calls = 0;
  await asked.client.get("/me");
  assertEquals(calls, 1);
});

Deno.test("F2: a read that calls no function that may wait keeps no asynchronous context", async () => {
  const later = <T>(value: T) => Promise.resolve(value);
  const cases: [Partial<FastifyAuthConfig>, number[]][] = [
    [{}, [0, 0]],
    [{ callbacks: { jwt: ({ token }) => token, session: ({ session }) => session } }, [0, 0]],
    [{ callbacks: { jwt: async ({ token }) => await token } }, [1, 1]],
    [{ callbacks: { session: async ({ session }) => await session } }, [1, 1]],
    [{ events: { session() {} } }, [1, 1]],
    // The sign-in has called it
    [{ callbacks: { jwt: ({ token }) => later(token) } }, [1, 1]],
    // The first read has called it
    [{ callbacks: { session: ({ session }) => later(session) as never } }, [0, 1]],
    [{ callbacks: { jwt: ({ token, account }) => account ? token : later(token) } }, [0, 1]],
  ];
  for (const [options, expected] of cases) {
    await using asked = await asking(() => options, () => undefined);
    // On Node 20 the first one makes each promise of the process slower.
    using run = stub(AsyncLocalStorage.prototype, "run", (_context: unknown, work: () => unknown) => work());
    const counts: number[] = [];
    for (const _read of expected) {
      const before = run.calls.length;
      assertEquals((await asked.client.get("/me")).json().session.user.name, "ada");
      counts.push(run.calls.length - before);
    }
    assertEquals(counts, expected);
  }
});

/** Callbacks that wait: the plain one is called for the first time by the read, which cannot know that it will. */
const WAITING: Record<string, (wait: () => Promise<void>) => Partial<FastifyAuthConfig>> = {
  "a plain callback that returns a promise": (wait) => ({
    callbacks: { jwt: ({ token, account }) => account ? token : wait().then(() => ({ ...token, made: "once" })) },
  }),
  "an async callback that takes longer than `providerTimeout`": (wait) => ({
    providerTimeout: 20,
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        await wait();
        return { ...token, made: "once" };
      },
    },
  }),
};

for (const [name, options] of Object.entries(WAITING)) {
  Deno.test(`F2: ${name} is called once for requests at the same time`, async () => {
    const { logger, lines } = captureLog();
    let calls = 0;
    let called = () => {};
    const isCalled = new Promise<void>((resolve) => called = resolve);
    const { callbacks, ...others } = options(() => {
      calls++;
      called();
      return new Promise((resolve) => setTimeout(resolve, 100));
    });
    const auth = createAuth(testConfig({
      ...others,
      callbacks: { ...callbacks, session: ({ session, token }) => Object.assign(session, { made: token.made }) },
    }));
    await using app = Fastify({ logger } as object) as unknown as FastifyInstance & AsyncDisposable;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/me", async (request) => {
      const reading = auth.getSession(request);
      await isCalled;
      return await Promise.all([reading, auth.getSession(request), reading.then(() => auth.getSession(request))]);
    });
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    const first = client.get("/me");
    await isCalled;
    for (const reply of await Promise.all([first, client.get("/me")])) {
      assertEquals(reply.json().map(({ made }: { made: string }) => made), ["once", "once", "once"]);
    }
    assertEquals(calls, 1);
    assertEquals(lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK"), []);
  });
}

for (const [what, providerTimeout] of [["", 10_000], [", also if it is slow", 20]] as const) {
  Deno.test(`F2: no other request gets a session from the first call of a plain callback${what}`, async () => {
    let called = () => {};
    const isCalled = new Promise<void>((resolve) => called = resolve);
    const later = <T>(value: T) => {
      called();
      return new Promise<T>((resolve) => setTimeout(resolve, 60, value));
    };
    const auth = createAuth(testConfig({
      providerTimeout,
      callbacks: {
        jwt: ({ token, account }) => account ? token : later(token),
        session: () => later(null) as never,
      },
    }));
    await using app = Fastify() as unknown as FastifyInstance & AsyncDisposable;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/guarded", { onRequest: auth.requireSession() }, () => "secret");
    app.get("/twice", (request) => Promise.all([auth.getSession(request), auth.getSession(request)]));
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    const first = client.get("/guarded");
    await isCalled;
    const [second, twice] = await Promise.all([client.get("/guarded"), client.get("/twice")]);
    assertEquals([(await first).statusCode, second.statusCode], [401, providerTimeout === 20 ? 503 : 401]);
    assertEquals(twice.json(), [null, null]);
    assertEquals((await client.get("/guarded")).statusCode, 401);
  });
}

Deno.test("F2: a callback sends the reply, and waits for it", async () => {
  let current: FastifyReply | undefined;
  const send = async <T>(given: T) => {
    await current?.code(403).send("banned");
    return given;
  };
  const callbacks: NonNullable<FastifyAuthConfig["callbacks"]>[] = [
    { jwt: async ({ token }) => await send(token) },
    { jwt: ({ token, account }) => account ? token : send(token) },
    { session: async ({ session }) => await send(session) },
    { session: ({ session }) => send(session) as never },
  ];
  for (const each of callbacks) {
    const auth = createAuth(testConfig({ callbacks: each }));
    await using app = Fastify() as unknown as FastifyInstance & AsyncDisposable;
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/me", async (request, reply) => {
      current = reply;
      await auth.getSession(request);
      return reply;
    });
    const client = new Client(app);
    current = undefined;
    await client.signIn({ username: "ada", password: "open" });
    assertEquals((await client.get("/me")).body, "banned");
  }
});

Deno.test("F2: an update of the session that a callback begins is an error that says what to do", async () => {
  for (const name of [JWT, SESSION]) {
    await using asked = await asking(JWT_FUNCTIONS[name]!, async ({ auth, request, reply }) => {
      const update = () => auth.updateSession(request, reply, { theme: "dark" });
      return (await assertRejects(update) as Error).message;
    });
    const answer = await asked.client.request("POST", "/update", { headers: OWN });
    assertEquals(answer.json().session.user.name, "ada");
    assertStringIncludes(String(asked.answers[0]), "Return what is to change from the callback");
  }
});

Deno.test("F2: the callbacks and events of a sign-in and a sign-out get the session that the browser has", async () => {
  const answers = new Map<string, unknown>();
  let current: FastifyRequest | undefined;
  const ask = async (name: string) => {
    answers.set(name, (await auth.getSession(current!))?.user?.name);
  };
  const auth: AuthObject = createAuth(testConfig({
    providers: [Credentials({
      credentials: { username: {} },
      async authorize({ username }) {
        await ask("authorize");
        return { id: "1", name: String(username) };
      },
    })],
    callbacks: {
      signIn: () => ask("callbacks.signIn").then(() => true),
      redirect: ({ url }) => ask("callbacks.redirect").then(() => url),
      jwt: ({ token, account }) => account ? ask("callbacks.jwt").then(() => token) : token,
    },
    events: { signIn: () => ask("events.signIn"), signOut: () => ask("events.signOut") },
  }) as FastifyAuthConfig);
  await using app = Fastify() as unknown as FastifyInstance & AsyncDisposable;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.addHook("onRequest", (request, _reply, done) => {
    current = request;
    done();
  });
  const client = new Client(app);
  await client.signIn({ username: "ada", callbackUrl: "/home" });
  answers.clear();
  await client.signIn({ username: "bob", callbackUrl: "/home" });
  assertEquals(Object.fromEntries(answers), {
    "callbacks.redirect": "ada",
    authorize: "ada",
    "callbacks.signIn": "ada",
    "callbacks.jwt": "ada",
    "events.signIn": "ada",
  });
  await client.signOut();
  assertEquals(answers.get("events.signOut"), "bob");
});

Deno.test("F2: a function that chooses the configuration of a request gets no session of it, and the log says why", async () => {
  const { logger, lines } = captureLog();
  const config = testConfig({ tenant: "acme" });
  const sessions: unknown[] = [];
  const auth = createAuth(async (request) => {
    await new Promise((resolve) => setImmediate(resolve));
    sessions.push(await auth.getSession(request));
    return config;
  });
  await using app = Fastify({ logger } as object) as unknown as FastifyInstance & AsyncDisposable;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals(sessions.filter((session) => session !== null), []);
  const errors = lines.filter(({ msg }) => msg.includes("asks for a session of the same request"));
  assertEquals(errors.length, 1);
});
