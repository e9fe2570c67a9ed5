import secureSession from "@fastify/secure-session";
import Fastify from "fastify";
import { changedEnd, listen, USER } from "../fixture.js";

export async function start() {
  const app = Fastify();
  await app.register(secureSession, {
    key: Buffer.alloc(32, 7),
    cookie: { path: "/" },
  });
  app.post("/sign-in", (request, reply) => {
    request.session.set("user", USER);
    reply.send();
  });
  app.get("/me", (request) => request.session.get("user") ?? null);
  app.get("/session", (request) => ({ session: request.session.get("user") ?? null }));
  const port = await listen(app);
  const signedIn = await app.inject({ method: "POST", url: "/sign-in" });
  const [{ name, value }] = signedIn.cookies;
  const [text, nonce] = value.split(";");
  const forged = `${name}=${encodeURIComponent(`${changedEnd(text)};${nonce}`)}`;
  return { port, cookie: `${name}=${encodeURIComponent(value)}`, forged, anonymous: "" };
}
