/** `auth.linkAccount()`, `auth.unlinkAccount()` and `auth.listAccounts()`, over a database in memory and in SQL. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter, AdapterUser } from "@auth/core/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import { createClient } from "@libsql/client";
import { drizzle } from "drizzle-orm/libsql";
import { encode, type JWT } from "@auth/core/jwt";
import Fastify, { type FastifyInstance } from "fastify";
import { type AuthObject, createAuth, type FastifyAuthConfig } from "fastify-authjs";
import { type ListedAccount, withAccountList } from "fastify-authjs/adapters";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import {
  type InjectWithCookies,
  type IssuerUser,
  signedIn,
  startIssuer,
  type TestIssuer,
} from "fastify-authjs/testing";
import { SECRET } from "../../support/app.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { DRIZZLE_LIBSQL_TABLES } from "../../support/tables.ts";

/** A database with what the configuration says of it. */
interface Database extends AsyncDisposable {
  readonly adapter: Adapter;
  readonly list: (userId: string) => Promise<readonly ListedAccount[]>;
}

const DATABASES: Readonly<Record<string, () => Promise<Database>>> = {
  "in memory": () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    const { accounts } = tables;
    const unlinkAccount = ({ provider, providerAccountId }: Partial<ListedAccount>) => {
      const index = accounts.findIndex((each) =>
        each.provider === provider && each.providerAccountId === providerAccountId
      );
      if (index !== -1) accounts.splice(index, 1);
      return Promise.resolve(undefined);
    };
    return Promise.resolve({
      adapter: { ...memoryAdapter(tables), unlinkAccount },
      list: (userId) => Promise.resolve(accounts.filter((each) => each.userId === userId)),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    });
  },
  "on libSQL": async () => {
    const client = createClient({ url: "file::memory:" });
    await client.executeMultiple(DRIZZLE_LIBSQL_TABLES);
    return {
      adapter: DrizzleAdapter(drizzle(client)),
      async list(userId) {
        const { rows } = await client.execute({
          sql: `SELECT * FROM "account" WHERE "userId" = ?`,
          args: [userId],
        });
        return rows as unknown as ListedAccount[];
      },
      [Symbol.asyncDispose]: () => Promise.resolve(client.close()),
    };
  },
};

const ADA = { id: "ada", name: "Ada", email: "ada@example.com" };
const AT_WORK: IssuerUser = {
  sub: "w-1",
  name: "Ada L.",
  email: "lovelace@work.example",
  email_verified: true,
};

/** An application with a page of accounts, and two providers at one issuer. */
interface Scene {
  readonly app: FastifyInstance;
  readonly auth: AuthObject;
  readonly issuer: TestIssuer;
  readonly database: Database;
  /** The methods of the adapter that were called. */
  readonly calls: string[];
  /** From the next request for tokens on, the database does not find the session, or its user. */
  endSession: boolean;
  /** How many accounts are unlinked at the same moment. */
  together: number;
}

function addRoutes(app: FastifyInstance, auth: AuthObject): void {
  app.get("/accounts", (request) => auth.listAccounts(request));
  app.post<{ Params: { provider: string } }>(
    "/link/:provider",
    (request, reply) =>
      auth.linkAccount(request, reply, request.params.provider, { callbackUrl: "/accounts?linked=1" }),
  );
  app.post(
    "/link-with-state",
    (request, reply) => auth.linkAccount(request, reply, "checked", { authorizationParams: { state: "ours" } }),
  );
  app.post(
    "/link-remembered",
    (request, reply) => auth.linkAccount(request, reply, "checked", { rememberMe: true } as object),
  );
  app.post<{ Body: { provider: string; providerAccountId: string } }>("/unlink", async (request, reply) => {
    await auth.unlinkAccount(request, request.body);
    return reply.code(204).send();
  });
  app.post("/unlink-unsure", async (request, reply) => {
    for (const account of await auth.listAccounts(request)) {
      await auth.unlinkAccount(request, account, { otherSignInMethod: Promise.resolve(false) as never });
    }
    return reply.code(204).send();
  });
  app.post("/unlink-all", async (request) => {
    for (const account of await auth.listAccounts(request)) {
      await auth.unlinkAccount(request, account, { otherSignInMethod: true });
    }
    return "done";
  });
}

type Overrides = Partial<FastifyAuthConfig> & { mail?: boolean };

async function withScene(
  database: Database,
  { mail = false, ...overrides }: Overrides,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using issuer = await startIssuer();
  const calls: string[] = [];
  const scene = { endSession: false, together: 1 };
  let open = () => {};
  const gate = new Promise<void>((resolve) => open = resolve);
  const isEnded = () => scene.endSession && issuer.requests.at(-1)?.endsWith("/authorize") === false;
  const adapter: Adapter = {
    ...database.adapter,
    async unlinkAccount(account) {
      calls.push("unlinkAccount");
      if (calls.length === scene.together) open();
      if (scene.together > 1) await gate;
      await database.adapter.unlinkAccount!(account);
    },
    getUser: (id) => isEnded() ? null : database.adapter.getUser!(id),
    getSessionAndUser: (token) => isEnded() ? null : database.adapter.getSessionAndUser!(token),
  };
  const auth = createAuth({
    secret: SECRET,
    trustHost: true,
    providers: [
      issuer.provider({ id: "home", name: "Home" }),
      issuer.provider({ id: "work", name: "Work" }),
      ...(mail ? [Nodemailer({ server: "smtp://127.0.0.1", from: "app@example.com" })] : []),
    ],
    adapter: withAccountList(adapter, database.list),
    ...overrides,
  }) as unknown as AuthObject;
  await using app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });
  addRoutes(app, auth);
  await use(Object.assign(scene, { app, auth, issuer, database, calls }));
}

/** Each database, with one of the strategies. */
const CASES = [["in memory", "jwt"], ["on libSQL", "database"]] as const;

/** Declares a test for each. */
function accountsTest(
  name: string,
  use: (scene: Scene) => Promise<void>,
  overrides: Overrides = {},
): void {
  for (const [where, strategy] of CASES) {
    Deno.test(`accounts ${where}, strategy "${strategy}": ${name}`, async () => {
      await using database = await DATABASES[where]!();
      await withScene(database, { session: { strategy }, ...overrides }, use);
    });
  }
}

/** Declares a test of what does not depend on them. */
function memoryTest(
  name: string,
  use: (scene: Scene) => Promise<void>,
  overrides: Overrides = {},
): void {
  Deno.test(`accounts: ${name}`, async () => {
    await using database = await DATABASES["in memory"]!();
    await withScene(database, overrides, use);
  });
}

/** Starts a link, and goes to the provider as `user`; returns the path of the callback. */
async function visit({ issuer }: Scene, inject: InjectWithCookies, user: IssuerUser, id = "work") {
  const started = await inject({ method: "POST", url: `/link/${id}` });
  assertEquals(started.statusCode, 302, started.body);
  issuer.user = user;
  const sent = await fetch(String(started.headers.location), { redirect: "manual" });
  await sent.body?.cancel();
  const { pathname, search } = new URL(sent.headers.get("location")!);
  return pathname + search;
}

/** Links an account, and returns where the user ends. */
async function link(scene: Scene, inject: InjectWithCookies, user: IssuerUser, id = "work"): Promise<string> {
  const callback = await inject(await visit(scene, inject, user, id));
  assertEquals(callback.statusCode, 302, callback.body);
  return String(callback.headers.location).replace(/^http:\/\/[^/]+/, "");
}

async function accounts(inject: InjectWithCookies): Promise<string[]> {
  const response = await inject("/accounts");
  assertEquals(response.statusCode, 200, response.body);
  return response.json().map(({ provider, providerAccountId, type, ...rest }: Record<string, string>) => {
    assertEquals(rest, {}); // no tokens
    return `${type} ${provider} ${providerAccountId}`;
  }).sort();
}

const userOf = async ({ database: { adapter } }: Scene, provider: string, providerAccountId: string) =>
  await adapter.getUserByAccount!({ provider, providerAccountId }) as AdapterUser | null;

async function unlink(inject: InjectWithCookies, provider: string, providerAccountId: string) {
  return await inject({ method: "POST", url: "/unlink", payload: { provider, providerAccountId } });
}

const name = async (inject: InjectWithCookies) => (await inject("/auth/session")).json()?.user.name;

accountsTest("an account is linked, signs the user in, and is unlinked", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  assertEquals(await accounts(ada), ["oidc home h-1"]);

  assertEquals(await link(scene, ada, AT_WORK), "/accounts?linked=1");
  assertEquals(await accounts(ada), ["oidc home h-1", "oidc work w-1"]);
  assertEquals(await name(ada), "Ada");
  // What the provider says of the user changes nothing.
  const user = await userOf(scene, "work", "w-1");
  assertEquals([user?.name, user?.email, user?.emailVerified ?? null], ["Ada", ADA.email, null]);

  // A sign-in with the account, in another browser, is this user's.
  const elsewhere = await issuer.signIn(app, { provider: "work", user: AT_WORK });
  assertEquals(await name(elsewhere), "Ada");
  // To link it once more changes nothing.
  assertEquals(await link(scene, ada, AT_WORK), "/accounts?linked=1");
  assertEquals(await accounts(ada), ["oidc home h-1", "oidc work w-1"]);

  assertEquals((await unlink(ada, "home", "h-1")).statusCode, 204);
  assertEquals(await accounts(ada), ["oidc work w-1"]);
  assertEquals(await userOf(scene, "home", "h-1"), null);
});

Deno.test("accounts: an account is linked if the `sub` of the session is a number", async () => {
  await using memory = await DATABASES["in memory"]!();
  const adapter: Adapter = {
    ...memory.adapter,
    createUser: (user) => memory.adapter.createUser!({ ...user, id: "7" }),
    getUser: (id) => memory.adapter.getUser!(String(id)),
  };
  const jwt = ({ token, user }: { token: JWT; user?: { id?: string } }) =>
    user ? { ...token, sub: Number(user.id) as unknown as string } : token;
  await withScene({ ...memory, adapter }, { session: { strategy: "jwt" }, callbacks: { jwt } }, async (scene) => {
    const ada = await scene.issuer.signIn(scene.app, { provider: "home", user: { ...ADA, sub: "h-1" } });
    assertEquals(await link(scene, ada, AT_WORK), "/accounts?linked=1");
    assertEquals(await accounts(ada), ["oidc home h-1", "oidc work w-1"]);
  });
});

accountsTest("an account of another user is not linked", async (scene) => {
  const { app, issuer } = scene;
  const bob = await issuer.signIn(app, { provider: "work", user: { sub: "w-2", name: "Bob" } });
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  assertEquals(
    await link(scene, ada, { sub: "w-2", name: "Bob" }),
    "/accounts?linked=1&error=OAuthAccountNotLinked",
  );
  assertEquals([await name(ada), await name(bob)], ["Ada", "Bob"]);
  assertEquals([await accounts(ada), await accounts(bob)], [["oidc home h-1"], ["oidc work w-2"]]);
  assertEquals((await userOf(scene, "work", "w-2"))?.name, "Bob");
});

accountsTest("the address of another user is no reason to refuse, and nobody's changes", async (scene) => {
  const { app, issuer } = scene;
  await issuer.signIn(app, { provider: "work", user: { sub: "w-2", name: "Bob", email: "bob@example.com" } });
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  assertEquals(
    await link(scene, ada, { sub: "w-3", name: "B", email: "bob@example.com" }),
    "/accounts?linked=1",
  );
  assertEquals((await userOf(scene, "work", "w-3"))?.email, ADA.email);
  assertEquals((await userOf(scene, "work", "w-2"))?.email, "bob@example.com");
});

accountsTest("the last sign-in method stays", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const refused = await unlink(ada, "home", "h-1");
  assertEquals([refused.statusCode, refused.json().code], [409, "FST_AUTHJS_LAST_SIGN_IN_METHOD"]);
  assertEquals([await accounts(ada), scene.calls], [["oidc home h-1"], []]);

  // Two requests at once, each of which leaves the other account.
  await link(scene, ada, AT_WORK);
  scene.together = 2;
  const both = await Promise.all([unlink(ada, "home", "h-1"), unlink(ada, "work", "w-1")]);
  assert(both.some(({ statusCode }) => statusCode === 409), both.map(({ body }) => body).join());
  assert((await accounts(ada)).length > 0);
});

memoryTest("a promise of another sign-in method does not count as one", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const { statusCode, json } = await ada({ method: "POST", url: "/unlink-unsure" });
  assertEquals([statusCode, json().message], [500, "unlinkAccount(): `otherSignInMethod` is a promise: await it."]);
  assertEquals(scene.calls, []);
});

memoryTest("linking and unlinking need a session", async ({ app, auth }) => {
  const call = async (method: "GET" | "POST", url: string, payload?: object) => {
    const { statusCode, json } = await app.inject({ method, url, ...(payload && { payload }) });
    return [statusCode, json().code];
  };
  const account = { provider: "home", providerAccountId: "h-1" };
  assertEquals(await call("GET", "/accounts"), [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  assertEquals(await call("POST", "/link/work"), [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  assertEquals(await call("POST", "/unlink", account), [401, "FST_AUTHJS_UNAUTHENTICATED"]);
  // A session of a user whom the database does not have.
  const ghost = await signedIn(app, auth, { user: { id: "ghost", name: "Ghost" } });
  assertEquals((await ghost({ method: "POST", url: "/link/work" })).statusCode, 401);
}, { session: { strategy: "jwt" } });

memoryTest("a request of another site is refused", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  await link(scene, ada, AT_WORK);
  for (
    const headers of [{ "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }, {
      origin: "https://evil.example",
    }]
  ) {
    const linking = await ada({ method: "POST", url: "/link/work", headers });
    assertEquals([linking.statusCode, linking.json().code], [403, "FST_AUTHJS_CROSS_SITE"]);
    const payload = { provider: "work", providerAccountId: "w-1" };
    const unlinking = await ada({ method: "POST", url: "/unlink", headers, payload });
    assertEquals([unlinking.statusCode, unlinking.json().code], [403, "FST_AUTHJS_CROSS_SITE"]);
  }
  assertEquals((await accounts(ada)).length, 2);
});

accountsTest("a user who is not signed in any more gets no account, and no session", async (scene) => {
  const { app, issuer, database } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const callback = await visit(scene, ada, AT_WORK);
  const cookie = ada.cookie.split("; ").filter((pair) => !pair.startsWith("authjs.session-token")).join("; ");
  const answer = await app.inject({ url: callback, headers: { cookie } });
  assertStringIncludes(String(answer.headers.location), "/accounts?linked=1&error=SessionRequired");
  assertEquals(String(answer.headers["set-cookie"]).includes("session-token=ey"), false);
  assertEquals(await userOf(scene, "work", "w-1"), null);
  assertEquals(await database.adapter.getUserByEmail!(AT_WORK.email!), null);
});

accountsTest("another user, who has signed in meanwhile, does not get the account", async (scene) => {
  const { app, auth, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const callback = await visit(scene, ada, AT_WORK);
  const bob = await signedIn(app, auth, { user: { id: "bob", name: "Bob", email: "bob@example.com" } });
  if (auth.config.session?.strategy === "jwt") {
    await scene.database.adapter.createUser!(bob.user as AdapterUser);
  }
  const others = ada.cookie.split("; ").filter((pair) => !pair.startsWith("authjs.session-token"));
  const cookie = [...others, bob.cookie].join("; ");
  const answer = await app.inject({ url: callback, headers: { cookie } });
  assertStringIncludes(String(answer.headers.location), "error=SessionRequired");
  assertEquals(await userOf(scene, "work", "w-1"), null);
});

accountsTest(
  "a session that ends in the middle of the callback gets no account, and nobody is signed in",
  async (scene) => {
    const { app, issuer, database } = scene;
    const bob = { sub: "w-2", name: "Bob", email: "bob@example.com" };
    await issuer.signIn(app, { provider: "work", user: bob });
    for (const [user, error] of [[AT_WORK, "SessionRequired"], [bob, "OAuthAccountNotLinked"]] as const) {
      const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
      const callback = await visit(scene, ada, user);
      scene.endSession = true;
      const answer = await ada(callback);
      scene.endSession = false;
      assertStringIncludes(String(answer.headers.location), `/accounts?linked=1&error=${error}`);
      assertEquals(await name(ada) === "Bob", false);
    }
    assertEquals(await userOf(scene, "work", "w-1"), null);
    assertEquals(await database.adapter.getUserByEmail!(AT_WORK.email!), null);
  },
);

memoryTest("a link that was given up leaves later sign-ins of the browser alone", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  await visit(scene, ada, AT_WORK); // and given up
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const post = async (url: string) => {
    const { csrfToken } = (await ada("/auth/csrf")).json();
    return await ada({ method: "POST", url, headers, payload: `csrfToken=${csrfToken}` });
  };
  await post("/auth/signout");
  issuer.user = { sub: "w-9", name: "Grace" };
  const started = await post("/auth/signin/work");
  const sent = await fetch(String(started.headers.location), { redirect: "manual" });
  await sent.body?.cancel();
  const { pathname, search } = new URL(sent.headers.get("location")!);
  await ada(pathname + search);
  assertEquals(await name(ada), "Grace");
});

memoryTest("what the signIn callback and the provider refuse leads back, with the reason", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  assertEquals(
    await link(scene, ada, { sub: "w-4", name: "X", refused: true }),
    "/accounts?linked=1&error=AccessDenied",
  );
  issuer.error = "access_denied";
  assertEquals(await link(scene, ada, AT_WORK), "/accounts?linked=1&error=OAuthCallbackError");
  assertEquals(await accounts(ada), ["oidc home h-1"]);
}, { callbacks: { signIn: ({ profile }) => profile?.refused !== true } });

let isRefused = false;
memoryTest("a link that fails stays on the error page if the redirect callback returns no URL", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const page = await link(scene, ada, { sub: "w-4", name: "X", refused: true });
  assertStringIncludes(String(page), "/auth/error?error=AccessDenied");
}, {
  callbacks: {
    signIn: ({ profile }) => !(isRefused = profile?.refused === true),
    redirect: ({ url }) => isRefused ? "http://[" : url,
  },
});

memoryTest("a verified address is a sign-in method, where links are mailed", async (scene) => {
  const { app, issuer, database } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  assertEquals((await unlink(ada, "home", "h-1")).statusCode, 409);
  const { id } = (await userOf(scene, "home", "h-1"))!;
  // Some schemas keep a boolean.
  await database.adapter.updateUser!({ id, emailVerified: false as unknown as null });
  assertEquals((await unlink(ada, "home", "h-1")).statusCode, 409);
  await database.adapter.updateUser!({ id, emailVerified: new Date() });
  assertEquals((await unlink(ada, "home", "h-1")).statusCode, 204);
}, { mail: true });

memoryTest("an account of a provider that has been removed is no sign-in method", async (scene) => {
  const { app, issuer, database } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const { id } = (await userOf(scene, "home", "h-1"))!;
  await database.adapter.linkAccount!({
    userId: id,
    provider: "gone",
    providerAccountId: "g-1",
    type: "oauth",
  });
  assertEquals((await unlink(ada, "home", "h-1")).statusCode, 409);
  assertEquals((await unlink(ada, "gone", "g-1")).statusCode, 204);
  assertEquals((await unlink(ada, "gone", "g-1")).statusCode, 404);
  // The application knows of a password.
  assertEquals((await ada({ method: "POST", url: "/unlink-all" })).body, "done");
  assertEquals(await accounts(ada), []);
});

memoryTest("an account of another user is neither listed nor unlinked", async (scene) => {
  const { app, issuer } = scene;
  await issuer.signIn(app, { provider: "work", user: { sub: "w-2", name: "Bob" } });
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  await link(scene, ada, AT_WORK);
  const answer = await unlink(ada, "work", "w-2");
  assertEquals([answer.statusCode, answer.json().code], [404, "FST_AUTHJS_NOT_FOUND"]);
  assertEquals((await userOf(scene, "work", "w-2"))?.name, "Bob");
});

const SHAPE = "must return an array of rows with `userId`, `provider` and `providerAccountId`";

Deno.test("accounts: mistakes get errors that say what to change", async () => {
  const oidc = (id: string, overrides: object = {}) =>
    ({ id, name: id, type: "oidc", issuer: "https://id.example", clientId: "app", ...overrides }) as const;
  const providers = [
    oidc("posted", { authorization: { params: { response_mode: "form_post" } } }),
    oidc("unchecked", { checks: ["none"] }),
    oidc("checked"),
  ];
  const others = [{ provider: "home", providerAccountId: "1", type: "oidc", userId: "bob" }];
  for (
    const [list, url, message] of [
      [undefined, "/accounts", "Add it with `withAccountList(adapter, query)`"],
      [() => others, "/accounts", "returned an account of another user"],
      // What `pg` resolves with has the rows in it; another query names its columns otherwise.
      [() => ({ rows: others }) as never, "/accounts", SHAPE],
      [() => undefined as never, "/accounts", SHAPE],
      [() => [null] as never, "/accounts", SHAPE],
      [() => [{ provider: "home", provider_account_id: "1", user_id: "ada" }] as never, "/accounts", SHAPE],
      [undefined, "/passkeys", "there is no provider for passkeys"],
      [() => [], "/unlink", "the adapter has no `unlinkAccount()`"],
      [undefined, "/link/nodemailer", 'There is no OAuth provider "nodemailer"'],
      [undefined, "/link/posted", "response_mode=form_post"],
      [undefined, "/link/unchecked", 'give "unchecked" a check'],
      [undefined, "/link-with-state", '`authorizationParams`: "state" cannot be set here'],
      // The session goes on as it is.
      [undefined, "/link-remembered", "rememberMe"],
    ] as const
  ) {
    const adapter = memoryAdapter();
    await adapter.createUser({ ...ADA, emailVerified: null });
    const auth = createAuth({
      secret: SECRET,
      trustHost: true,
      providers,
      adapter: list ? withAccountList(adapter, list) : adapter,
      session: { strategy: "jwt" },
    });
    await using app = Fastify();
    await app.register(auth.plugin, { prefix: "/auth" });
    addRoutes(app, auth as unknown as AuthObject);
    const ada = await signedIn(app, auth, { user: ADA });
    app.get("/passkeys", (request) => auth.listPasskeys(request));
    const payload = url === "/unlink" ? { provider: "home", providerAccountId: "1" } : undefined;
    const answer = await ada({ method: /^\/(?:un)?link/.test(url) ? "POST" : "GET", url, ...(payload && { payload }) });
    assertStringIncludes(answer.json().message, message);
  }
  const { getUser: _getUser, ...partial } = memoryAdapter();
  for (
    const [adapter, message] of [[undefined, "set an `adapter`"], [partial, "has no `getUser()`"]] as const
  ) {
    const auth = createAuth({
      providers: [],
      secret: SECRET,
      trustHost: true,
      session: { strategy: "jwt" },
      ...(adapter && { adapter }),
    });
    await using app = Fastify();
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/accounts", (request) => auth.listAccounts(request));
    const cookie = `authjs.session-token=${await encode({
      token: { sub: "1" },
      secret: SECRET,
      salt: "authjs.session-token",
    })}`;
    assertStringIncludes(
      (await app.inject({ url: "/accounts", headers: { cookie } })).json().message,
      message,
    );
  }
});

memoryTest("a cookie that comes late leads to the session with the account", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const url = await visit(scene, ada, AT_WORK);
  const { cookie } = ada;
  const read = async (cookie: string) => (await app.inject({ url: "/auth/session", headers: { cookie } })).json().by;
  assertEquals((await ada("/auth/session")).json().by, "home");
  assertEquals((await app.inject({ url, headers: { cookie } })).statusCode, 302);
  assertEquals([await read(cookie), await read(ada.cookie)], ["work", "work"]);
}, {
  session: { strategy: "jwt" },
  callbacks: {
    jwt: ({ token, account }) =>
      account ? { ...token, by: account.provider } : { ...token, reads: crypto.randomUUID() },
    session: ({ session, token }) => ({ ...session, by: token.by }),
  },
});

let onLinked = async () => {};

accountsTest("a user who signs out while an account is linked is signed out", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const { cookie } = ada;
  const callback = await visit(scene, ada, AT_WORK);
  onLinked = async () => {
    const headers = { cookie: ada.cookie };
    const flow = await app.inject({ url: "/auth/csrf", headers });
    const cookies = flow.cookies.map(({ name, value }) => `${name}=${value}`);
    const payload = { csrfToken: flow.json().csrfToken };
    headers.cookie = [...cookies, headers.cookie].join("; ");
    assertEquals((await app.inject({ method: "POST", url: "/auth/signout", headers, payload })).statusCode, 302);
  };
  const answer = await ada(callback);
  assertStringIncludes(String(answer.headers.location), "/accounts?linked=1");
  assertEquals(String(answer.headers.location).includes("error"), false);
  assertEquals([ada.cookie.includes("session-token"), await name(ada)], [false, undefined]);
  assertEquals((await app.inject({ url: "/auth/session", headers: { cookie } })).json(), null);
}, { events: { linkAccount: ({ account }) => account.provider === "work" ? onLinked() : undefined } });

memoryTest("a session whose user was deleted does not go on as that of who signs in then", async (scene) => {
  const { app, issuer } = scene;
  const ada = await issuer.signIn(app, { provider: "home", user: { ...ADA, sub: "h-1" } });
  const { cookie } = ada;
  const { csrfToken } = (await ada("/auth/csrf")).json();
  const started = await ada({ method: "POST", url: "/auth/signin/work", payload: { csrfToken } });
  issuer.user = { sub: "w-2", name: "Bob", email: "bob@example.com" };
  const sent = await fetch(String(started.headers.location), { redirect: "manual" });
  await sent.body?.cancel();
  scene.endSession = true;
  const { pathname, search } = new URL(sent.headers.get("location")!);
  await ada(pathname + search);
  assertEquals(await name(ada), "Bob");
  assertEquals((await app.inject({ url: "/auth/session", headers: { cookie } })).json(), null);
}, { session: { strategy: "jwt" } });
