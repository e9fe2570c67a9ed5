import Fastify from "fastify";
import { FastifyAuth, getSession } from "fastify-authjs";
import { authConfig, CALLBACKS, forgedCookies, listen, sessionCookie } from "../fixture.js";

/** @param parameter "callbacks" for one whose sessions have the id and the role of the user. */
export async function start(parameter) {
  const callbacks = parameter === "callbacks" ? CALLBACKS : {};
  const config = { ...authConfig(), callbacks };
  const app = Fastify();
  await app.register(FastifyAuth(config), { prefix: "/auth" });
  const me = async (request) => {
    const { user: { id, role, name, email, image } } = await getSession(request, config);
    if (parameter === "callbacks" && (id === undefined || role !== "admin")) throw new Error("no callbacks");
    return { name, email, image };
  };
  app.get("/me", me);
  app.get("/guarded", { config: { auth: { roles: ["admin"] } } }, me);
  app.get("/session", async (request) => ({ session: await getSession(request, config) }));
  return { port: await listen(app), cookie: await sessionCookie(), ...await forgedCookies() };
}
