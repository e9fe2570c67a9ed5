/**
 * A stand-in for the HTTP APIs of mail services, on loopback.
 *
 * The providers call the global `fetch`. While a test runs it is replaced by one that sends every request to this
 * machine, as it would have gone out, and refuses hosts that the test does not name.
 *
 * @module
 */
import { stub } from "@std/testing/mock";
import { Buffer } from "node:buffer";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it arrived. */
export interface MailRequest {
  /** The address it was meant for. */
  readonly url: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What the service answers. */
export type Respond = (response: ServerResponse) => void;

/** Runs something while `host` is played by this machine; gives the requests that arrived. */
export async function withMailApi(
  host: string,
  respond: Respond,
  run: (requests: MailRequest[]) => Promise<void>,
): Promise<void> {
  const requests: MailRequest[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = "", headers } = request;
    requests.push({
      url: String(headers["x-meant-for"]),
      method,
      headers,
      body: Buffer.concat(chunks).toString(),
    });
    respond(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const { fetch } = globalThis;
  using _stub = stub(globalThis, "fetch", async (input, init) => {
    const meant = new Request(input, init);
    if (new URL(meant.url).host !== host) throw new Error(`Nothing may be sent to ${meant.url}`);
    const headers = new Headers(meant.headers);
    headers.set("x-meant-for", meant.url);
    headers.set("connection", "close");
    return await fetch(`http://127.0.0.1:${port}/`, {
      method: meant.method,
      headers,
      body: await meant.arrayBuffer(),
    });
  });
  try {
    await run(requests);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
