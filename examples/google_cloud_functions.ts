/**
 * Google Cloud Functions, and Firebase: the platform has read the body before Fastify gets the request.
 *
 * Set `AUTH_URL` to the public address, with the path of the function if its URL has one. Firebase Hosting passes on
 * one cookie alone, `__session`: name it so in `cookies.sessionToken.name`, or call the function's own URL.
 *
 * @module
 */
import { http } from "@google-cloud/functions-framework";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import type { AddressInfo } from "node:net";
import { authConfig, port } from "./auth.ts";

const config = authConfig();

/** The application. */
export const app: FastifyInstance = Fastify();

// The application's own routes get what the platform parsed, as Fastify's guide to serverless describes;
// the auth routes need nothing for that
app.addContentTypeParser(
  ["application/json", "application/x-www-form-urlencoded"],
  {},
  (_request, body, done) => {
    done(null, (body as unknown as { body: unknown }).body);
  },
);
await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", { onRequest: requireSession(config) }, async (request) => {
  return (await getSession(request, config))?.user;
});
app.post("/echo", (request) => request.body);
await app.ready();

http("app", (request, response) => void app.server.emit("request", request, response));

// On your machine, where else the command `functions-framework` does this
if (import.meta.main) {
  const { getTestServer } = await import("@google-cloud/functions-framework/testing");
  const server = getTestServer("app").listen(port, "127.0.0.1", () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}
