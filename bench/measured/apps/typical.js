/** The usual configuration: callbacks that put the id and the role of the user in the session, and guards that ask for the role. */
import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig, CALLBACKS, listen, sessionCookie, USERS } from "../fixture.js";

/** What a user takes of the token cache, in bytes. */
const ENTRY = 800;

/** @param parameter "cached" for one whose token cache holds all users. */
export async function start(parameter) {
  const config = {
    ...authConfig(),
    callbacks: CALLBACKS,
    ...(parameter === "cached" && { tokenCacheSize: USERS * ENTRY }),
  };
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const me = async (request) => shown(await getSession(request, config));
  app.get("/me", me);
  app.get("/guarded", { config: { auth: { roles: ["admin"] } } }, me);
  return { port: await listen(app), cookie: await sessionCookie() };
}

/** As much as the others answer. */
function shown({ user: { id, role, name, email, image } }) {
  if (id === undefined || role !== "admin") throw new Error("The callbacks did not run.");
  return { name, email, image };
}
