/**
 * An application that offers passkeys after a sign-in with a password.
 *
 * @module
 */
import type { FastifyAuthConfig } from "fastify-authjs";
import Credentials from "fastify-authjs/providers/credentials";
import Passkey from "fastify-authjs/providers/passkey";
import { emptyTables, webAuthnConfig, type WebAuthnTables } from "./webauthn.ts";

/** The user, who is in the database. */
export const ADA = { id: "id-ada", name: "Ada", email: "ada@example.com", emailVerified: null };

/** The configuration and its database. */
export function offerConfig(
  overrides: Partial<FastifyAuthConfig> = {},
): { config: FastifyAuthConfig; tables: WebAuthnTables } {
  const tables = emptyTables();
  tables.users.set(ADA.id, ADA);
  const password = Credentials({
    credentials: { username: {}, password: { type: "password" } },
    authorize: ({ password }) => password === "open" ? ADA : null,
  });
  const providers = [password, Passkey];
  return {
    tables,
    config: webAuthnConfig(tables, { providers, origin: undefined as never, trustHost: true, ...overrides }),
  };
}
