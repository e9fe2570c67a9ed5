import Fastify, { type FastifyServerOptions } from "fastify";
import { makeAuth } from "./auth.ts";
import type { Database } from "./database.ts"; //? database
import { addPasswordPage } from "./accounts.ts"; //? credentials

/** Builds the application, without listening. */
//? database
export async function build(
  database: Database,
  options: FastifyServerOptions = {},
) {
  const auth = makeAuth(database);
  //? end
  //? !database
//| export async function build(options: FastifyServerOptions = {}) {
//|   const auth = makeAuth();
  //? end
  const app = Fastify(options);
  app.addHook("onClose", () => database.close()); //? database
  await app.register(auth.plugin, { prefix: "/auth" });
  await addPasswordPage(app, auth, database); //? credentials

  app.get("/", async (request, reply) => {
    const session = await auth.getSession(request);
    if (session) return { hello: session.user?.name ?? session.user?.email };
    return reply.type("text/html").send('<a href="/auth/signin">Sign in</a>');
  });

  // For signed-in users: a browser is led to the sign-in page, others get a 401
  app.get(
    "/me",
    { onRequest: auth.requireSession() },
    (request) => auth.getSession(request),
  );

  return { app, auth };
}
