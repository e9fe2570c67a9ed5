/** Queries of every kind: none is a server error, and none changes what is protected. */
import { assert, assertEquals } from "@std/assert";
import { FastifyAuth, requireSession } from "fastify-authjs";
import fc from "../../support/property.ts";
import Fastify from "fastify";
import { authQuery, type QueryRoute } from "../../../src/routes/query.ts";
import { captureLog, passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { identityProvider } from "../../support/identity.ts";

const PROTECTED = [
  ...["client_id", "redirect_uri", "response_type", "response_mode", "state", "nonce", "code_challenge"],
  ...["code_challenge_method", "request", "request_uri", "registration"],
];

const NAMES = [
  ...PROTECTED,
  ...[
    "callbackUrl",
    "csrfToken",
    "error",
    "email",
    "token",
    "code",
    "iss",
    "action",
    "provider",
    "providers",
  ],
  ...["scope", "prompt", "login_hint", "page", "__proto__", "constructor", "toString", "theme", "x"],
];

const VALUES = [
  ...["", "a", "/x", "//evil.example", "::", "javascript:alert(1)", "%zz", "%E0%A4%A", "toString", "Signin"],
  ...[
    "AccessDenied",
    "register",
    "authenticate",
    "ada@example.com",
    "none",
    "login",
    "%0d%0aa:b",
    "é",
    "+",
    "[]",
  ],
];

/** A text with some characters percent-encoded, in upper case, or with something around it. */
const spelt = (texts: string[]): fc.Arbitrary<string> =>
  fc.tuple(
    fc.constantFrom(...texts),
    fc.integer(),
    fc.constantFrom("", "", "", "[]", "%5B%5D", "%00", "+", "%20", ".x", "%zz"),
    fc.constantFrom(
      (text: string) => text,
      (text: string) => text,
      (text: string) => text.toUpperCase(),
      (text: string) => text.replaceAll("_", "."),
      (text: string) => text.replaceAll("_", "+"),
      (text: string) => `+${text}`,
    ),
  ).map(([text, mask, suffix, change]) =>
    [...change(text)].map((character, index) =>
      /[\x21-\x7e]/.test(character) && !/[%+]/.test(character) && (mask >> (index % 31)) & 1
        ? `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`
        : character
    ).join("") + suffix
  );

const parameter = fc.tuple(spelt(NAMES), fc.constantFrom("=", "=", "=", "", "=="), spelt(VALUES))
  .map((parts) => parts.join(""));

const queries: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.array(parameter, { maxLength: 6 }).map((all) => all.join("&")) },
  fc.tuple(fc.array(parameter, { maxLength: 4 }), fc.constantFrom("&&", ";", "?", "&?", "&#")).map(
    ([all, separator]) => all.join(separator),
  ),
  fc.string({ unit: "binary-ascii", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
);

/** A parameter's name as the laxest of servers takes it: PHP's variables, without regard to case. */
function lax(name: string): string {
  const [bare = ""] = name.trim().split(/[[\0]/, 1);
  return bare.trim().replace(/[ .-]/g, "_").toLowerCase();
}

Deno.test("what is protected does not pass, to whatever server, and nothing passes twice", () => {
  fc.assert(
    fc.property(queries, fc.constantFrom("oauth", "oidc"), (query, type) => {
      const route: QueryRoute = { action: "signin", method: "POST", type };
      const passed = authQuery(query, route).query;
      const names = [...new URLSearchParams(passed).keys()];
      for (const name of names.map(lax)) {
        assert(!PROTECTED.includes(name) && !["callbackurl", "csrftoken"].includes(name), name);
      }
      assertEquals(new Set(names).size, names.length);
      assertEquals(authQuery(passed, route).query, passed);
    }),
    { numRuns: 3000 },
  );
});

Deno.test("no query changes the client, the response type or the redirect URI of an authorization request", async () => {
  await using app = await testApp(testConfig({ providers: [identityProvider("idp")] }));
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      const answer = await client.post(`/auth/signin/idp?${query}`, { csrfToken });
      assertEquals(answer.statusCode, 302);
      const url = new URL(String(answer.headers.location));
      assertEquals(url.origin + url.pathname, "https://identity.invalid/authorize");
      const { searchParams: sent } = url;
      assertEquals(sent.getAll("client_id"), ["client"]);
      assertEquals(sent.getAll("redirect_uri"), ["http://localhost/auth/callback/idp"]);
      assertEquals(sent.getAll("response_type"), ["code"]);
      assertEquals(sent.getAll("code_challenge_method"), ["S256"]);
      assertEquals([sent.getAll("state").length, sent.getAll("code_challenge").length], [1, 1]);
      for (const name of ["response_mode", "nonce", "request", "request_uri", "registration"]) {
        assertEquals(sent.getAll(name), [], name);
      }
      assertEquals([sent.has("callbackUrl"), sent.has("csrfToken")], [false, false]);
    }),
    { numRuns: 300 },
  );
});

const ROUTES: [method: "GET" | "POST", path: string][] = [
  ...[
    "signin",
    "signin/idp",
    "signout",
    "session",
    "csrf",
    "providers",
    "error",
    "verify-request",
    "callback/idp",
  ]
    .map((path): ["GET", string] => ["GET", path]),
  ...["signin", "signin/idp", "signout", "session", "callback/credentials", "signin/credentials"]
    .map((path): ["POST", string] => ["POST", path]),
];

Deno.test("no query is a server error, on any route, and none is logged as one", async () => {
  const { logger, lines } = captureLog();
  const providers = [identityProvider("idp"), passwordProvider()];
  await using app = await testApp(
    testConfig({ providers, pages: { verifyRequest: "/check", error: "/oops" } }),
    {
      logger,
    },
  );
  const client = new Client(app);
  const csrfToken = await client.csrfToken();
  await fc.assert(
    fc.asyncProperty(queries, fc.constantFrom(...ROUTES), async (query, [method, path]) => {
      const options = method === "POST" ? { form: { csrfToken } } : {};
      const answer = await client.request(method, `/auth/${path}?${query}`, options);
      assert(answer.statusCode < 500, `${answer.statusCode}`);
      const { location = "" } = answer.headers;
      // deno-lint-ignore no-control-regex -- none of these may be in a header
      assert(!/[\0-\x1f\x7f-\uffff]/.test(String(location)));
    }),
    { numRuns: 600 },
  );
  assertEquals(lines.filter(({ level }) => level >= 50), []);
});

Deno.test("a guarded page is open only where Fastify's parser reads the parameters of the sign-in page", async () => {
  const config = testConfig({ pages: { signIn: "/?page=login" } });
  await using app = Fastify();
  app.addHook("onRequest", requireSession(config));
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", (request) => request.query);
  const page = fc.oneof(
    fc.constantFrom("page=login", "p%61ge=login", "page=log%69n"),
    fc.constantFrom("page=admin", "page", "page=login&page=x"),
    parameter,
  );
  const asked = fc.tuple(queries, page, queries).map((parts) => parts.filter(Boolean).join("&"));
  let open = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(asked, page, queries), async (query) => {
      const answer = await app.inject({ url: `/?${query}` });
      if (answer.statusCode === 401) return;
      assertEquals(answer.statusCode, 200);
      open++;
      const { page, callbackUrl: _url, error: _error, code: _code, ...others } = answer.json();
      assertEquals([page, others], ["login", {}]);
    }),
    { numRuns: 800 },
  );
  assert(open > 0);
});
