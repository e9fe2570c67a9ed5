/** Updates of a session beside reads of it: what either changes is not lost. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { decode, type JWT } from "@auth/core/jwt";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { type FastifyAuthConfig, getSession } from "fastify-authjs";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client, setCookies } from "../../support/client.ts";
import { identityProvider, signedIn } from "../../support/identity.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";
import { testStore } from "../../support/test_store.ts";
import { later } from "../../support/token_provider.ts";

const NAME = "authjs.session-token";

/** A promise that a test keeps. */
class Event {
  happen = () => {};
  readonly happened = new Promise<void>((resolve) => this.happen = resolve);
}

type JwtParameters = Parameters<NonNullable<NonNullable<FastifyAuthConfig["callbacks"]>["jwt"]>>[0];

interface Updating extends AsyncDisposable {
  readonly app: FastifyInstance;
  readonly client: Client;
  /** Updates the session with the cookies of the browser before anything else. */
  update(data: object): Promise<Answer>;
  /** Begins a read with these cookies; resolves with its reply once it has begun. */
  read(): Promise<{ readonly reply: Promise<Answer> }>;
  /** Lets the replies of reads go. */
  readonly replies: Event;
}

/**
 * An application whose reads count in the session token, as a refresh would change it, and whose updates set
 * the name.
 */
async function updating(
  onUpdate: (data: Record<string, unknown>, parameters: JwtParameters) => unknown,
  overrides: Partial<FastifyAuthConfig> = {},
  server: Parameters<typeof testApp>[1] = {},
): Promise<Updating> {
  const config = testConfig({
    callbacks: {
      async jwt(parameters) {
        const { token, account, trigger, session } = parameters;
        if (account) return { ...token, reads: 0 };
        if (trigger !== "update") return { ...token, reads: Number(token.reads) + 1 };
        if (await onUpdate(session, parameters) === null) return null;
        return { ...token, name: session.name };
      },
    },
    ...overrides,
  });
  const app = await testApp(config, server);
  let begun = new Event();
  const replies = new Event();
  app.get("/waits", async (request) => {
    const reading = getSession(request as FastifyRequest, config);
    begun.happen();
    const session = await reading;
    await replies.happened;
    return { session };
  });
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const csrfToken = await client.csrfToken();
  const headers = { cookie: client.cookie! };
  return {
    app,
    client,
    replies,
    update: (data) => app.inject({ method: "POST", url: "/auth/session", headers, payload: { csrfToken, data } }),
    async read() {
      begun = new Event();
      const reply = app.inject({ url: "/waits", headers });
      await begun.happened;
      return { reply };
    },
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** The claims in the cookie of a reply. */
async function claimsIn(answer: Answer): Promise<JWT | null> {
  const line = setCookies(answer).find((line) => line.startsWith(`${NAME}=`));
  return await decode({ token: line?.slice(NAME.length + 1).split(";")[0]!, secret: SECRET, salt: NAME });
}

const nameIn = (answer: Answer) => answer.json().session?.user?.name ?? null;

Deno.test("a read that begins while the session is updated has the update", async () => {
  const [began, goOn] = [new Event(), new Event()];
  await using opened = await updating(async () => {
    began.happen();
    await goOn.happened;
  });
  opened.replies.happen();
  const update = opened.update({ name: "countess" });
  await began.happened;
  const { reply } = await opened.read();
  goOn.happen();
  assertEquals((await update).json().user.name, "countess");
  const read = await reply;
  assertEquals(nameIn(read), "countess");
  // Whichever reply comes last, the browser has both changes or the update.
  assertEquals([(await claimsIn(read))?.name, (await claimsIn(read))?.reads], ["countess", 1]);
});

Deno.test("several processes: a read that begins while another one updates the session has the update", async () => {
  const [began, goOn] = [new Event(), new Event()];
  const lock = testStore();
  await using first = await updating(async () => {
    began.happen();
    await goOn.happened;
  }, { store: lock });
  await using second = await updating(() => {}, { store: lock });
  const update = first.update({ name: "countess" });
  await began.happened;
  const acquired = () => lock.calls.filter((name) => name === "lock").length;
  const before = acquired();
  const reading = second.app.inject({ url: "/me", headers: { cookie: first.client.cookie! } });
  while (acquired() === before) await new Promise((resolve) => setImmediate(resolve));
  goOn.happen();
  assertEquals((await update).json().user.name, "countess");
  const read = await reading;
  const claims = await claimsIn(read);
  assertEquals([nameIn(read), claims?.name, claims?.reads], ["countess", "countess", 1]);
});

Deno.test("several processes: an update goes on from what another one has refreshed the session to", async () => {
  const lock = testStore();
  await using first = await updating(() => {}, { store: lock });
  await using second = await updating(() => {}, { store: lock });
  const headers = { cookie: first.client.cookie! };
  await second.app.inject({ url: "/me", headers });
  const claims = await claimsIn(await first.update({ name: "countess" }));
  assertEquals([claims?.name, claims?.reads], ["countess", 1]);
});

Deno.test("several processes: a read has what another one has refreshed the session to, and calls no callback", async () => {
  const lock = testStore();
  await using first = await updating(() => {}, { store: lock });
  await using second = await updating(() => {}, { store: lock });
  const headers = { cookie: first.client.cookie! };
  for (const { app } of [second, first]) {
    assertEquals((await claimsIn(await app.inject({ url: "/me", headers })))?.reads, 1);
  }
});

Deno.test("a read that began before an update, and replies after it, sets the cookie of the update", async () => {
  await using opened = await updating(() => {});
  const { reply } = await opened.read();
  assertEquals((await opened.update({ name: "countess" })).json().user.name, "countess");
  opened.replies.happen();
  const read = await reply;
  assertEquals(nameIn(read), "ada");
  const claims = await claimsIn(read);
  assertEquals([claims?.name, claims?.reads], ["countess", 1]);
  // Also once the token of that read leads nowhere any more.
  const { client } = opened;
  client.cookies.set(NAME, setCookies(read)[0]!.slice(NAME.length + 1).split(";")[0]!);
  assertEquals(nameIn(await later(3600, () => client.get("/me"))), "countess");
});

Deno.test("updates of a session at the same time are all kept, but one that fails", async () => {
  const names: unknown[] = [];
  await using session = await updating(async (data, { token }) => {
    names.push(token.name);
    await new Promise((resolve) => setImmediate(resolve));
    if (data.name === "fails") throw new Error("down");
  });
  const { app, client, update } = session;
  const before = client.cookie!;
  const answers = await Promise.all(["a", "b", "fails", "c"].map((name) => update({ name })));
  assertEquals(answers.map((answer) => answer.json()?.user?.name), ["a", "b", undefined, "c"]);
  assertEquals(names, ["ada", "a", "b", "b"]);
  const late = await app.inject({ url: "/me", headers: { cookie: before } });
  assertEquals(late.json().session.user.name, "c");
});

Deno.test("a read that waits for an update that ends the session has none", async () => {
  const [began, goOn] = [new Event(), new Event()];
  await using opened = await updating(async () => {
    began.happen();
    await goOn.happened;
    return null;
  });
  opened.replies.happen();
  const update = opened.update({});
  await began.happened;
  const { reply } = await opened.read();
  goOn.happen();
  assertEquals((await update).json(), null);
  assertEquals([nameIn(await reply), setCookies(await reply)], [null, []]);
});

Deno.test("an update whose callback asks for the session of another request gets the one before, and the log says so", async () => {
  const { logger, lines } = captureLog();
  let inCallback: Answer | undefined;
  const app: { current?: Updating } = {};
  await using opened = await updating(
    async () => {
      inCallback = await (await app.current!.read()).reply;
    },
    { providerTimeout: 20 },
    { logger },
  );
  app.current = opened;
  opened.replies.happen();
  assertEquals((await opened.update({ name: "countess" })).json().user.name, "countess");
  assertEquals(nameIn(inCallback!), "ada");
  await opened.update({ name: "countess" });
  const warnings = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK");
  assertEquals(warnings.length, 1);
  assertStringIncludes(warnings[0]!.msg, "asks for this very session");
});

Deno.test("a read that waits long for an update goes on without it, and the log says so", async () => {
  const { logger, lines } = captureLog();
  const [began, goOn] = [new Event(), new Event()];
  await using opened = await updating(
    async () => {
      began.happen();
      await goOn.happened;
    },
    { providerTimeout: 20 },
    { logger },
  );
  opened.replies.happen();
  const update = opened.update({ name: "countess" });
  await began.happened;
  const { reply } = await opened.read();
  assertEquals(nameIn(await reply), "ada");
  goOn.happen();
  assertEquals((await update).json().user.name, "countess");
  const [warning] = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_CALLBACK");
  assertStringIncludes(warning!.msg, "waited 20 ms for an update of its session");
});

Deno.test("database: the session callback is told of an update, and gets its data", async () => {
  const calls: unknown[] = [];
  const config = testConfig({
    adapter: memoryAdapter(),
    providers: [identityProvider("one")],
    callbacks: {
      session({ session, trigger, newSession }) {
        calls.push([trigger, newSession]);
        return session;
      },
    },
  });
  await using app = await testApp(config);
  const client = await signedIn(app, "one", { id: "1", email: "ada@example.com" });
  await client.get("/me");
  const csrfToken = await client.csrfToken();
  await client.request("POST", "/auth/session", { json: { csrfToken, data: { theme: "dark" } } });
  assertEquals(calls, [[undefined, undefined], ["update", { theme: "dark" }]]);
});

Deno.test("a session is updated again and again with a codec that makes the same token, and a store", async () => {
  const kept = new Map<string, JWT>();
  const codecs: Record<string, { encode(token: JWT): string; decode(text: string): JWT | undefined }> = {
    // The claims are on the server, and the token is their key.
    "server-side": {
      encode(token) {
        kept.set(String(token.session_name), token);
        return String(token.session_name);
      },
      decode: (text) => kept.get(text),
    },
    // The token has the claims and no time: an update that is undone gives the token before it.
    stateless: {
      encode: (token) => btoa(JSON.stringify(Object.entries(token).sort())),
      decode: (text) => Object.fromEntries(JSON.parse(atob(text))),
    },
  };
  for (const [name, codec] of Object.entries(codecs)) {
    await using opened = await updating(() => {}, {
      store: testStore(),
      jwt: {
        encode: ({ token }) => Promise.resolve(codec.encode(token!)),
        decode: ({ token }) => Promise.resolve(structuredClone(codec.decode(token!)) ?? null),
      },
      callbacks: {
        jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
      },
    });
    const { client } = opened;
    const csrfToken = await client.csrfToken();
    for (const wanted of ["light", "dark", "light", "dark", "light"]) {
      const answer = await client.request("POST", "/auth/session", {
        json: { csrfToken, data: { name: wanted } },
      });
      assertEquals(answer.json().user.name, wanted, name);
      assertEquals((await client.get("/me")).json().session.user.name, wanted, name);
    }
  }
});

Deno.test("an update answers with null for what a read takes for no session", async () => {
  let shown: unknown;
  const config = testConfig({ callbacks: { session: ({ session }) => (shown ?? session) as typeof session } });
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const csrfToken = await client.csrfToken();
  for (shown of ["x", [], { expires: "2030-01-01" }, { user: { id: 1n } }]) {
    const answer = await client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals([answer.statusCode, answer.body], [200, "null"]);
  }
});

Deno.test("an update whose jwt callback returns no token names the callback, and no database", async () => {
  for (const returned of [undefined, [], new Map()]) {
    const { logger, lines } = captureLog();
    const jwt = ({ token, trigger }: JwtParameters) => trigger === "update" ? returned as never : token;
    await using app = await testApp(testConfig({ callbacks: { jwt } }), { logger });
    const client = new Client(app);
    await client.signIn({ username: "ada", password: "open" });
    const json = { csrfToken: await client.csrfToken(), data: {} };
    const answer = await client.request("POST", "/auth/session", { json });
    assertEquals(answer.statusCode, 503);
    assertStringIncludes(answer.json().message, "The `jwt` callback of the application failed.");
    assertEquals(lines.filter(({ msg }) => msg.includes("database")), []);
    assertEquals((await client.get("/me")).json().session.user.name, "ada");
  }
});

Deno.test("results in a store that has lost a write are not followed for ever", async () => {
  const store = testStore();
  await using opened = await updating(() => {}, {
    store: { ...store, set: async (key, value, time) => value === "" ? undefined : await store.set(key, value, time) },
    jwt: {
      encode: ({ token }) => Promise.resolve(btoa(JSON.stringify(Object.entries(token!).sort()))),
      decode: ({ token }) => Promise.resolve(Object.fromEntries(JSON.parse(atob(token!)))),
    },
    callbacks: {
      jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
    },
  });
  const { client } = opened;
  const csrfToken = await client.csrfToken();
  const update = (name: string) => client.request("POST", "/auth/session", { json: { csrfToken, data: { name } } });
  for (const name of ["light", "dark", "light"]) assertEquals((await update(name)).statusCode, 200);
  assertEquals((await update("dark")).statusCode, 503);
  assertEquals((await client.get("/me")).statusCode, 200);
});
