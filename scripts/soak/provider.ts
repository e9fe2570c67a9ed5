/** The OpenID Provider and the mailbox of the soak test, which can fall silent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { decodeJwt } from "jose";
import { issuerService, loadMockServer, USER } from "../../src/testing/issuer_service.ts";

/** Long enough not to expire on the way, and so short that sessions refresh their access tokens all the time, in seconds. */
const LIFETIME = 40;

/** The provider and the mailbox. */
export interface Provider {
  readonly url: string;
  /** Whether requests are left without an answer. */
  silent: boolean;
  /** Where the browser of a user would come back to, with a code. */
  authorize(url: string, user: { sub: string; email: string; name: string }): Promise<string>;
  /** Whose access token this is, also of one that has expired: a process may have another clock. */
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
  const service = await issuerService(await loadMockServer(), url, LIFETIME, {
    user: { sub: "" },
    error: undefined,
  });
  const mails = new Map<string, string>();
  const counts = { silent: false, refreshes: 0, reused: [] as number[] };
  service.on("beforeResponse", ({ statusCode }, { body }) => {
    if (body.grant_type !== "refresh_token") return;
    statusCode === 200 ? counts.refreshes++ : counts.reused.push(Date.now());
  });
  server.on("request", async (request, response) => {
    if (request.url === "/mail") {
      let body = "";
      for await (const chunk of request.setEncoding("utf8")) body += chunk;
      const { identifier, url } = JSON.parse(body);
      mails.set(identifier, url);
      return response.end();
    }
    // Browsers get through: it is silent to the application.
    if (!counts.silent || request.url!.startsWith("/authorize?")) service.requestHandler(request, response);
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
    async authorize(address, user) {
      const asUser = new URLSearchParams({ [USER]: JSON.stringify(user) });
      const response = await fetch(`${address}&${asUser}`, { redirect: "manual" });
      await response.body?.cancel();
      return response.headers.get("location")!;
    },
    ownerOf: (token) => decodeJwt(token).sub,
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
