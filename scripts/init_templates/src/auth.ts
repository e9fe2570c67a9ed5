import { createAuth } from "fastify-authjs";
// {{imports}}
import type { Database } from "./database.ts"; //? database
import { setting } from "./environment.ts"; //? settings
import { mailSettings } from "./mail.ts"; //? smtp
import { checkPassword } from "./passwords.ts"; //? credentials

/**
 * What Auth.js is told. Secrets, client ids and addresses are in the environment:
 * .env.example has the names.
 */
export function makeAuth(database: Database) { //? database
//| export function makeAuth() { //? !database
  return createAuth({
    adapter: database.adapter, //? database
    //? credentials
    rateLimit: true,
    stepUp: true,
    pages: { newUser: "/account/password" },
    callbacks: {
      session: ({ session: { expires }, user: { id, name, email } }) => ({
        user: { id, name: name ?? null, email },
        expires,
      }),
    },
    //? end
    experimental: { enableWebAuthn: true }, // Auth.js calls passkeys that //? webauthn
    providers: [
      // {{entries}}
    ],
  });
}

export type Auth = ReturnType<typeof makeAuth>;
