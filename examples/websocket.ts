/**
 * `@fastify/websocket`: only signed-in users get a socket, and it is closed when their session ends.
 *
 * @module
 */
import websocket from "@fastify/websocket";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import { authConfig } from "./auth.ts";

const config = authConfig();

/** How often a socket's session is looked at again, in milliseconds: its cookie is that of the upgrade for good. */
const RECHECK = 60_000;

/** Makes the application. */
export async function build(recheck: number = RECHECK): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(websocket);
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  await app.register((scope, _options, done) => {
    // As `onRequest` the guard answers 401 before there is a socket
    scope.get("/me", { websocket: true, onRequest: requireSession(config) }, async (socket, request) => {
      const timer = setInterval(async () => {
        if (await getSession(request, config) === null) socket.close(4401, "the session has ended");
      }, recheck);
      socket.on("close", () => clearInterval(timer));
      const session = await getSession(request, config);
      socket.send(JSON.stringify(session?.user));
    });
    done();
  });
  return app;
}

if (import.meta.main) await (await build()).listen({ port: 3000 });
