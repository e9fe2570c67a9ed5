/**
 * `@fastify/websocket`: only signed-in users get a socket, and it is closed when their session ends.
 *
 * @module
 */
import websocket from "@fastify/websocket";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

const auth = createAuth(authConfig());

/** Makes the application. */
export async function build(): Promise<FastifyInstance> {
  const app = Fastify();
  await app.register(websocket);
  await app.register(auth.plugin, { prefix: "/auth" });
  await app.register((scope, _options, done) => {
    // As `onRequest` the guard answers 401 before there is a socket
    scope.get("/me", { websocket: true, onRequest: auth.requireSession() }, async (socket, request) => {
      await auth.onSessionEnd(request, () => socket.close(4401, "the session has ended"));
      const session = await auth.getSession(request);
      socket.send(JSON.stringify(session?.user));
    });
    done();
  });
  return app;
}

if (import.meta.main) console.log(await (await build()).listen({ port }));
