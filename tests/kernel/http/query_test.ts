/** Which parameters of a query reach core, its pages and the providers. */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { FastifyAuth, type FastifyAuthConfig, FastifyAuthError } from "fastify-authjs";
import Fastify, { type FastifyInstance } from "fastify";
import { authQuery, type QueryRoute } from "../../../src/routes/query.ts";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

/** An OAuth provider that needs no request to begin a sign-in. */
function someProvider(overrides: Record<string, unknown> = {}): FastifyAuthConfig["providers"][number] {
  return {
    id: "idp",
    name: "Provider",
    type: "oauth",
    clientId: "our-client",
    clientSecret: "secret",
    checks: ["state", "pkce"],
    authorization: { url: "https://idp.example/authorize", params: { scope: "read", audience: "api" } },
    token: "https://idp.example/token",
    userinfo: "https://idp.example/userinfo",
    ...overrides,
  } as never;
}

function providerApp(overrides: Partial<FastifyAuthConfig> = {}): Promise<FastifyInstance> {
  return testApp(testConfig({ providers: [someProvider(), passwordProvider()], ...overrides }));
}

/** Begins a sign-in, and gives the parameters that the provider is sent. */
async function authorize(app: FastifyInstance, query: string, form: Record<string, string> = {}) {
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const answer = await client.post(`/auth/signin/idp${query}`, { csrfToken, ...form });
  assertEquals(answer.statusCode, 302, query);
  const url = new URL(String(answer.headers.location));
  assertEquals(url.origin + url.pathname, "https://idp.example/authorize", query);
  return { parameters: url.searchParams, client };
}

const read = (query: string, route: Partial<QueryRoute> = {}) =>
  new URLSearchParams(authQuery(query, { action: "signin", method: "GET", ...route }).query);

Deno.test("a callbackUrl is normalised however its name and value are encoded", async () => {
  await using app = await testApp();
  for (const name of ["callbackUrl", "callback%55rl", "%63%61llback%55%72l", "c%61llbackUrl"]) {
    for (
      const [value, stored] of [
        ["javascript%3Aalert(1)", "http://localhost"],
        ["%3A%3A", "http://localhost"],
        ["http%3A%2F%2F", "http://localhost"],
        ["//evil.example", "http://localhost/evil.example"],
        ["%2Fx", "http://localhost/x"],
        ["/a+b", "http://localhost/a%20b"],
        ["/%0d%0aset-cookie:a=b", "http://localhost"],
        ["/x%zz%", "http://localhost/x%zz%"],
        ["https://evil.example/", "http://localhost"],
      ] as const
    ) {
      const client = new Client(app);
      const answer = await client.get(`/auth/signin?${name}=${value}`);
      assertEquals(answer.statusCode, 200, `${name}=${value}`);
      assertEquals(
        decodeURIComponent(client.cookies.get("authjs.callback-url")!),
        stored,
        `${name}=${value}`,
      );
    }
  }
});

Deno.test("of a parameter that is repeated the last one counts, and there is one of each", () => {
  for (const action of ["signin", "callback"] as const) {
    const query = read("email=a&email=b&email=c&callbackUrl=/a&callbackUrl=/b", { action, type: "oauth" });
    assertEquals([query.getAll("email"), query.getAll("callbackUrl")], [["c"], ["/b"]]);
  }
  assertEquals(read("callbackUrl=/a&callbackUrl=::").getAll("callbackUrl"), []);
});

Deno.test("a query is what is between the first ? and a #, separated by & alone", async () => {
  await using app = await testApp(testConfig({ pages: { signIn: "/login" } }));
  for (
    const [target, error] of [
      ["?error=Signin", "Signin"],
      ["?&&error=Signin&", "Signin"],
      ["?error=Signin#error=Callback", "Signin"],
      ["#?error=Signin", null],
      ["??error=Signin", null],
      ["?x=1;error=Signin", null],
      ["?error[]=Signin", null],
      ["?error%5B0%5D=Signin", null],
      ["?Error=Signin", null],
    ] as const
  ) {
    // `inject` would cut off the fragment.
    const location = await rawGet(app, `/auth/signin${target}`);
    assertEquals(new URL(location, "http://localhost").searchParams.get("error"), error, target);
  }
});

Deno.test("a query of more than 16,384 characters is a 414", async () => {
  await using app = await testApp();
  const filling = (length: number) => `x=${"y".repeat(length - 2)}`;
  for (const path of ["/auth/signin", "/auth/csrf", "/auth/error", "/auth/providers"]) {
    assertEquals((await app.inject(`${path}?${filling(16_384)}`)).statusCode, 200, path);
    const answer = await app.inject(`${path}?${filling(16_385)}`);
    assertEquals([answer.statusCode, answer.json().code], [414, "FST_AUTHJS_QUERY_TOO_LONG"], path);
  }
  assertThrows(() => read(filling(16_385)), FastifyAuthError, "16385");
});

Deno.test("core's pages get no parameter but those they have", () => {
  const everything = new URLSearchParams({
    callbackUrl: "/x",
    csrfToken: "c",
    email: "ada@example.com",
    error: "Signin",
    provider: "p",
    providers: "q",
    theme: "t",
    type: "email",
    url: "u",
  }).toString();
  const names = (route: Partial<QueryRoute>) => [...read(everything, route).keys()].sort();
  assertEquals(names({ action: "signin" }), ["callbackUrl", "email", "error"]);
  assertEquals(names({ action: "signout" }), ["callbackUrl"]);
  assertEquals(names({ action: "signout", method: "POST" }), ["callbackUrl"]);
  assertEquals(names({ action: "error" }), ["callbackUrl", "error"]);
  assertEquals(names({ action: "verify-request" }), ["callbackUrl", "provider", "type"]);
  for (const action of ["csrf", "providers", "session"] as const) assertEquals(names({ action }), []);
});

Deno.test("a parameter does not become a property of a page", async () => {
  await using app = await testApp();
  for (const name of ["providers", "csrfToken", "theme", "children", "__proto__", "callbackUrl"]) {
    const answer = await app.inject(`/auth/signin?${name}=x-marks-the-spot`);
    assertEquals(answer.statusCode, 200, name);
    assert(!answer.body.includes("x-marks-the-spot"), name);
  }
  assertStringIncludes((await app.inject("/auth/signin?email=a")).body, "Sign in with");
});

Deno.test("an e-mail link keeps its token and address, an authenticator's page its form", () => {
  const link = "callbackUrl=%2Fx&token=t&email=ada%2Bx%40example.com";
  assertEquals(
    [...read(`${link}&other=1`, { action: "callback", type: "email" })],
    [["token", "t"], ["email", "ada+x@example.com"], ["callbackUrl", "/x"]],
  );
  const options = "action=register&email=ada%40example.com&nickname=a&csrfToken=c";
  assertEquals(
    [...read(options, { action: "webauthn-options", type: "webauthn" }).keys()],
    ["action", "email", "nickname"],
  );
});

Deno.test("the callback of a provider keeps whatever the provider sends", () => {
  const response = new URLSearchParams({
    code: "c+/=&",
    state: "s",
    iss: "https://idp.example",
    error: "access_denied",
    error_description: "no, <thanks>",
    error_uri: "https://idp.example/why",
    session_state: "x.y",
    id_token: "a.b.c",
    response: "d.e.f",
    scope: "a b",
    user: '{"name":"ä"}',
    request: "r",
  });
  for (const type of ["oauth", "oidc"]) {
    assertEquals([...read(response.toString(), { action: "callback", type })], [...response]);
  }
});

Deno.test("a browser adds parameters to its authorization request", async () => {
  await using app = await providerApp();
  const { parameters } = await authorize(
    app,
    "?login_hint=ada%40example.com&prompt=consent&scope=read+write&ui_locales=de&max_age=0&acr_values=a",
  );
  assertEquals(
    ["login_hint", "prompt", "scope", "ui_locales", "max_age", "acr_values", "audience"].map((name) =>
      parameters.get(name)
    ),
    ["ada@example.com", "consent", "read write", "de", "0", "a", "api"],
  );
});

const PROTECTED = [
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "state",
  "nonce",
  "code_challenge",
  "code_challenge_method",
  "request",
  "request_uri",
  "registration",
];

/** Ways to write a name that some server takes for it. */
const SPELLINGS: ((name: string) => string)[] = [
  (name) => name,
  (name) => name.toUpperCase(),
  (name) => [...name].map((c) => `%${c.charCodeAt(0).toString(16)}`).join(""),
  (name) => `${name}=first&${name}`,
  (name) => name.replaceAll("_", "."),
  (name) => name.replaceAll("_", "+"),
  (name) => `${name}[]`,
  (name) => `${name}%00`,
  (name) => `+${name}`,
  (name) => `${name}%20`,
];

Deno.test("protected authorization parameters come from the configuration alone, however they are spelt", async () => {
  await using app = await providerApp();
  const expected = [
    ...["audience", "client_id", "code_challenge", "code_challenge_method", "redirect_uri", "response_type"],
    ...["scope", "state"],
  ];
  for (const name of PROTECTED) {
    for (const spell of SPELLINGS) {
      const { parameters } = await authorize(app, `?${spell(name)}=forged`);
      assertEquals([...parameters.keys()].sort(), expected, spell(name));
      assert(!parameters.toString().includes("forged"), spell(name));
      assertEquals(parameters.get("client_id"), "our-client");
      assertEquals(parameters.get("redirect_uri"), "http://localhost/auth/callback/idp");
    }
  }
});

Deno.test("what the configuration says of a protected parameter holds", async () => {
  const params = { scope: "read", response_mode: "query", nonce: "fixed", registration: "r" };
  await using app = await testApp(testConfig({
    providers: [someProvider({ authorization: { url: "https://idp.example/authorize?request=q", params } })],
  }));
  const { parameters } = await authorize(app, "?response_mode=fragment&nonce=x&registration=y&request=z");
  assertEquals(
    ["response_mode", "nonce", "registration", "request"].map((name) => parameters.getAll(name)),
    [["query"], ["fixed"], ["r"], ["q"]],
  );
});

Deno.test("callbackUrl and csrfToken never reach the provider, and callbackUrl still counts", async () => {
  await using app = await providerApp();
  for (
    const query of ["?callbackUrl=%2Fafter&csrfToken=secret", "?callback%55rl=/after&csrf%54oken=secret"]
  ) {
    const { parameters, client } = await authorize(app, query);
    assertEquals([parameters.get("callbackUrl"), parameters.get("csrfToken")], [null, null], query);
    assertEquals(
      decodeURIComponent(client.cookies.get("authjs.callback-url")!),
      "http://localhost/after",
      query,
    );
  }
  const { client } = await authorize(app, "?callbackUrl=/query", { callbackUrl: "/body" });
  assertEquals(decodeURIComponent(client.cookies.get("authjs.callback-url")!), "http://localhost/body");
});

const UNKNOWN_ERRORS = [
  "nope",
  "toString",
  "constructor",
  "__proto__",
  "hasOwnProperty",
  "signin",
  "AccessDenied%20",
  "AccessDenied%0d%0aset-cookie:a=b",
  "%3Cscript%3Ealert(1)%3C/script%3E",
  "Verification%26x%3D1",
  "%00",
  "é",
];

Deno.test("an unknown error shows the page's default text, and logs nothing", async () => {
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig(), { logger });
  const page = async (url: string) => {
    const answer = await app.inject(url);
    assertEquals(answer.statusCode, 200, url);
    return answer.body.replaceAll(/value="[0-9a-f]{64}"|nonce="[^"]*"/g, "");
  };
  const [signIn, error] = [
    await page("/auth/signin?error=Default"),
    (await page("/auth/error")).replace(/<!-.*?->/g, ""),
  ];
  assertStringIncludes(signIn, "Unable to sign in.");
  for (const value of UNKNOWN_ERRORS) {
    assertEquals(await page(`/auth/signin?error=${value}`), signIn, value);
    assertEquals(await page(`/auth/error?error=${value}`), error, value);
  }
  assertStringIncludes(await page("/auth/signin?error=CredentialsSignin"), "Check the details");
  assert(!(await page("/auth/signin?error=")).includes("Unable to sign in."));
  assertEquals(
    lines.filter(({ level, msg }) => level >= 30 && !/^(?:incoming|request|FastifyAuth is)/.test(msg)),
    [],
  );
});

Deno.test("an own error page gets known errors, encoded, and the default for all others", async () => {
  for (const page of ["/oops", "/oops?kind=auth"]) {
    await using app = Fastify();
    await app.register(FastifyAuth(testConfig({ pages: { error: page, signIn: page } })), {
      prefix: "/auth",
    });
    const errorOf = async (url: string) => {
      const { statusCode, headers } = await app.inject(url);
      const location = new URL(String(headers.location), "http://localhost");
      assertEquals([statusCode, location.pathname, location.hash], [302, "/oops", ""], url);
      if (page.includes("?")) assertEquals(location.searchParams.get("kind"), "auth", url);
      return location.searchParams.getAll("error");
    };
    for (const value of ["AccessDenied", "Verification", "Configuration", "OAuthAccountNotLinked"]) {
      assertEquals(await errorOf(`/auth/error?error=${value}`), [value]);
      assertEquals(await errorOf(`/auth/signin?error=${value}`), [value]);
    }
    for (const value of UNKNOWN_ERRORS) {
      assertEquals(await errorOf(`/auth/error?error=${value}`), ["Default"], value);
      assertEquals(await errorOf(`/auth/signin?error=${value}`), ["Default"], value);
    }
    assertEquals(await errorOf("/auth/error"), ["Default"]);
    assertEquals(await errorOf("/auth/signin"), []);
  }
});

Deno.test("a trailing slash is the same address, whatever Fastify does with it", async () => {
  for (
    const options of [{}, { routerOptions: { ignoreTrailingSlash: true } }, {
      ignoreTrailingSlash: true,
    }] as object[]
  ) {
    await using app = await testApp(testConfig({ providers: [someProvider(), passwordProvider()] }), options);
    const client = new Client(app);
    const { csrfToken } = (await client.get("/auth/csrf/")).json();
    for (const path of ["signin", "signout", "session", "providers", "error", "verify-request"]) {
      assertEquals((await client.get(`/auth/${path}/?callbackUrl=/x`)).statusCode, 200, path);
    }
    assertEquals((await client.get("/auth/signin/idp/")).headers.location, "/auth/signin");
    const started = await client.post("/auth/signin/idp/", { csrfToken });
    assertStringIncludes(String(started.headers.location), "https://idp.example/authorize?");
    const form = { csrfToken, username: "ada", password: "open" };
    await client.post("/auth/callback/credentials/", form);
    assertEquals((await client.get("/auth/session/")).json().user.name, "ada");
    for (const url of ["/auth/signin//", "/auth/signin/unknown/", "/auth/callback/", "/auth/nope/"]) {
      assertEquals((await client.get(url)).statusCode, 404, url);
    }
    const refused = await client.request("PUT", "/auth/signin/");
    assertEquals([refused.statusCode, refused.headers.allow], [405, "GET, POST"]);
  }
});

Deno.test("a path with a trailing slash has the limits and checks of the one without", async () => {
  await using app = await testApp(testConfig({ providers: [someProvider(), passwordProvider()] }));
  const client = new Client(app);
  const { csrfToken } = (await client.get("/auth/csrf")).json();
  for (const slash of ["", "/"]) {
    const url = `/auth/callback/credentials${slash}`;
    const statusOf = async (form: Record<string, string>, headers = {}) =>
      (await client.request("POST", url, { form, headers })).statusCode;
    assertEquals(await statusOf({ csrfToken, username: "x".repeat(101 * 1024) }), 413, url);
    assertEquals(await statusOf({ csrfToken, username: "ada" }, { "sec-fetch-site": "cross-site" }), 403, url);
    assertEquals(await statusOf({ csrfToken, username: "ada", password: "wrong" }), 302, url);
  }
});

Deno.test("an encoded slash divides no path", async () => {
  await using app = await testApp(testConfig({ providers: [someProvider(), passwordProvider()] }));
  for (
    const path of ["signin%2Fidp", "signin%2fidp/", "signin%2F", "csrf%2F", "signin/idp%2F", "callback%2Fidp?code=x"]
  ) {
    assertEquals((await app.inject(`/auth/${path}`)).statusCode, 404, path);
  }
  assertEquals((await app.inject("/auth/signin/idp/?callbackUrl=%2Fhome")).statusCode, 302);
});

/** Sends a request target as it is, and gives the Location of the answer. */
async function rawGet(app: FastifyInstance, target: string): Promise<string> {
  const { connect } = await import("node:net");
  if (!app.server.listening) await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as { port: number };
  return await new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    });
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk) => text += chunk);
    socket.on("close", () => resolve(/^location: (.*?)\r$/im.exec(text)?.[1] ?? text));
    socket.on("error", reject);
  });
}
