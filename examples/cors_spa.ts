/**
 * A single-page application on an origin of its own: https://app.example, and this at https://api.example.
 *
 * Both have to be the same site (`example`), since the session cookie is `SameSite=Lax`.
 *
 * @module
 */
import cors from "@fastify/cors";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

const APP = "https://app.example";

const config = authConfig({
  trustedOrigins: [APP], // may sign in and out
  callbacks: {
    // may be returned to after a sign-in
    redirect: ({ url, baseUrl }) => [APP, baseUrl].includes(new URL(url, baseUrl).origin) ? url : APP,
  },
});

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(cors, { origin: APP, credentials: true });
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/me", { onRequest: requireSession(config) }, async (request) => {
    return (await getSession(request, config))?.user;
  });
  return app;
}

/** What the pages of the application do: sign in with `fetch`, and read. It runs in the browser. */
export async function signIn(username: string, password: string): Promise<unknown> {
  const api = "https://api.example";
  const { csrfToken } = await (await fetch(`${api}/auth/csrf`, { credentials: "include" })).json();
  const answer = await fetch(`${api}/auth/callback/credentials`, {
    method: "POST",
    credentials: "include",
    headers: { "x-auth-return-redirect": "1" }, // `{ url }` instead of a redirect
    body: new URLSearchParams({ csrfToken, username, password, callbackUrl: APP }),
  });
  const { url } = await answer.json();
  if (new URL(url).searchParams.has("error")) throw new Error("The name or the password is wrong.");
  return await (await fetch(`${api}/me`, { credentials: "include" })).json();
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
