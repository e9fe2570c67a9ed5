/**
 * An OpenID Provider on loopback that does what a module of the conformance suite of the OpenID Foundation does, and
 * checks what that checks of a relying party's requests.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { CompactSign, exportJWK, generateKeyPair, type JWK } from "jose";

type Json = Record<string, unknown>;

/** What a module does other than the suite's default. */
export interface Script {
  /** The discovery document. */
  metadata?: (document: Json) => Json;
  /** Keys of each kind without `kid`, in place of two with one. */
  keysWithoutId?: number;
  /** Whether there are new keys once a second sign-in begins, or before each ID token is signed. */
  rotates?: "second sign-in" | "before signing";
  /** The algorithm of ID tokens: RS256 unless it is none. */
  unsigned?: boolean;
  /** The claims of the ID token. */
  claims?: (claims: Json) => Json;
  /** The signature of the ID token. */
  signature?: (signature: string) => string;
  /** What the userinfo endpoint answers. */
  userinfo?: (claims: Json) => Json;
  /** The claims of the logout token. */
  logoutClaims?: (claims: Json) => Json;
  /** The algorithm of the logout token. */
  logoutAlgorithm?: "RS256" | "ES256" | "none";
  /** The `state` that a sign-out comes back with. */
  logoutState?: (state: string) => string | undefined;
}

/** The client that it knows. */
export const CLIENT = {
  id: "client",
  secret: "secret",
  redirectUri: "http://localhost/auth/callback/op",
  postLogoutRedirectUri: "http://localhost/auth/signed-out",
  backchannelLogoutUri: "http://localhost/auth/backchannel-logout/op",
};

/** The user. */
const ADA = { sub: "user-subject-1234531", name: "Ada Lovelace", email: "ada@example.com" };
const SCOPE_OF: Json = { sub: "openid", name: "profile", email: "email" };

const SIGNING = ["RS", "PS", "ES", "HS"].flatMap((family) => ["256", "384", "512"].map((size) => family + size));
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** A redirect, or a form that posts itself. */
export interface AuthorizationResponse {
  readonly url: string;
  readonly form: Record<string, string> | undefined;
}

interface Key {
  readonly pair: CryptoKeyPair;
  readonly jwk: JWK;
}

/** As the suite, it takes keys of RSA from a pool: making one takes longer than most modules. */
const RSA_KEYS = await Promise.all(
  Array.from({ length: 4 }, () => generateKeyPair("RS256", { extractable: true }) as Promise<CryptoKeyPair>),
);

/** The generator of secp256k1 (SEC 2), for the key of that curve, which nothing is signed with. */
const GENERATOR = {
  x: "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798",
  y: "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8",
};

/** The provider. */
export class ConformanceProvider implements AsyncDisposable {
  /** What was asked of it, in order: the last part of each path. */
  readonly asked: string[] = [];
  /** What a request had that the suite ends a test for. */
  readonly complaints: string[] = [];
  /** Its logout tokens would be sent to this address. */
  logoutToken: string | undefined;
  readonly #jwksPath = `jwks${randomUUID()}`;
  readonly #issued = new Set<string>();
  #keys: Key[] = [];
  #rsaKeysUsed = 0;
  #request: URLSearchParams | undefined;
  #code = "";
  #accessToken = "";
  #sid = "";

  private constructor(private readonly server: Server, private readonly script: Script) {
    server.on("request", (request, response) => void this.#serve(request, response));
  }

  /** Starts one on a free port. */
  static async start(script: Script = {}): Promise<ConformanceProvider> {
    const server = createServer();
    const provider = new ConformanceProvider(server, script);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    await provider.#rotate();
    return provider;
  }

  /** As the suite's, it ends with a slash. */
  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/test/a/rp/`;
  }

  /** Ends it and every connection to it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** How often an endpoint was asked. */
  count(endpoint: string): number {
    return this.asked.filter((each) => each === endpoint).length;
  }

  /** The authorization endpoint: signs the user in. */
  async authorize({ searchParams }: URL): Promise<AuthorizationResponse> {
    this.asked.push("authorize");
    if (this.script.rotates === "second sign-in" && this.count("authorize") > 1) await this.#rotate();
    const scope = (searchParams.get("scope") ?? "").split(" ");
    this.#expect(searchParams.get("response_type") === "code", "response_type is not code");
    this.#expect(searchParams.get("client_id") === CLIENT.id, "client_id is of another client");
    this.#expect(searchParams.get("redirect_uri") === CLIENT.redirectUri, "redirect_uri is not registered");
    this.#expect(scope.includes("openid"), "scope has no openid");
    this.#expect(["profile", "email"].some((each) => scope.includes(each)), "scope asks for no claims");
    this.#expect(
      !searchParams.has("request") && !searchParams.has("request_uri"),
      "there is a request object",
    );
    const challenge = searchParams.get("code_challenge");
    if (challenge !== null) {
      const isS256 = searchParams.get("code_challenge_method") === "S256" && /^[\w-]{43}$/.test(challenge);
      this.#expect(isS256, "code_challenge is not of S256");
    }
    this.#request = searchParams;
    this.#code = randomUUID();
    this.#sid = randomUUID();
    const state = searchParams.get("state");
    const parameters = { code: this.#code, ...(state !== null && { state }) };
    return searchParams.get("response_mode") === "form_post"
      ? { url: CLIENT.redirectUri, form: parameters }
      : { url: `${CLIENT.redirectUri}?${new URLSearchParams(parameters)}`, form: undefined };
  }

  /** The end-session endpoint: makes a logout token, and gives the address to come back to. */
  async endSession({ searchParams }: URL): Promise<string> {
    this.asked.push("end_session");
    this.#expect(this.#issued.has(searchParams.get("id_token_hint") ?? ""), "id_token_hint is not its own");
    const address = searchParams.get("post_logout_redirect_uri");
    this.#expect(address === CLIENT.postLogoutRedirectUri, "post_logout_redirect_uri is not registered");
    const state = searchParams.get("state");
    this.#expect(state !== null && state !== "", "there is no state");
    const iat = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.issuer,
      sub: ADA.sub,
      aud: CLIENT.id,
      jti: randomUUID(),
      sid: this.#sid,
      events: { [LOGOUT_EVENT]: {} },
      iat,
      exp: iat + 120,
      ignored_claim: "is ignored",
    };
    const { logoutClaims = (same: Json) => same, logoutAlgorithm = "RS256", logoutState } = this.script;
    this.logoutToken = await this.#sign(logoutClaims(claims), logoutAlgorithm);
    const back = new URL(CLIENT.postLogoutRedirectUri);
    const returned = logoutState === undefined ? state : logoutState(state!);
    if (returned !== undefined) back.searchParams.set("state", returned!);
    return back.href;
  }

  #expect(holds: boolean, complaint: string): void {
    if (!holds) this.complaints.push(complaint);
  }

  /** New keys: two of RSA and two of P-256, and others that nothing is signed with. */
  async #rotate(): Promise<void> {
    const { keysWithoutId } = this.script;
    const count = keysWithoutId ?? 2;
    const rsa = () => RSA_KEYS[this.#rsaKeysUsed++ % RSA_KEYS.length]!;
    const make = (alg: string) => generateKeyPair(alg, { extractable: true }) as Promise<CryptoKeyPair>;
    const signing = await Promise.all([
      ...Array.from({ length: count }, rsa),
      ...Array.from({ length: count }, () => make("ES256")),
      make("EdDSA"),
    ]);
    const toKey = async (pair: CryptoKeyPair, use: string, id: { kid?: string }) => {
      const { key_ops: _, alg: _alg, ...jwk } = await exportJWK(pair.publicKey);
      return { pair, jwk: { ...jwk, use, ...id } };
    };
    const idOf = () => keysWithoutId === undefined ? { kid: randomUUID() } : {};
    this.#keys = await Promise.all([
      ...signing.map((pair) => toKey(pair, "sig", idOf())),
      toKey(rsa(), "enc", { kid: randomUUID() }),
    ]);
  }

  async #sign(claims: Json, alg: string): Promise<string> {
    const payload = Buffer.from(JSON.stringify(claims));
    if (alg === "none") {
      return `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload.toString("base64url")}.`;
    }
    const kty = alg === "RS256" ? "RSA" : "EC";
    const { pair, jwk: { kid } } = this.#keys.findLast(({ jwk }) => jwk.kty === kty && jwk.use === "sig")!;
    return await new CompactSign(payload).setProtectedHeader({ alg, ...(kid && { kid }) }).sign(
      pair.privateKey,
    );
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const url = new URL(request.url!, this.issuer);
    const path = url.href.slice(this.issuer.length);
    const body = await this.#answer(
      path,
      request.headers,
      new URLSearchParams(Buffer.concat(chunks).toString()),
    );
    if (body === undefined) this.complaints.push(`an unexpected request for ${path}`);
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? {}));
  }

  async #answer(
    path: string,
    headers: IncomingMessage["headers"],
    form: URLSearchParams,
  ): Promise<Json | undefined> {
    switch (path) {
      case ".well-known/openid-configuration":
        this.asked.push("discovery");
        return (this.script.metadata ?? ((same) => same))(this.#metadata());
      case this.#jwksPath:
        this.#expect(
          this.asked.includes("discovery"),
          "the keys were asked for before the discovery document",
        );
        this.asked.push("jwks");
        return { keys: [...this.#keys.map(({ jwk }) => jwk), secp256k1()] };
      case "token":
        return await this.#tokens(headers, form);
      case "userinfo":
        return this.#userinfo(headers);
    }
  }

  #metadata(): Json {
    const at = (path: string) => `${this.issuer}${path}`;
    return {
      issuer: this.issuer,
      authorization_endpoint: at("authorize"),
      token_endpoint: at("token"),
      jwks_uri: at(this.#jwksPath),
      userinfo_endpoint: at("userinfo"),
      registration_endpoint: at("register"),
      end_session_endpoint: at("end_session_endpoint"),
      scopes_supported: ["openid", "phone", "profile", "email", "address", "offline_access"],
      response_types_supported: [
        "code",
        "id_token code",
        "token code id_token",
        "id_token",
        "token id_token",
      ],
      response_modes_supported: ["query", "fragment", "form_post"],
      token_endpoint_auth_methods_supported: ["client_secret_basic"],
      grant_types_supported: ["authorization_code", "implicit"],
      subject_types_supported: ["public", "pairwise"],
      id_token_signing_alg_values_supported: ["none", ...SIGNING, "ES256K", "EdDSA"],
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
    };
  }

  async #tokens(headers: IncomingMessage["headers"], form: URLSearchParams): Promise<Json> {
    this.asked.push("token");
    const basic = Buffer.from(`${CLIENT.id}:${CLIENT.secret}`).toString("base64");
    this.#expect(headers.authorization === `Basic ${basic}`, "the client does not use client_secret_basic");
    this.#expect(!form.has("client_secret"), "the client secret is in the form as well");
    this.#expect([CLIENT.id, null].includes(form.get("client_id")), "client_id is of another client");
    this.#expect(form.get("grant_type") === "authorization_code", "grant_type is not authorization_code");
    this.#expect(form.get("code") === this.#code, "the code is another");
    this.#expect(form.get("redirect_uri") === CLIENT.redirectUri, "redirect_uri is not that of the request");
    const challenge = this.#request?.get("code_challenge");
    if (challenge) {
      const digest = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      this.#expect(digest === challenge, "code_verifier does not fit");
    }
    if (this.script.rotates === "before signing") await this.#rotate();
    this.#accessToken = randomUUID();
    const idToken = await this.#idToken();
    this.#issued.add(idToken);
    return { access_token: this.#accessToken, token_type: "Bearer", id_token: idToken };
  }

  async #idToken(): Promise<string> {
    const iat = Math.floor(Date.now() / 1000);
    const nonce = this.#request?.get("nonce");
    const claims: Json = {
      iss: this.issuer,
      sub: ADA.sub,
      aud: CLIENT.id,
      ...(nonce && { nonce }),
      iat,
      exp: iat + 300,
      sid: this.#sid,
    };
    const { claims: change = (same: Json) => same, signature = (same: string) => same, unsigned } = this.script;
    const token = await this.#sign(change(claims), unsigned ? "none" : "RS256");
    const end = token.lastIndexOf(".") + 1;
    return token.slice(0, end) + signature(token.slice(end));
  }

  #userinfo({ authorization }: IncomingMessage["headers"]): Json {
    this.asked.push("userinfo");
    this.#expect(authorization === `Bearer ${this.#accessToken}`, "the access token is not in the header");
    const scope = this.#request?.get("scope")?.split(" ") ?? [];
    const claims = Object.fromEntries(
      Object.entries(ADA).filter(([name]) => scope.includes(String(SCOPE_OF[name]))),
    );
    return (this.script.userinfo ?? ((same) => same))(claims);
  }
}

function secp256k1(): Json {
  const encode = (hex: string) => Buffer.from(hex, "hex").toString("base64url");
  return {
    kty: "EC",
    crv: "secp256k1",
    use: "sig",
    kid: randomUUID(),
    x: encode(GENERATOR.x),
    y: encode(GENERATOR.y),
  };
}
