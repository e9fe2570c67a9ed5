/** The OpenID Provider and the mailbox of the soak test, which can fall silent. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { newGrants } from "../../src/testing/issuer_grants.ts";
import { answerIssuer } from "../../src/testing/issuer_routes.ts";
import type { IssuerState } from "../../src/testing/issuer_state.ts";
import { newSigningKey } from "../../src/testing/issuer_tokens.ts";

/** Long enough not to expire on the way, and so short that sessions refresh their access tokens all the time, in seconds. */
const LIFETIME = 40;

/** The provider and the mailbox. */
export interface Provider {
  readonly url: string;
  /** Whether requests are left without an answer. */
  silent: boolean;
  /** The code for a user that the browser would come back with. */
  authorize(url: string, user: { sub: string; email: string; name: string }): string;
  /** Whose access token this is. */
  ownerOf(accessToken: string): string | undefined;
  /** The sign-in link that was mailed to an address last, once. */
  takeMail(address: string): string | undefined;
  /** Refresh tokens that were used a second time, each with the time. */
  readonly reused: number[];
  /** Refreshes that succeeded. */
  readonly refreshes: number;
  close(): Promise<void>;
}

/** Starts both on loopback. */
export async function startProvider(): Promise<Provider> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: IssuerState = {
    url,
    lifetime: LIFETIME,
    key: await newSigningKey(),
    grants: newGrants(),
    requests: [],
    user: { sub: "" },
    error: undefined,
  };
  const mails = new Map<string, string>();
  const counts = { silent: false, refreshes: 0, reused: [] as number[] };
  server.on("request", async (request: IncomingMessage, response: ServerResponse) => {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += chunk;
    if (request.url === "/mail") {
      const { identifier, url } = JSON.parse(body);
      mails.set(identifier, url);
      return response.end();
    }
    if (counts.silent) return;
    const { pathname, searchParams } = new URL(request.url!, url);
    const { method = "GET", headers: { authorization = "" } } = request;
    const form = new URLSearchParams(body);
    const answer = answerIssuer(
      { method, path: pathname, query: searchParams, body: form, authorization },
      state,
    );
    state.requests.length = 0;
    if (form.get("grant_type") === "refresh_token") {
      answer.status === 200 ? counts.refreshes++ : counts.reused.push(Date.now());
    }
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body ?? {}));
  });
  return {
    url,
    get silent() {
      return counts.silent;
    },
    set silent(silent) {
      counts.silent = silent;
    },
    get refreshes() {
      return counts.refreshes;
    },
    reused: counts.reused,
    authorize(address, user) {
      state.user = user;
      const query = new URL(address).searchParams;
      const { location } = answerIssuer(
        { method: "GET", path: "/authorize", query, body: new URLSearchParams(), authorization: "" },
        state,
      );
      return location!;
    },
    ownerOf: (token) => state.grants.accessTokens.get(token)?.grant.user.sub,
    takeMail(address) {
      const link = mails.get(address);
      mails.delete(address);
      return link;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
