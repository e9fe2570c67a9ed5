/**
 * `@fastify/helmet` with nonces, and a sign-in page of the application's own under its Content-Security-Policy.
 *
 * @module
 */
import helmet from "@fastify/helmet";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

const config = authConfig({ pages: { signIn: "/signin" } });

/** A page that signs in or out; its script fetches the CSRF token, which has a cookie beside it. */
function page(nonce: { script: string; style: string }, form: string): string {
  return `<!doctype html>
<title>Example</title>
<style nonce="${nonce.style}">form { display: grid; gap: 1em; max-width: 20em; margin: 3em auto; }</style>
<form method="post">${form}<input type="hidden" name="csrfToken"><button disabled>Go on</button></form>
<script nonce="${nonce.script}" type="module">
  const form = document.forms[0];
  const { csrfToken } = await (await fetch("/auth/csrf")).json();
  form.elements.csrfToken.value = csrfToken;
  form.action = form.elements.username ? "/auth/callback/credentials" : "/auth/signout";
  form.querySelector("button").disabled = false;
</script>`;
}

const FIELDS = `
  <input type="hidden" name="callbackUrl" value="/me">
  <label>Name <input name="username"></label>
  <label>Password <input name="password" type="password"></label>`;

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(helmet, { enableCSPNonces: true });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/signin", (_request, reply) => reply.type("text/html").send(page(reply.cspNonce, FIELDS)));
  app.get("/me", { onRequest: requireSession(config) }, async (request, reply) => {
    const session = await getSession(request, config);
    const name = String(session?.user?.name).replace(/[<&]/g, "");
    return reply.type("text/html").send(page(reply.cspNonce, `<h1>Hello ${name}</h1>`));
  });
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
