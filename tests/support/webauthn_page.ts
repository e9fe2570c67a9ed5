/**
 * An application with a page from which a browser goes through ceremonies, deviating if a test has it deviate.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
// What the page is sent as a file below; imported here to have it installed.
import "@simplewebauthn/browser";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import type { Page } from "playwright-core";
import { testApp } from "./app.ts";
import type { CredentialJson } from "./webauthn_authenticator.ts";

/** A running application. */
export interface Site {
  readonly app: FastifyInstance;
  /** Such as `http://localhost:40123`. */
  readonly origin: string;
}

/** Starts an application with the page, on a free port, for as long as `use` runs. */
export async function withSite(config: FastifyAuthConfig, use: (site: Site) => Promise<void>): Promise<void> {
  await using app = await testApp(config, { forceCloseConnections: true });
  await addPage(app);
  await app.listen({ port: 0, host: "localhost" });
  const { port } = app.server.address() as AddressInfo;
  await use({ app, origin: `http://localhost:${port}` });
}

/** A page without anything to see. */
export async function addPage(app: FastifyInstance): Promise<void> {
  const entry = import.meta.resolve("@simplewebauthn/browser");
  const library = await readFile(new URL("../dist/bundle/index.umd.min.js", entry));
  app.get("/library.js", (_request, reply) => reply.type("text/javascript").send(library));
  app.get("/", (_request, reply) => reply.type("text/html").send(PAGE));
}

const PAGE = `<!DOCTYPE html><title>Ceremonies</title><input autocomplete="username webauthn">`;

/** What a page is told of a ceremony. */
export interface Outcome {
  /** Where the server sends the browser. */
  readonly url?: string;
  /** The name of what the browser threw. */
  readonly refused?: string;
  /** What went to the server. */
  readonly credential?: CredentialJson;
}

/** What is to be different. */
export interface Ceremony {
  /** @default "authenticate" */
  readonly action?: "register" | "authenticate";
  /** The id of the provider. @default "passkey" */
  readonly provider?: string;
  /** For registering without a session. */
  readonly email?: string;
  /** Waits in the field for user names. */
  readonly autofill?: boolean;
  /** Changes the options, such as `rpId`. */
  readonly options?: Record<string, unknown>;
  /** Sent in place of a new answer to the challenge. */
  readonly replay?: CredentialJson;
}

/** Goes through a ceremony on the page that is open. */
export async function goThrough(page: Page, ceremony: Ceremony = {}): Promise<Outcome> {
  return await page.evaluate(`(${RUN})(${JSON.stringify(ceremony)})`) as Outcome;
}

/** In the browser. */
const RUN = `async (ceremony) => {
  const { action = "authenticate", provider = "passkey", email, autofill, options: changes, replay } = ceremony;
  await import("/library.js");
  const { startAuthentication, startRegistration } = globalThis.SimpleWebAuthnBrowser;
  const query = new URLSearchParams({ action, ...(email && { email }) });
  const response = await fetch("/auth/webauthn-options/" + provider + "?" + query);
  const answer = await response.json();
  if (!response.ok) return { refused: answer.error };
  const options = { ...answer.options, ...changes };
  let credential = replay;
  try {
    credential ??= action === "register"
      ? await startRegistration({ optionsJSON: options })
      : await startAuthentication({ optionsJSON: options, useBrowserAutofill: autofill });
  } catch (error) {
    return { refused: error.name };
  }
  const result = await fetch("/auth/callback/" + provider, {
    method: "POST",
    headers: { "content-type": "application/json", "x-auth-return-redirect": "1" },
    body: JSON.stringify({ action, data: JSON.stringify(credential) }),
  });
  return { ...await result.json(), credential };
}`;
