/** The floor of what opens a token for each request: it decrypts by hand, and has no callbacks, checks or cache. */
import Fastify from "fastify";
import { byHand } from "../by_hand.js";
import { COOKIE, listen, sessionCookie } from "../fixture.js";

export async function start() {
  const open = byHand();
  const app = Fastify();
  app.get("/me", (request) => {
    const { name, email, picture } = open(request.headers.cookie.slice(COOKIE.length + 1));
    return { name, email, image: picture };
  });
  return { port: await listen(app), cookie: await sessionCookie() };
}
