/** Bodies of every encoding, and bodies that something has read before the request got to the auth routes. */
import { assertEquals, assertMatch } from "@std/assert";
import Fastify, { type FastifyInstance, type FastifyRequest } from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import express from "@fastify/express";
import multipart from "@fastify/multipart";
import { Buffer } from "node:buffer";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { type Answer, Client } from "../../support/client.ts";

type Fields = [name: string, value: string | Blob][];

/** A form as `fetch()` sends a `FormData`: the header and the body. */
async function encodeForm(fields: Fields): Promise<{ type: string; payload: Buffer }> {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  const response = new Response(form);
  return { type: response.headers.get("content-type")!, payload: Buffer.from(await response.arrayBuffer()) };
}

/** Posts a form in multipart/form-data, with a CSRF token and the browser's cookies. */
async function postMultipart(
  app: FastifyInstance,
  client: Client,
  url: string,
  fields: Fields,
): Promise<Answer> {
  const csrfToken = await client.csrfToken();
  const { type, payload } = await encodeForm([["csrfToken", csrfToken], ...fields]);
  const headers = { "content-type": type, cookie: client.cookie! };
  const answer = await app.inject({ method: "POST", url, headers, payload });
  return answer;
}

const ada: Fields = [["username", "ada"], ["password", "open"]];

Deno.test("fetch() with a FormData signs in and out", async () => {
  const seen: unknown[] = [];
  const config = testConfig({ providers: [passwordProvider((fields) => seen.push(fields))] });
  await using app = await testApp(config);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const origin = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  const cookies = new Map<string, string>();
  const send = async (path: string, form?: FormData) => {
    const cookie = [...cookies].map((pair) => pair.join("=")).join("; ");
    const response = await fetch(origin + path, {
      headers: { cookie },
      redirect: "manual",
      ...(form && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, text: await response.text() };
  };
  const formWith = async (fields: Record<string, string>) => {
    const form = new FormData();
    form.set("csrfToken", JSON.parse((await send("/auth/csrf")).text).csrfToken);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return form;
  };
  const fields = { username: "Ada Ünïcode", password: "open" };
  assertEquals((await send("/auth/callback/credentials", await formWith(fields))).status, 302);
  assertEquals((seen as typeof fields[]).map(({ username }) => username), [fields.username]);
  assertEquals(JSON.parse((await send("/me")).text).session.user.name, fields.username);
  assertEquals((await send("/auth/signout", await formWith({}))).status, 302);
  assertEquals((await send("/me")).text, '{"session":null}');
});

for (const attachFieldsToBody of [undefined, true, "keyValues"] as const) {
  Deno.test(`a FormData signs in where the application parses multipart (attachFieldsToBody: ${attachFieldsToBody})`, async () => {
    const config = testConfig();
    await using app = Fastify() as unknown as FastifyInstance;
    await app.register(multipart, { ...(attachFieldsToBody && { attachFieldsToBody }) });
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    app.post("/own", (request) => (request as FastifyRequest & { isMultipart(): boolean }).isMultipart());
    const client = new Client(app);
    const answer = await postMultipart(app, client, "/auth/callback/credentials", ada);
    assertEquals(answer.statusCode, 302);
    assertMatch(String(answer.headers["set-cookie"]), /authjs\.session-token=/);
    if (attachFieldsToBody === undefined) return;
    const own = await postMultipart(app, client, "/own", ada);
    assertEquals(own.body, "true");
  });
}

Deno.test("a multipart body with a file, without a boundary, or with too many or too large parts is refused", async () => {
  const seen: unknown[] = [];
  const config = testConfig({ providers: [passwordProvider((fields) => seen.push(fields))] });
  await using app = await testApp(config);
  const client = new Client(app);
  const post = (fields: Fields) => postMultipart(app, client, "/auth/callback/credentials", [...ada, ...fields]);
  const file = await post([["avatar", new Blob(["x"], { type: "image/png" })]]);
  assertEquals([file.statusCode, file.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
  assertMatch(file.json().message, /"avatar" must not be a file/);
  const many = await post(Array.from({ length: 1000 }, (_, i) => [`${i}`, ""]));
  assertEquals([many.statusCode, many.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
  assertEquals((await post([["large", "x".repeat(110_000)]])).statusCode, 413);
  const broken = await app.inject({
    method: "POST",
    url: "/auth/callback/credentials",
    headers: { "content-type": "multipart/form-data" },
    payload: "--x--\r\n",
  });
  assertEquals([broken.statusCode, broken.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
  assertEquals(seen, []);
});

Deno.test("a name in a multipart body cannot reach a prototype", async () => {
  const seen: object[] = [];
  const config = testConfig({ providers: [passwordProvider((fields) => seen.push(fields as object))] });
  await using app = await testApp(config);
  const client = new Client(app);
  const fields: Fields = [...ada, ["__proto__", "a"], ["constructor", "b"], ["username", "eve"]];
  await postMultipart(app, client, "/auth/callback/credentials", fields);
  assertEquals(seen.map((fields) => (fields as { username: string }).username), ["eve"]);
  assertEquals(({} as { a?: unknown }).a, undefined);
});

/** How a platform hands over a request whose body it has read. */
type Handover = (request: IncomingMessage, bytes: Buffer) => void;

function parsed(request: IncomingMessage, bytes: Buffer): unknown {
  const text = bytes.toString();
  if (request.headers["content-type"]?.includes("json")) return JSON.parse(text);
  return Object.fromEntries(new URLSearchParams(text));
}

const HANDOVERS: Record<string, Handover> = {
  "Google Cloud Functions, with rawBody and body": (request, bytes) =>
    Object.assign(request, { rawBody: bytes, body: parsed(request, bytes) }),
  "a text as rawBody": (request, bytes) => Object.assign(request, { rawBody: bytes.toString() }),
  "a parser of Express, with the parsed body": (request, bytes) =>
    Object.assign(request, { body: parsed(request, bytes) }),
  "the bytes as body": (request, bytes) => Object.assign(request, { body: bytes }),
  "the text as body": (request, bytes) => Object.assign(request, { body: bytes.toString() }),
};

/** A platform: it reads the body, and then emits the request on the server of the application. */
async function platform(app: FastifyInstance, handOver: Handover) {
  await app.ready();
  const server = createServer(async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    handOver(request, Buffer.concat(chunks));
    app.server.emit("request", request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const send = (path: string, cookie: string, body: Record<string, unknown> | string, type = "") =>
    fetch(origin + path, {
      method: "POST",
      redirect: "manual",
      headers: { cookie, ...(type && { "content-type": type }) },
      body: typeof body === "string"
        ? body
        : type
        ? JSON.stringify(body)
        : new URLSearchParams(body as Record<string, string>),
    });
  return {
    send,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

for (const [what, handOver] of Object.entries(HANDOVERS)) {
  Deno.test(`a body that was read before is accepted: ${what}`, async () => {
    await using app = await testApp();
    // The parser that Fastify's guide for serverless platforms recommends.
    app.addContentTypeParser(
      "application/json",
      {},
      (_request, payload, done) => done(null, (payload as unknown as { body: unknown }).body),
    );
    await using cloud = await platform(app, handOver);
    const client = new Client(app);
    const csrfToken = await client.csrfToken();
    for (const type of ["", "application/json"]) {
      const fields = { csrfToken, username: "ada", password: "open" };
      const response = await cloud.send("/auth/callback/credentials", client.cookie!, fields, type);
      await response.body?.cancel();
      assertEquals(response.status, 302);
      assertMatch(response.headers.getSetCookie().join(), /authjs\.session-token=ey/);
    }
    const large = await cloud.send("/auth/signout", client.cookie!, {
      csrfToken,
      large: "x".repeat(110_000),
    });
    assertEquals(large.status, 413);
    await large.body?.cancel();
    const nested = await cloud.send("/auth/callback/credentials", client.cookie!, {
      csrfToken,
      password: { $gt: "" },
    }, "application/json");
    assertEquals([nested.status, (await nested.json()).code], [400, "FST_AUTHJS_BODY_INVALID"]);
  });
}

Deno.test("a body that a middleware of the application has read is accepted", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  await app.register(express);
  app.addHook("onRequest", async ({ raw }) => {
    if (raw.method !== "POST") return;
    const chunks: Buffer[] = [];
    for await (const chunk of raw) chunks.push(chunk as Buffer);
    Object.assign(raw, { body: parsed(raw, Buffer.concat(chunks)) });
  });
  const config = testConfig();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await getSession(request, config) }));
  const client = new Client(app);
  assertEquals((await client.signIn({ username: "ada", password: "open" })).statusCode, 302);
  assertEquals((await client.get("/me")).json().session.user.name, "ada");
  assertEquals((await client.signOut()).statusCode, 302);
});

Deno.test("a body that was read before and is nowhere to be found is an error that says so", async () => {
  await using app = await testApp();
  await using cloud = await platform(app, () => {});
  const response = await cloud.send("/auth/signout", "", { csrfToken: "a" });
  assertEquals(response.status, 400);
  const { code, message } = await response.json();
  assertEquals(code, "FST_AUTHJS_BODY_INVALID");
  assertMatch(message, /request\.raw\.rawBody/);
});

Deno.test("a request without a body is one without fields, whatever has read it", async () => {
  await using app = await testApp();
  await using cloud = await platform(app, () => {});
  const response = await cloud.send("/auth/signout", "", {});
  await response.body?.cancel();
  assertMatch(String(response.headers.get("location")), /MissingCSRF|csrf/);
});

Deno.test("a parsed form with objects in it is refused", async () => {
  await using app = await testApp();
  await using cloud = await platform(
    app,
    (request) => Object.assign(request, { body: { password: { $gt: "" } } }),
  );
  const response = await cloud.send("/auth/signout", "", { a: "b" });
  assertEquals([response.status, (await response.json()).code], [400, "FST_AUTHJS_BODY_INVALID"]);
});

Deno.test("a multipart form whose Content-Type is longer than any boundary is refused", async () => {
  await using app = await testApp();
  const headers = { "content-type": `multipart/form-data; boundary=${" ".repeat(200)}a` };
  const answer = await app.inject({ method: "POST", url: "/auth/signout", headers, payload: "--a--" });
  assertEquals([answer.statusCode, answer.json().code], [400, "FST_AUTHJS_BODY_INVALID"]);
});

Deno.test("a body that nothing has read is read from the stream, whatever the request carries", async () => {
  await using app = Fastify() as unknown as FastifyInstance;
  app.addHook("onRequest", (request, _reply, done) => {
    Object.assign(request.raw, { body: { username: "eve" }, rawBody: "username=eve" });
    done();
  });
  const seen: unknown[] = [];
  await app.register(
    FastifyAuth(testConfig({ providers: [passwordProvider((fields) => seen.push(fields))] })),
    {
      prefix: "/auth",
    },
  );
  await new Client(app).signIn({ username: "ada", password: "open" });
  assertEquals((seen as { username: string }[]).map(({ username }) => username), ["ada"]);
});
