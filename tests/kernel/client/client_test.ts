/** `fastify-authjs/client` against an application, without a browser. */
import { skipCSRFCheck } from "@auth/core";
import { assert, assertEquals, assertInstanceOf, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { FastifyInstance } from "fastify";
import { CredentialsSignin, type FastifyAuthConfig, type VerificationMailParams } from "fastify-authjs";
import { type AuthClient, AuthClientError, type AuthFailure, createAuthClient } from "fastify-authjs/client";
import Credentials from "fastify-authjs/providers/credentials";
import GitHub from "fastify-authjs/providers/github";
import { testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { memoryAdapter } from "../../support/memory_adapter.ts";

const BASE = "http://localhost/auth";
const OPEN = { username: "ada", password: "open" };

/** A client of an application, with a browser's cookies, and what it requested. */
interface Scene {
  readonly auth: AuthClient;
  readonly browser: Client;
  readonly requests: string[];
}

function clientOf(app: FastifyInstance): Scene {
  const browser = new Client(app);
  const requests: string[] = [];
  const auth = createAuthClient({
    baseUrl: `${BASE}/`,
    async fetch(url, { method = "GET", headers, body, credentials }) {
      assertEquals(credentials, "include");
      const { pathname, search } = new URL(url);
      requests.push(`${method} ${pathname}`);
      const isForm = body instanceof URLSearchParams;
      const answer = await browser.request(method, pathname + search, {
        headers: {
          ...headers as Record<string, string>,
          ...(isForm && { "content-type": "application/x-www-form-urlencoded" }),
        },
        ...(body && { payload: String(body) }),
      });
      const { statusCode: status, headers: { "retry-after": after } } = answer;
      return new Response(answer.body, {
        status,
        headers: { ...(after && { "retry-after": String(after) }) },
      });
    },
  });
  return { auth, browser, requests };
}

async function withClient(
  overrides: Partial<FastifyAuthConfig>,
  use: (scene: Scene) => Promise<void>,
): Promise<void> {
  await using app = await testApp(testConfig(overrides));
  await use(clientOf(app));
}

/** A client that gets these answers, one after the other. */
function answers(...list: (Response | Error)[]): AuthClient {
  return createAuthClient({
    baseUrl: BASE,
    fetch: () => {
      const next = list.shift()!;
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
  });
}

async function failure(result: Promise<{ ok: boolean }>): Promise<AuthFailure> {
  const found = await result;
  assertEquals(found.ok, false);
  return found as AuthFailure;
}

Deno.test("client: asks for a mail, and signs in with its code", async () => {
  let code = "";
  const mail = {
    id: "mail",
    name: "Mail",
    type: "email" as const,
    sendVerificationRequest: (mail: VerificationMailParams) => void (code = mail.code!),
  };
  await withClient({ providers: [mail as never], adapter: memoryAdapter() }, async ({ auth }) => {
    const asked = await auth.signIn("mail", { fields: { email: "ada@example.com" } });
    assertEquals(asked, { ok: true, url: "http://localhost/auth/verify-request?provider=mail&type=email" });
    const other = `${code.slice(0, 5)}${(Number(code[5]) + 1) % 10}`;
    const { error, status } = await failure(auth.signIn("mail", { fields: { code: other } }));
    assertEquals([error, status], ["EmailCodeWrong", 401]);
    const fields = new URLSearchParams({ code }) as never;
    assertEquals((await auth.signIn("mail", { fields })).ok, true);
    assertEquals((await auth.getSession())?.user?.email, "ada@example.com");
  });
});

Deno.test("client: signs in, reads the session, and signs out", async () => {
  await withClient({}, async ({ auth, requests }) => {
    assertEquals(await auth.getSession(), null);
    const signedIn = await auth.signIn("credentials", { fields: OPEN, callbackUrl: "/home" });
    assertEquals(signedIn, { ok: true, url: "http://localhost/home" });
    const session = await auth.getSession();
    assertEquals(session?.user?.name, "ada");
    assertEquals(await auth.signOut({ callbackUrl: "/bye" }), { ok: true, url: "http://localhost/bye" });
    assertEquals(await auth.getSession(), null);
    // One token and one list of providers for all of it.
    assertEquals(requests.filter((request) => request === "GET /auth/csrf").length, 1);
    await auth.signIn("credentials", { fields: OPEN });
    assertEquals(requests.filter((request) => request === "GET /auth/providers").length, 1);
  });
});

Deno.test("client: a wrong password is a result, with the code of authorize()", async () => {
  class Locked extends CredentialsSignin {
    override code = "locked";
    readonly statusCode = 429;
    readonly headers = { "retry-after": "60" };
  }
  const locked = Credentials({
    id: "locked",
    credentials: { username: {} },
    authorize: () => Promise.reject(new Locked()),
  });
  await withClient({ providers: [...testConfig().providers, locked] }, async ({ auth }) => {
    const fields = { ...OPEN, password: "wrong" };
    assertEquals(await auth.signIn("credentials", { fields }), {
      ok: false,
      error: "CredentialsSignin",
      code: "credentials",
      status: 401,
    });
    const { status, code, retryAfter } = await failure(auth.signIn("locked"));
    assertEquals([status, code, retryAfter], [429, "locked", "60"]);
  });
});

Deno.test("client: fields and parameters that are undefined are not sent", async () => {
  let seen: object = {};
  const credentials = Credentials({
    credentials: {},
    authorize(fields) {
      seen = fields;
      return { id: "1" };
    },
  });
  const providers = [credentials, GitHub({ clientId: "id", clientSecret: "secret" })];
  const missing = { otp: undefined } as object;
  await withClient({ providers }, async ({ auth }) => {
    assertEquals((await auth.signIn("credentials", { fields: { ...OPEN, ...missing } })).ok, true);
    assertEquals(["username" in seen, "otp" in seen], [true, false]);
    const result = await auth.signIn("github", { parameters: { login: "ada", ...missing } });
    assert(result.ok);
    const { searchParams } = new URL(result.url);
    assertEquals([searchParams.get("login"), searchParams.has("otp")], ["ada", false]);
  });
});

Deno.test("client: a sign-in with a provider leads to it, with the parameters", async () => {
  const github = GitHub({ clientId: "id", clientSecret: "secret" });
  await withClient({ providers: [github] }, async ({ auth }) => {
    const parameters = { login: "ada" };
    const result = await auth.signIn("github", { parameters });
    assert(result.ok);
    const { origin, searchParams } = new URL(result.url);
    assertEquals([origin, searchParams.get("login")], ["https://github.com", "ada"]);
  });
});

Deno.test("client: a provider that is not there is a result", async () => {
  await withClient({}, async ({ auth }) => {
    const { status, code } = await failure(auth.signIn("../github"));
    assertEquals([status, code], [404, "FST_AUTHJS_NOT_FOUND"]);
  });
});

Deno.test("client: without CSRF tokens (skipCSRFCheck) it signs in and out", () =>
  withClient({ skipCSRFCheck }, async ({ auth }) => {
    assert((await auth.signIn("credentials", { fields: OPEN })).ok);
    assertEquals((await auth.getSession())?.user?.name, "ada");
    assert((await auth.signOut()).ok);
    assertEquals(await auth.getSession(), null);
  }));

Deno.test("client: a CSRF token whose cookie has gone is replaced once", async () => {
  await withClient({}, async ({ auth, browser, requests }) => {
    await auth.signIn("credentials", { fields: { ...OPEN, password: "wrong" } });
    browser.cookies.clear();
    assertEquals((await auth.signIn("credentials", { fields: OPEN })).ok, true);
    assertEquals(requests.filter((request) => request === "GET /auth/csrf").length, 2);
  });
});

Deno.test("client: where cookies do not come back, the refusal is the result", async () => {
  await using app = await testApp();
  const { auth, browser, requests } = clientOf(app);
  browser.cookies.set = (() => browser.cookies) as never; // a browser that keeps none
  const { error, code } = await failure(auth.signIn("credentials", { fields: OPEN }));
  assertEquals([error, code], ["MissingCSRF", "csrf_cookie_missing"]);
  assertEquals(requests.filter((request) => request === "POST /auth/callback/credentials").length, 2);
});

Deno.test("client: requests at the same time share a CSRF token", async () => {
  await withClient({}, async ({ auth }) => {
    const wrong = auth.signIn("credentials", { fields: { ...OPEN, password: "wrong" } });
    const right = auth.signIn("credentials", { fields: OPEN });
    assertEquals([(await failure(wrong)).error, (await right).ok], ["CredentialsSignin", true]);
  });
});

Deno.test("client: requests at the same time share the CSRF token that replaces another", async () => {
  await withClient({}, async ({ auth, browser, requests }) => {
    await auth.signIn("credentials", { fields: OPEN });
    // The page was open for so long that its cookies have gone.
    browser.cookies.clear();
    requests.length = 0;
    const results = await Promise.all([1, 2, 3].map((data) => auth.updateSession(data)));
    assertEquals(results, Array(3).fill({ ok: true, session: null }));
    assertEquals(requests.filter((request) => request === "GET /auth/csrf").length, 1);
  });
});

Deno.test("client: updates the session, and says so", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt: ({ token, trigger, session }) => trigger === "update" ? { ...token, name: session.name } : token,
  };
  await withClient({ callbacks }, async ({ auth }) => {
    let changes = 0;
    const end = auth.onChange(() => void changes++);
    assertEquals(await auth.updateSession({ name: "Grace" }), { ok: true, session: null });
    await auth.signIn("credentials", { fields: OPEN, redirect: false });
    const updated = await auth.updateSession({ name: "Grace" });
    assert(updated.ok);
    assertEquals(updated.session?.user?.name, "Grace");
    assertEquals((await auth.getSession())?.user?.name, "Grace");
    assertEquals(changes, 3);
    end();
    await auth.signOut({ redirect: false });
    assertEquals(changes, 3);
  });
});

Deno.test("client: what a listener throws is no result", async () => {
  await withClient({}, async ({ auth }) => {
    const reported: unknown[] = [];
    using _report = stub(globalThis, "queueMicrotask", (listener) => {
      try {
        listener();
      } catch (error) {
        reported.push(error);
      }
    });
    auth.onChange(() => {
      throw new Error("a bug of the page");
    });
    assertEquals((await auth.signIn("credentials", { fields: OPEN })).ok, true);
    assertEquals(`${reported}`, "Error: a bug of the page");
  });
});

Deno.test("client: a session that is not known is no null", async () => {
  const unavailable = { error: "Service Unavailable", code: "FST_AUTHJS_UNAVAILABLE", message: "Try again." };
  const down = await assertRejects(() => answers(Response.json(unavailable, { status: 503 })).getSession());
  assertInstanceOf(down, AuthClientError);
  assertEquals(down.failure, { ok: false, status: 503, ...unavailable });
  assertEquals(down.message, "Try again.");

  const offline = await assertRejects(
    () => answers(new TypeError("Failed to fetch")).getProviders(),
    AuthClientError,
  );
  assertEquals([offline.failure.error, offline.failure.status], ["Unreachable", 0]);

  // The page that a single-page application answers for every path.
  const page = new Response("<!DOCTYPE html>", { headers: { "content-type": "text/html" } });
  const html = await assertRejects(() => answers(page).getSession(), AuthClientError);
  assertStringIncludes(html.message, "is it registered at `baseUrl`?");

  const gateway = new Response("<h1>Bad Gateway</h1>", { status: 502, statusText: "Bad Gateway" });
  assertEquals(await answers(gateway).signOut(), { ok: false, error: "Bad Gateway", status: 502 });
  // What failed is asked for again.
  const again = answers(
    new TypeError("offline"),
    Response.json({}),
    Response.json({ csrfToken: "a" }),
    Response.json({ url: "/x" }),
  );
  assertEquals((await again.signIn("github")).ok, false);
  assertEquals(await again.signIn("github"), { ok: true, url: "http://localhost/x" });
});

Deno.test("client: JSON that is not the plugin's is a result, and leads nowhere", async () => {
  const before = () => [Response.json({ github: { type: "oauth" } }), Response.json({ csrfToken: "a" })];
  for (const body of [null, 1, "text", {}, { url: 1 }, { status: "ok" }]) {
    const { error, message } = await failure(answers(...before(), Response.json(body)).signIn("github"));
    assertEquals(error, "Unreachable", JSON.stringify(body));
    assertStringIncludes(message!, "is it registered at `baseUrl`?");
  }
  assertEquals((await failure(answers(Response.json(null)).signIn("github"))).error, "Unreachable");
  assertEquals((await failure(answers(Response.json(null)).signOut())).error, "Unreachable");
  await assertRejects(() => answers(Response.json(null)).getProviders(), AuthClientError);
  await assertRejects(() => answers(Response.json("a page")).getSession(), AuthClientError);

  // Of a gateway.
  const odd = { error: { reason: "quota" }, code: 7, message: ["too much"] };
  const { error, code, message } = await failure(answers(Response.json(odd, { status: 429 })).signOut());
  assertEquals([error, code, message], ["HTTP 429", undefined, undefined]);

  for (const url of ["javascript:alert(1)", " JavaScript:alert(1)", "java\nscript:alert(1)"]) {
    const result = answers(...before(), Response.json({ url })).signIn("github", { redirect: false });
    assertEquals((await failure(result)).error, "Configuration", url);
  }
});

Deno.test("client: listeners are told of a sign-out that ends in the browser alone", async () => {
  const unavailable = { error: "Service Unavailable", code: "FST_AUTHJS_UNAVAILABLE" };
  for (const [status, expected] of [[503, 1], [429, 0]] as const) {
    const auth = answers(Response.json({ csrfToken: "a" }), Response.json(unavailable, { status }));
    let changes = 0;
    auth.onChange(() => void changes++);
    assertEquals((await failure(auth.signOut())).status, status);
    await Promise.resolve();
    assertEquals(changes, expected);
  }
});

Deno.test("client: an update that is refused is told as it is, and nobody of a change", async () => {
  const auth = answers(Response.json({ csrfToken: "a" }), Response.json({ code: "no" }, { status: 403 }));
  auth.onChange(() => assert(false, "nothing has changed"));
  assertEquals((await failure(auth.updateSession({}))).code, "no");
});

Deno.test("client: an answer that breaks off is no answer", async () => {
  const broken = (error: Error) => new Response(new ReadableStream({ pull: (controller) => controller.error(error) }));
  const cut = await failure(answers(broken(new TypeError("network error"))).signOut());
  assertEquals([cut.error, cut.status, cut.message], ["Unreachable", 0, "network error"]);
  const aborted = await failure(answers(broken(new DOMException("The user left.", "AbortError"))).signOut());
  assertEquals([aborted.error, aborted.status], ["AbortError", 0]);
});

Deno.test("client: where there is no page, a path stays one", async () => {
  const list = [{ github: { type: "oauth" } }, { csrfToken: "a" }, { url: "/home" }];
  const auth = createAuthClient({ fetch: () => Promise.resolve(Response.json(list.shift())) });
  assertEquals(await auth.signIn("github"), { ok: true, url: "/home" });
});

Deno.test("client: its functions need no this", async () => {
  await withClient({}, async ({ auth: { signIn, getSession, getProviders } }) => {
    await signIn("credentials", { fields: OPEN });
    assertEquals((await getSession())?.user?.name, "ada");
    assertEquals((await getProviders()).credentials?.type, "credentials");
  });
});

Deno.test("client: where there is no WebAuthn, a passkey is a result", async () => {
  const auth = createAuthClient({
    baseUrl: BASE,
    fetch: (url) => Promise.resolve(Response.json(url.endsWith("/providers") ? { passkey: { type: "webauthn" } } : {})),
  });
  assertEquals((await failure(auth.signIn("passkey"))).error, "NotSupportedError");
  assertEquals((await failure(auth.registerPasskey())).error, "NotSupportedError");
});

Deno.test("client: an option that there is not is a result, and nothing is sent", () =>
  withClient({}, async ({ auth, requests }) => {
    const results = [
      await failure(auth.signIn("credentials", OPEN as object)),
      await failure(auth.signIn("credentials", { fields: OPEN, redirectTo: "/" } as object)),
      await failure(auth.signIn("credentials", { fields: OPEN, provider: "passkey" } as object)),
      await failure(auth.signOut({ redirectTo: "/" } as object)),
      await failure(auth.signOut({ callbackURL: "/" } as object)),
      await failure(auth.registerPasskey({ provider: "passkey", callbackURL: "/" } as object)),
    ];
    assertEquals(results.map(({ error }) => error), Array(6).fill("TypeError"));
    assertEquals(results[0]!.message?.split(":"), [
      'No option "username"',
      ' what the user typed goes under "fields", where to go is "callbackUrl"',
    ]);
    assertEquals(requests, []);
    // `onClick={signOut}`
    assert((await auth.signOut(new Event("click") as object)).ok);
    assertEquals((await failure(auth.registerPasskey(new Event("click") as object))).error, "Not Found");
  }));

Deno.test("client: fields of a form are sent as it has them", async () => {
  const form = new FormData();
  for (const [name, value] of Object.entries(OPEN)) form.set(name, value);
  await withClient(
    { providers: [...testConfig().providers, GitHub({ clientId: "id", clientSecret: "secret" })] },
    async ({ auth }) => {
      for (const fields of [form, new URLSearchParams(OPEN), Object.entries(OPEN)] as never[]) {
        assertEquals((await auth.signIn("credentials", { fields, redirect: false })).ok, true);
      }
      assertEquals((await failure(auth.signIn("credentials", { fields: null as never }))).error, "CredentialsSignin");
      const parameters = new URLSearchParams({ login: "ada" }) as never;
      const result = await auth.signIn("github", { parameters });
      assert(result.ok);
      assertEquals(new URL(result.url).searchParams.get("login"), "ada");
    },
  );
});

Deno.test("client: a callbackUrl that is null is none", async () => {
  const callbackUrl = new URLSearchParams().get("callbackUrl") as never;
  await withClient({}, async ({ auth, browser }) => {
    await browser.get("/auth/signin?callbackUrl=/home");
    const result = await auth.signIn("credentials", { fields: OPEN, callbackUrl });
    assertEquals(result, { ok: true, url: "http://localhost/home" });
  });
});

Deno.test("createAuthClient() throws for an option that there is not", () => {
  const error = assertThrows(() => createAuthClient({ baseURL: BASE } as object), TypeError);
  assertEquals(error.message, 'No option "baseURL": there are "baseUrl" and "fetch"');
});

Deno.test("what cannot be sent is a result, and no rejection", () =>
  withClient({}, async ({ auth, requests }) => {
    await auth.signIn("password", { fields: OPEN, redirect: false });
    requests.length = 0;
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const toJSON = () => {
      throw new RangeError("not now");
    };
    for (
      const [data, error] of [[cyclic, "TypeError"], [{ count: 1n }, "TypeError"], [{ toJSON }, "RangeError"]]
    ) {
      const result = await auth.updateSession(data);
      assert(!result.ok);
      assertEquals([result.error, result.status], [error as string, 0]);
      assert(result.message);
    }
    assertEquals(requests, [], "nothing was sent");
    const fields = { username: Symbol("ada") as unknown as string };
    const results = [
      await auth.signIn("password", { fields }),
      await auth.signIn("\ud800"),
      await auth.registerPasskey({ provider: "\ud800" }),
      await auth.signOut({ callbackUrl: Symbol("/") as unknown as string }),
    ];
    assertEquals(results.map((result) => result.ok || result.error), [
      "TypeError",
      "URIError",
      "URIError",
      "TypeError",
    ]);
  }));
