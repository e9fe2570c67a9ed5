/** Access tokens that are forged, or of another kind, open nothing (RFC 8725, RFC 9068 section 4). */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { Buffer } from "node:buffer";
import { createHmac, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { createAuth } from "fastify-authjs";
import { exportJWK, exportSPKI, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from "jose";
import { captureLog, testConfig } from "../../support/app.ts";

const API = "https://api.example";

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");
const now = () => Math.floor(Date.now() / 1000);

/** An authorization server with one key, on loopback. */
async function startServer() {
  const pair = await generateKeyPair("RS256", { extractable: true });
  const jwk = { ...await exportJWK(pair.publicKey), kid: "1", use: "sig" };
  const server = createServer((request, response) => {
    const body = request.url === "/jwks" ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}/jwks` };
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const claims = (): JWTPayload => ({
    ...{ iss: issuer, aud: API, sub: "ada", client_id: "app", scope: "orders:read", jti: randomUUID() },
    ...{ iat: now(), exp: now() + 300 },
  });
  const sign = (changes: JWTPayload = {}, header: object = {}, key: CryptoKey = pair.privateKey) =>
    new SignJWT({ ...claims(), ...changes } as JWTPayload)
      .setProtectedHeader({ alg: "RS256", typ: "at+jwt", kid: "1", ...header } as JWTHeaderParameters).sign(
        key,
      );
  return {
    ...{ issuer, jwk, pair, claims, sign },
    pem: await exportSPKI(pair.publicKey),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(resolve);
      }),
  };
}

type Server = Awaited<ReturnType<typeof startServer>>;

/** Tokens by what is wrong with them. */
async function forgeries(server: Server, other: Server): Promise<Record<string, string>> {
  const { sign, claims, jwk, pem } = server;
  const [header = "", payload = "", signature = ""] = (await sign()).split(".");
  const mine = await generateKeyPair("RS256", { extractable: true });
  const myJwk = await exportJWK(mine.publicKey);
  const hmac = (secret: string, alg = "HS256") => {
    const text = `${encode({ alg, typ: "at+jwt", kid: "1" })}.${encode(claims())}`;
    return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
  };
  const typed = (changes: object) => sign({}, changes);
  const without = (name: string) => sign({ [name]: undefined });
  return {
    "alg none": `${encode({ alg: "none", typ: "at+jwt" })}.${encode(claims())}.`,
    "alg None with a signature": `${encode({ alg: "None", typ: "at+jwt" })}.${encode(claims())}.${signature}`,
    "an empty signature": `${header}.${payload}.`,
    "HS256 with the public key as the secret": hmac(pem),
    "HS256 with the JWK as the secret": hmac(JSON.stringify(jwk)),
    "HS256 with the modulus as the secret": hmac(jwk.n!),
    "another payload": `${header}.${encode({ ...claims(), sub: "root" })}.${signature}`,
    "another header": `${encode({ alg: "RS256", typ: "at+jwt", kid: "1", x: 1 })}.${payload}.${signature}`,
    "another scope": `${header}.${encode({ ...claims(), scope: "admin" })}.${signature}`,
    "a key of nobody": await sign({}, {}, mine.privateKey),
    "a key in the header": await sign({}, { jwk: myJwk, kid: undefined }, mine.privateKey),
    "an address of keys in the header": await sign(
      {},
      { jku: `${other.issuer}/jwks` },
      other.pair.privateKey,
    ),
    "an address of certificates": await sign({}, { x5u: `${other.issuer}/cert` }, mine.privateKey),
    "an unknown key id": await sign({}, { kid: "2" }, mine.privateKey),
    "a key id that is a path": await sign({}, { kid: "../../jwks" }, mine.privateKey),
    "the key of another issuer": await other.sign({ iss: server.issuer }),
    "another issuer": await sign({ iss: other.issuer }),
    "an issuer that is unknown": await sign({ iss: "https://evil.example" }),
    "an issuer with a slash more": await sign({ iss: `${server.issuer}/` }),
    "no issuer": await without("iss"),
    "another audience": await sign({ aud: "https://other.example" }),
    "an audience that begins the same": await sign({ aud: `${API}.evil.example` }),
    "no audience": await without("aud"),
    "an empty list of audiences": await sign({ aud: [] }),
    "expired": await sign({ exp: now() - 120 }),
    "no end": await without("exp"),
    "an end that is a text": await sign({ exp: "4102444800" as never }),
    "not valid yet": await sign({ nbf: now() + 600 }),
    "no subject": await without("sub"),
    "no client": await without("client_id"),
    "no id": await without("jti"),
    "no time of issue": await without("iat"),
    "an ID token": await typed({ typ: "JWT" }),
    "no type": await typed({ typ: undefined }),
    "the type of a logout token": await typed({ typ: "logout+jwt" }),
    "the type of a proof": await typed({ typ: "dpop+jwt" }),
    "a critical header": await typed({ crit: ["x"], x: true }).catch(() => "a.b.c"),
    "a confirmation without a proof": await sign({ cnf: { jkt: "x".repeat(43) } }),
    "a confirmation by certificate": await sign({ cnf: { "x5t#S256": "x".repeat(43) } }),
    "four parts": `${await sign()}.more`,
    "two parts": `${header}.${payload}`,
    "five parts": `${header}.${payload}.${signature}.a.b`,
    "a payload that is no object": `${header}.${encode("root")}.${signature}`,
    "a payload that is no JSON": `${header}.eyJ.${signature}`,
    "a padded signature": `${header}.${payload}.${signature}==`,
    "a character more": `${header}.${payload}.${signature}A`,
    "text": "hello",
  };
}

Deno.test("forged access tokens are refused, each with 401 and no token in the log", async () => {
  const [server, other] = [await startServer(), await startServer()];
  const { logger, lines } = captureLog();
  const issuers = [server, other].map(({ issuer }) => ({ issuer, audience: API }));
  issuers[1]!.audience = "https://other.example";
  const auth = createAuth(testConfig({ apiAccess: { issuers } }));
  const app = Fastify({ logger });
  try {
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/api", { onRequest: auth.requireSession({ tokens: ["access"] }) }, () => "secret");
    const get = (token: string) => app.inject({ url: "/api", headers: { authorization: `Bearer ${token}` } });
    const good = await server.sign();
    assertEquals((await get(good)).body, "secret");
    const forged = Object.entries(await forgeries(server, other));
    assertEquals(forged.length >= 40, true, String(forged.length));
    for (const [why, token] of forged) {
      const answer = await get(token);
      assertEquals([answer.statusCode, answer.body.includes("secret")], [401, false], why);
      assertStringIncludes(String(answer.headers["www-authenticate"]), 'error="invalid_token"', why);
    }
    const log = JSON.stringify(lines);
    for (const [why, token] of forged) {
      if (token.length > 20) assertEquals(log.includes(token), false, `${why} is logged`);
    }
    // Elsewhere it counts for nothing, and what came before still does.
    const inQuery = await app.inject(`/api?access_token=${good}`);
    assertEquals(inQuery.statusCode, 401);
    assertEquals((await get(good)).body, "secret");
  } finally {
    await app.close();
    await server.close();
    await other.close();
  }
});

Deno.test("with rfc9068: false a token of another type passes, and forged ones do not", async () => {
  const [server, other] = [await startServer(), await startServer()];
  const auth = createAuth(testConfig({
    apiAccess: {
      issuers: [{ issuer: server.issuer, audience: API, rfc9068: false, jwksUri: `${server.issuer}/jwks` }],
    },
  }));
  const app = Fastify();
  try {
    await app.register(auth.plugin, { prefix: "/auth" });
    app.get("/api", { onRequest: auth.requireSession({ tokens: ["access"] }) }, () => "secret");
    const get = (token: string) => app.inject({ url: "/api", headers: { authorization: `Bearer ${token}` } });
    assertEquals((await get(await server.sign({ client_id: undefined }, { typ: "JWT" }))).body, "secret");
    // What such a server does not say cannot be asked for.
    const allowed = /ID token|type|no (?:client|id|subject|time)|critical/;
    for (const [why, token] of Object.entries(await forgeries(server, other))) {
      if (allowed.test(why)) continue;
      assertEquals((await get(token)).statusCode, 401, why);
    }
  } finally {
    await app.close();
    await server.close();
    await other.close();
  }
});
