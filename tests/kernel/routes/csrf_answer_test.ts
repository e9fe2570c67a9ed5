import { Auth, skipCSRFCheck } from "@auth/core";
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

interface CsrfAnswer {
  status: number;
  headers: Record<string, string | null>;
  /** Set-Cookie lines; a new token is random. */
  cookies: string[];
  csrfToken: string;
}

const HEADERS = ["content-type", "expires", "pragma"];

const shown = (lines: string[]) => lines.map((line) => line.replace(/[0-9a-f]{64}%7C[0-9a-f]{64}/, "<token>"));

async function fromCore(config: FastifyAuthConfig, cookie: string): Promise<CsrfAnswer> {
  const request = new Request("http://localhost/auth/csrf", { headers: { cookie } });
  const response = await Auth(request, { ...config, basePath: "/auth" } as Parameters<typeof Auth>[1]);
  return {
    status: response.status,
    headers: Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)])),
    cookies: shown(response.headers.getSetCookie()),
    csrfToken: (await response.json()).csrfToken,
  };
}

async function fromUs(config: FastifyAuthConfig, cookie: string): Promise<CsrfAnswer> {
  await using app = await testApp(config);
  const response = await app.inject({ url: "/auth/csrf", headers: { host: "localhost", cookie } });
  const type = String(response.headers["content-type"]).replace("; charset=utf-8", "");
  return {
    status: response.statusCode,
    headers: {
      ...Object.fromEntries(HEADERS.map((name) => [name, String(response.headers[name])])),
      "content-type": type,
    },
    cookies: shown([response.headers["set-cookie"] ?? []].flat()),
    csrfToken: response.json().csrfToken,
  };
}

/** The CSRF cookie of a browser that has been here before. */
async function knownCookie(config: FastifyAuthConfig): Promise<string> {
  await using app = await testApp(config);
  const { cookies } = await app.inject({ url: "/auth/csrf", headers: { host: "localhost" } });
  const { name, value } = cookies.find(({ name }) => name.includes("csrf"))!;
  return `${name}=${encodeURIComponent(value)}`;
}

const CONFIGS: Record<string, Partial<FastifyAuthConfig>> = {
  "by default": {},
  "with a cookie of another name": {
    cookies: { csrfToken: { name: "csrf", options: { sameSite: "strict", path: "/app" } } },
  },
  "with a `redirect` callback": { callbacks: { redirect: ({ url, baseUrl }) => `${baseUrl}/from?${url}` } },
};

for (const [name, overrides] of Object.entries(CONFIGS)) {
  Deno.test(`GET csrf answers as core does: ${name}`, async () => {
    const config = () => testConfig(overrides);
    const known = await knownCookie(config());
    const forged = known.replace(/=./, "=x");
    const back = "authjs.callback-url=";
    for (
      const cookie of [
        "",
        known,
        forged,
        `${known}; ${back}${encodeURIComponent("http://localhost")}`,
        `${known}; ${back}${encodeURIComponent("http://localhost/account?a=1")}`,
        `${back}${encodeURIComponent("https://elsewhere.example/")}`,
      ]
    ) {
      const [own, core] = [await fromUs(config(), cookie), await fromCore(config(), cookie)];
      assertEquals({ ...own, csrfToken: "" }, { ...core, csrfToken: "" }, cookie);
      assertMatch(own.csrfToken, /^[0-9a-f]{64}$/);
      if (cookie.startsWith(known)) assertEquals(own.csrfToken, core.csrfToken);
      else assertNotEquals(own.csrfToken, core.csrfToken);
    }
  });
}

Deno.test("a POST of signin without a provider needs the token, too, and changes no cookie without one", async () => {
  await using app = await testApp(testConfig());
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  const callbackUrl = "/home";
  const refused = await client.post("/auth/signin", { callbackUrl });
  assertMatch(String(refused.headers.location), /error=MissingCSRF/);
  assertEquals(refused.headers["set-cookie"], undefined);
  const { headers } = await client.post("/auth/signin", { csrfToken, callbackUrl });
  assertEquals(headers.location, "http://localhost/auth/signin");
  assertMatch([headers["set-cookie"]].flat().join(), /authjs\.callback-url=/);
});

Deno.test("with skipCSRFCheck there is no token, and users sign in without one", async () => {
  await using app = await testApp(testConfig({ skipCSRFCheck }));
  assertEquals((await app.inject("/auth/csrf")).statusCode, 404);
  const headers = { "content-type": "application/x-www-form-urlencoded", origin: "http://localhost" };
  const payload = "username=ada&password=open";
  const signedIn = await app.inject({ method: "POST", url: "/auth/callback/credentials", headers, payload });
  assertMatch([signedIn.headers["set-cookie"]].flat().join(), /authjs\.session-token=/);
});

const THROWN: [what: unknown, told: string][] = [
  [new Error("boom"), "boom"],
  ["boom", "no error: boom"],
  [undefined, "no error: undefined"],
  [null, "no error: null"],
  [{ code: "boom" }, "no error: an object"],
];

for (const [thrown, told] of THROWN) {
  Deno.test(`a redirect callback that throws is an error of the routes that ask it, and no crash: ${told}`, async () => {
    let fails = false;
    const redirect = ({ baseUrl }: { baseUrl: string }) => {
      if (fails) throw thrown;
      return baseUrl;
    };
    const { logger, lines } = captureLog();
    await using app = await testApp(testConfig({ callbacks: { redirect } }), { logger });
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    fails = true;
    const callbackUrl = "http://localhost/other";
    const asked = await client.get(`/auth/csrf?callbackUrl=${callbackUrl}`);
    assertMatch(String(asked.headers.location), /error=Configuration/);
    assertEquals((await client.get("/auth/error")).statusCode, 200);
    for (const url of ["/auth/signin", "/auth/signout", "/auth/callback/credentials"]) {
      lines.length = 0;
      const answer = await client.post(url, { csrfToken, callbackUrl, username: "ada", password: "open" });
      assertMatch(String(answer.headers.location), /error=Configuration/, url);
      const errors = lines.filter(({ level }) => level >= 50).map(({ msg }) => msg);
      assertEquals(errors.map((each) => each.endsWith(told)), [true], `${url}: ${errors}`);
    }
  });
}

Deno.test("a refused password keeps no callback URL that the redirect callback throws for", async () => {
  const redirect = ({ url, baseUrl }: { url: string; baseUrl: string }) => {
    // Core asks first, and then the page is looked for.
    if (url.endsWith("/home") && ++calls > 1) throw new Error("boom");
    return baseUrl;
  };
  let calls = 0;
  await using app = await testApp(testConfig({ callbacks: { redirect } }));
  const client = new Client(app);
  const fields = { csrfToken: await client.csrfToken(), username: "ada", password: "wrong", callbackUrl: "/home" };
  const { headers } = await client.post("/auth/callback/credentials", fields);
  assertMatch(String(headers.location), /signin\?(?!.*callbackUrl)/);
});

Deno.test("what events.signOut throws changes no sign-out", async () => {
  const signOut = () => {
    throw new Error("boom");
  };
  await using app = await testApp(testConfig({ events: { signOut } }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const answer = await client.signOut();
  assertEquals([answer.statusCode, answer.headers.location], [302, "http://localhost"]);
});
