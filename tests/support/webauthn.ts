/**
 * What the tests of passkeys have in common: a configuration, a store, and a client that goes through the ceremonies.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import type { Adapter, AdapterAuthenticator } from "@auth/core/adapters";
import type { FastifyInstance } from "fastify";
import type { FastifyAuthConfig } from "fastify-authjs";
import Passkey from "fastify-authjs/providers/passkey";
import WebAuthn from "fastify-authjs/providers/webauthn";
import { SECRET } from "./app.ts";
import { type Answer, Client, type RequestOptions } from "./client.ts";
import { memoryAdapter, type MemoryTables } from "./memory_adapter.ts";
import type { CeremonyOptions, CredentialJson, Deviations, SoftwareAuthenticator } from "./webauthn_authenticator.ts";

/** The pinned origin of most tests. */
export const ORIGIN = "https://app.example";

/** Both providers of the contract. */
export const PROVIDERS = { passkey: Passkey, webauthn: WebAuthn } as const;

/** The tables, with those of authenticators. */
export interface WebAuthnTables extends MemoryTables {
  readonly authenticators: Map<string, AdapterAuthenticator>;
}

/** Empty tables. */
export function emptyTables(): WebAuthnTables {
  return { users: new Map(), accounts: [], sessions: new Map(), tokens: [], authenticators: new Map() };
}

/** An adapter that keeps authenticators as key-value stores do: what is written last stays. */
export function webAuthnAdapter(tables: WebAuthnTables): Adapter {
  const { authenticators } = tables;
  return {
    ...memoryAdapter(tables),
    getAuthenticator: (id) => Promise.resolve(authenticators.get(id) ?? null),
    createAuthenticator(authenticator) {
      authenticators.set(authenticator.credentialID, authenticator as AdapterAuthenticator);
      return Promise.resolve(authenticator as AdapterAuthenticator);
    },
    listAuthenticatorsByUserId: (userId) =>
      Promise.resolve([...authenticators.values()].filter((each) => each.userId === userId)),
    updateAuthenticatorCounter(id, counter) {
      const updated = { ...authenticators.get(id)!, counter };
      authenticators.set(id, updated);
      return Promise.resolve(updated);
    },
  };
}

/** A configuration with a passkey provider, pinned to {@linkcode ORIGIN}. */
export function webAuthnConfig(
  tables: WebAuthnTables,
  overrides: Partial<FastifyAuthConfig> = {},
): FastifyAuthConfig {
  return {
    providers: [Passkey],
    adapter: webAuthnAdapter(tables),
    experimental: { enableWebAuthn: true },
    secret: SECRET,
    origin: ORIGIN,
    ...overrides,
  };
}

/** What the options route answers. */
export interface Options {
  readonly action: "register" | "authenticate";
  readonly options: CeremonyOptions & Record<string, unknown>;
}

/** A browser that knows its way through both ceremonies. */
export class WebAuthnClient extends Client {
  /** @param provider The id of the provider. */
  constructor(
    app: FastifyInstance,
    readonly provider: string = "passkey",
    headers: Record<string, string> = {},
  ) {
    super(app, headers);
  }

  /** Asks for the options of a ceremony. */
  askOptions(query: Record<string, string> = {}, options: RequestOptions = {}): Promise<Answer> {
    return this.get(`/auth/webauthn-options/${this.provider}?${new URLSearchParams(query)}`, options);
  }

  /** The options of a ceremony that there is to be. */
  async options(query: Record<string, string> = {}): Promise<Options> {
    const answer = await this.askOptions(query);
    assertEquals(answer.statusCode, 200, answer.body);
    return answer.json<Options>();
  }

  /** Sends the result of a ceremony. */
  send(action: string, credential: CredentialJson, options: RequestOptions = {}): Promise<Answer> {
    const form = { action, data: JSON.stringify(credential) };
    return this.request("POST", `/auth/callback/${this.provider}`, { form, ...options });
  }

  /** Registers an authenticator: under an address, or with the user who is signed in. */
  async register(
    authenticator: SoftwareAuthenticator,
    { email, ...deviations }: Deviations & { email?: string } = {},
  ): Promise<Answer> {
    const { action, options } = await this.options({ action: "register", ...(email && { email }) });
    assertEquals(action, "register");
    return await this.send("register", authenticator.create(options, deviations));
  }

  /** Signs in. */
  async authenticate(authenticator: SoftwareAuthenticator, deviations?: Deviations): Promise<Answer> {
    const { options } = await this.options({ action: "authenticate" });
    return await this.send("authenticate", authenticator.get(options, deviations));
  }

  /** The signed-in user. */
  async user(): Promise<{ email?: string } | null> {
    const { session } = (await this.get("/me")).json<{ session: { user: { email?: string } } | null }>();
    return session && session.user;
  }

  /** Forgets the cookie of that name, prefix aside. */
  cookieNamed(name: string): [name: string, value: string] {
    const found = [...this.cookies].find(([each]) => each.endsWith(name));
    assert(found, `there is no cookie ${name}`);
    return found;
  }
}
