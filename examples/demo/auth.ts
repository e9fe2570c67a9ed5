import type { FastifyAuthConfig } from "fastify-authjs";
import type { EmailConfig, Provider } from "fastify-authjs/providers";
import Credentials from "fastify-authjs/providers/credentials";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import Passkey from "fastify-authjs/providers/passkey";
import type { DemoDatabase } from "./database.ts";
import type { MailServer } from "./mail.ts";
import type { OpenIdProvider } from "./openid_provider.ts";

/** What the configuration is made of. */
export interface AuthParts {
  readonly secret: string;
  readonly database: DemoDatabase;
  readonly mail: MailServer;
  readonly openid: OpenIdProvider;
  readonly work: OpenIdProvider;
  readonly trustedOrigins: readonly string[];
}

/** The configuration of Auth.js: what the rest of this folder is there for. */
export function authConfig(
  { secret, database, mail, openid, work, trustedOrigins }: AuthParts,
): FastifyAuthConfig {
  return {
    secret,
    trustedOrigins,
    trustHost: true, // it listens on loopback only, so no other machine can choose the Host
    adapter: database.adapter,
    session: { strategy: "jwt" }, // with an adapter the default is a row in the database
    store: database.store,
    revocable: true, // so that sessions can be listed and ended
    refreshDue: () => false, // the jwt callback refreshes nothing, so no read needs a lock
    experimental: { enableWebAuthn: true }, // Auth.js calls passkeys that
    pages: {
      siteName: "Fastify demo",
      links: { help: "/inbox" },
      texts: { en: { "link.help": "Inbox of this demo" } },
    },
    theme: { brandColor: "#5b3df5", logo: "/assets/icon.svg" }, // of the pages and the e-mail
    providers: [
      Credentials({
        credentials: {
          username: { placeholder: "ada", required: true },
          password: { type: "password", placeholder: "lovelace", required: true },
        },
        authorize: ({ username, password }) => database.checkPassword(String(username), String(password)),
      }),
      openIdConnect("local", openid),
      openIdConnect("work", work),
      // The type: core's own is not an EmailConfig for compilers that take optional properties exactly.
      Nodemailer({ server: mail.transport, from: "Fastify demo <no-reply@demo.localhost>" }) as EmailConfig,
      // No options for an address that was only typed: it is not verified, and the response would tell whether it has an
      // account.
      // So one signs in some other way first, and adds a passkey then.
      Passkey({ formFields: {}, getUserInfo: () => Promise.resolve(null) }),
    ],
    callbacks: {
      jwt({ token, account }) {
        return account ? { ...token, provider: account.provider } : token; // there at the sign-in only
      },
      redirect({ url, baseUrl }) {
        const target = new URL(url, baseUrl);
        return [baseUrl, ...trustedOrigins].includes(target.origin) ? target.href : baseUrl;
      },
      session({ session, token }) {
        session.user.id = token.sub ?? "";
        return Object.assign(session, { provider: token.provider });
      },
    },
  };
}

function openIdConnect(id: string, { name, issuer, clientId, clientSecret }: OpenIdProvider) {
  return {
    ...{ id, name, issuer, clientId, clientSecret },
    type: "oidc",
    checks: ["pkce", "state", "nonce"],
    // Asks every time, so that you can sign in as another user.
    authorization: { params: { scope: "openid profile email", prompt: "login" } },
  } as Provider;
}
