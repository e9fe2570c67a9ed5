import cookie from "@fastify/cookie";
import jwt from "@fastify/jwt";
import Fastify from "fastify";
import { listen, SECRET, USER } from "../fixture.js";

export async function start() {
  const app = Fastify();
  await app.register(cookie);
  await app.register(jwt, { secret: SECRET, cookie: { cookieName: "token" } });
  app.get("/me", async (request) => {
    const { name, email, image } = await request.jwtVerify();
    return { name, email, image };
  });
  const port = await listen(app);
  return {
    port,
    cookie: `token=${app.jwt.sign({ ...USER, sub: "1" }, { expiresIn: "30d" })}`,
  };
}
