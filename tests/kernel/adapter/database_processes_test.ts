/** From one machine to many: two processes behind one origin, with PostgreSQL between them. */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { request } from "node:http";
import { SECRET } from "../../support/app.ts";
import { type ChildApp, startChildApp, stopChildApp } from "../../support/child_app.ts";
import { drizzlePg, serverUrl } from "../../support/databases.ts";
import { codeFor } from "../../support/identity.ts";

const ADA = { id: "ada-1", name: "Ada", email: "ada@example.com" };
function startApp(databaseUrl: string): Promise<ChildApp> {
  const env = { DATABASE_URL: databaseUrl, AUTH_URL: "https://app.example", AUTH_SECRET: SECRET };
  return startChildApp("./app_process.ts", env);
}

interface Answer {
  readonly status: number;
  readonly location: string;
  readonly body: string;
}

/** A browser behind a load balancer: each request goes to the process that the test names. */
class Browser {
  readonly cookies = new Map<string, string>();

  async send(app: ChildApp, path: string, form?: Record<string, string>): Promise<Answer> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const body = form && new URLSearchParams(form).toString();
    const headers = {
      cookie,
      // What the balancer calls its backend: AUTH_URL decides all the same.
      host: `backend-${app.port}.internal`,
      ...(body && { "content-type": "application/x-www-form-urlencoded", "content-length": body.length }),
    };
    return await new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      request(
        { host: "127.0.0.1", port: app.port, path, method, headers, agent: false },
        async (response) => {
          for (const line of response.headers["set-cookie"] ?? []) this.#keep(line);
          let text = "";
          for await (const chunk of response.setEncoding("utf8")) text += chunk;
          resolve({ status: response.statusCode!, location: response.headers.location ?? "", body: text });
        },
      ).on("error", reject).end(body);
    });
  }

  #keep(line: string): void {
    const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
    if (value === "" || /;\s*max-age=0/i.test(line)) this.cookies.delete(name);
    else this.cookies.set(name, value);
  }

  /** Signs in: each step at the next of the processes. */
  async signIn(...apps: [ChildApp, ...ChildApp[]]): Promise<void> {
    let step = 0;
    const next = () => apps[step++ % apps.length]!;
    const { csrfToken } = JSON.parse((await this.send(next(), "/auth/csrf")).body);
    const { location } = await this.send(next(), "/auth/signin/one", { csrfToken });
    const asked = new URL(location).searchParams;
    assertEquals(asked.get("redirect_uri"), "https://app.example/auth/callback/one");
    const query = new URLSearchParams({ code: codeFor(ADA), state: asked.get("state")! });
    const back = await this.send(next(), `/auth/callback/one?${query}`);
    assertEquals([back.status, back.location], [302, "https://app.example"]);
  }

  async signOut(app: ChildApp): Promise<void> {
    const { csrfToken } = JSON.parse((await this.send(app, "/auth/csrf")).body);
    assertEquals((await this.send(app, "/auth/signout", { csrfToken })).status, 302);
  }

  /** Who is signed in, in the eyes of one process. */
  async reader(app: ChildApp): Promise<string | null> {
    return JSON.parse((await this.send(app, "/me")).body).session?.user.email ?? null;
  }
}

/** A second browser with the same cookies, as a thief or a slow tab would have them. */
function copyOf({ cookies }: Browser): Browser {
  const copy = new Browser();
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  return copy;
}

const url = serverUrl("TEST_POSTGRES_URL", "the test of two processes that share sessions");
if (url) {
  Deno.test("two processes behind one origin share sessions", async () => {
    await using database = await drizzlePg(url).open();
    const [a, b] = await Promise.all([startApp(database.url!), startApp(database.url!)]);
    try {
      assertNotEquals(a.child.pid, b.child.pid);

      // Signed in at one, read at the other, signed out there, gone at the first.
      const browser = new Browser();
      await browser.signIn(a);
      assert(browser.cookies.has("__Secure-authjs.session-token"));
      assertEquals(await browser.reader(b), ADA.email);
      const tab = copyOf(browser);
      await browser.signOut(b);
      assertEquals([await tab.reader(a), await tab.reader(b)], [null, null]);
      assertEquals(await database.count("sessions"), 0);

      // Every step at another process; signing in again ends the old session everywhere.
      const wanderer = new Browser();
      await wanderer.signIn(a, b);
      const old = copyOf(wanderer);
      await wanderer.signIn(b, a);
      assertEquals([await wanderer.reader(a), await wanderer.reader(b)], [ADA.email, ADA.email]);
      assertEquals([await old.reader(a), await old.reader(b)], [null, null]);
      assertEquals([await database.count("users"), await database.count("sessions")], [1, 1]);

      // One process ends, the other goes on.
      await stopChildApp(a);
      assertEquals(await wanderer.reader(b), ADA.email);
    } finally {
      for (const app of [a, b]) await stopChildApp(app);
    }
  });
}
