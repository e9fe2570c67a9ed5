/**
 * docs/migrate.md, held to what it says: each application that it migrates from runs as it was, and then as it is
 * with this plugin. The unmerged Fastify port was never published and cannot be installed.
 */
import { assert, assertEquals } from "@std/assert";
import { hkdfSync, randomUUID } from "node:crypto";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type RouteAuthConfig } from "fastify-authjs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, jwtDecrypt, SignJWT } from "jose";
import { decode, type JWT, type JWTDecodeParams } from "@auth/core/jwt";
import { SECRET, testApp, testConfig } from "../support/app.ts";
import { Client } from "../support/client.ts";

const BEFORE = fileURLToPath(new URL("../migration/", import.meta.url));
const ada = { username: "ada", password: "open" };

/** Installs what applications come from, in a folder of its own: next-auth without the framework it is named after. */
async function install(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "fastify-authjs-migration-"));
  await cp(BEFORE, folder, { recursive: true });
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const flags = ["--ignore-scripts", "--legacy-peer-deps", "--no-package-lock", "--no-audit", "--no-fund"];
  await promisify(execFile)(npm, ["install", ...flags], { cwd: folder });
  return folder;
}

/** Starts one of them on a free port. */
async function start(folder: string, script: string, env: Record<string, string> = {}) {
  const child: ChildProcess = spawn("node", [join(folder, script)], {
    env: { ...process.env, SECRET, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout!.once("data", (data) => resolve(String(data).trim()));
    child.once("exit", (code) => reject(new Error(`${script} ended with ${code}`)));
  });
  const ended = new Promise((resolve) => child.once("close", resolve));
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      child.kill();
      await ended;
    },
  };
}

/** A cookie jar over fetch. */
class Browser {
  readonly cookies = new Map<string, string>();
  constructor(private readonly origin: string) {}

  get cookie(): string {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  }

  async send(path: string, form?: Record<string, string>): Promise<Response> {
    const response = await fetch(this.origin + path, {
      redirect: "manual",
      headers: { cookie: this.cookie },
      ...(form && { method: "POST", body: new URLSearchParams(form) }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      this.cookies.set(name, value);
    }
    return response;
  }

  async json<T>(path: string): Promise<T> {
    return await (await this.send(path)).json();
  }

  async signInThroughAuthjs(mount: string): Promise<void> {
    const { csrfToken } = await this.json<{ csrfToken: string }>(`${mount}/csrf`);
    await (await this.send(`${mount}/callback/credentials`, { ...ada, csrfToken })).body?.cancel();
  }
}

/** The recipe of docs/migrate.md that keeps next-auth v4 sessions alive: what core cannot read may be one of those. */
async function decodeAlsoV4(params: JWTDecodeParams): Promise<JWT | null> {
  try {
    return await decode(params);
  } catch {
    const secret = [params.secret].flat()[0]!;
    const key = hkdfSync("sha256", secret, "", "NextAuth.js Generated Encryption Key", 32);
    const { payload } = await jwtDecrypt(params.token!, new Uint8Array(key), { clockTolerance: 15 });
    return payload;
  }
}

/** An issuer of access tokens (RFC 9068), which publishes its key where each of the packages looks for it. */
async function startTokenIssuer() {
  const { privateKey, publicKey } = await generateKeyPair("RS256");
  const key = { ...await exportJWK(publicKey), kid: "1", alg: "RS256", use: "sig" };
  const server = createServer(({ url }, response) => {
    const body = url === "/.well-known/jwks.json" ? { keys: [key] } : metadata();
    response.setHeader("content-type", "application/json").end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const metadata = () => ({ issuer: url, jwks_uri: `${url}.well-known/jwks.json` });
  return {
    url,
    sign(claims: Record<string, unknown>): Promise<string> {
      const now = Math.floor(Date.now() / 1000);
      const given = { iss: url, sub: "ada", aud: "https://api.example", client_id: "app", jti: randomUUID() };
      return new SignJWT({ ...given, scope: "orders:read", iat: now, exp: now + 300, ...claims })
        .setProtectedHeader({ alg: "RS256", kid: "1", typ: "at+jwt" }).sign(privateKey);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An API with these packages, with this plugin in their place. */
async function apiApp(issuer: string): Promise<FastifyInstance> {
  const apiAccess = { issuers: [{ issuer, audience: "https://api.example" }] };
  const auth = createAuth(testConfig({ providers: [], apiAccess }));
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  const config: RouteAuthConfig = { auth: { tokens: ["access"] } };
  app.get("/me", { config }, async (request) => ({ user: (await auth.getClaims(request))?.sub }));
  const readers: RouteAuthConfig = { auth: { tokens: ["access"], scopes: ["orders:read"] } };
  app.get("/orders", { config: readers }, () => ({ orders: [] }));
  return app;
}

Deno.test("migration", async (t) => {
  const folder = await install();

  await t.step("from @auth/express: the same routes, and the sessions stay valid", async () => {
    await using before = await start(folder, "express.mjs");
    const browser = new Browser(before.origin);
    await browser.signInThroughAuthjs("/auth");
    assertEquals(await browser.json("/me"), { name: "ada" });

    const config = testConfig();
    await using after = await testApp(config);
    const answer = await after.inject({ url: "/me", headers: { cookie: browser.cookie } });
    assertEquals(answer.json().session.user.name, "ada");
    const paths = ["csrf", "providers", "session", "signin", "signout", "error", "verify-request"];
    for (const path of paths) {
      const [was, is] = [await browser.send(`/auth/${path}`), await after.inject(`/auth/${path}`)];
      await was.body?.cancel();
      assertEquals([path, is.statusCode], [path, was.status]);
    }
  });

  await t.step("from next-auth v4: the mount path stays, and the sessions do with the decoder", async () => {
    await using before = await start(folder, "next_auth.mjs", { NEXTAUTH_URL: "http://127.0.0.1/api/auth" });
    const browser = new Browser(before.origin);
    await browser.signInThroughAuthjs("/api/auth");
    assertEquals(await browser.json("/me"), { name: "ada" });
    const token = browser.cookies.get("next-auth.session-token");
    assert(token, "next-auth v4 set its cookie");

    const config = testConfig({
      cookies: { sessionToken: { name: "next-auth.session-token" } },
      jwt: { decode: decodeAlsoV4 },
    });
    await using after = await testApp(config, { prefix: "/api/auth" });
    const old = new Client(after, {}, "/api/auth");
    old.cookies.set("next-auth.session-token", token);
    assertEquals((await old.get("/me")).json().session.user.name, "ada");
    const fresh = new Client(after, {}, "/api/auth");
    await fresh.signIn(ada);
    assertEquals((await fresh.get("/me")).json().session.user.name, "ada");
  });

  await t.step(
    "from @fastify/passport: a strategy becomes a provider, request.user the session's user",
    async () => {
      await using before = await start(folder, "passport.mjs");
      const browser = new Browser(before.origin);
      await (await browser.send("/login", ada)).body?.cancel();
      assertEquals(await browser.json("/me"), { name: "ada" });
      await (await browser.send("/logout", {})).body?.cancel();
      assertEquals(await browser.json("/me"), { name: null });

      await using after = await testApp();
      const client = new Client(after);
      await client.signIn(ada);
      assertEquals((await client.get("/me")).json().session.user.name, "ada");
      await client.signOut();
      assertEquals((await client.get("/me")).json().session, null);
    },
  );

  await t.step("of an API with tokens of an issuer: the same answers to the same tokens", async () => {
    await using issuer = await startTokenIssuer();
    const app = await apiApp(issuer.url);
    await using after = app;
    const origin = await after.listen({ port: 0, host: "127.0.0.1" });
    const tokens = {
      good: await issuer.sign({}),
      "without the scope": await issuer.sign({ scope: "profile" }),
      "for another audience": await issuer.sign({ aud: "https://other.example" }),
      "of another issuer": await issuer.sign({ iss: "https://other.example/" }),
      expired: await issuer.sign({ exp: 1 }),
      none: undefined,
    };
    const answersAt = async (origin: string, [what, token]: [string, string | undefined]) => {
      const headers: HeadersInit = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const ask = async (path: string) => {
        const response = await fetch(origin + path, { headers });
        return [response.status, response.ok ? await response.json() : await response.body?.cancel()];
      };
      return [what, await ask("/me"), await ask("/orders")];
    };
    const are = await Promise.all(Object.entries(tokens).map((each) => answersAt(origin, each)));
    assertEquals(are, [
      ["good", [200, { user: "ada" }], [200, { orders: [] }]],
      ["without the scope", [200, { user: "ada" }], [403, undefined]],
      ["for another audience", [401, undefined], [401, undefined]],
      ["of another issuer", [401, undefined], [401, undefined]],
      ["expired", [401, undefined], [401, undefined]],
      ["none", [401, undefined], [401, undefined]],
    ]);
    for (const name of ["fastify-jwt-jwks", "fastify-auth0-verify", "@fastify/jwt"]) {
      const script = name === "@fastify/jwt" ? "fastify_jwt.mjs" : "jwt_jwks.mjs";
      await using before = await start(folder, script, { ISSUER: issuer.url, PLUGIN: name });
      for (const [index, each] of Object.entries(tokens).entries()) {
        const was = await answersAt(before.origin, each);
        // get-jwks answers with its own failure.
        const differs = name === "@fastify/jwt" && each[0] === "of another issuer";
        assertEquals(was, differs ? [each[0], [500, undefined], [500, undefined]] : are[index], name);
      }
    }
  });

  await rm(folder, { recursive: true, force: true });
});
