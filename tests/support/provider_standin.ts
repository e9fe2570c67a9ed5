/**
 * Stands in for a provider, on loopback: answers as a {@linkcode ProviderSample} says and notes every request that the
 * provider would not have expected.
 *
 * @module
 */
import { stub } from "@std/testing/mock";
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { CLIENT, CODE, type Exchange, type Json, type ProviderSample } from "./provider_sample.ts";

/** One request as it came over the wire. */
interface Incoming {
  method: string;
  url: string;
  headers: IncomingMessage["headers"];
  body: string;
}

/** What goes back. */
interface Outgoing {
  status?: number;
  headers?: Record<string, string>;
  body: Json | unknown[] | Uint8Array | string;
}

/** Which of the provider's endpoints a request is for. */
export type Kind = "discovery" | "token" | "userinfo" | "keys";

/** Where the keys of a provider are that has no discovery document. */
export const KEYS = "https://keys.example/jwks";

const TARGET = "x-stand-in-for";
const realFetch = globalThis.fetch;
const keys = generateKeyPair("RS256", { extractable: true });

/** A provider that is up. */
export class StandIn {
  /** Every request: its kind, and whether it came through `customFetch` or the global `fetch`. */
  readonly requests: { kind: Kind | "unexpected"; via: "customFetch" | "fetch" }[] = [];
  /** Where it was asked for its keys. */
  readonly askedForKeys: string[] = [];
  /** What was wrong with the requests. */
  readonly complaints: string[] = [];
  /** The authorization request, once a browser has brought it. */
  private asked = new URLSearchParams();
  private readonly asking = new Map<Kind, number>();

  private constructor(
    private readonly sample: ProviderSample,
    private readonly server: ReturnType<typeof createServer>,
  ) {}

  /** Runs a test while a provider is up and has the place of the global `fetch`. */
  static async during(sample: ProviderSample, test: (standIn: StandIn) => Promise<void>): Promise<void> {
    const standIn = await StandIn.start(sample);
    using _stub = stub(globalThis, "fetch", standIn.fetchVia("fetch"));
    try {
      await test(standIn);
    } finally {
      await standIn.stop();
    }
  }

  private static async start(sample: ProviderSample): Promise<StandIn> {
    const server = createServer({ keepAlive: false });
    const standIn = new StandIn(sample, server);
    server.on("request", async (request, response) => {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const { [TARGET]: url, ...headers } = request.headers;
      const answer = await standIn.answer({
        method: request.method ?? "",
        url: String(url),
        headers,
        body,
      });
      const bytes = answer.body instanceof Uint8Array || typeof answer.body === "string";
      response.writeHead(answer.status ?? 200, {
        "content-type": bytes ? "application/octet-stream" : "application/json",
        ...answer.headers,
        connection: "close",
      });
      response.end(bytes ? answer.body : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return standIn;
  }

  /** The `customFetch` that brings core's requests here. */
  readonly fetch: typeof fetch = this.fetchVia("customFetch");

  private fetchVia(via: "customFetch" | "fetch"): typeof fetch {
    return async (input, init) => {
      const request = new Request(input, init);
      this.requests.push({ kind: this.kindOf(request.url) ?? "unexpected", via });
      const { port } = this.server.address() as AddressInfo;
      const headers = new Headers(request.headers);
      headers.set(TARGET, request.url);
      const body = await request.text();
      return await realFetch(`http://127.0.0.1:${port}/`, {
        method: request.method,
        headers,
        redirect: "manual",
        ...(body !== "" && { body }),
      });
    };
  }

  /** A browser brings the authorization request; what it carries back. */
  authorize(url: URL): URLSearchParams {
    this.asked = url.searchParams;
    const back = new URLSearchParams({ code: CODE, ...this.sample.posts });
    const state = this.asked.get("state");
    if (state !== null) back.set("state", state);
    return back;
  }

  /** The tokens this provider gives out. */
  async tokens(): Promise<Json> {
    const { idToken, token, idTokenAlgorithm = "RS256" } = this.sample;
    if (idToken === undefined) return token.answer;
    const now = Math.floor(Date.now() / 1000);
    const nonce = this.asked.get("nonce");
    const claims = { aud: CLIENT.id, iat: now, exp: now + 600, ...(nonce && { nonce }), ...idToken };
    return { ...token.answer, id_token: await sign(claims, idTokenAlgorithm) };
  }

  private kindOf(url: string): Kind | undefined {
    const { documents = {}, token, userinfo = [] } = this.sample;
    // The order matters if one address serves two purposes.
    if (url in documents) return "discovery";
    if (url === token.url) return "token";
    if (userinfo.some((exchange) => exchange.url === url)) return "userinfo";
    const keysAt = [KEYS, ...Object.values(documents).map(({ jwks_uri }) => jwks_uri)];
    if (keysAt.includes(url)) return "keys";
  }

  private async answer(request: Incoming): Promise<Outgoing> {
    const kind = this.kindOf(request.url);
    if (kind !== undefined) this.asking.set(kind, (this.asking.get(kind) ?? 0) + 1);
    switch (kind) {
      case "discovery":
        return { body: this.sample.documents![request.url]! };
      case "token":
        return await this.answerToken(request);
      case "userinfo":
        return await this.answerUserinfo(request);
      case "keys":
        this.askedForKeys.push(request.url);
        return { body: { keys: [await publicJwk()] } };
      default:
        this.complaints.push(`unexpected request: ${request.method} ${request.url}`);
        return { status: 404, body: { error: "not found" } };
    }
  }

  private async answerToken({ method, headers, body }: Incoming): Promise<Outgoing> {
    const { token, checks } = this.sample;
    const expected: Record<string, string> = {
      grant_type: "authorization_code",
      code: CODE,
      redirect_uri: this.asked.get("redirect_uri") ?? "",
      ...token.params,
    };
    if (token.auth === "body") {
      Object.assign(expected, { client_id: CLIENT.id, client_secret: CLIENT.secret });
    }
    const { code_verifier: verifier, ...given } = Object.fromEntries(new URLSearchParams(body));
    this.compare("method of the token request", method, "POST");
    this.compare("content type", headers["content-type"]?.split(";")[0], "application/x-www-form-urlencoded");
    this.compare("accepted content type", headers.accept, "application/json");
    this.compare("body of the token request", sorted(given), sorted(expected));
    const basic = `Basic ${btoa(`${CLIENT.id}:${CLIENT.secret}`)}`;
    this.compare("authorization", headers.authorization, token.auth === "basic" ? basic : undefined);
    const challenge = verifier && createHash("sha256").update(verifier).digest("base64url");
    this.compare("challenge of the code verifier", challenge, this.asked.get("code_challenge") ?? undefined);
    this.compare("use of PKCE", challenge !== undefined, checks.includes("pkce"));
    if (this.complaints.length > 0) return { status: 401, body: { error: "invalid_client" } };
    return { body: await this.tokens(), ...(token.headers && { headers: token.headers }) };
  }

  private async answerUserinfo(request: Incoming): Promise<Outgoing> {
    const exchange = this.sample.userinfo!.find(({ url }) => url === request.url)!;
    const expected: Exchange["headers"] = {
      authorization: `Bearer ${this.sample.token.answer.access_token}`,
      ...exchange.headers,
    };
    this.compare("method of the userinfo request", request.method, exchange.method ?? "GET");
    for (const [name, value] of Object.entries(expected)) {
      this.compare(`header ${name} of the userinfo request`, request.headers[name], value);
    }
    if (this.complaints.length > 0) return { status: 401, body: { error: "invalid_token" } };
    if (!this.sample.signedUserinfo) return { status: exchange.status ?? 200, body: exchange.answer };
    const { iss } = this.sample.idToken!;
    const claims = { iss, aud: CLIENT.id, ...exchange.answer as Json };
    return { headers: { "content-type": "application/jwt" }, body: await sign(claims, "RS256") };
  }

  private compare(what: string, given: unknown, expected: unknown): void {
    if (JSON.stringify(given) === JSON.stringify(expected)) return;
    this.complaints.push(`${what}: ${JSON.stringify(given)}, not ${JSON.stringify(expected)}`);
  }

  private async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function sign(claims: Json, algorithm: "RS256" | "HS256"): Promise<string> {
  // What a sample sets to null is left out.
  const payload = Object.fromEntries(
    Object.entries(claims).filter(([name, value]) => value !== null || !["aud", "iat", "exp", "nonce"].includes(name)),
  );
  const token = new SignJWT(payload);
  if (algorithm === "HS256") {
    return await token.setProtectedHeader({ alg: algorithm }).sign(new TextEncoder().encode(CLIENT.secret));
  }
  const { privateKey } = await keys;
  const { kid } = await publicJwk();
  return await token.setProtectedHeader({ alg: algorithm, kid }).sign(privateKey);
}

async function publicJwk() {
  const jwk = await exportJWK((await keys).publicKey);
  return { ...jwk, kid: String(jwk.n).slice(0, 8), use: "sig" };
}

function sorted(entries: Record<string, string>): [string, string][] {
  return Object.entries(entries).sort(([a], [b]) => a < b ? -1 : 1);
}
