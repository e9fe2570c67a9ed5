/** What a provider says when it refuses a request: logged, without what must not be. */
import { assert, assertEquals, assertFalse, assertMatch, assertStringIncludes } from "@std/assert";
import type { IncomingMessage, ServerResponse } from "node:http";
import EntraID from "fastify-authjs/providers/microsoft-entra-id";
import { customFetch } from "fastify-authjs";
import { readOAuthError, toLoggable, toLogText } from "../../../src/provider/provider_error.ts";
import type { LogLine } from "../../support/app.ts";
import { locationOf, pathOf, startSignIn } from "../../support/oauth_client.ts";
import type { Script } from "../../support/scripted_provider.ts";
import { oauthSettings, signInThrough, withProvider } from "../../support/scripted_sign_in.ts";

const [INFO, WARN, ERROR] = [30, 40, 50];

/** No word that a message may have. */
const clientSecret = "s3cr3t-of-the-client";

interface Logged {
  type: string;
  message: string;
  stack?: string;
  provider?: string;
  status?: number;
  error?: string;
  error_description?: string;
  cause?: Logged;
}

/** The lines about errors of sign-ins. */
function logged(lines: readonly LogLine[]): (LogLine & { authjs: Logged })[] {
  return lines.filter((line) => "authjs" in line) as (LogLine & { authjs: Logged })[];
}

/** The one line about an error. */
function onlyLine(lines: readonly LogLine[]): LogLine & { authjs: Logged } {
  const found = logged(lines);
  assertEquals(found.length, 1, JSON.stringify(found.map(({ msg }) => msg)));
  return found[0]!;
}

/** The level of the only line, and what it says of the provider's answer. */
function answerIn(lines: readonly LogLine[]) {
  const { level, authjs: { provider, status, error, error_description } } = onlyLine(lines);
  return { level, provider, status, error, error_description };
}

function answering(
  status: number,
  body: unknown,
  headers: Record<string, string> = { "content-type": "application/json" },
) {
  return (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

const FORM = { "content-type": "application/x-www-form-urlencoded" };

Deno.test("an error that the provider sends the browser back with is logged, with the provider", async () => {
  const declined = ["access_denied", "user_cancelled_authorize", "user_cancelled_login"];
  for (const error of ["invalid_scope", "server_error", ...declined]) {
    await withProvider({}, async ({ client, provider, lines }) => {
      const answer = await signInThrough(client, provider, {
        code: "",
        error,
        error_description: "The reason\r\nof it",
      });
      assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
      assertEquals(answerIn(lines), {
        level: declined.includes(error) ? INFO : WARN,
        provider: "op",
        status: undefined,
        error,
        error_description: "The reason of it",
      });
      assertEquals(onlyLine(lines).msg, `Auth.js: "op" answered ${error}: The reason of it`);
      assertFalse("stack" in onlyLine(lines).authjs);
    });
  }
});

Deno.test("an error that the provider posts as a form is logged as well", async () => {
  const settings = { authorization: { params: { response_mode: "form_post" } } };
  await withProvider({}, async ({ client, provider, lines }) => {
    const { searchParams } = new URL(provider.authorize(locationOf(await startSignIn(client))));
    const answer = await client.post("/auth/callback/op", {
      state: searchParams.get("state")!,
      error: "invalid_request",
      error_description: "No such client",
    });
    assertEquals(answer.statusCode, 302);
    assertEquals(answerIn(lines), {
      level: WARN,
      provider: "op",
      status: undefined,
      error: "invalid_request",
      error_description: "No such client",
    });
  }, settings);
});

Deno.test("an error is logged wherever the provider puts it, in the query or in a form", async () => {
  const description = { error: "invalid_request", error_description: "No such client" };
  for (const formPost of [true, false]) {
    await withProvider({}, async ({ client, provider, lines }) => {
      await startSignIn(client);
      await (formPost
        ? client.get(`/auth/callback/op?${new URLSearchParams(description)}`)
        : client.post("/auth/callback/op", description));
      const { level, authjs } = onlyLine(lines);
      assertEquals([level, authjs.provider, authjs.error, authjs.error_description], [
        WARN,
        provider ? "op" : undefined,
        "invalid_request",
        "No such client",
      ]);
    }, formPost ? { authorization: { params: { response_mode: "form_post" } } } : {});
  }
});

Deno.test("an error that the provider sends the browser back with in a shape of its own is logged", async () => {
  const shapes: [Record<string, string>, error: string | undefined, error_description: string | undefined][] = [
    [{ error_code: "1349126", error_message: "App not active" }, "1349126", "App not active"],
    [{ error_type: "OAuthException" }, "OAuthException", undefined],
    [{ errcode: "40029", errmsg: "invalid" }, "40029", "invalid"],
    [{ error_description: "Only a description" }, undefined, "Only a description"],
  ];
  for (const [parameters, error, error_description] of shapes) {
    await withProvider({}, async ({ client, provider, lines }) => {
      const answer = await signInThrough(client, provider, { code: "", ...parameters });
      assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
      assertEquals(answerIn(lines), {
        level: WARN,
        provider: "op",
        status: undefined,
        error,
        error_description,
      });
    });
  }
});

Deno.test("an error of the provider is logged also where the callback is refused for its checks", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    const description = { error: "unauthorized_client", error_description: "Not registered" };
    await signInThrough(client, provider, { code: "", state: "", ...description });
    const { level, msg, authjs } = onlyLine(lines);
    assertEquals([level, authjs.type, authjs.error], [WARN, "InvalidCheck", "unauthorized_client"]);
    assertStringIncludes(msg, "unauthorized_client, Not registered");
  });
});

/** Error answers of token endpoints, and what is to be logged of them. */
const TOKEN_ERRORS: Record<string, {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
  error?: string;
  error_description?: string;
}> = {
  "RFC 6749": {
    status: 400,
    body: { error: "invalid_grant", error_description: "Code not valid" },
    error: "invalid_grant",
    error_description: "Code not valid",
  },
  "with a challenge as well": {
    status: 401,
    body: { error: "invalid_client", error_description: "Wrong secret" },
    headers: { "content-type": "application/json", "www-authenticate": 'Basic realm="op"' },
    error: "invalid_client",
    error_description: "Wrong secret",
  },
  "in a challenge alone": {
    status: 401,
    body: "",
    headers: {
      "www-authenticate": 'Bearer error="invalid_client", error_description="A \\"wrong\\" secret"',
    },
    error: "invalid_client",
    error_description: 'A "wrong" secret',
  },
  "a challenge without an error": { status: 401, body: "", headers: { "www-authenticate": "Basic" } },
  "status 200": {
    status: 200,
    body: { error: "bad_verification_code", error_description: "Incorrect or expired" },
    error: "bad_verification_code",
    error_description: "Incorrect or expired",
  },
  "status 200, as a form": {
    status: 200,
    body: "error=bad_verification_code&error_description=Incorrect+or+expired",
    headers: FORM,
    error: "bad_verification_code",
    error_description: "Incorrect or expired",
  },
  "status 500": {
    status: 500,
    body: { error: "server_error" },
    error: "server_error",
  },
  "JSON of another type": {
    status: 400,
    body: { error: "invalid_request" },
    headers: { "content-type": "text/html" },
    error: "invalid_request",
  },
  "an object": {
    status: 400,
    body: { error: { message: "This code has been used", type: "OAuthException", code: 100 } },
    error: "OAuthException",
    error_description: "This code has been used",
  },
  "errcode and errmsg": {
    status: 200,
    body: { errcode: 40029, errmsg: "invalid code" },
    error: "40029",
    error_description: "invalid code",
  },
  "a message alone": {
    status: 403,
    body: { status: 403, message: "Invalid client secret" },
    error: "403",
    error_description: "Invalid client secret",
  },
  "a list of errors": {
    status: 400,
    body: { errors: [{ errorType: "invalid_grant", message: "Authorization code expired" }] },
    error: "invalid_grant",
    error_description: "Authorization code expired",
  },
  "a firewall's page": { status: 403, body: "<h1>Blocked</h1>", headers: { "content-type": "text/html" } },
  "no body": { status: 429, body: "", headers: {} },
  "a page": { status: 502, body: "<h1>Bad gateway</h1>", headers: { "content-type": "text/html" } },
};

for (const [name, { status, body, headers, error, error_description }] of Object.entries(TOKEN_ERRORS)) {
  Deno.test(`an error of the token endpoint is logged: ${name}`, async () => {
    await withProvider({ answer: { token: answering(status, body, headers) } }, async (parts) => {
      const { client, provider, lines } = parts;
      const answer = await signInThrough(client, provider);
      const page = "http://localhost/auth/error?error=Configuration";
      if (status === 429 || status >= 500) assertEquals(answer.statusCode, 503);
      else assertEquals(locationOf(answer), page);
      assertEquals(answerIn(lines), { level: WARN, provider: "op", status, error, error_description });
      assertStringIncludes(onlyLine(lines).msg, `"op" answered ${error ?? status}`);
    }, { clientSecret });
  });
}

Deno.test("Microsoft's errors of the token endpoint keep their description, and lead where core leads", async () => {
  const issuer = "https://login.microsoftonline.com/common/v2.0";
  const send: typeof fetch = (input) => {
    const url = String(input);
    if (url.endsWith("/token")) {
      const body = { error: "invalid_client", error_description: "AADSTS7000215: Invalid client secret." };
      return Promise.resolve(Response.json(body, { status: 401 }));
    }
    const endpoint = (name: string) => `${issuer}/${name}`;
    return Promise.resolve(Response.json({
      issuer,
      authorization_endpoint: endpoint("authorize"),
      token_endpoint: endpoint("token"),
      userinfo_endpoint: endpoint("userinfo"),
    }));
  };
  await withProvider(
    {},
    async ({ client, lines }) => {
      const location = new URL(locationOf(await startSignIn(client, "microsoft-entra-id")));
      const state = location.searchParams.get("state");
      const answer = await client.get(
        `/auth/callback/microsoft-entra-id?code=a-code${state === null ? "" : `&state=${state}`}`,
      );
      assertEquals(locationOf(answer), "http://localhost/auth/signin?error=OAuthCallbackError");
      assertEquals(answerIn(lines), {
        level: WARN,
        provider: "microsoft-entra-id",
        status: 401,
        error: "invalid_client",
        error_description: "AADSTS7000215: Invalid client secret.",
      });
    },
    {},
    {
      // Put over the provider's own.
      providers: [
        { ...EntraID({ clientId: "id", clientSecret, issuer }), [customFetch]: send } as never,
      ],
    },
  );
});

Deno.test("a token response is no error for having a member that others use for errors", async () => {
  for (const tokens of [{ error: "" }, { error: null }, { message: "success" }, { errcode: 0 }]) {
    await withProvider({ tokens }, async ({ client, provider }) => {
      assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
    });
  }
});

Deno.test("members of a token response that are null or empty are as if they were not there", async () => {
  const accountFrom = async (tokens: Record<string, unknown>) => {
    let found: object = {};
    const signIn = ({ account }: { account?: object | null }) => void (found = account!);
    await withProvider(
      { tokens },
      async ({ client, provider }) => {
        assertEquals(locationOf(await signInThrough(client, provider)), "http://localhost");
      },
      oauthSettings,
      { events: { signIn } },
    );
    return found;
  };
  for (const nothing of [null, ""]) {
    const tokens = { id_token: nothing, refresh_token: nothing, expires_in: nothing };
    const account = await accountFrom(tokens);
    for (const name of Object.keys(tokens)) assertEquals(name in account, false, name);
  }
  // GitHub says so that it has granted none.
  assertEquals((await accountFrom({ id_token: "", scope: "" }) as { scope?: unknown }).scope, "");
});

Deno.test("an error of the userinfo endpoint is logged", async () => {
  const challenge = {
    "www-authenticate": 'Bearer error="insufficient_scope", error_description="Ask for email"',
  };
  const cases = [
    {
      status: 403,
      headers: challenge,
      body: "",
      error: "insufficient_scope",
      error_description: "Ask for email",
    },
    { status: 401, body: { error: "invalid_token" }, error: "invalid_token", error_description: undefined },
    { status: 200, body: { error: "invalid_token" }, error: "invalid_token", error_description: undefined },
    { status: 403, body: { error: "access_denied" }, error: "access_denied", error_description: undefined },
    { status: 500, body: "down", error: undefined, error_description: undefined },
  ];
  for (const { status, headers, body, error, error_description } of cases) {
    for (const settings of [{ idToken: false }, oauthSettings]) {
      const script: Script = {
        tokens: typeof settings === "function" ? { id_token: undefined } : {},
        answer: { userinfo: answering(status, body, headers) },
      };
      await withProvider(script, async ({ client, provider, lines }) => {
        const answer = await signInThrough(client, provider);
        if (status === 500) assertEquals(answer.statusCode, 503);
        else assertEquals(locationOf(answer), "http://localhost/auth/error?error=Configuration");
        const level = error === "access_denied" ? INFO : WARN;
        assertEquals(answerIn(lines), { level, provider: "op", status, error, error_description });
      }, settings);
    }
  }
});

Deno.test("an error of discovery is logged", async () => {
  const body = { error: "temporarily_unavailable", error_description: "Back at noon" };
  await withProvider({ answer: { discovery: answering(503, body) } }, async ({ client, provider, lines }) => {
    await startSignIn(client);
    assertEquals(answerIn(lines), { level: WARN, provider: "op", status: 503, ...body });
    assertStringIncludes(onlyLine(lines).msg, `${provider.issuer}/.well-known/openid-configuration`);
    assertStringIncludes(onlyLine(lines).msg, "temporarily_unavailable, Back at noon");
  });
  await withProvider({ answer: { discovery: answering(404, "") } }, async ({ client, lines }) => {
    await startSignIn(client);
    const { level, provider, status } = answerIn(lines);
    assertEquals({ level, provider, status }, { level: WARN, provider: "op", status: 404 });
  });
});

Deno.test("what a provider repeats of a request is not logged", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    provider.script.answer = {
      token: (request, response) => {
        const { headers, body } = provider.requests.at(-1)!;
        const [, basic = ""] = headers.authorization!.split(" ");
        const sent = [body.get("code"), body.get("code_verifier"), basic, atob(basic)].join(" ");
        answering(400, { error: "invalid_grant", error_description: sent })(request, response);
      },
    };
    await signInThrough(client, provider);
    const { body, headers } = provider.requests.at(-1)!;
    const line = JSON.stringify(onlyLine(lines));
    assertStringIncludes(line, "[redacted]");
    const secrets = [body.get("code")!, body.get("code_verifier")!, headers.authorization!.split(" ")[1]!];
    for (const secret of [...secrets, clientSecret]) assertFalse(line.includes(secret), secret);
  }, { clientSecret });
});

Deno.test("a token in an error of the userinfo endpoint is not logged", async () => {
  const token = "an-access-token";
  const body = { error: "invalid_token", error_description: `The token ${token} has expired` };
  const script = { answer: { userinfo: answering(401, body) } };
  await withProvider(script, async ({ client, provider, lines }) => {
    await signInThrough(client, provider);
    assertEquals(onlyLine(lines).authjs.error_description, "The token [redacted] has expired");
    assertFalse(JSON.stringify(lines).includes(token));
  }, { idToken: false });
});

Deno.test("code and state of a callback are not logged with its error", async () => {
  await withProvider({}, async ({ client, provider, lines }) => {
    const url = new URL(provider.authorize(locationOf(await startSignIn(client))));
    const state = url.searchParams.get("state")!;
    url.searchParams.set("code", "the-code");
    url.searchParams.set("error", "invalid_request");
    url.searchParams.set("error_description", `the-code for ${state}`);
    await client.get(pathOf(url.href));
    assertEquals(onlyLine(lines).authjs.error_description, "[redacted] for [redacted]");
    assertFalse(JSON.stringify(lines).includes(state));
  });
});

Deno.test("an error of the application is one, whatever it looks like", async () => {
  const signIn = () => {
    throw new Error("no such row", { cause: { provider: "db", status: 404, error: "access_denied" } });
  };
  await withProvider(
    {},
    async ({ client, provider, lines }) => {
      await signInThrough(client, provider);
      assertEquals(onlyLine(lines).level, WARN, "core makes an AccessDenied of it");
    },
    {},
    { callbacks: { signIn } },
  );
  const jwt = () => {
    throw new Error("no such row", { cause: { provider: "db", status: 404, error: "access_denied" } });
  };
  await withProvider(
    {},
    async ({ client, provider, lines }) => {
      await signInThrough(client, provider);
      assertEquals(onlyLine(lines).level, ERROR);
    },
    {},
    { callbacks: { jwt } },
  );
});

Deno.test("toLogText() keeps one short line of printable characters", () => {
  assertEquals(toLogText("a\r\n\tb\u0000\u001b[31mc\u202ed\u2028e\u0085f"), "a b [31mc d e f");
  assertEquals([...toLogText("x".repeat(39) + " " + "😀".repeat(300))!].length, 201);
  assertEquals(toLogText("Zugriff verweigert: アクセス"), "Zugriff verweigert: アクセス");
  for (const value of [undefined, null, 7, {}, ["a"]]) assertEquals(toLogText(value), undefined);
});

Deno.test("toLogText() cuts out what looks like a token", () => {
  const jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2lnbmF0dXJl";
  assertEquals(toLogText(`The token ${jwt} is expired`), "The token [redacted] is expired");
  assertEquals(toLogText(`Unknown code ${"ab1-".repeat(12)}`), "Unknown code [redacted]");
  assertEquals(toLogText("User 'ada.l@example.com' is unknown."), "User '[redacted]' is unknown.");
  const ids = "Trace ID: 4e6c0e2e-7b5f-4a0e-8a3e-0b5d5a4c0a00 at https://id.example/oauth2/authorize/path";
  assertEquals(toLogText(ids), ids);
});

Deno.test("toLoggable() cuts a secret out before it shortens", () => {
  const secret = "s3cr3t-value";
  const answer = toLoggable({
    error: "e",
    error_description: `${"x ".repeat(95)}${secret} ${"y".repeat(9000)}`,
  }, [
    ["client_secret", secret],
    ["client_id", "x"],
  ]);
  assert(answer.error_description!.startsWith("x x"));
  assertFalse(/s3c/.test(answer.error_description!));
  assertEquals(toLoggable({ error: 7, error_description: "" }), {});
});

Deno.test("readOAuthError() leaves the body to be read", async () => {
  const response = Response.json({ error: "invalid_grant" }, { status: 400 });
  assertEquals(await readOAuthError(response), { error: "invalid_grant" });
  assertEquals(await response.json(), { error: "invalid_grant" });
});

Deno.test("the application's own logger gets the provider's error with core's", async () => {
  const errors: Error[] = [];
  await withProvider(
    {},
    async ({ client, provider }) => {
      await signInThrough(client, provider, { code: "", error: "invalid_scope" });
      assertEquals(errors.map(({ name }) => name), ["OAuthCallbackError"]);
      assertEquals(errors[0]!.cause, { provider: "op", error: "invalid_scope" });
      assertMatch(errors[0]!.message, /^OAuth Provider returned an error/);
    },
    {},
    { logger: { error: (error) => void errors.push(error) } },
  );
});
