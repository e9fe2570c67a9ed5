import { ExpressAuth, getSession } from "@auth/express";
import express from "express";
import { once } from "node:events";
import { authConfig, sessionCookie } from "../fixture.js";

export async function start() {
  const config = authConfig();
  const app = express();
  // With Express 5 it takes the path that it is mounted at for its own, so that must have no wildcard.
  app.use("/auth", ExpressAuth(config));
  app.get("/me", async (request, response) => {
    const session = await getSession(request, config);
    response.json(session?.user ?? null);
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, cookie: await sessionCookie() };
}
