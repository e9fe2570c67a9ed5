/** Cookies that look like the session's: of other applications, of scripts, and left over of sessions before. */
import { assert, assertEquals } from "@std/assert";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, passwordProvider, testApp, testConfig } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { locationOf, pathOf, signedInName, startSignIn } from "../support/oauth_client.ts";
import { withProvider } from "../support/scripted_sign_in.ts";

const NAME = "authjs.session-token";
const ADA = { username: "ada", password: "open" };

/** Cookies that core takes for a part of the session. Some only a script can set. */
const lookAlikes = (name: string) => ({
  [`${name}id`]: "of-another-application",
  [`${name}-x`]: "x",
  [`${name}.9`]: "y",
  [`${name}.01`]: "z",
  [`${name}[1]`]: "script",
  [`${name}(2)`]: "script",
});

const CONFIGS: Record<string, Partial<FastifyAuthConfig>> = {
  "tokens": {},
  "a name of one's own": { cookies: { sessionToken: { name: "session", options: {} } } },
  "a database": { adapter: memoryAdapter(), providers: [passwordProvider()], session: { strategy: "jwt" } },
  "chunks": { callbacks: { jwt: ({ token }) => ({ ...token, big: "x".repeat(4000) }) } },
};

for (const [kind, overrides] of Object.entries(CONFIGS)) {
  Deno.test(`beside other applications' cookies one signs in, reads, updates and signs out (${kind})`, async () => {
    const name = overrides.cookies?.sessionToken?.name ?? NAME;
    const { logger, lines } = captureLog();
    await using app = await testApp(testConfig(overrides), { logger });
    const client = new Client(app);
    const foreign = lookAlikes(name);
    for (const [name, value] of Object.entries(foreign)) client.cookies.set(name, value);
    const assertKept = () => {
      for (const [name, value] of Object.entries(foreign)) {
        assertEquals(client.cookies.get(name), value, name);
      }
    };

    assertEquals(await signedInName(client), undefined);
    assertKept();
    await client.signIn(ADA);
    assertEquals(await signedInName(client), "ada");
    assertKept();
    const csrfToken = await client.csrfToken();
    const updated = await client.request("POST", "/auth/session", { json: { csrfToken, data: {} } });
    assertEquals(updated.json().user.name, "ada");
    assertEquals((await client.get("/auth/session")).json().user.name, "ada");
    assertKept();
    assertEquals((await client.signOut()).statusCode, 302);
    assertEquals(await signedInName(client), undefined);
    assertKept();
    assertEquals([...client.cookies.keys()].filter((key) => key.startsWith(name)), Object.keys(foreign));
    assertEquals(lines.filter(({ level }) => level >= 50), []);
  });
}

for (const name of ["a", "auth", "authjs", "authjs."]) {
  for (const size of [0, 5000]) {
    Deno.test(`a session cookie named "${name}", as Auth.js's other cookies begin, works (${size} characters)`, async () => {
      const ended: string[] = [];
      const { logger, lines } = captureLog();
      const app = await testApp(
        testConfig({
          cookies: { sessionToken: { name, options: { sameSite: "strict" } } },
          callbacks: {
            jwt: ({ token, session }) => ({ ...token, ...session, big: "x".repeat(size) }),
            session: ({ session, token }) => ({ ...session, seen: token.seen }) as never,
          },
          events: { signOut: (message) => void ended.push("token" in message ? message.token!.name! : "") },
        }),
        { logger },
      );
      const client = new Client(app);
      const foreign = lookAlikes(name);
      for (const [name, value] of Object.entries(foreign)) client.cookies.set(name, value);
      const csrfToken = await client.csrfToken();
      const signedIn = await client.post("/auth/callback/credentials", { ...ADA, csrfToken });
      const set = setCookies(signedIn).filter((line) => /^[^=]+=[^;]/.test(line) && line.startsWith(name));
      assertEquals(set.length, size === 0 ? 1 : 2);
      assert(set.every((line) => line.includes("SameSite=Strict")), set.join());
      assertEquals(await signedInName(client), "ada");
      assertEquals(await client.csrfToken(), csrfToken, "the CSRF cookie stays");
      const updated = await client.request("POST", "/auth/session", {
        json: { csrfToken, data: { seen: 1 } },
      });
      assertEquals([updated.json().user.name, updated.json().seen], ["ada", 1]);
      assertEquals((await client.get("/auth/session")).json().seen, 1);
      assertEquals((await client.post("/auth/signout", { csrfToken })).statusCode, 302);
      assertEquals(ended, ["ada"]);
      assertEquals(await signedInName(client), undefined);
      for (const [name, value] of Object.entries(foreign)) assertEquals(client.cookies.get(name), value);
      assertEquals(await client.csrfToken(), csrfToken);
      assertEquals(lines.filter(({ level }) => level >= 50), []);
      await app.close();
    });
  }
}

/** A browser with a session of this many cookies. */
async function signedInWith(
  app: FastifyInstance,
  setSize: (size: number) => void,
  size: number,
): Promise<Client> {
  const client = new Client(app);
  setSize(size);
  await client.signIn(ADA);
  return client;
}

const partsOf = (client: Client) => [...client.cookies.keys()].filter((key) => key.startsWith(NAME)).sort();

Deno.test("a sign-in with a provider ends beside a cookie that a header of a request to core cannot have", () =>
  withProvider({}, async ({ client, provider }) => {
    client.cookies.set("first", "\u007f");
    const answer = await startSignIn(client);
    client.cookies.set("other", "日本");
    await client.get(pathOf(provider.authorize(locationOf(answer))));
    assertEquals(await signedInName(client), "Ada");
  }));

Deno.test("a sign-in over a session of another size leaves no part of it", async () => {
  let size = 0;
  await using app = await testApp(testConfig({
    sessionCookieLimit: 0,
    callbacks: { jwt: ({ token }) => ({ ...token, big: "x".repeat(size) }) },
  }));
  const sizes = {
    0: [NAME],
    3000: [0, 1].map((i) => `${NAME}.${i}`),
    6000: [0, 1, 2].map((i) => `${NAME}.${i}`),
  };
  for (const before of [0, 3000, 6000]) {
    for (const [after, parts] of Object.entries(sizes)) {
      const client = await signedInWith(app, (next) => size = next, before);
      size = Number(after);
      await client.signIn({ ...ADA, username: "grace" });
      assertEquals(partsOf(client), parts, `${before} to ${after}`);
      assertEquals(await signedInName(client), "grace");
    }
  }
});

Deno.test("a whole cookie beside chunks is the session; the next sign-in, update or sign-out removes the chunks", async () => {
  await using app = await testApp();
  const ends: Record<string, (client: Client) => Promise<unknown>> = {
    "sign-in": (client) => client.signIn(ADA),
    "update": async (client) =>
      await client.request("POST", "/auth/session", {
        json: { csrfToken: await client.csrfToken(), data: {} },
      }),
    "sign-out": (client) => client.signOut(),
  };
  for (const [name, end] of Object.entries(ends)) {
    const client = new Client(app);
    await client.signIn(ADA);
    for (const i of [0, 1]) client.cookies.set(`${NAME}.${i}`, "stale");
    assertEquals(await signedInName(client), "ada", name);
    await end(client);
    assertEquals(partsOf(client), name === "sign-out" ? [] : [NAME], name);
  }
});

Deno.test("sign-out removes what is too large to be a session, and a sign-out that fails removes nothing", async () => {
  await using app = await testApp();
  const client = new Client(app);
  for (let i = 0; i < 20; i++) client.cookies.set(`${NAME}.${i}`, "x".repeat(10));
  const failed = await client.post("/auth/signout", { csrfToken: "none" });
  assertEquals(setCookies(failed).filter((line) => line.startsWith(NAME)), []);
  const answer = await client.signOut();
  assertEquals(setCookies(answer).filter((line) => line.startsWith(NAME)).length, 16);
});

const FORM_POST = { authorization: { params: { response_mode: "form_post", scope: "openid" } } };

for (const [before, after] of [[6000, 0], [0, 6000], [9000, 3000]] as const) {
  Deno.test(`form_post: a session of ${before} characters that the browser did not send is replaced by one of ${after}`, async () => {
    let size = before as number;
    const overrides: Partial<FastifyAuthConfig> = {
      origin: "https://app.example",
      sessionCookieLimit: 0,
      callbacks: { jwt: ({ token }) => ({ ...token, big: "x".repeat(size) }) },
    };
    await withProvider(
      {},
      async ({ client, provider }) => {
        const secure = `__Secure-${NAME}`;
        const parts = () => [...client.cookies.keys()].filter((key) => key.startsWith(secure)).sort();
        const signIn = async () => {
          const address = new URL(provider.authorize(locationOf(await startSignIn(client))));
          // The provider's site posts the form: only cookies with SameSite=None come along.
          const sent = [...client.cookies].filter(([name]) => !name.startsWith(secure));
          return await client.post("/auth/callback/op", Object.fromEntries(address.searchParams), {
            cookie: sent.map(([name, value]) => `${name}=${value}`).join("; "),
          });
        };
        await signIn();
        assert(parts().length > 0);
        provider.script = { claims: { name: "Grace" } };
        size = after;
        await signIn();
        const expected = after === 0 ? [secure] : [0, 1, 2].slice(0, after / 3000 + 1).map((i) => `${secure}.${i}`);
        assertEquals(parts(), expected);
        assertEquals(await signedInName(client), "Grace");
      },
      FORM_POST,
      overrides,
    );
  });
}
