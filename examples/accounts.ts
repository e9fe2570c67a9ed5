/**
 * A page on which signed-in users link and unlink the accounts that they sign in with. It needs a PostgreSQL with the
 * tables of `@auth/pg-adapter` (`DATABASE_URL`), and a client at GitHub and at Google (`AUTH_GITHUB_ID`, …).
 */
import PostgresAdapter from "@auth/pg-adapter";
import { html } from "@remix-run/html-template";
import formbody from "@fastify/formbody";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type FastifyAuthConfig, type LinkedAccount } from "fastify-authjs";
import { withAccountList } from "fastify-authjs/adapters";
import GitHub from "fastify-authjs/providers/github";
import Google from "fastify-authjs/providers/google";
import process from "node:process";
import pg from "pg";

/** Makes the application. */
export async function build(config: FastifyAuthConfig): Promise<FastifyInstance> {
  const auth = createAuth(config);
  const app = Fastify();
  await app.register(formbody).register(auth.plugin, { prefix: "/auth" });
  await app.register((users, _options, done) => {
    users.addHook("onRequest", auth.requireSession());
    users.get<{ Querystring: { error?: string } }>("/accounts", async (request, reply) => {
      const items = (await auth.listAccounts(request)).map(({ provider, providerAccountId }) =>
        html`<li>${provider} <form method="post" action="/accounts/unlink">
          <input type="hidden" name="provider" value="${provider}">
          <input type="hidden" name="providerAccountId" value="${providerAccountId}">
          <button>Unlink</button></form></li>`
      );
      const isTaken = request.query.error === "OAuthAccountNotLinked";
      return await reply.type("text/html; charset=utf-8").send(String(html`
        <!DOCTYPE html>
        <title>Accounts</title>
        <p>${isTaken ? "That account belongs to another user." : ""}</p>
        <ul>${items}</ul>
        <form method="post" action="/accounts/link/google"><button>Link Google</button></form>
      `));
    });
    users.post<{ Params: { provider: string } }>(
      "/accounts/link/:provider",
      (request, reply) => auth.linkAccount(request, reply, request.params.provider, { callbackUrl: "/accounts" }),
    );
    users.post<{ Body: LinkedAccount }>("/accounts/unlink", async (request, reply) => {
      await auth.unlinkAccount(request, request.body);
      return reply.redirect("/accounts");
    });
    done();
  });
  return app;
}

if (import.meta.main) {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL! });
  const select = `SELECT * FROM accounts WHERE "userId" = $1`;
  const adapter = withAccountList(PostgresAdapter(pool), async (id) => (await pool.query(select, [id])).rows);
  const app = await build({ providers: [GitHub, Google], adapter });
  console.log(await app.listen({ port: Number(process.env.PORT ?? 3000) }));
}
