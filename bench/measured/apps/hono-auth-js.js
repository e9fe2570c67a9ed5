import { authHandler, getAuthUser, initAuthConfig } from "@hono/auth-js";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { authConfig, sessionCookie } from "../fixture.js";

export async function start() {
  const app = new Hono();
  app.use("*", initAuthConfig(() => ({ ...authConfig(), basePath: "/auth" })));
  app.use("/auth/*", authHandler());
  app.get(
    "/me",
    async (context) => context.json((await getAuthUser(context))?.session.user ?? null),
  );
  const port = await new Promise((resolve) => {
    serve(
      { fetch: app.fetch, port: 0, hostname: "127.0.0.1" },
      (address) => resolve(address.port),
    );
  });
  return { port, cookie: await sessionCookie() };
}
