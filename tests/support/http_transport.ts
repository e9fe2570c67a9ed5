/**
 * Requests over real connections, in the shape of `app.inject`, so that a {@linkcode Client} can send them.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import http from "node:http";
import http2, { type IncomingHttpHeaders } from "node:http2";
import https from "node:https";
import net, { type Socket } from "node:net";
import tls from "node:tls";
import type { Answer } from "./client.ts";

/** What is sent. */
export interface Outgoing {
  method?: string;
  url: string;
  headers?: Record<string, string>;
  payload?: string | Uint8Array;
}

/** Sends one request. */
export type Send = (request: Outgoing) => Promise<Answer>;

/** Sends HTTP/1.1 requests to an origin, each over a connection of its own; certificates are not checked. */
export function overHttp(origin: string): Send {
  const { request: open } = origin.startsWith("https:") ? https : http;
  return ({ method = "GET", url, headers = {}, payload }) =>
    new Promise((resolve, reject) => {
      const length = payload === undefined ? {} : { "content-length": String(Buffer.byteLength(payload)) };
      const options = { method, headers: { ...length, ...headers }, agent: false, rejectUnauthorized: false };
      const sent = open(new URL(origin + url), options, async (response) => {
        try {
          const chunks: Uint8Array[] = [];
          for await (const chunk of response) chunks.push(chunk);
          resolve(toAnswer(response.statusCode!, response.headers, Buffer.concat(chunks)));
        } catch (error) {
          reject(error);
        }
      });
      sent.on("error", reject);
      sent.end(payload);
    });
}

/** Sends HTTP/2 requests to an origin, each over a connection of its own; certificates are not checked. */
export function overHttp2(origin: string): Send {
  return async ({ method = "GET", url, headers = {}, payload }) => {
    // The socket is ended itself: closing the session would say GOAWAY, which Deno's nghttp2 sometimes aborts at.
    const socket = await openSocket(new URL(origin));
    const session = http2.connect(origin, { createConnection: () => socket });
    try {
      const stream = session.request({ ":method": method, ":path": url, ...headers });
      const answered = new Promise<IncomingHttpHeaders & { ":status"?: number }>((resolve, reject) => {
        stream.on("response", resolve);
        stream.on("error", reject);
        session.on("error", reject);
      });
      stream.end(payload);
      const { ":status": status = 0, ...answer } = await answered;
      const chunks: Uint8Array[] = [];
      for await (const chunk of stream) chunks.push(chunk);
      return toAnswer(status, answer, Buffer.concat(chunks));
    } finally {
      socket.destroy();
    }
  };
}

function openSocket({ protocol, hostname, port }: URL): Promise<Socket> {
  const address = { host: hostname, port: Number(port) };
  return new Promise((resolve, reject) => {
    const socket = protocol === "https:"
      ? tls.connect({ ...address, ALPNProtocols: ["h2"], rejectUnauthorized: false }, () => resolve(socket))
      : net.connect(address, () => resolve(socket));
    socket.on("error", reject);
  });
}

function toAnswer(statusCode: number, headers: http.IncomingHttpHeaders, rawPayload: Buffer): Answer {
  const body = rawPayload.toString();
  return { statusCode, headers, body, payload: body, rawPayload, json: () => JSON.parse(body) } as Answer;
}
