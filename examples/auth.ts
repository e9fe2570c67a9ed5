/**
 * What the examples share: one user with a password. `AUTH_SECRET` and `AUTH_URL` come from the environment.
 *
 * @module
 */
import type { FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import process from "node:process";

/** Where an example listens. */
export const port = Number(process.env.PORT ?? 3000);

/** Ada, whose password is `lovelace`. An application looks users up in its database instead. */
const password = Credentials({
  credentials: { username: {}, password: { type: "password" } },
  authorize: ({ username, password }) =>
    username === "ada" && password === "lovelace" ? { id: "1", name: "Ada" } : null,
});

/** Makes the configuration that an example gives to `FastifyAuth`, `getSession` and `requireSession`. */
export function authConfig(settings: Partial<FastifyAuthConfig> = {}): FastifyAuthConfig {
  return { providers: [password], ...settings };
}
