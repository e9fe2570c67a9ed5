import { ExpressAuth, getSession } from "@auth/express";
import express from "express";
import { once } from "node:events";
import { authConfig, sessionCookie } from "../fixture.js";

export async function start() {
  const config = authConfig();
  const app = express();
  app.use("/auth/*splat", ExpressAuth(config));
  app.get("/me", async (request, response) => {
    const session = await getSession(request, config);
    response.json(session.user);
  });
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: server.address().port, cookie: await sessionCookie() };
}
