/**
 * An OpenID Provider on loopback that says what a test wants it to say, right or wrong.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { generateKeyPairSync, type KeyObject, sign as signBytes } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The paths it serves. */
export const PATHS = {
  discovery: "/.well-known/openid-configuration",
  token: "/token",
  userinfo: "/userinfo",
  jwks: "/jwks",
} as const;

type Endpoint = keyof typeof PATHS;
type Json = Record<string, unknown>;
type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What it does other than right; a value of `undefined` leaves a member out. */
export interface Script {
  /** Members of the discovery document. */
  metadata?: Json;
  /** Claims of the ID token. */
  claims?: Json;
  /** Members of the ID token's header. */
  header?: Json;
  /** Makes the signature of the ID token. */
  sign?: (input: string) => string;
  /** Members of the token response. */
  tokens?: Json;
  /** What the userinfo endpoint answers. */
  userinfo?: Json;
  /** Keys it publishes besides its own. */
  keys?: Json[];
  /** Answers in place of an endpoint. */
  answer?: Partial<Record<Endpoint, Handler>>;
}

/** A request that it got. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: URLSearchParams;
}

/** The provider. */
export class ScriptedProvider implements AsyncDisposable {
  /** What it got, in order. */
  readonly requests: ReceivedRequest[] = [];
  /** What it does; a test changes it at will. */
  script: Script = {};
  /** Further documents, by path. */
  readonly documents: Map<string, Json> = new Map();
  #nonce: string | undefined;

  private constructor(private readonly server: Server) {
    server.on("request", (request, response) =>
      this.#serve(request, response).catch((error) => {
        // A browser that leaves a page breaks its request off.
        if (error.code !== "ECONNRESET") throw error;
      }));
  }

  /** Starts one on a free port. */
  static async start(script: Script = {}): Promise<ScriptedProvider> {
    const server = createServer();
    const provider = new ScriptedProvider(server);
    provider.script = script;
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return provider;
  }

  /** Its issuer identifier. */
  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The paths that were asked for. */
  get paths(): string[] {
    return this.requests.map(({ path }) => path);
  }

  /** Signs the user in: the address that the browser is sent back to. */
  authorize(location: string | URL, parameters: Record<string, string> = {}): string {
    const { searchParams } = new URL(location);
    this.#nonce = searchParams.get("nonce") ?? undefined;
    const callback = new URL(searchParams.get("redirect_uri")!);
    const state = searchParams.get("state");
    const answer = { code: "a-code", ...(state !== null && { state }), ...parameters };
    callback.search = new URLSearchParams(answer).toString();
    return callback.href;
  }

  /** Ends it and every connection to it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", url = "", headers } = request;
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const path = url.split("?")[0]!;
    this.requests.push({
      method,
      path,
      headers,
      body: new URLSearchParams(Buffer.concat(chunks).toString()),
    });

    const document = this.documents.get(path);
    if (document) {
      return void response.writeHead(200, { "content-type": "application/json" }).end(
        JSON.stringify(document),
      );
    }
    const [endpoint] = Object.entries(PATHS).find(([, known]) => known === path) ?? [];
    if (endpoint === undefined) return void response.writeHead(404).end();
    const own = this.script.answer?.[endpoint as Endpoint];
    if (own) return own(request, response);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(this.#answer(endpoint as Endpoint)));
  }

  #answer(endpoint: Endpoint): Json {
    const { issuer, script } = this;
    switch (endpoint) {
      case "discovery":
        return {
          issuer,
          authorization_endpoint: `${issuer}/authorize`,
          token_endpoint: `${issuer}${PATHS.token}`,
          userinfo_endpoint: `${issuer}${PATHS.userinfo}`,
          jwks_uri: `${issuer}${PATHS.jwks}`,
          id_token_signing_alg_values_supported: ["RS256"],
          ...script.metadata,
        };
      case "token":
        return {
          access_token: "an-access-token",
          token_type: "Bearer",
          expires_in: 3600,
          id_token: this.idToken(),
          ...script.tokens,
        };
      case "userinfo":
        return script.userinfo ?? { sub: "ada", name: "Ada of userinfo", email: "ada@example.com" };
      case "jwks":
        return { keys: [publicJwk(), ...script.keys ?? []] };
    }
  }

  /** The ID token of the last sign-in. */
  idToken(): string {
    const now = Math.floor(Date.now() / 1000);
    const header = { alg: "RS256", kid: "first", ...this.script.header };
    const claims = {
      iss: this.issuer,
      aud: "client",
      sub: "ada",
      iat: now,
      exp: now + 300,
      nonce: this.#nonce,
      name: "Ada",
      email: "ada@example.com",
      ...this.script.claims,
    };
    const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
      .join(".");
    const sign = this.script.sign ?? signRs256;
    return `${input}.${sign(input)}`;
  }
}

/** Signs as the provider does. */
export function signRs256(input: string): string {
  return signBytes("sha256", Buffer.from(input), keyPair().privateKey).toString("base64url");
}

function publicJwk(): Json {
  return { ...keyPair().publicKey.export({ format: "jwk" }), kid: "first", use: "sig", alg: "RS256" };
}

let keys: { publicKey: KeyObject; privateKey: KeyObject } | undefined;

/** One for all: making them takes longer than most tests. */
function keyPair(): NonNullable<typeof keys> {
  keys ??= generateKeyPairSync("rsa", { modulusLength: 2048 });
  return keys;
}
