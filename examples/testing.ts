/**
 * Tests of an application: `node --test`, `npx vitest` (with `test` of "vitest") or `deno test`.
 *
 * @module
 */
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession, requireSession } from "fastify-authjs";
import { signedIn, startIssuer, type TestIssuer } from "fastify-authjs/testing";
import assert from "node:assert/strict";
import { test } from "node:test";

/** The application under test, which mostly is in a file of its own. */
async function build(issuer?: TestIssuer): Promise<{ app: FastifyInstance; config: FastifyAuthConfig }> {
  const config: FastifyAuthConfig = {
    providers: issuer ? [issuer.provider()] : [],
    callbacks: {
      signIn: ({ profile }) => profile?.email?.endsWith("@example.com") ?? false,
      jwt: ({ token, user }) => user ? { ...token, role: "role" in user ? user.role : "reader" } : token,
      session: ({ session: { user, expires }, token }) => ({
        user: { name: user.name ?? null, role: token.role },
        expires,
      }),
    },
  };
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", async (request) => (await getSession(request, config))?.user ?? null);
  app.get("/admin", { onRequest: requireSession(config, { roles: "admin" }) }, () => "the admin area");
  return { app, config };
}

test("admins alone see the admin area", async () => {
  const { app, config } = await build();
  const admin = await signedIn(app, config, { user: { name: "Ada", role: "admin" } });
  const reader = await signedIn(app, config, { user: { name: "Bob" } });
  assert.equal((await admin("/admin")).statusCode, 200);
  assert.equal((await reader("/admin")).statusCode, 403);
  assert.equal((await app.inject("/admin")).statusCode, 401);
  await app.close();
});

test("employees alone sign in", async () => {
  const issuer = await startIssuer();
  const { app } = await build(issuer);
  const ada = await issuer.signIn(app, { user: { sub: "1", name: "Ada", email: "ada@example.com" } });
  assert.equal((await ada("/me")).json().name, "Ada");
  const eve = { sub: "2", name: "Eve", email: "eve@evil.example" };
  await assert.rejects(issuer.signIn(app, { user: eve }), /AccessDenied/);
  await app.close();
  await issuer.close();
});
