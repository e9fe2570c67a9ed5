import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { assert, assertEquals, assertFalse, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { checkedDocument } from "../../../src/provider/discovery.ts";
import { FastifyAuthError } from "../../../src/errors.ts";
import { ProviderUnavailable } from "../../../src/provider/provider_error.ts";
import { type Fetch, limitedFetch } from "../../../src/provider/fetch.ts";

const DEVELOPMENT = { timeout: 1000, production: false };
const PRODUCTION = { timeout: 1000, production: true };
const WELL_KNOWN = "https://idp.example/.well-known/openid-configuration";

/** A `fetch` that answers with what `respond` makes, and the requests it got. */
function answering(
  respond: (url: string) => Response | Promise<Response>,
): { inner: Fetch; asked: string[] } {
  const asked: string[] = [];
  const inner: Fetch = async (input) => {
    asked.push(String(input));
    return await respond(String(input));
  };
  return { inner, asked };
}

function document(): Response {
  return Response.json({ issuer: "https://idp.example", token_endpoint: "https://idp.example/token" });
}

Deno.test("limitedFetch() hands on status, headers and body, and what the request carries", async () => {
  let seen: RequestInit | undefined;
  const inner: Fetch = (_input, init) => {
    seen = init;
    return Promise.resolve(
      new Response("body", { status: 418, statusText: "Teapot", headers: { "x-a": "b" } }),
    );
  };
  const response = await limitedFetch("op", inner, DEVELOPMENT)("http://idp.example/token", {
    method: "POST",
    body: "a=b",
    headers: { authorization: "Basic x" },
    redirect: "manual",
  });
  assertEquals([response.status, response.statusText, response.headers.get("x-a")], [418, "Teapot", "b"]);
  assertEquals(await response.text(), "body");
  const { method, body, headers, redirect } = seen ?? {};
  assertEquals({ method, body, headers, redirect }, {
    method: "POST",
    body: "a=b",
    headers: { authorization: "Basic x" },
    redirect: "manual",
  });
});

/** Collects garbage, and has what waits for that run. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  for (let i = 0; i < 10; i++) {
    gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

Deno.test("limitedFetch() gives a response that can be read when a copy of it is garbage", async () => {
  const { inner } = answering(document);
  const fetch = limitedFetch("op", inner, DEVELOPMENT);
  for (const path of ["token", "userinfo", ".well-known/openid-configuration"]) {
    const response = await fetch(`https://idp.example/${path}`);
    const text = await response.clone().text();
    response.clone();
    await collectGarbage();
    assertFalse(response.bodyUsed, path);
    assertEquals(await response.text(), text);
    assertThrows(() => response.clone(), TypeError);
  }
});

Deno.test("limitedFetch() gives a response that is read once, as text or JSON, with or without a byte order mark", async () => {
  const { inner } = answering((url) => new Response(url.endsWith("page") ? "<p>" : '\ufeff{"sub":"ä"}'));
  const fetch = limitedFetch("op", inner, DEVELOPMENT);
  const response = await fetch("https://idp.example/userinfo");
  assertEquals(await response.clone().text(), '{"sub":"ä"}');
  assertFalse(response.bodyUsed);
  assertEquals(await response.json(), { sub: "ä" });
  assert(response.bodyUsed);
  await assertRejects(() => response.json(), TypeError);
  await assertRejects(() => response.text(), TypeError);
  const page = await fetch("https://idp.example/page");
  await assertRejects(() => page.json(), SyntaxError);
});

Deno.test("limitedFetch() gives a response that is read once, in whichever form", async () => {
  const type = "application/x-www-form-urlencoded";
  const { inner } = answering(() =>
    new Response(new Uint8Array([97, 61, 0xc3, 0xa4]), { headers: { "content-type": type } })
  );
  const forms: { readonly [form: string]: (response: Response) => Promise<unknown> } = {
    text: (response) => response.text(),
    arrayBuffer: async (response) => new TextDecoder().decode(await response.arrayBuffer()),
    bytes: async (response) => new TextDecoder().decode(await response.bytes()),
    blob: async (response) => await (await response.blob()).text(),
    formData: async (response) => `a=${(await response.formData()).get("a")}`,
    body: async (response) => await new Blob(await Array.fromAsync(response.body!)).text(),
  };
  for (const [first, read] of Object.entries(forms)) {
    const response = await limitedFetch("op", inner, DEVELOPMENT)("https://idp.example/page");
    assertEquals(response.body, response.body, first);
    assertEquals(await read(response.clone()), "a=ä", first);
    assertFalse(response.bodyUsed, first);
    assertEquals(await read(response), "a=ä", first);
    assert(response.bodyUsed, first);
    for (const [then, again] of Object.entries(forms)) {
      if (then !== "body") await assertRejects(() => again(response), TypeError, undefined, `${first}, ${then}`);
    }
  }
});

Deno.test("limitedFetch() takes a body that can be iterated and has no reader, and ends one that is too large", async () => {
  let isEnded = false;
  async function* bytes(count: number) {
    try {
      for (let i = 0; i < count; i++) yield new Uint8Array(512 * 1024).fill(97);
    } finally {
      isEnded = true;
    }
  }
  for (const hasReader of [false, true]) {
    const withBody = (count: number) => {
      const body = hasReader ? ReadableStream.from(bytes(count)) : bytes(count);
      return Object.defineProperty(new Response(null), "body", { value: body });
    };
    const fetched = limitedFetch("op", answering(() => withBody(2)).inner, DEVELOPMENT)("https://idp.example/page");
    assertEquals((await (await fetched).text()).length, 1024 * 1024);
    isEnded = false;
    const bounded = limitedFetch("op", answering(() => withBody(5)).inner, DEVELOPMENT);
    await assertRejects(() => bounded("https://idp.example/page"), FastifyAuthError, "over 1048576 bytes");
    assert(isEnded);
  }
});

Deno.test("limitedFetch() takes a Request and a URL as well", async () => {
  const { inner } = answering(() => new Response("x"));
  const bounded = limitedFetch("op", inner, PRODUCTION);
  assertEquals(await (await bounded(new URL("https://idp.example/a"))).text(), "x");
  assertEquals(await (await bounded(new Request("https://idp.example/a"))).text(), "x");
  await assertRejects(() => bounded(new Request("http://idp.example/a")), FastifyAuthError);
});

Deno.test("limitedFetch() hands on a response without a body", async () => {
  for (const status of [204, 205, 304]) {
    const { inner } = answering(() => new Response(null, { status }));
    const response = await limitedFetch("op", inner, DEVELOPMENT)("http://idp.example/");
    assertEquals([response.status, response.body], [status, null]);
  }
});

Deno.test("limitedFetch() does not repeat how the body was encoded on the way", async () => {
  const headers = { "content-encoding": "gzip", "content-length": "3", "content-type": "application/json" };
  const { inner } = answering(() => new Response("{}", { headers }));
  const response = await limitedFetch("op", inner, DEVELOPMENT)("http://idp.example/token", {
    method: "POST",
  });
  assertEquals(Object.fromEntries(response.headers), { "content-type": "application/json" });
});

Deno.test("limitedFetch() reads a body of the cap, and not a byte more", async () => {
  let size = 1024 * 1024;
  const { inner } = answering(() => new Response(new Uint8Array(size)));
  const bounded = limitedFetch("op", inner, DEVELOPMENT);
  assertEquals((await (await bounded("http://idp.example/")).arrayBuffer()).byteLength, 1024 * 1024);
  size++;
  await assertRejects(() => bounded("http://idp.example/"), FastifyAuthError, "over 1048576 bytes");
});

Deno.test("limitedFetch() aborts what it no longer waits for, and ends with the caller's signal, too", async () => {
  const signals: AbortSignal[] = [];
  const inner: Fetch = (_input, init) => {
    signals.push(init!.signal!);
    return new Promise((_resolve, reject) => init!.signal!.addEventListener("abort", () => reject(new Error("gone"))));
  };
  const bounded = limitedFetch("op", inner, { timeout: 20, production: false });
  await assertRejects(() => bounded("http://idp.example/?code=x"), FastifyAuthError, "within 20 ms");
  assertEquals(signals[0]!.aborted, true);

  const caller = new AbortController();
  const patient = limitedFetch("op", inner, { timeout: 0, production: false });
  const waiting = patient("http://idp.example/", { signal: caller.signal });
  caller.abort();
  await assertRejects(() => waiting, Error, "gone");
});

Deno.test("limitedFetch() tells a provider that cannot be reached from one that breaks off", async () => {
  const failing = (members: object) =>
    limitedFetch(
      "op",
      () => Promise.reject(Object.assign(new TypeError("fetch failed"), members)),
      DEVELOPMENT,
    );
  const unreachable = [
    { cause: { code: "ECONNREFUSED" } },
    { cause: { name: "AggregateError", errors: [{ code: "ECONNREFUSED" }, { code: "EHOSTUNREACH" }] } },
    { cause: { code: "ENOTFOUND" } },
    { cause: { code: "EAI_AGAIN" } },
    { cause: { code: "UND_ERR_CONNECT_TIMEOUT" } },
    { code: "ConnectionRefused" }, // Bun
    { cause: { message: "error sending request: client error (Connect): tcp connect error" } }, // Deno
  ];
  for (const members of unreachable) {
    const error = await assertRejects(() => failing(members)("http://idp.example/token?code=x")) as Error;
    assert(error instanceof ProviderUnavailable, JSON.stringify(members));
    assertEquals([error.provider, error.message], [
      "op",
      '"op" cannot be reached at http://idp.example/token.',
    ]);
  }
  const broken = [
    { cause: { code: "UND_ERR_SOCKET" } },
    { cause: { code: "ECONNRESET" } },
    { cause: { code: "HPE_INVALID_CONSTANT" } },
    { code: "ConnectionClosed" }, // Bun
    { cause: { message: "client error (SendRequest): connection closed before message completed" } },
    { cause: { message: "Connection reset by peer (os error 104)" } },
  ];
  for (const members of broken) {
    const error = await assertRejects(() => failing(members)("http://idp.example/token")) as Error;
    assert(error instanceof ProviderUnavailable, JSON.stringify(members));
    assertEquals(error.message, '"op" broke off its answer at http://idp.example/token.');
  }
  const others = [
    { cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" } },
    { cause: { message: "client error (Connect): invalid peer certificate: UnknownIssuer" } },
    {},
  ];
  for (const members of others) {
    const error = await assertRejects(() => failing(members)("http://idp.example/token"));
    assertFalse(error instanceof ProviderUnavailable, JSON.stringify(members));
  }
});

Deno.test("limitedFetch() keeps the query of an address out of its messages", async () => {
  const silent: Fetch = () => new Promise(() => {});
  const bounded = limitedFetch("op", silent, { timeout: 10, production: false });
  const error = await assertRejects(
    () => bounded("http://idp.example/me?access_token=secret"),
    FastifyAuthError,
  );
  assertStringIncludes(error.message, "http://idp.example/me");
  assertEquals(error.message.includes("secret"), false);
});

Deno.test("limitedFetch() refuses an error where core would read a profile, and nothing that others ask", async () => {
  const { inner } = answering(() => Response.json({ message: "no" }, { status: 403 }));
  const bounded = limitedFetch("op", inner, DEVELOPMENT);
  const manual = { redirect: "manual" as const };
  await assertRejects(() => bounded("http://idp.example/me", manual), FastifyAuthError, "answered 403");
  // The reason is in the body, for core to read.
  assertEquals((await bounded("http://idp.example/token", { ...manual, method: "POST" })).status, 403);
  assertEquals((await bounded("http://idp.example/emails")).status, 403);
});

Deno.test("limitedFetch() names a status that no Response can have", async () => {
  const response = { status: 999, statusText: "", headers: new Headers(), body: null } as unknown as Response;
  const bounded = limitedFetch("op", () => Promise.resolve(response), DEVELOPMENT);
  const error = await assertRejects(() => bounded("http://idp.example/token"), FastifyAuthError);
  assertEquals(error.message, '"op" answered 999 at http://idp.example/token.');
});

Deno.test("limitedFetch() asks for a discovery document once, and every answer can be read", async () => {
  const { inner, asked } = answering(document);
  const bounded = limitedFetch("op", inner, PRODUCTION);
  const responses = await Promise.all([bounded(WELL_KNOWN), bounded(WELL_KNOWN)]);
  responses.push(await bounded(WELL_KNOWN));
  for (const response of responses) {
    assertEquals(response.status, 200);
    assertEquals((await response.json()).issuer, "https://idp.example");
  }
  assert(responses[0] !== responses[1]);
  assertEquals(asked, [WELL_KNOWN]);
});

Deno.test("limitedFetch() keeps documents by address", async () => {
  const issuers = ["https://idp.example/a", "https://idp.example/b"];
  const { inner, asked } = answering((url) => Response.json({ issuer: url.split("/.well-known")[0] }));
  const bounded = limitedFetch("op", inner, PRODUCTION);
  for (const issuer of [...issuers, ...issuers]) {
    const response = await bounded(`${issuer}/.well-known/openid-configuration`);
    assertEquals((await response.json()).issuer, issuer);
  }
  assertEquals(asked.length, 2);
});

Deno.test("limitedFetch() rejects all calls that wait for a failed request, and the next one sends another", async () => {
  let answer = () => new Response("down", { status: 503 });
  const { inner, asked } = answering(() => answer());
  const bounded = limitedFetch("op", inner, DEVELOPMENT);
  const waiting = await Promise.allSettled([bounded(WELL_KNOWN), bounded(WELL_KNOWN)]);
  assertEquals(waiting.map(({ status }) => status), ["rejected", "rejected"]);
  assertEquals(asked.length, 1);
  answer = document;
  assertEquals((await bounded(WELL_KNOWN)).status, 200);
  assertEquals(asked.length, 2);
});

Deno.test("checkedDocument() accepts the issuer with and without a slash, and no other", () => {
  const check = (issuer: unknown, url = WELL_KNOWN) =>
    checkedDocument(JSON.stringify({ issuer }), new URL(url), "op", true);
  check("https://idp.example");
  check("https://idp.example/");
  check("https://idp.example/tenant", "https://idp.example/tenant/.well-known/openid-configuration");
  const others = [
    "https://idp.example/other",
    "https://idp.example.evil",
    "http://idp.example",
    "",
    1,
    undefined,
  ];
  for (const issuer of others) assertThrows(() => check(issuer), FastifyAuthError, "it names the issuer");
});

Deno.test("checkedDocument() names an issuer that is configured with a slash too many or too few", () => {
  const url = new URL("https://idp.example/tenant/.well-known/openid-configuration");
  const check = (published: string, configured: string) =>
    checkedDocument(JSON.stringify({ issuer: published }), url, "op", true, configured);
  const [plain, slash] = ["https://idp.example/tenant", "https://idp.example/tenant/"] as const;
  for (const [published, configured] of [[plain, slash], [slash, plain]] as const) {
    const message = `it names the issuer "${published}", so \`issuer\` has to be that one`;
    assertThrows(() => check(published, configured), FastifyAuthError, message);
  }
  check(plain, plain);
  check(slash, slash);
  // Core finds the tenant of Microsoft's providers later, by another issuer.
  check(plain, "https://idp.example/common");
});
