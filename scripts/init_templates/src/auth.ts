import { createAuth } from "fastify-authjs";
// {{imports}}
import type { Database } from "./database.ts"; //? database
import { setting } from "./environment.ts"; //? settings
import { checkPassword } from "./users.ts"; //? credentials

/**
 * What Auth.js is told. Secrets, client ids and addresses are in the environment:
 * .env.example has the names.
 */
export function makeAuth(database: Database) { //? database
//| export function makeAuth() { //? !database
  return createAuth({
    adapter: database.adapter, //? database
    rateLimit: true, //? credentials
    experimental: { enableWebAuthn: true }, // Auth.js calls passkeys that //? webauthn
    providers: [
      // {{entries}}
    ],
  });
}

export type Auth = ReturnType<typeof makeAuth>;
