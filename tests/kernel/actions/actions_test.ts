/** Signing in and out and updating the session from routes of the application. */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { AuthActionError, type AuthObject, createAuth, type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import GitHub from "fastify-authjs/providers/github";
import { attemptsOf } from "../../support/attempts.ts";
import { captureLog, type LogLine, testConfig } from "../../support/app.ts";
import { Client, setCookies } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const MINE = { username: "ada", password: "open" };

type Handler = (auth: AuthObject, request: FastifyRequest, reply: FastifyReply) => unknown;

/** An application with one route `/act` for GET and POST, and the session at `/me`. */
async function appWith(
  handler: Handler,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<FastifyInstance & { lines: LogLine[] }> {
  const { logger, lines } = captureLog();
  const auth = createAuth(testConfig(overrides));
  const app = Fastify({ logger }) as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.route({
    method: ["GET", "HEAD", "POST"],
    url: "/act",
    handler: (request, reply) => handler(auth, request, reply),
  });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  return Object.assign(app, { lines });
}

async function nameAt(client: Client): Promise<string | null> {
  return (await client.get("/me")).json().session?.user.name ?? null;
}

/** Signs in with the fields that the request has. */
const signInWithBody: Handler = (auth, request, reply) =>
  auth.signIn(request, reply, "credentials", { fields: request.body });

Deno.test("signIn() signs in with credentials, and redirects to the callback URL", async () => {
  await using app = await appWith((auth, request, reply) =>
    auth.signIn(request, reply, "credentials", { fields: request.body, callbackUrl: "/home" })
  );
  const client = new Client(app);
  const answer = await client.request("POST", "/act", { json: MINE });
  assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost/home"]);
  assertMatch(String(answer.headers["cache-control"]), /no-store/);
  assertEquals(await nameAt(client), "ada");
});

Deno.test("signIn() answers a script that asks for JSON with the URL", async () => {
  await using app = await appWith(signInWithBody);
  const answer = await new Client(app).request("POST", "/act", {
    json: { ...MINE, callbackUrl: "/home" },
    headers: { accept: "application/json" },
  });
  assertEquals([answer.statusCode, answer.json().url], [200, "http://localhost/home"]);
});

Deno.test("signIn() with `redirect: false` leaves the reply to the route", async () => {
  await using app = await appWith(async (auth, request, reply) => {
    const result = await auth.signIn(request, reply, "credentials", { fields: MINE, redirect: false });
    const session = await auth.getSession(request);
    return { ...result, name: session?.user.name };
  });
  const client = new Client(app);
  const answer = await client.request("POST", "/act");
  assertEquals(answer.json(), { url: "http://localhost", signedIn: true, name: "ada" });
  assertEquals(await nameAt(client), "ada");
});

Deno.test("a wrong password is an error with the status 401, and no session", async () => {
  await using app = await appWith(signInWithBody);
  const client = new Client(app);
  const answer = await client.request("POST", "/act", { json: { ...MINE, password: "wrong" } });
  assertEquals([answer.statusCode, answer.json().code], [401, "FST_AUTHJS_ACTION_FAILED"]);
  assertEquals(await nameAt(client), null);
});

Deno.test("the error says what failed, why and which page shows it", async () => {
  let error: unknown;
  await using app = await appWith(async (auth, request, reply) => {
    const signIn = auth.signIn(request, reply, "credentials", { fields: request.body, redirect: false });
    error = await assertRejects(() => signIn, AuthActionError);
    return {};
  });
  await new Client(app).request("POST", "/act", { json: { ...MINE, password: "wrong" } });
  const { type, reason, url, statusCode, cause } = error as AuthActionError;
  assertEquals([type, reason, statusCode], ["CredentialsSignin", "credentials", 401]);
  assertStringIncludes(url!, "/auth/signin?error=CredentialsSignin&code=credentials");
  assertEquals((cause as { type?: string }).type, "CredentialsSignin");
  assert(app.lines.some((line) => JSON.stringify(line).includes("CredentialsSignin")));
});

Deno.test("signIn() with a provider redirects to it, and its callback has its cookies", async () => {
  const providers = [GitHub({ clientId: "id", clientSecret: "secret" })];
  await using app = await appWith(
    (auth, request, reply) =>
      auth.signIn(request, reply, "github", { authorizationParams: { login: "ada" }, callbackUrl: "/home" }),
    { providers },
  );
  const client = new Client(app);
  const { headers, statusCode } = await client.request("POST", "/act");
  const url = new URL(String(headers.location));
  assertEquals([statusCode, url.origin, url.searchParams.get("login")], [302, "https://github.com", "ada"]);
  assertEquals(url.searchParams.get("redirect_uri"), "http://localhost/auth/callback/github");
  assertEquals(attemptsOf(client).length, 1);
  assertEquals(decodeURIComponent(client.cookies.get("authjs.callback-url")!), "http://localhost/home");
});

Deno.test("signIn() refuses parameters that protect the flow, and unknown providers", async () => {
  const errors: unknown[] = [];
  await using app = await appWith(async (auth, request, reply) => {
    for (
      const [id, name] of [["github", "state"], ["github", "redirect_uri"], ["gitlab", "login"]] as const
    ) {
      const signIn = auth.signIn(request, reply, id, {
        authorizationParams: { [name]: "x" },
        redirect: false,
      });
      errors.push((await assertRejects(() => signIn, FastifyAuthError)).code);
    }
    return {};
  }, { providers: [GitHub({ clientId: "id", clientSecret: "secret" })] });
  await new Client(app).request("POST", "/act");
  assertEquals(errors, ["FST_AUTHJS_CONFIG_INVALID", "FST_AUTHJS_CONFIG_INVALID", "FST_AUTHJS_NOT_FOUND"]);
});

const ODD_OPTIONS: Record<string, [Handler, string]> = {
  "what the user has entered, beside the options": [
    (auth, request, reply) => auth.signIn(request, reply, "credentials", MINE as object),
    "The options of signIn() have no `username`: the options are fields, callbackUrl, redirect, rememberMe, " +
    "authorizationParams; what the user has entered goes under `fields`.",
  ],
  "the redirectTo of Auth.js 5": [
    (auth, request, reply) => auth.signIn(request, reply, "credentials", { fields: MINE, redirectTo: "/" } as object),
    "The options of signIn() have no `redirectTo`: write `callbackUrl`.",
  ],
  "an option of a sign-out": [
    (auth, request, reply) => auth.signOut(request, reply, { callbackURL: "/" } as object),
    "The options of signOut() have no `callbackURL`: the options are callbackUrl, redirect, allowGet, providerLogout.",
  ],
  "an option of an update": [
    (auth, request, reply) => auth.updateSession(request, reply, {}, { redirect: false } as object),
    "The options of updateSession() have no `redirect`: the options are allowGet.",
  ],
  "an option of a link": [
    (auth, request, reply) => auth.linkAccount(request, reply, "github", { redirectTo: "/" } as object),
    "The options of linkAccount() have no `redirectTo`: write `callbackUrl`.",
  ],
  "an option of the removal of an account": [
    (auth, request) =>
      auth.unlinkAccount(request, { provider: "a", providerAccountId: "1" }, { other: true } as object),
    "The options of unlinkAccount() have no `other`: the options are allowGet, otherSignInMethod.",
  ],
  "an option of the end of all sessions": [
    (auth) => auth.revokeSessions("1", { exept: "id" } as object),
    "The options of revokeSessions() have no `exept`: the options are except.",
  ],
  "an option of a connection that stays open": [
    (auth, request) => auth.onSessionEnd(request, () => {}, { intervall: 5 } as object),
    "The options of onSessionEnd() have no `intervall`: the options are interval.",
  ],
  "an option of an access token": [
    (auth, request) => auth.issueToken(request, { audience: "a", scope: ["b"] } as never),
    "The options of issueToken() have no `scope`: the options are audience, scopes, ttl.",
  ],
};

for (const [what, [handler, message]] of Object.entries(ODD_OPTIONS)) {
  Deno.test(`an option that there is not is refused: ${what}`, async () => {
    await using app = await appWith(handler);
    const answer = await new Client(app).request("POST", "/act");
    assertEquals([answer.statusCode, answer.json().message], [400, message]);
  });
}

Deno.test("signIn() without a provider leads to the sign-in page", async () => {
  const handlers: Handler[] = [
    (auth, request, reply) => auth.signIn(request, reply),
    // The request has no body.
    (auth, request, reply) => auth.signIn(request, reply, undefined, { fields: request.body }),
  ];
  for (const handler of handlers) {
    await using app = await appWith(handler);
    const answer = await new Client(app).request("POST", "/act");
    assertEquals(answer.headers.location, "http://localhost/auth/signin");
  }
});

Deno.test("`signedIn` tells a sign-in from a page that the signIn callback named", async () => {
  await using app = await appWith(
    (auth, request, reply) => auth.signIn(request, reply, "credentials", { fields: MINE, redirect: false }),
    { callbacks: { signIn: () => "/banned" } },
  );
  const client = new Client(app);
  const { url, signedIn } = (await client.request("POST", "/act")).json();
  assertEquals([new URL(url, "http://localhost").pathname, signedIn], ["/banned", false]);
  assertEquals(await nameAt(client), null);
});

Deno.test("callbacks and events run as for the auth routes", async () => {
  const ran: string[] = [];
  await using app = await appWith(
    async (auth, request, reply) => {
      await auth.signIn(request, reply, "credentials", { fields: MINE, redirect: false });
      await auth.updateSession(request, reply, { a: 1 });
      await auth.signOut(request, reply, { redirect: false });
      return { session: await auth.getSession(request) };
    },
    {
      callbacks: {
        signIn: () => ran.push("callback signIn") > 0,
        jwt({ token, trigger, session }) {
          if (trigger) ran.push(`callback jwt ${trigger} ${JSON.stringify(session) ?? ""}`);
          return token;
        },
      },
      events: { signIn: () => void ran.push("event signIn"), signOut: () => void ran.push("event signOut") },
    },
  );
  const client = new Client(app);
  const answer = await client.request("POST", "/act");
  assertEquals(answer.json(), { session: null });
  assertEquals(ran, [
    "callback signIn",
    "callback jwt signIn ",
    "event signIn",
    'callback jwt update {"a":1}',
    "event signOut",
  ]);
  const names = setCookies(answer).map((line) => line.slice(0, line.indexOf("=")));
  assertEquals(names.length, new Set(names).size);
  assertEquals(await nameAt(client), null);
});

for (const strategy of ["jwt", "database"] as const) {
  Deno.test(`signOut() ends the session (${strategy})`, async () => {
    const adapter = memoryAdapter();
    const github = GitHub({ clientId: "id", clientSecret: "secret" });
    await using app = await appWith(
      async (auth, request, reply) => {
        await auth.getSession(request);
        await auth.signOut(request, reply, { redirect: false });
        return { session: await auth.getSession(request) };
      },
      strategy === "database" ? { adapter, providers: [github] } : {},
    );
    const client = new Client(app);
    if (strategy === "database") await seed(client, adapter);
    else await client.signIn(MINE);
    const { cookie } = client;
    assertEquals(await nameAt(client), "ada");
    assertEquals((await client.request("POST", "/act")).json(), { session: null });
    assert(!client.cookies.has("authjs.session-token"));
    const late = await client.get("/me", { headers: { cookie: cookie! } });
    assertEquals(late.json(), { session: null });
  });
}

/** Gives a browser a session in the database. */
async function seed(client: Client, adapter: ReturnType<typeof memoryAdapter>): Promise<void> {
  const user = await adapter.createUser({
    id: "1",
    name: "ada",
    email: "ada@example.com",
    emailVerified: null,
  });
  const expires = new Date(Date.now() + 3600_000);
  await adapter.createSession({ sessionToken: "token", userId: user.id, expires });
  client.cookies.set("authjs.session-token", "token");
}

Deno.test("a read after updateSession() has the updated session, and so has the browser", async () => {
  await using app = await appWith(
    async (auth, request, reply) => {
      const before = await auth.getSession(request);
      const updated = await auth.updateSession(request, reply, { name: "Countess" });
      const after = await auth.getSession(request);
      return [before, updated, after].map((session) => session?.user.name);
    },
    {
      callbacks: {
        jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
      },
    },
  );
  const client = new Client(app);
  await client.signIn(MINE);
  const answer = await client.request("POST", "/act");
  assertEquals(answer.json(), ["ada", "Countess", "Countess"]);
  assertEquals(setCookies(answer).filter((line) => line.includes("session-token")).length, 1);
  assertEquals(await nameAt(client), "Countess");
});

Deno.test("updateSession() gives the callback what JSON delivers, and refuses what JSON cannot hold", async () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  const refused = [() => "a function", 10n, { count: 10n }, Symbol("a"), loop];
  const given = [
    NaN,
    { at: new Date(0), count: NaN, none: undefined, run: () => {} },
    [undefined],
    "text",
    null,
  ];
  const seen: unknown[] = [];
  const values: unknown[] = [...refused, ...given];
  await using app = await appWith(
    (auth, request, reply) => auth.updateSession(request, reply, values.shift()),
    {
      callbacks: {
        jwt({ token, trigger, session }) {
          if (trigger === "update") seen.push(session);
          return token;
        },
      },
    },
  );
  const client = new Client(app);
  await client.signIn(MINE);
  for (const _ of refused) {
    const answer = await client.request("POST", "/act");
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
    assertStringIncludes(answer.json().message, "updateSession(): the data must be what JSON can hold");
  }
  for (const _ of given) assertEquals((await client.request("POST", "/act")).statusCode, 200);
  assertEquals(seen, [null, { at: "1970-01-01T00:00:00.000Z", count: null }, [null], "text", null]);
});

Deno.test("updateSession() without a session is an error", async () => {
  await using app = await appWith((auth, request, reply) => auth.updateSession(request, reply, {}));
  const client = new Client(app);
  assertEquals((await client.request("POST", "/act")).json().code, "FST_AUTHJS_UNAUTHENTICATED");
  client.cookies.set("authjs.session-token", "forged");
  assertEquals((await client.request("POST", "/act")).json().code, "FST_AUTHJS_UNAUTHENTICATED");
});

Deno.test("where a callback throws, updateSession() throws, and the session stays as it was", async () => {
  for (const name of ["jwt", "session"] as const) {
    let fails = false;
    const callback = (params: { token: object; session: object }) => {
      if (fails) throw new Error("not today");
      return params[name === "jwt" ? "token" : "session"];
    };
    await using app = await appWith(
      (auth, request, reply) => {
        fails = true;
        return auth.updateSession(request, reply, {}).finally(() => fails = false);
      },
      { callbacks: { [name]: callback } },
    );
    const client = new Client(app);
    await client.signIn(MINE);
    const answer = await client.request("POST", "/act");
    assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_ACTION_FAILED"]);
    assertEquals(setCookies(answer), []);
    assertEquals(await nameAt(client), "ada");
  }
});

Deno.test("where the jwt callback returns null, updateSession() ends the session", async () => {
  await using app = await appWith(
    (auth, request, reply) => auth.updateSession(request, reply, {}),
    { callbacks: { jwt: ({ token, trigger }) => trigger === "update" ? null : token } },
  );
  const client = new Client(app);
  await client.signIn(MINE);
  assertEquals((await client.request("POST", "/act")).json().code, "FST_AUTHJS_UNAUTHENTICATED");
  assert(!client.cookies.has("authjs.session-token"));
});

Deno.test("an action that a page of another origin asks for is refused, and does nothing", async () => {
  const actions: Handler[] = [
    signInWithBody,
    (auth, request, reply) => auth.signOut(request, reply),
    (auth, request, reply) => auth.updateSession(request, reply, {}),
  ];
  for (const action of actions) {
    await using app = await appWith(action, { trustedOrigins: ["https://spa.example"] });
    const client = new Client(app);
    await client.signIn(MINE);
    const statusOf = async (method: string, headers: Record<string, string>) => {
      const answer = await client.request(method, "/act", {
        ...(method === "POST" && { json: MINE }),
        headers,
      });
      return [
        answer.statusCode,
        answer.statusCode === 403 ? answer.json().code : setCookies(answer).length > 0,
      ];
    };
    const refused = [403, "FST_AUTHJS_CROSS_SITE"];
    for (const method of ["GET", "POST"]) {
      assertEquals(await statusOf(method, { "sec-fetch-site": "cross-site" }), refused);
      assertEquals(await statusOf(method, { "sec-fetch-site": "same-site" }), refused);
      assertEquals(await statusOf(method, { origin: "https://evil.example" }), refused);
    }
    // A link of a browser that does not say where it is.
    assertEquals(await statusOf("GET", {}), refused);
    assertEquals(await statusOf("GET", { referer: "https://evil.example/" }), refused);
    assertEquals(await statusOf("POST", { referer: "https://evil.example/" }), refused);
    assertEquals(await nameAt(client), "ada");
    const [status] = await statusOf("POST", {
      "sec-fetch-site": "cross-site",
      origin: "https://spa.example",
    });
    assert(Number(status) < 400);
  }
});

Deno.test("a GET from a page of the application is served, unless the browser fetches it in advance", async () => {
  await using app = await appWith((auth, request, reply) => auth.signOut(request, reply));
  for (const headers of [{ "sec-fetch-site": "same-origin" }, { referer: "http://localhost/page" }]) {
    const client = new Client(app);
    await client.signIn(MINE);
    const early = await client.get("/act", { headers: { ...headers, "sec-purpose": "prefetch" } });
    assertEquals(early.statusCode, 503);
    assertEquals(await nameAt(client), "ada");
    assertEquals((await client.get("/act", { headers })).statusCode, 302);
    assertEquals(await nameAt(client), null);
  }
});

Deno.test("G4: a GET that no page sent needs `allowGet` to sign out, update or unlink; beginning a sign-in does not", async () => {
  const acts = (options?: { allowGet: true }): Record<string, Handler> => ({
    "signOut()": (auth, request, reply) => auth.signOut(request, reply, options),
    "updateSession()": (auth, request, reply) => auth.updateSession(request, reply, {}, options),
    "unlinkAccount()": async (auth, request) => {
      const account = { provider: "credentials", providerAccountId: "1" };
      await auth.unlinkAccount(request, account, options).catch((error) => {
        if (error.code !== "FST_AUTHJS_NOT_FOUND") throw error;
      });
      return {};
    },
  });
  const adapter = {
    ...withAccountList(memoryAdapter(), () => Promise.resolve([])),
    unlinkAccount: () => Promise.resolve(undefined),
  };
  await adapter.createUser!({ id: "id-ada", email: "ada@example.com", emailVerified: null });
  const overrides = { adapter, session: { strategy: "jwt" as const } };
  // A promise that was not awaited says nothing.
  const unsure = acts({ allowGet: Promise.resolve(false) as never });
  for (const [name, act] of [...Object.entries(acts()), ...Object.entries(unsure)]) {
    for (const method of ["GET", "HEAD"]) {
      await using app = await appWith(act, overrides);
      const client = new Client(app);
      await client.signIn(MINE);
      const typed = await client.request(method, "/act", { headers: { "sec-fetch-site": "none" } });
      assertEquals(typed.statusCode, 403, name);
      if (method === "GET") {
        assertStringIncludes(typed.json().message, `give ${name} the option \`allowGet: true\``);
      }
      assertEquals(await nameAt(client), "ada");
      const own = await client.request(method, "/act", { headers: { "sec-fetch-site": "same-origin" } });
      assert(own.statusCode < 400, own.body);
    }
  }
  for (const [name, act] of Object.entries(acts({ allowGet: true }))) {
    await using app = await appWith(act, overrides);
    const client = new Client(app);
    await client.signIn(MINE);
    const typed = await client.get("/act", { headers: { "sec-fetch-site": "none" } });
    assert(typed.statusCode < 400, `${name}: ${typed.body}`);
    const linked = await client.get("/act", { headers: { "sec-fetch-site": "cross-site" } });
    assertEquals(linked.statusCode, 403, name);
  }
  await using app = await appWith((auth, request, reply) => auth.signIn(request, reply));
  const begun = await new Client(app).get("/act", { headers: { "sec-fetch-site": "none" } });
  assertEquals(begun.statusCode, 302);
});

Deno.test("an action where the plugin is not registered says so", async () => {
  const auth = createAuth(testConfig());
  await using app = Fastify() as FastifyInstance;
  app.post("/act", (request, reply) => auth.signOut(request, reply));
  const answer = await app.inject({ method: "POST", url: "/act" });
  assertEquals([answer.statusCode, answer.json().code], [500, "FST_AUTHJS_CONFIG_INVALID"]);
});

Deno.test("cookies of an action after the head was sent are lost, and the log says so once", async () => {
  const early: Handler = async (auth, request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200);
    await auth.signIn(request, reply, "credentials", { fields: request.body, redirect: false });
    reply.raw.end();
  };
  await using app = await appWith(early);
  for (let i = 0; i < 2; i++) {
    const answer = await new Client(app).request("POST", "/act", { json: MINE });
    assertEquals([answer.statusCode, setCookies(answer)], [200, []]);
  }
  const losses = app.lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE");
  assertEquals(losses.length, 1);
  assertStringIncludes(losses[0]!.msg, "before the head is sent");

  await using inTime = await appWith(signInWithBody);
  await new Client(inTime).request("POST", "/act", { json: MINE });
  assertEquals(inTime.lines.filter(({ code }) => code === "FST_AUTHJS_WARN_LOST_COOKIE"), []);
});

Deno.test("reply.session follows where the application has declared it", async () => {
  const auth = createAuth(testConfig({
    callbacks: {
      jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
    },
  }));
  await using app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.decorateReply("session", null);
  app.post("/act", { onRequest: auth.requireSession() }, async (request, reply) => {
    const held = () => (reply as unknown as { session?: { user: { name: string } } | null }).session?.user.name ?? null;
    const names = [held()];
    await auth.updateSession(request, reply, { name: "Countess" });
    names.push(held());
    await auth.signOut(request, reply, { redirect: false });
    return [...names, held()];
  });
  const client = new Client(app);
  await client.signIn(MINE);
  assertEquals((await client.request("POST", "/act")).json(), ["ada", "Countess", null]);
});
