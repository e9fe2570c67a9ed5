/** Failed sign-ins for scripts: a status if the client asks for one, and what is wrong with a CSRF token. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import { AuthError, CredentialsSignin, type FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import GitHub from "fastify-authjs/providers/github";
import { captureLog, type LogLine, testApp, testConfig } from "../support/app.ts";
import { type Answer, Client } from "../support/client.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";

class AccessDenied extends AuthError {
  static type = "AccessDenied";
}
class Locked extends CredentialsSignin {
  override code = "locked";
}
class TooManyAttempts extends CredentialsSignin {
  override code = "too_many_attempts";
  readonly statusCode = 429;
  readonly headers = { "Retry-After": "60" };
}

/** What `authorize()` throws for a user, in place of a sign-in. */
const THROWN: Record<string, () => Error> = {
  locked: () => new Locked(),
  denied: () => new AccessDenied(),
  often: () => new TooManyAttempts(),
  limited: () => Object.assign(new Error("rate limit of ada"), { statusCode: 429, headers: { "retry-after": "7" } }),
  busy: () => Object.assign(new Error("the directory is full"), { statusCode: 503 }),
  unknown: () => Object.assign(new Error("no such user in the directory"), { statusCode: 401 }),
  banned: () => Object.assign(new Error("banned since May"), { statusCode: 403 }),
  odd: () => Object.assign(new Error("upstream"), { statusCode: 404, headers: { "retry-after": "9" } }),
  broken: () => new Error("the directory is down"),
};

const provider = Credentials({
  credentials: { username: {} },
  authorize({ username }) {
    const thrown = THROWN[String(username)];
    if (thrown) throw thrown();
    return username === "wrong" ? null : { id: "1", name: String(username) };
  },
});

async function withClient(
  run: (client: Client, log: LogLine[]) => Promise<void>,
  config: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ providers: [provider], ...config }), { logger });
  await run(new Client(app), lines);
}

async function signIn(client: Client, username: string, headers: Record<string, string>): Promise<Answer> {
  const csrfToken = await client.csrfToken();
  return await client.post("/auth/callback/credentials", { csrfToken, username }, headers);
}

/** Every way to ask for a status. */
const ASKING: Record<string, string>[] = [
  { accept: "application/json" },
  { accept: "application/json, text/plain, */*" },
  { accept: "text/html;q=0.5, application/json" },
  { accept: "Application/JSON" },
  { accept: "application/json; charset=utf-8" },
  { accept: "text/html; Q=0.5, application/json;odata=verbose;q=0.9" },
  { "x-auth-return-redirect": "prefer-status" },
  { "x-auth-return-redirect": "1, Prefer-Status", accept: "text/html" },
];

/** Failed sign-ins: the user, the status, the body and `Retry-After`. */
const FAILURES: [user: string, status: number, body: unknown, retryAfter?: string][] = [
  ["wrong", 401, { error: "CredentialsSignin", code: "credentials" }],
  ["locked", 401, { error: "CredentialsSignin", code: "locked" }],
  ["denied", 403, { error: "AccessDenied" }],
  ["often", 429, { error: "CredentialsSignin", code: "too_many_attempts" }, "60"],
  ["limited", 429, { error: "TooManyRequests" }, "7"],
  ["busy", 503, { error: "Configuration" }],
  ["unknown", 401, { error: "CredentialsSignin" }],
  ["banned", 403, { error: "AccessDenied" }],
  ["odd", 500, { error: "Configuration" }],
  ["broken", 500, { error: "Configuration" }],
];

for (const headers of ASKING) {
  Deno.test(`a client with ${JSON.stringify(headers)} gets each failure with its status`, () =>
    withClient(async (client) => {
      for (const [user, status, body, retryAfter] of FAILURES) {
        const answer = await signIn(client, user, headers);
        assertEquals([user, answer.statusCode, answer.json()], [user, status, body]);
        assertEquals(answer.headers["retry-after"], retryAfter, user);
        assertMatch(String(answer.headers["content-type"]), /^application\/json/);
        assertMatch(String(answer.headers["cache-control"]), /no-store/);
        assertEquals(answer.headers.location, undefined);
      }
      const answer = await signIn(client, "ada", headers);
      assertEquals([answer.statusCode, answer.json()], [200, { url: "http://localhost" }]);
      assertEquals((await client.get("/me")).json().session.user.name, "ada");
    }));
}

/** Clients that do not ask, and what core's clients get. */
const NOT_ASKING: [headers: Record<string, string>, json: boolean][] = [
  [{}, false],
  [{ accept: "*/*" }, false],
  [{ accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" }, false],
  [{ accept: "text/html, application/json;q=0.9" }, false],
  [{ accept: "application/json;q=0" }, false],
  [{ accept: "text/html, application/json; charset=utf-8; q=0.9" }, false],
  [{ "x-auth-return-redirect": "1" }, true],
  [{ "x-auth-return-redirect": "true", accept: "*/*" }, true],
  // As HTTP libraries send it beside the header of core.
  [{ "x-auth-return-redirect": "1", accept: "application/json, text/plain, */*" }, true],
];

for (const [headers, json] of NOT_ASKING) {
  Deno.test(`a client with ${JSON.stringify(headers)} gets ${json ? "{ url }" : "a redirect"} as before`, () =>
    withClient(async (client) => {
      const url = "http://localhost/auth/signin?error=CredentialsSignin&code=credentials";
      const answer = await signIn(client, "wrong", headers);
      if (json) assertEquals([answer.statusCode, answer.json()], [200, { url }]);
      else assertEquals([answer.statusCode, answer.headers.location], [302, url]);
    }));
}

Deno.test("a sign-in at a provider, and one that fails at the mail service, answer scripts as well", async () => {
  const email = {
    id: "email",
    type: "email" as const,
    name: "E-mail",
    maxAge: 600,
    sendVerificationRequest: () => Promise.reject(new Error("down")),
  };
  await withClient(async (client) => {
    const accept = "application/json";
    const csrfToken = await client.csrfToken();
    const toProvider = await client.post("/auth/signin/github", { csrfToken }, { accept });
    assertEquals(toProvider.statusCode, 200);
    assertStringIncludes(toProvider.json().url, "https://github.com/login/oauth/authorize?");
    const send = (email: string) => client.post("/auth/signin/email", { csrfToken, email }, { accept });
    const mistyped = await send("ada");
    assertEquals([mistyped.statusCode, mistyped.json()], [400, { error: "EmailSignin" }]);
    const notSent = await send("ada@example.com");
    assertEquals([notSent.statusCode, notSent.json()], [503, { error: "EmailSignin" }]);
    const used = await client.post("/auth/callback/email?token=1&email=ada@example.com", { csrfToken }, {
      accept,
    });
    assertEquals([used.statusCode, used.json()], [401, { error: "Verification" }]);
  }, {
    adapter: memoryAdapter(),
    session: { strategy: "jwt" },
    providers: [email, GitHub({ clientId: "id", clientSecret: "secret" })],
  });
});

Deno.test("a database that is down is a 503 with an error and a code", () =>
  withClient(async (client) => {
    const csrfToken = await client.csrfToken();
    const answer = await client.post("/auth/signin/email", { csrfToken, email: "ada@example.com" }, {
      accept: "application/json",
    });
    const { error, code } = answer.json();
    assertEquals([answer.statusCode, error, code], [503, "Service Unavailable", "FST_AUTHJS_UNAVAILABLE"]);
  }, {
    adapter: { ...memoryAdapter(), getUserByEmail: () => Promise.reject(new Error("ECONNREFUSED")) },
    session: { strategy: "jwt" },
    providers: [{
      id: "email",
      type: "email",
      name: "E-mail",
      maxAge: 600,
      sendVerificationRequest: () => Promise.resolve(),
    }],
  }));

Deno.test("a rate limit of the application leads a browser back to the sign-in page", () =>
  withClient(async (client, log) => {
    const answer = await signIn(client, "limited", {});
    assertEquals([answer.statusCode, answer.headers.location], [
      302,
      "http://localhost/auth/signin?error=TooManyRequests",
    ]);
    assertEquals((await client.get("/auth/signin?error=TooManyRequests")).statusCode, 200);
    assert(JSON.stringify(log).includes("rate limit of ada"), "the reason is in the log");
    assertFalse(answer.body.includes("rate limit of ada"));
  }));

/** What the `signIn` callback throws, what a script gets, and where a browser is led. */
const THROWN_BY_CALLBACK: [thrown: () => Error, status: number, body: unknown, page: string][] = [
  [THROWN.limited!, 429, { error: "TooManyRequests" }, "signin?error=TooManyRequests"],
  [
    THROWN.often!,
    429,
    { error: "CredentialsSignin", code: "too_many_attempts" },
    "signin?error=CredentialsSignin&code=too_many_attempts",
  ],
  [THROWN.busy!, 503, { error: "Configuration" }, "error?error=Configuration"],
  [THROWN.unknown!, 401, { error: "CredentialsSignin" }, "signin?error=CredentialsSignin"],
  [THROWN.banned!, 403, { error: "AccessDenied" }, "error?error=AccessDenied"],
  [THROWN.odd!, 403, { error: "AccessDenied" }, "error?error=AccessDenied"],
  [THROWN.broken!, 403, { error: "AccessDenied" }, "error?error=AccessDenied"],
];

for (const type of ["credentials", "email"]) {
  Deno.test(`an error that the signIn callback throws says the status and the page: ${type}`, async () => {
    for (const [thrown, status, body, page] of THROWN_BY_CALLBACK) {
      await withClient(async (client) => {
        const send = async (headers: Record<string, string>) => {
          const form = { csrfToken: await client.csrfToken(), username: "ada", email: "ada@example.com" };
          const path = type === "email" ? "/auth/signin/email" : "/auth/callback/credentials";
          return await client.post(path, form, headers);
        };
        const answer = await send({ accept: "application/json" });
        assertEquals([answer.statusCode, answer.json()], [status, body]);
        assertEquals((await send({})).headers.location, `http://localhost/auth/${page}`);
      }, {
        adapter: memoryAdapter(),
        session: { strategy: "jwt" },
        providers: [provider, {
          id: "email",
          type: "email",
          name: "E-mail",
          maxAge: 600,
          sendVerificationRequest: () => Promise.resolve(),
        }],
        callbacks: { signIn: () => Promise.reject(thrown()) },
      });
    }
  });
}

/** What may be wrong with a CSRF token: the request, and the code. */
const CSRF_PROBLEMS: [code: string, send: (client: Client, token: string) => Promise<Answer>][] = [
  ["csrf_token_missing", (client) => post(client, {})],
  ["csrf_token_missing", (client) => {
    client.cookies.clear();
    return post(client, {});
  }],
  ["csrf_cookie_missing", (client, csrfToken) => {
    client.cookies.clear();
    return post(client, { csrfToken });
  }],
  ["csrf_cookie_invalid", (client, csrfToken) => {
    client.cookies.set("authjs.csrf-token", `${csrfToken}%7C${"0".repeat(64)}`);
    return post(client, { csrfToken });
  }],
  ["csrf_token_mismatch", (client, csrfToken) => post(client, { csrfToken: csrfToken.replace(/^./, "x") })],
];

function post(client: Client, form: Record<string, string>): Promise<Answer> {
  return client.post("/auth/callback/credentials", { username: "ada", ...form }, {
    accept: "application/json",
  });
}

for (const [code, send] of CSRF_PROBLEMS) {
  Deno.test(`MissingCSRF says ${code}, to the client and in the log, without the token`, () =>
    withClient(async (client, log) => {
      const token = await client.csrfToken();
      const answer = await send(client, token);
      const { error, message, ...rest } = answer.json();
      assertEquals([answer.statusCode, error, rest], [403, "MissingCSRF", { code }]);
      assertStringIncludes(message, "/csrf");
      const [line] = log.filter(({ msg }) => msg.startsWith("Auth.js"));
      assertEquals([line?.level, line?.msg], [30, `Auth.js: ${message.replace(/\.$/, "")}`]);
      assertFalse(`${answer.body}${JSON.stringify(log)}`.includes(token));
    }));
}

Deno.test("MissingCSRF says which half is missing in the address of the page, and for every action", () =>
  withClient(async (client, log) => {
    const csrfToken = await client.csrfToken();
    client.cookies.clear();
    const page = (await client.post("/auth/signout", { csrfToken })).headers.location;
    assertEquals(page, "http://localhost/auth/signin?error=MissingCSRF&code=csrf_cookie_missing");
    for (const path of ["/auth/session", "/auth/token"]) {
      const update = await client.post(path, {}, { accept: "application/json" });
      const { error, code } = update.json();
      assertEquals([update.statusCode, error, code], [403, "MissingCSRF", "csrf_token_missing"]);
      // As in core.
      const other = await client.post(path, {});
      assertEquals([other.statusCode, other.json()], [400, null]);
    }
    assertStringIncludes(String(log.at(-1)?.msg ?? ""), "request completed");
    assert(log.some(({ msg }) => msg.includes("The body has no `csrfToken`")));
  }, { bearer: true }));
