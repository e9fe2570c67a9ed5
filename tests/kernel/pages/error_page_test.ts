/**
 * Where a request that failed leads: the same pages as core's, which decides this only where it is called without `raw`.
 *
 * @module
 */
import { Auth, type AuthConfig } from "@auth/core";
import * as errors from "@auth/core/errors";
import { assert, assertEquals } from "@std/assert";
import Credentials from "fastify-authjs/providers/credentials";
import { captureLog, SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

type ErrorClass = new (message?: string) => Error;

class WrongCode extends errors.CredentialsSignin {
  override code = "locked";
}

/** Errors of core, one of an application that extends core's, and others. */
const THROWN: [name: string, make: () => Error][] = [
  ...Object.entries(errors as unknown as Record<string, ErrorClass>)
    .filter(([, value]) => typeof value === "function" && value.prototype instanceof errors.AuthError)
    .map(([name, Kind]): [string, () => Error] => [name, () => new Kind("thrown")]),
  ["WrongCode", () => new WrongCode()],
  ["Error", () => new Error("thrown")],
  ["TypeError", () => new TypeError("thrown")],
];

/**
 * The page of an e-mail that could not be sent has a text of its own, which core does not use. A profile that cannot be
 * read is a failed callback, for which core's redirect has no error at all.
 */
const DIFFERENT = new Set(["EmailSignInError", "OAuthProfileParseError"]);

function configThatThrows(make: () => Error, pages?: AuthConfig["pages"]) {
  return testConfig({
    providers: [Credentials({ credentials: {}, authorize: () => Promise.reject(make()) })],
    ...(pages && { pages }),
    logger: { error: () => {}, warn: () => {}, debug: () => {} },
  });
}

/** What core answers by itself. */
async function coreAnswer(config: ReturnType<typeof testConfig>, asJson: boolean): Promise<unknown> {
  const own = { ...config, secret: SECRET, trustHost: true, basePath: "/auth" } as AuthConfig;
  const csrf = await Auth(new Request("http://localhost/auth/csrf"), { ...own });
  const { csrfToken } = await csrf.json();
  const response = await Auth(
    new Request("http://localhost/auth/callback/credentials", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        cookie: csrf.headers.getSetCookie().map((line) => line.split(";")[0]).join("; "),
        ...(asJson && { "x-auth-return-redirect": "1" }),
      },
      body: JSON.stringify({ csrfToken }),
    }),
    { ...own },
  );
  return asJson ? await response.json() : [response.status, response.headers.get("location")];
}

async function ourAnswer(config: ReturnType<typeof testConfig>, asJson: boolean): Promise<unknown> {
  await using app = await testApp(config);
  const client = new Client(app, { host: "localhost" });
  const csrfToken = await client.csrfToken();
  const answer = await client.post("/auth/callback/credentials", { csrfToken }, {
    ...(asJson && { "x-auth-return-redirect": "1" }),
  });
  return asJson ? answer.json() : [answer.statusCode, answer.headers.location];
}

for (const pages of [undefined, { error: "/failed", signIn: "/login" }]) {
  for (const asJson of [false, true]) {
    const where = `${pages ? "pages of the application" : "core's pages"}${asJson ? ", as JSON" : ""}`;
    Deno.test(`an error leads where core leads it: ${where}`, async () => {
      assert(THROWN.length > 20);
      for (const [name, make] of THROWN) {
        const config = configThatThrows(make, pages);
        const [ours, theirs] = [await ourAnswer(config, asJson), await coreAnswer(config, asJson)];
        if (DIFFERENT.has(name)) continue;
        assertEquals(ours, theirs, name);
      }
    });
  }
}

Deno.test("an error page keeps the query it is configured with, and may be on another origin", async () => {
  for (const page of ["/failed?from=auth", "https://pages.example/failed?from=auth"]) {
    const answer = await ourAnswer(configThatThrows(() => new Error("thrown"), { error: page }), false);
    const expected = new URL(page, "http://localhost");
    expected.searchParams.set("error", "Configuration");
    assertEquals(answer, [302, expected.href]);
  }
});

Deno.test("the error page does not lead to itself where the redirect callback throws", async () => {
  const { logger, lines } = captureLog();
  const redirect = () => {
    throw new Error("no such place");
  };
  await using app = await testApp(testConfig({ callbacks: { redirect } }), { logger });
  const client = new Client(app, { host: "localhost" });
  await client.csrfToken();
  const { headers } = await client.get("/auth/signin");
  assertEquals(headers.location, "http://localhost/auth/error?error=Configuration");
  const page = await client.get("/auth/error?error=Configuration");
  assertEquals([page.statusCode, page.headers.location], [200, undefined]);
  assert(page.body.includes('data-page="error"'));
  const logged = lines.filter(({ level }) => level >= 50).map(({ msg }) => msg);
  assertEquals(logged, ["Auth.js: no such place", "Auth.js: no such place"]);
});

Deno.test("a session update without a CSRF token is a 400, as in core", async () => {
  await using app = await testApp();
  const answer = await app.inject({ method: "POST", url: "/auth/session", payload: {} });
  assertEquals([answer.statusCode, answer.json()], [400, null]);
});
