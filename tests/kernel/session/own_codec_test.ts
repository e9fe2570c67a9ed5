/** Tokens that the application seals itself, and sign-ins that its `jwt` callback refuses. */
import { decode, encode, type JWT } from "@auth/core/jwt";
import { assert, assertEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import { getSession, requireSession } from "fastify-authjs";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

/** The name of the signed-in user, after a sign-in and a second read. */
async function namesRead(overrides: Partial<FastifyAuthConfig>): Promise<(string | undefined)[]> {
  const config = testConfig(overrides);
  await using app = await testApp(config);
  app.get("/name", async (request) => ({ name: (await getSession(request, config))?.user?.name }));
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const read = async () => (await client.get("/name")).json().name;
  return [await read(), await read()];
}

/** Keeps the claims themselves for a month. */
function keepingCodec(): NonNullable<FastifyAuthConfig["jwt"]> {
  const kept = new Map<string, JWT>();
  return {
    encode({ token }) {
      const iat = Math.floor(Date.now() / 1000);
      const id = `token-${kept.size}`;
      kept.set(id, { ...token, iat, exp: iat + 30 * 24 * 60 * 60 });
      return id;
    },
    decode: ({ token }) => kept.get(token!) ?? null,
  };
}

Deno.test("core's own encode and decode are as none", async () => {
  assertEquals(await namesRead({ jwt: { encode, decode } }), ["ada", "ada"]);
});

Deno.test("a codec may keep claims that JSON cannot hold", async () => {
  const kept = new Map<string, JWT>();
  const jwt: FastifyAuthConfig["jwt"] = {
    encode({ token }) {
      const id = `token-${kept.size}`;
      kept.set(id, { ...token });
      return id;
    },
    decode: ({ token }) => kept.get(token!) ?? null,
  };
  const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, count: 1n }) };
  assertEquals(await namesRead({ jwt, callbacks }), ["ada", "ada"]);
});

Deno.test("what a callback changes beside a claim that JSON cannot hold is kept", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    jwt: ({ token }) => ({ ...token, big: 1n, count: Number(token.count ?? 0) + 1 }),
    session: ({ session, token }) => ({ ...session, user: { name: String(token.count) } }),
  };
  assertEquals(await namesRead({ jwt: keepingCodec(), callbacks }), ["2", "3"]);
});

Deno.test("a claim that JSON cannot hold is kept from the first read on", async () => {
  const callbacks: FastifyAuthConfig["callbacks"] = {
    // The sign-in makes a token without it.
    jwt: ({ token, user }) => user ? token : { ...token, reads: BigInt(token.reads as bigint ?? 0) + 1n },
    session: ({ session, token }) => ({ ...session, user: { name: String(token.reads) } }),
  };
  assertEquals(await namesRead({ jwt: keepingCodec(), callbacks }), ["1", "2"]);
});

Deno.test("a codec that fails for an update leaves the session as it was, and one that is too large is said", async () => {
  let fails = false, fills = false;
  const jwt: FastifyAuthConfig["jwt"] = {
    async encode(params) {
      if (fails) throw new Error("boom");
      const { count: _count, ...token } = params.token!;
      return fills ? "x".repeat(1_000_000) : await encode({ ...params, token });
    },
    decode,
  };
  const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, count: 1n }) };
  const { logger, lines } = captureLog();
  await using app = await testApp(testConfig({ jwt, callbacks }), { logger });
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const json = { csrfToken: await client.csrfToken(), data: {} };
  fails = true;
  assertEquals((await client.request("POST", "/auth/session", { json })).statusCode, 503);
  [fails, fills] = [false, true];
  assertEquals((await client.request("POST", "/auth/session", { json })).statusCode, 413);
  assert(JSON.stringify(lines).includes("The largest claims"));
});

Deno.test("an encoder that returns no text, or an empty one, is said, at a sign-in and at a read", async () => {
  for (const [result, returned] of [[undefined, "undefined"], ["", "an empty text"], [null, "object"], [5, "number"]]) {
    let works = false;
    const jwt: FastifyAuthConfig["jwt"] = {
      encode: (params) => works ? encode(params) : result as never,
      decode,
    };
    const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, now: Math.random() }) };
    const { logger, lines } = captureLog();
    await using app = await testApp(testConfig({ jwt, callbacks }), { logger });
    const client = new Client(app);
    const isSaid = () =>
      JSON.stringify(lines.splice(0)).includes(`\`jwt.encode\` returned ${returned}: return the token`);
    const { headers } = await client.signIn({ username: "ada", password: "open" });
    assertEquals([headers.location, isSaid()], ["http://localhost/auth/error?error=Configuration", true]);
    works = true;
    await client.signIn({ username: "ada", password: "open" });
    works = false;
    // As if the encoder had thrown.
    assertEquals([(await client.get("/me")).json().session.user.name, isSaid()], ["ada", true]);
  }
});

Deno.test("a jwt callback that returns null at a sign-in makes no session", async () => {
  assertEquals(await namesRead({ callbacks: { jwt: () => null } }), [undefined, undefined]);
});

Deno.test("what a decoder makes of a cookie that is no object of claims lets nobody pass", async () => {
  for (const value of ["text", true, 5, ["claim"], new Error("no claims")]) {
    const { logger, lines } = captureLog();
    const config = testConfig({ jwt: { encode, decode: () => value as never } });
    await using app = await testApp(config, { logger });
    app.get("/guarded", { onRequest: requireSession(config) }, () => "passed");
    const answer = await app.inject({ url: "/guarded", headers: { cookie: "authjs.session-token=anything" } });
    assert(answer.statusCode >= 401, answer.body);
    assert(lines.some((line) => JSON.stringify(line).includes("`jwt.decode`")), JSON.stringify(lines));
  }
});
