// Before: @auth/express, as its own documentation sets it up.
import { ExpressAuth, getSession } from "@auth/express";
import Credentials from "@auth/express/providers/credentials";
import express from "express";
import process from "node:process";

const config = {
  trustHost: true,
  secret: process.env.SECRET,
  providers: [Credentials({
    credentials: { username: {}, password: {} },
    authorize: ({ username, password }) => password === "open" ? { id: "1", name: username } : null,
  })],
};
const app = express();
app.use("/auth/*", ExpressAuth(config));
app.use(async (request, response, next) => {
  response.locals.session = await getSession(request, config);
  next();
});
app.get("/me", (_request, response) => response.json({ name: response.locals.session?.user?.name ?? null }));
const server = app.listen(0, "127.0.0.1", () => console.log(server.address().port));
