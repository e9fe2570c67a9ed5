import cookie from "@fastify/cookie";
import jwt from "@fastify/jwt";
import Fastify from "fastify";
import { listen, SECRET, USER, USERS } from "../fixture.js";

/** @param parameter "cached" for one with its cache of verified tokens. */
export async function start(parameter) {
  const app = Fastify();
  await app.register(cookie);
  await app.register(jwt, {
    secret: SECRET,
    cookie: { cookieName: "token" },
    ...(parameter === "cached" && { verify: { cache: USERS } }),
  });
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
