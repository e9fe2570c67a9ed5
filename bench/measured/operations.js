/**
 * What is asked of an auth integration beside session reads: the same configurations for ours and for the port. Each has
 * a process of its own: core remembers for the whole process that one needs a database.
 */
import { customFetch } from "@auth/core";
import CredentialsProvider from "@auth/core/providers/credentials";
import PasskeyProvider from "@auth/core/providers/passkey";
import { ADAPTER, provider, SECRET, USER } from "./fixture.js";

const PASSWORD = "correct horse";

/** Core would write each wrong password to the console. */
const SILENT = { error() {}, warn() {}, debug() {} };

/** The configurations by name. */
export const CONFIGURATIONS = {
  /** Sign-ins with a password and at a provider, and sessions in a JWT. */
  plain: {
    secret: SECRET,
    trustHost: true,
    logger: SILENT,
    providers: [
      CredentialsProvider({
        credentials: { username: {}, password: { type: "password" } },
        authorize: ({ password }) => password === PASSWORD ? { id: "1", ...USER } : null,
      }),
      { ...provider("oauth"), [customFetch]: answerOfProvider },
    ],
  },
  /** Links by mail and passkeys, for which Auth.js needs a database. */
  database: {
    secret: SECRET,
    trustHost: true,
    logger: SILENT,
    experimental: { enableWebAuthn: true },
    adapter: ADAPTER,
    session: { strategy: "jwt" },
    providers: [
      {
        id: "email",
        name: "Email",
        type: "email",
        from: "app@example.com",
        maxAge: 3600,
        sendVerificationRequest: () => Promise.resolve(),
      },
      PasskeyProvider({}),
    ],
  },
};

/** The provider's endpoints, without a network. */
async function answerOfProvider(input) {
  const url = new URL(input instanceof Request ? input.url : input);
  await undefined;
  return url.pathname === "/token"
    ? Response.json({ access_token: "access", token_type: "bearer", expires_in: 3600 })
    : Response.json({ id: "1", ...USER });
}
