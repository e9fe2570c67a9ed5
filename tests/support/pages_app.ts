/**
 * An application with every kind of sign-in method, for the built-in pages.
 *
 * @module
 */
import type { AddressInfo } from "node:net";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import type { EmailConfig, Provider } from "fastify-authjs/providers";
import Apple from "fastify-authjs/providers/apple";
import Credentials from "fastify-authjs/providers/credentials";
import Discord from "fastify-authjs/providers/discord";
import GitHub from "fastify-authjs/providers/github";
import Google from "fastify-authjs/providers/google";
import Microsoft from "fastify-authjs/providers/microsoft-entra-id";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import { passwordProvider, SECRET } from "./app.ts";
import { emptyTables, webAuthnAdapter } from "./webauthn.ts";

const client = { clientId: "id", clientSecret: "secret" };

/** Providers that a button is for. */
export const BUTTONS: readonly Provider[] = [
  Google(client),
  GitHub(client),
  Apple(client),
  Microsoft({ ...client, issuer: "https://login.microsoftonline.com/common/v2.0" }),
  Discord(client),
];

/** A provider that mails links; nothing listens there. */
export const EMAIL: EmailConfig = Nodemailer({
  server: "smtp://127.0.0.1:9",
  from: "no-reply@app.example",
}) as EmailConfig;

/** A passkey button, with passkeys offered in the fields of the page. */
export const PASSKEY: Provider = Passkey({ formFields: {}, getUserInfo: () => Promise.resolve(null) });

/** A passkey that asks for an address. */
export const PASSKEY_OF_ADDRESS: Provider = Passkey({ getUserInfo: () => Promise.resolve(null) });

/** A password that is asked for with an address: "open". */
export const BY_ADDRESS: Provider = Credentials({
  credentials: { email: { type: "email", required: true }, password: { type: "password", required: true } },
  authorize: ({ password }) => password === "open" ? { id: "1", name: "ada" } : null,
});

/** A configuration with the sign-in methods of a common application. */
export function pagesConfig(overrides: Partial<FastifyAuthConfig> = {}): FastifyAuthConfig {
  return {
    providers: [BUTTONS[0]!, BUTTONS[1]!, BUTTONS[3]!, PASSKEY, EMAIL, passwordProvider()],
    secret: SECRET,
    trustHost: true,
    adapter: webAuthnAdapter(emptyTables()),
    session: { strategy: "jwt" },
    experimental: { enableWebAuthn: true },
    ...overrides,
  };
}

/** An application that listens on a free port of loopback. */
export interface ListeningApp extends AsyncDisposable {
  readonly app: FastifyInstance;
  /** Its address as a browser shows it, by a name: passkeys belong to one. */
  readonly origin: string;
}

/** Starts the application, with the plugin at `/auth` and a page at `/`. */
export async function listeningApp(
  config: FastifyAuthConfig,
  prepare: (app: FastifyInstance) => unknown = () => {},
): Promise<ListeningApp> {
  const app = Fastify({ forceCloseConnections: true });
  await prepare(app);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  app.get("/", async (request, reply) => {
    const session = await getSession(request, config);
    const name = session?.user?.name ?? "nobody";
    return reply.type("text/html").send(
      `<!doctype html><html lang="en"><title>Home</title><link rel="icon" href="data:,"><h1>Hello ${name}</h1>`,
    );
  });
  app.get("/favicon.ico", (_request, reply) => reply.code(204).send());
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  return { app, origin: `http://localhost:${port}`, [Symbol.asyncDispose]: () => app.close() };
}

/** Every code that the plugin or core puts into the query of a page. */
export const ERRORS = [
  "AccessDenied",
  "AccountNotLinked",
  "Callback",
  "Configuration",
  "CredentialsSignin",
  "Default",
  "EmailCreateAccount",
  "EmailSignin",
  "MissingCSRF",
  "OAuthAccountNotLinked",
  "OAuthCallbackError",
  "OAuthCreateAccount",
  "OAuthSignin",
  "SessionRequired",
  "SessionTooLarge",
  "Signin",
  "TooManyRequests",
  "Verification",
  "WebAuthnVerificationError",
];
