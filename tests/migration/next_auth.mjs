// Before: next-auth v4 on Fastify: its handler for pages, called from a catch-all route.
import cookie from "@fastify/cookie";
import formbody from "@fastify/formbody";
import Fastify from "fastify";
import { createRequire } from "node:module";
import process from "node:process";

const require = createRequire(import.meta.url);
const NextAuth = require("next-auth").default;
const { getToken } = require("next-auth/jwt");
const Credentials = require("next-auth/providers/credentials").default;

const options = {
  secret: process.env.SECRET,
  providers: [Credentials({
    credentials: { username: {}, password: {} },
    authorize: ({ username, password }) => password === "open" ? { id: "1", name: username } : null,
  })],
};
const app = Fastify();
await app.register(cookie);
await app.register(formbody);

/** The few methods of an Express-like response that the handler calls. */
function toResponse(reply) {
  const response = {
    status: (code) => (reply.code(code), response),
    setHeader: (name, value) => (reply.header(name, value), response),
    getHeader: (name) => reply.getHeader(name),
    send: (body) => reply.send(body),
    json: (body) => reply.send(body),
    end: () => reply.send(),
  };
  return response;
}

app.all("/api/auth/*", async (request, reply) => {
  const nextauth = request.params["*"].split("/");
  const { headers, method, body = {}, cookies } = request;
  await NextAuth(
    { query: { ...request.query, nextauth }, headers, method, body, cookies },
    toResponse(reply),
    options,
  );
  return reply;
});
app.get("/me", async (request) => {
  const token = await getToken({
    req: { headers: request.headers, cookies: request.cookies },
    secret: options.secret,
  });
  return { name: token?.name ?? null };
});
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(app.server.address().port);
