/** The examples: each is started, and a browser signs in, reads and signs out. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import { withAccountList } from "fastify-authjs/adapters";
import { startIssuer } from "fastify-authjs/testing";
import type { AddressInfo } from "node:net";
import { Buffer } from "node:buffer";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { WebSocket } from "ws";
import { browserTest } from "../support/browser.ts";
import { type Answer, Client } from "../support/client.ts";
import { withEnvironment } from "../support/environment.ts";
import { denoFlags } from "../support/deno_flags.ts";
import { browserOver, ENVIRONMENT, runProgram, temporaryFolder, writeNestConfig } from "../support/examples.ts";
import { freePort } from "../support/free_port.ts";
import { overHttp, type Send } from "../support/http_transport.ts";
import { memoryAdapter, type MemoryTables } from "../support/memory_adapter.ts";
import { someOf, thoroughTest } from "../support/thorough.ts";

const ADA = { username: "ada", password: "lovelace" };

/** A test of an example, with the environment that it reads when it is imported. */
function exampleTest(name: string, run: () => Promise<void>, environment: Record<string, string> = {}): void {
  Deno.test(`example: ${name}`, () => withEnvironment({ ...ENVIRONMENT, ...environment }, run));
}

/** Signs in, reads and signs out; `read` gives the name of the user, or what a stranger gets. */
async function signInReadSignOut<T>(
  client: Client,
  read: () => Promise<T>,
  signedIn: T,
  stranger: T,
): Promise<void> {
  assertEquals(await read(), stranger);
  await client.signIn({ ...ADA, password: "wrong" });
  assertEquals(await read(), stranger);
  assertEquals((await client.signIn(ADA)).statusCode, 302);
  assertEquals(await read(), signedIn);
  assertEquals((await client.signOut()).statusCode, 302);
  assertEquals(await read(), stranger);
}

/** The name that `/me` answers, or its status. */
async function nameOrStatus(client: Client, url = "/me"): Promise<string | number> {
  const answer = await client.get(url);
  return answer.statusCode === 200 ? answer.json<{ name: string }>().name : answer.statusCode;
}

exampleTest("tRPC has the session in its context", async () => {
  const { build } = await import("../../examples/trpc.ts");
  await using app = await build();
  const client = new Client(app);
  const read = async () => {
    const answer = await client.get("/trpc/me");
    return answer.statusCode === 200 ? answer.json().result.data.name : answer.json().error.data.code;
  };
  await signInReadSignOut(client, read, "Ada", "UNAUTHORIZED");
});

exampleTest("GraphQL has the session in its context", async () => {
  const { build } = await import("../../examples/graphql.ts");
  await using app = await build();
  const client = new Client(app);
  const query = async (text: string) => (await client.request("POST", "/graphql", { json: { query: text } })).json();
  const read = async () => {
    const { data, errors } = await query("{ me { name } secret }");
    return [data.me?.name, data.secret, errors?.[0].extensions.code];
  };
  await signInReadSignOut(client, read, ["Ada", "for Ada alone", undefined], [
    undefined,
    null,
    "UNAUTHENTICATED",
  ]);
});

exampleTest("failed attempts to sign in are limited", async () => {
  const { build } = await import("../../examples/rate_limit.ts");
  await using app = await build();
  const client = new Client(app);
  const name = async () => (await client.get("/me")).json<{ name: string } | null>()?.name;
  await signInReadSignOut(client, name, "Ada", undefined);
  const guess = async (fields = { ...ADA, password: "guess" }) => (await client.signIn(fields)).statusCode;
  // One has failed already.
  for (let i = 0; i < 4; i++) assertEquals(await guess(), 302);
  assertEquals(await guess(ADA), 429);
  assertEquals(await guess({ ...ADA, username: "ADA" }), 429, "the same user");
  assertEquals(await guess({ ...ADA, username: "grace" }), 302, "another user");
  assertEquals((await client.get("/auth/session")).statusCode, 200, "other routes are not limited");
});

exampleTest("tenants have sessions of their own", async () => {
  const { build } = await import("../../examples/tenants.ts");
  await using app = await build();
  const [acme, umbrella] = ["acme", "umbrella"].map((name) => new Client(app, { host: `${name}.localhost:3000` }));
  const name = async () => (await acme!.get("/me")).json<{ name: string } | null>()?.name;
  await signInReadSignOut(acme!, name, "Ada", undefined);
  await acme!.signIn(ADA);
  assertEquals((await acme!.get("/staff")).body, "You are signed in at acme.localhost.");
  for (const [key, value] of acme!.cookies) umbrella!.cookies.set(key.replace("-acme.", "-umbrella."), value);
  assertEquals((await umbrella!.get("/staff")).statusCode, 401);
  assertEquals((await new Client(app, { host: "localhost" }).get("/staff")).statusCode, 404);
});

exampleTest("a single-page application signs in from its own origin", async () => {
  const { build, signIn } = await import("../../examples/cors_spa.ts");
  await using app = await build();
  const origin = "https://app.example";
  const client = new Client(app, { origin });
  const preflight = await app.inject({
    method: "OPTIONS",
    url: "/auth/signout",
    headers: { origin, "access-control-request-method": "POST" },
  });
  assertEquals(preflight.headers["access-control-allow-credentials"], "true");

  // The function of the example itself, in a browser of which only `fetch` is there
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => fetchOver(client, origin, String(input), init);
  try {
    await signInReadSignOut(client, () => nameOrStatus(client), "Ada", 401);
    await signIn("ada", "wrong").then(
      () => assert(false),
      ({ message }) => assertStringIncludes(message, "wrong"),
    );
    assertEquals(await signIn("ada", "lovelace"), { name: "Ada" });
  } finally {
    globalThis.fetch = fetch;
  }
  const foreign = new Client(app, { origin: "https://evil.example" });
  assertEquals((await foreign.signIn(ADA)).statusCode, 403);
}, { AUTH_URL: "https://api.example" });

/** `fetch` of a page; what CORS does not let it read, it does not get. */
async function fetchOver(client: Client, origin: string, url: string, init?: RequestInit): Promise<Response> {
  const { pathname, search } = new URL(url);
  const request = new Request(url, init);
  const payload = await request.text();
  const headers = Object.fromEntries(request.headers);
  const answer = await client.request(request.method, pathname + search, {
    headers,
    ...(payload && { payload }),
  });
  assertEquals(answer.headers["access-control-allow-origin"], origin);
  return new Response(answer.body, { status: answer.statusCode });
}

exampleTest("a user links an account on a page, and unlinks the other one", async () => {
  const { build } = await import("../../examples/accounts.ts");
  await using issuer = await startIssuer();
  const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
  const unlinkAccount: Adapter["unlinkAccount"] = ({ provider }) => {
    tables.accounts.splice(tables.accounts.findIndex((each) => each.provider === provider), 1);
    return Promise.resolve(undefined);
  };
  await using app = await build({
    providers: [issuer.provider({ id: "github" }), issuer.provider({ id: "google" })],
    adapter: withAccountList(
      { ...memoryAdapter(tables), unlinkAccount },
      (userId) => tables.accounts.filter((each) => each.userId === userId),
    ),
  });
  const ada = await issuer.signIn(app, { provider: "github" });
  const page = async (url = "/accounts") => [...(await ada(url)).body.matchAll(/<li>(\w+)/g)].map(([, id]) => id);
  assertEquals(await page(), ["github"]);

  const started = await ada({ method: "POST", url: "/accounts/link/google" });
  const sent = await fetch(String(started.headers.location), { redirect: "manual" });
  await sent.body?.cancel();
  const { pathname, search } = new URL(sent.headers.get("location")!);
  const linked = await ada(pathname + search);
  assertEquals(new URL(String(linked.headers.location)).pathname, "/accounts");
  assertEquals(await page(), ["github", "google"]);

  const form = { "content-type": "application/x-www-form-urlencoded" };
  const unlink = (provider: string) =>
    ada({
      method: "POST",
      url: "/accounts/unlink",
      headers: form,
      payload: `provider=${provider}&providerAccountId=ada`,
    });
  assertEquals((await unlink("github")).headers.location, "/accounts");
  assertEquals((await unlink("google")).statusCode, 409);
  assertEquals(await page(), ["google"]);
});

exampleTest("a socket is for signed-in users, and closes with the session", async () => {
  const { build } = await import("../../examples/websocket.ts");
  await using app = await build();
  await app.listen({ port: 0, host: "127.0.0.1" });
  const client = new Client(app);
  const { port } = app.server.address() as AddressInfo;
  const address = `ws://127.0.0.1:${port}/me`;
  const read = async () => {
    const opened = await openSocket(address, client.cookie);
    if (typeof opened === "number") return opened;
    opened.socket.terminate();
    return opened.message.name;
  };
  await signInReadSignOut<string | number>(client, read, "Ada", 401);
  await client.signIn(ADA);
  const opened = await openSocket(address, client.cookie);
  assert(typeof opened === "object");
  const closed = new Promise<number>((resolve) => opened.socket.on("close", resolve));
  await client.signOut();
  assertEquals(await closed, 4401);
});

/** Opens a socket: it and its first message, or the status that it is refused with. */
function openSocket(
  address: string,
  cookie = "",
): Promise<number | { socket: WebSocket; message: { name: string } }> {
  const socket = new WebSocket(address, { headers: { cookie } });
  return new Promise((resolve, reject) => {
    socket.on(
      "message",
      (data: { toString(): string }) => resolve({ socket, message: JSON.parse(data.toString()) }),
    );
    socket.on("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on("error", reject);
  });
}

exampleTest("@fastify/helmet with nonces, and a sign-in page under them", async () => {
  const { build } = await import("../../examples/helmet_nonces.ts");
  await using app = await build();
  const client = new Client(app);
  const read = async () => {
    const { statusCode, headers, body } = await client.get("/me", { headers: { accept: "text/html" } });
    return statusCode === 302
      ? new URL(String(headers.location), "http://localhost").pathname
      : body.match(/Hello \w+/)?.[0];
  };
  await signInReadSignOut(client, read, "Hello Ada", "/signin");
});

browserTest("example: the sign-in page works under the policy of @fastify/helmet", async (page) => {
  await withEnvironment(ENVIRONMENT, async () => {
    const { build } = await import("../../examples/helmet_nonces.ts");
    await using app = await build();
    await app.listen({ port: 0, host: "localhost" });
    const origin = `http://localhost:${(app.server.address() as AddressInfo).port}`;
    const complaints: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" && !message.location().url.endsWith("/favicon.ico")) {
        complaints.push(message.text());
      }
    });
    await page.goto(`${origin}/me`);
    assertEquals(new URL(page.url()).pathname, "/signin");
    assertEquals(await page.evaluate("getComputedStyle(document.forms[0]).display"), "grid");
    await page.getByLabel("Name").fill("ada");
    await page.getByLabel("Password").fill("lovelace");
    await page.getByRole("button").click();
    await page.getByRole("heading", { name: "Hello Ada" }).waitFor();
    await page.getByRole("button").click();
    await page.waitForURL((url) => url.pathname !== "/me");
    await page.goto(`${origin}/me`);
    assertEquals(new URL(page.url()).pathname, "/signin");
    assertEquals(complaints, []);
  });
});

exampleTest("AWS Lambda", async () => {
  const { app, handler } = await import("../../examples/aws_lambda.ts");
  await using _app: FastifyInstance = app;
  /** An API Gateway: payload 2.0. */
  const send: Send = async ({ method = "GET", url, headers: { cookie, ...headers } = {}, payload }) => {
    const [rawPath, rawQueryString = ""] = url.split("?");
    const event = {
      version: "2.0",
      routeKey: "$default",
      rawPath,
      rawQueryString,
      headers: { host: "abc.execute-api.eu-west-1.amazonaws.com", ...headers },
      ...(cookie && { cookies: cookie.split("; ") }),
      requestContext: { http: { method, path: rawPath, sourceIp: "192.0.2.1" }, stage: "$default" },
      ...(payload && { body: Buffer.from(payload).toString("base64"), isBase64Encoded: true }),
    };
    const { statusCode, headers: answered, cookies, body, isBase64Encoded } = await handler(
      event,
      {} as never,
    );
    const text = isBase64Encoded ? Buffer.from(body, "base64").toString() : body;
    const all = { ...answered, ...(cookies && { "set-cookie": cookies }) };
    return { statusCode, headers: all, body: text, json: () => JSON.parse(text) } as unknown as Answer;
  };
  const client = browserOver(send);
  await signInReadSignOut<string | number>(client, () => nameOrStatus(client), "Ada", 401);
  await client.signIn(ADA);
  assert(client.cookies.has("__Secure-authjs.session-token"), [...client.cookies.keys()].join());
}, { AUTH_URL: "https://app.example" });

exampleTest("Google Cloud Functions", async () => {
  const { getTestServer } = await import("@google-cloud/functions-framework/testing");
  const { app } = await import("../../examples/google_cloud_functions.ts");
  await using _app: FastifyInstance = app;
  const server = getTestServer("app");
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const send = overHttp(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const client = browserOver(send);
    await signInReadSignOut<string | number>(client, () => nameOrStatus(client), "Ada", 401);
    const echoed = await client.request("POST", "/echo", { json: { a: 1 } });
    assertEquals(echoed.json(), { a: 1 });
  } finally {
    await new Promise((resolve) => server.close(resolve));
  }
});

exampleTest("`fastify start` with files that @fastify/autoload loads", async () => {
  await using program = await runProgram([
    "run",
    "--no-lock",
    ...denoFlags(),
    "--preload=tests/support/deno_signals.ts",
    "-A",
    "npm:fastify-cli@8.0.2",
    "start",
    // It takes 0 for 3000, at which the demo may run.
    `--port=${await freePort()}`,
    "--address=127.0.0.1",
    "--log-level=info",
    "examples/autoload/app.ts",
  ]);
  const client = browserOver(program.send);
  await signInReadSignOut<string | number>(client, () => nameOrStatus(client), "Ada", 401);
});

for (const release of someOf([12, 11] as const, 0, 2)) {
  exampleTest(`NestJS ${release} with a guard and a decorator for the session`, async () => {
    await using folder = await temporaryFolder();
    const config = join(folder.path, "deno.json");
    await writeNestConfig(release, config);
    const args = ["run", "--check", "--no-lock", `--config=${config}`, "-A", "examples/nestjs/main.mts"];
    await using program = await runProgram(args, { PORT: "0" });
    const client = browserOver(program.send);
    const refused = await client.get("/me");
    const { message, code } = refused.json();
    assertEquals([refused.statusCode, message, code], [
      401,
      "Sign in to use this route.",
      "FST_AUTHJS_UNAUTHENTICATED",
    ]);
    const redirected = await client.get("/me", { headers: { accept: "text/html" } });
    assertEquals(redirected.statusCode, 302);
    assertStringIncludes(String(redirected.headers.location), "/auth/signin?error=SessionRequired");
    await signInReadSignOut<string | number>(client, () => nameOrStatus(client), "Ada", 401);
    assert(!/ERROR|Sign in to use/.test(program.output()), program.output());
  });
}

exampleTest("tests of an application, for any test runner", async () => {
  const args = ["test", "--no-lock", "--no-check", "-A", "examples/testing.ts"];
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, env: process.env });
  assertStringIncludes(stdout, "2 passed");
});

thoroughTest("examples: each starts from a clone by the command in README.md", async () => {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  await using clone = await temporaryFolder();
  const { stdout } = await promisify(execFile)("git", ["ls-files", "-z"], { cwd: root });
  for (const file of stdout.split("\0")) {
    if (file && !/^(?:docs|bench|tests\/(?!support))/.test(file) && existsSync(join(root, file))) {
      await cp(join(root, file), join(clone.path, file));
    }
  }
  const names = (await readdir(join(root, "examples")))
    .filter((name) => !/^(?:README\.md|auth\.ts|testing\.ts|demo)$/.test(name)).map((name) => name.replace(".ts", ""));
  const { CHECKOUT_CONFIG: _, ...environment } = process.env;
  const start = async (name: string) => {
    const settings = { ...environment, PORT: "0", DATABASE_URL: "postgres://localhost/none" } as Record<
      string,
      string
    >;
    await using program = await runProgram(["task", "example", name], settings, clone.path);
    const answer = await program.send({ url: "/auth/providers", headers: { host: "acme.localhost:3000" } });
    assertEquals(answer.statusCode, 200, `${name}: ${answer.body}`);
  };
  await start("trpc"); // writes the configuration that the others read
  for (let i = 0; i < names.length; i += 3) await Promise.all(names.slice(i, i + 3).map(start));
});

Deno.test("examples: each file is short, and README.md of the examples names it", async () => {
  const folder = new URL("../../examples/", import.meta.url);
  const readme = await readFile(new URL("README.md", folder), "utf8");
  const files = (await readdir(folder, { recursive: true })).map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /\.m?ts$/.test(name) && !name.startsWith("demo/"));
  for (const file of files) {
    const lines = (await readFile(new URL(file, folder), "utf8")).trimEnd().split("\n");
    assert(lines.length < 60, `${file} has ${lines.length} lines`);
    assertStringIncludes(readme, `(${file.includes("/") ? file.split("/")[0] : file})`);
  }
});

Deno.test("examples: README.md has the number of lines that join NestJS and the plugin", async () => {
  const folder = new URL("../../examples/", import.meta.url);
  const source = await readFile(new URL("nestjs/main.mts", folder), "utf8");
  const [, glue = ""] = /\/\/ The glue.*\n([^]*?)\/\/ The application/.exec(source) ?? [];
  const lines = [...glue.split("\n"), "await app.register(FastifyAuth(config))"].filter((line) => line.trim() !== "");
  assert(lines.length > 1 && lines.length <= 20, `${lines.length} lines`);
  assertStringIncludes(await readFile(new URL("README.md", folder), "utf8"), `${lines.length} lines`);
});
