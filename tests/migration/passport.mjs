// Before: @fastify/passport over @fastify/secure-session.
import formbody from "@fastify/formbody";
import { Authenticator } from "@fastify/passport";
import secureSession from "@fastify/secure-session";
import Fastify from "fastify";
import process from "node:process";
import LocalStrategy from "passport-local";

const passport = new Authenticator();
const app = Fastify();
await app.register(formbody);
await app.register(secureSession, {
  secret: process.env.SECRET,
  salt: "mq9hDxBVDbspDR6n",
  cookie: { path: "/" },
});
await app.register(passport.initialize());
await app.register(passport.secureSession());
passport.use(
  "local",
  new LocalStrategy((name, password, done) => done(null, password === "open" ? { id: "1", name } : false)),
);
passport.registerUserSerializer((user) => Promise.resolve(JSON.stringify(user)));
passport.registerUserDeserializer((user) => Promise.resolve(JSON.parse(user)));

app.post("/login", { preValidation: passport.authenticate("local") }, () => ({}));
app.post("/logout", async (request) => {
  await request.logout();
  return {};
});
app.get("/me", (request) => ({ name: request.user?.name ?? null }));
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(app.server.address().port);
