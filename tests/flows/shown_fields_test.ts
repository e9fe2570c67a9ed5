/** What `callbacks.session` is given of a session in a database: rows that are read as before, and not sent. */
import { assertEquals } from "@std/assert";
import type { AdapterSession, AdapterUser } from "@auth/core/adapters";
import type { FastifyAuthConfig } from "fastify-authjs";
import { testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

type SessionCallback = NonNullable<NonNullable<FastifyAuthConfig["callbacks"]>["session"]>;

/** A user's row, with columns that are nobody's business. */
const ADA = {
  id: "1",
  name: "Ada",
  email: "ada@example.com",
  emailVerified: null,
  role: "admin",
  passwordHash: "$2b$10$secret",
} satisfies AdapterUser & Record<string, unknown>;

/** What the rows have that a session never sends by itself. */
const SECRETS = ["database-token", "$2b$10$secret", "emailVerified", "userId", "sessionToken", "device"];

/** An application over the rows of Ada, and a browser that is signed in as her. */
async function signedInAs(session: SessionCallback, user: AdapterUser = ADA) {
  const row = {
    sessionToken: "database-token",
    userId: user.id,
    expires: new Date(Date.now() + 30 * 86_400_000),
    device: "phone",
  };
  const adapter = memoryAdapter({
    users: new Map([[user.id, user]]),
    accounts: [],
    sessions: new Map<string, AdapterSession>([["database-token", row]]),
    tokens: [],
  });
  const app = await testApp(testConfig({ adapter, providers: [], callbacks: { session } }));
  const client = new Client(app);
  client.cookies.set("authjs.session-token", "database-token");
  return { app, client, [Symbol.asyncDispose]: () => app.close() };
}

/** What a browser gets of the session, by each way to it. */
async function sent(client: Client): Promise<string[]> {
  const csrfToken = await client.csrfToken();
  return [
    (await client.get("/me")).body,
    (await client.get("/auth/session")).body,
    (await client.request("POST", "/auth/session", { json: { csrfToken, data: { theme: "dark" } } })).body,
  ];
}

const shallow = ({ session, user }: Parameters<SessionCallback>[0]) => ({
  ...session,
  user: { ...session.user, id: user.id },
});

const CALLBACKS: Record<string, SessionCallback> = {
  "returns it": ({ session }) => session,
  "spreads it": shallow,
  "assigns to it": ({ session, user }) =>
    Object.assign(session, { user: Object.assign(session.user, { id: user.id }) }),
  "copies its entries": ({ session }) =>
    Object.fromEntries(
      Object.entries(session).map((
        [name, value],
      ) => [name, name === "user" ? { ...value as object } : value]),
    ) as never,
  "loops over it": ({ session }) => {
    const copy: Record<string, unknown> = { user: {} };
    for (const name in session) if (name !== "user") copy[name] = session[name as "expires"];
    for (const name in session.user) {
      (copy.user as Record<string, unknown>)[name] = session.user[name as "id"];
    }
    return copy as never;
  },
  "clones it": ({ session }) => structuredClone(session),
  "sends it through JSON": ({ session }) => JSON.parse(JSON.stringify(session)),
};

for (const [name, callback] of Object.entries(CALLBACKS)) {
  Deno.test(`F1: a session callback that ${name} sends no column of the database besides four of the user`, async () => {
    await using ada = await signedInAs(callback);
    for (const body of await sent(ada.client)) {
      assertEquals(SECRETS.filter((secret) => body.includes(secret)), [], body);
      const { session = JSON.parse(body) } = JSON.parse(body);
      assertEquals(session.user, { id: "1", name: "Ada", email: "ada@example.com" });
      assertEquals(Object.keys(session).sort(), ["expires", "user"]);
    }
  });
}

Deno.test("F1: the session callback reads every column of a session in a database as in Auth.js", async () => {
  const seen: unknown[] = [];
  await using ada = await signedInAs(({ session, user }) => {
    const { sessionToken, userId, expires, device } = session as typeof session & { device: string };
    const { role, passwordHash, emailVerified } = session.user as unknown as typeof ADA;
    seen.push(
      sessionToken,
      userId,
      (expires as unknown) instanceof Date,
      device,
      role,
      passwordHash,
      emailVerified,
    );
    seen.push("role" in session.user, Object.keys(user));
    return session;
  });
  await ada.client.get("/me");
  assertEquals(seen, [
    ...["database-token", "1", true, "phone", "admin", "$2b$10$secret", null],
    ...[true, ["id", "name", "email", "emailVerified", "role", "passwordHash"]],
  ]);
});

Deno.test("F1: a column that the session callback assigns is a field that is sent", async () => {
  await using ada = await signedInAs(({ session, user }) => {
    const { role } = user as unknown as typeof ADA;
    (session.user as unknown as { role: string }).role = role;
    Object.assign(session, { device: (session as unknown as { device: string }).device });
    return session;
  });
  for (const body of await sent(ada.client)) {
    const { session = JSON.parse(body) } = JSON.parse(body);
    assertEquals([session.user.role, session.device], ["admin", "phone"]);
    assertEquals(body.includes("$2b$10$secret"), false);
  }
});

/** A row as some mappers return it: an instance, with members of its class. */
class Entity {
  readonly id = "1";
  readonly email = "ada@example.com";
  readonly emailVerified = null;
  readonly passwordHash = "$2b$10$secret";
  first = "Ada";
  get name() {
    return this.first;
  }
  get greeting() {
    return `Hello ${this.first}`;
  }
  toJSON() {
    return { ...this };
  }
}

Deno.test("F1: a user that is an instance of a class is not sent by its toJSON()", async () => {
  const greetings: unknown[] = [];
  await using ada = await signedInAs(({ session }) => {
    greetings.push((session.user as unknown as Entity).greeting);
    return session;
  }, new Entity());
  for (const body of await sent(ada.client)) {
    const { session = JSON.parse(body) } = JSON.parse(body);
    assertEquals(session.user, { id: "1", name: "Ada", email: "ada@example.com" });
  }
  assertEquals(greetings, ["Hello Ada", "Hello Ada", "Hello Ada"]);
});
