/** What `doctor --url` says of a deployment, by what it answers. */
import { assertEquals, assertMatch } from "@std/assert";
import { stub } from "@std/testing/mock";
import { run } from "../../../src/cli/run.ts";

type Answer = (headers: Headers) => Response;

const CALLBACK = "https://app.example/auth/callback/github";
const COOKIE = "__Host-authjs.csrf-token=1; Path=/; Secure; HttpOnly; SameSite=Lax";

/** A reply in JSON, as the auth routes send it. */
function json(body: unknown, headers: Record<string, string> = {}, status = 200): Response {
  return Response.json(body, {
    status,
    headers: { "cache-control": "private", "strict-transport-security": "max-age=60", ...headers },
  });
}

const refusesConnections: Answer = () => {
  throw new TypeError("Connection refused");
};

/** The CSRF token of a visitor, with one cookie if there is none yet. */
function csrf(cookie: string): Answer {
  return (headers) => {
    const kept = headers.get("cookie");
    return json({ csrfToken: kept ?? crypto.randomUUID() }, kept === null ? { "set-cookie": cookie } : {});
  };
}

/** The sign-in page. */
function page(status: number, headers: Record<string, string> = {}): Answer {
  const safe = { "x-content-type-options": "nosniff", "x-frame-options": "DENY", ...headers };
  return () => new Response("<h1>Sign in</h1>", { status, headers: safe });
}

const providersAt = (callbackUrl: string): Answer => () =>
  json({ github: { id: "github", type: "oauth", callbackUrl } });

/** A deployment without mistakes. */
const GOOD: Record<string, Answer> = {
  "https://app.example/auth/providers": providersAt(CALLBACK),
  "https://app.example/auth/csrf": (headers) => {
    const token = headers.get("cookie")?.split("=")[1] ?? crypto.randomUUID();
    return json({ csrfToken: token }, { "set-cookie": COOKIE.replace("=1", `=${token}`) });
  },
  "https://app.example/auth/session": () => json(null),
  "https://app.example/auth/signin": page(200),
  "https://app.example/auth/signin/github": () => json({ url: "https://github.example/authorize?client_id=id" }),
  "https://github.example/authorize": () => new Response("Sign in"),
  "http://app.example/auth/signin": refusesConnections,
};

/** Runs the command against a deployment that differs from a good one in these answers. */
async function doctor(changed: Record<string, Answer>, url = "https://app.example") {
  const answers = { ...GOOD, ...changed };
  using _fetch = stub(
    globalThis,
    "fetch",
    (async (input: string | URL, init: RequestInit = {}) => {
      const { origin, pathname } = new URL(String(input));
      return await answers[origin + pathname]!(new Headers(init.headers));
    }) as typeof fetch,
  );
  return await run(["doctor", "--url", url]);
}

Deno.test("doctor --url: a deployment without mistakes has none", async () => {
  const { code, output } = await doctor({});
  assertEquals(code, 0, output);
  assertMatch(output, /ok +tls +Nothing is served by http\./);
  assertMatch(output, /ok +cookies +__Host-authjs\.csrf-token: HttpOnly, SameSite, Secure\./);
  assertMatch(output, /0 errors, 0 warnings\./);
});

const FOUND: [what: string, changed: Record<string, Answer>, found: RegExp][] = [
  [
    "a redirect from http to https",
    {
      "http://app.example/auth/signin": () =>
        new Response(null, { status: 301, headers: { location: "https://x.y/" } }),
    },
    /^ok +tls +http is redirected to https\./m,
  ],
  [
    "another server at http",
    { "http://app.example/auth/signin": page(404) },
    /^ok +tls +The auth routes are not served by http\./m,
  ],
  [
    "callback URLs at another path",
    { "https://app.example/auth/providers": providersAt("https://app.example/callback/github") },
    /^error +origin .*have the proxy pass the path on as it is, or set AUTH_URL=https:\/\/app\.example\/auth\./m,
  ],
  [
    "a request that fails",
    { "https://app.example/auth/session": refusesConnections },
    /^error +reach +A request failed: Connection refused\./m,
  ],
  [
    "a cache",
    { "https://app.example/auth/csrf": () => json({ csrfToken: "one for all" }, { "set-cookie": COOKIE }) },
    /^error +cache +Two visitors get the same token/m,
  ],
  ["a cookie for http", { "https://app.example/auth/csrf": csrf("a=1; Path=/") }, /^error +cookies +a has no Secure/m],
  [
    "a cookie that scripts can read",
    { "https://app.example/auth/csrf": csrf("a=1; Secure; SameSite=Lax") },
    /^warning +cookies +a has no HttpOnly/m,
  ],
  [
    "a cookie for other sites",
    { "https://app.example/auth/csrf": csrf("a=1; Secure; HttpOnly") },
    /^warning +cookies +a has no SameSite/m,
  ],
  [
    "a cookie whose path a proxy changes",
    { "https://app.example/auth/csrf": csrf(COOKIE.replace("Path=/", "Path=/auth")) },
    /^error +cookies +__Host-authjs\.csrf-token needs Path=\/ and no Domain/m,
  ],
  [
    "a session that cannot be read",
    { "https://app.example/auth/session": () => json({}, {}, 503) },
    /^error +session +\S+\/auth\/session answers 503/m,
  ],
  [
    "the session of another user",
    { "https://app.example/auth/session": () => json({ user: {} }) },
    /^error +session +A visitor without a cookie gets a session/m,
  ],
  ["a sign-in page that fails", { "https://app.example/auth/signin": page(500) }, /^error +page .* answers 500/m],
  [
    "a policy that hides the origin",
    { "https://app.example/auth/signin": page(200, { "referrer-policy": "no-referrer" }) },
    /^error +headers +Referrer-Policy: no-referrer/m,
  ],
  [
    "a sign-in that leads to the error page",
    {
      "https://app.example/auth/signin/github": () =>
        json({ url: "https://app.example/auth/error?error=Configuration" }),
    },
    /^error +sign-in +github: users are sent to the error page/m,
  ],
  [
    "callbacks of another deployment",
    {
      "https://app.example/auth/signin/github": () =>
        json({ url: "https://github.example/authorize?redirect_uri=https://main.example/auth/callback/github" }),
    },
    /^ok +callback +github: callbacks go to https:\/\/main\.example\/\S+, by `redirectProxyUrl`/m,
  ],
  [
    "a provider that only browsers reach",
    { "https://github.example/authorize": refusesConnections },
    /^ok +sign-in +github: users are sent to https:\/\/github\.example/m,
  ],
  [
    "a redirect to nowhere",
    { "https://app.example/auth/providers": () => new Response(null, { status: 302 }) },
    /^error +reach .*redirects to no address\./m,
  ],
  [
    "a server without TLS at an https address",
    {
      "https://app.example/auth/providers": () => {
        throw new TypeError("received corrupt message of type InvalidContentType");
      },
    },
    /^error +reach .*No TLS is spoken there: an http address\?/m,
  ],
];

for (const [what, changed, found] of FOUND) {
  Deno.test(`doctor --url: sees ${what}`, async () => assertMatch((await doctor(changed)).output, found));
}

Deno.test("doctor --url: an http address that is not of this machine is an error", async () => {
  const http = Object.entries(GOOD).map(([url, answer]) => [url.replace("https:", "http:"), answer] as const);
  const { code, output } = await doctor(Object.fromEntries(http), "http://app.example");
  assertEquals(code, 1);
  assertMatch(output, /^error +tls +http:\/\/app\.example has no TLS/m);
});
