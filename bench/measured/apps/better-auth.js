/** better-auth behind Fastify, its database in memory. */
import { betterAuth } from "better-auth";
import { memoryAdapter } from "better-auth/adapters/memory";
import { fromNodeHeaders } from "better-auth/node";
import Fastify from "fastify";
import { listen, SECRET, USER } from "../fixture.js";

/** @param parameter "cached" for one with its signed cookie cache, which spares the database. */
export async function start(parameter) {
  const auth = betterAuth({
    baseURL: "http://localhost",
    secret: SECRET,
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    session: parameter === "cached" ? { cookieCache: { enabled: true, maxAge: 60 * 60 } } : {},
  });
  const app = Fastify();
  app.get("/me", async (request) => {
    const { user: { name, email, image } } = await auth.api.getSession({
      headers: fromNodeHeaders(request.headers),
    });
    return { name, email, image };
  });
  const body = { ...USER, password: "correct horse" };
  const response = await auth.api.signUpEmail({ body, asResponse: true });
  const cookie = response.headers.getSetCookie().map((line) => line.split(";")[0]).join("; ");
  return { port: await listen(app), cookie };
}
