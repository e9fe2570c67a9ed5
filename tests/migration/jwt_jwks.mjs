// Before: fastify-jwt-jwks, or with a domain in its place fastify-auth0-verify, which takes its options.
import Fastify from "fastify";
import auth0Verify from "fastify-auth0-verify";
import jwtJwks from "fastify-jwt-jwks";
import process from "node:process";

const { ISSUER, PLUGIN } = process.env;
const audience = "https://api.example";
const app = Fastify();
if (PLUGIN === "fastify-auth0-verify") await app.register(auth0Verify, { domain: ISSUER, audience });
else await app.register(jwtJwks, { jwksUrl: `${ISSUER}.well-known/jwks.json`, issuer: ISSUER, audience });

app.get("/me", { preValidation: app.authenticate }, (request) => ({ user: request.user.sub }));
app.get("/orders", { preValidation: app.authenticate }, (request, reply) => {
  if (!(request.user.scope ?? "").split(" ").includes("orders:read")) return reply.code(403).send({});
  return { orders: [] };
});
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(app.server.address().port);
