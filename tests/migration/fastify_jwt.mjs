// Before: @fastify/jwt, with the keys of the issuer by get-jwks.
import jwt from "@fastify/jwt";
import Fastify from "fastify";
import buildGetJwks from "get-jwks";
import process from "node:process";

const { ISSUER } = process.env;
const keys = buildGetJwks({ issuersWhitelist: [ISSUER] });
const app = Fastify();
await app.register(jwt, {
  decode: { complete: true },
  secret: (_request, { header: { kid, alg }, payload: { iss } }) => keys.getPublicKey({ kid, alg, domain: iss }),
  verify: { allowedIss: ISSUER, allowedAud: "https://api.example", cache: true },
});
const authenticate = (request) => request.jwtVerify();

app.get("/me", { onRequest: authenticate }, (request) => ({ user: request.user.sub }));
app.get("/orders", { onRequest: authenticate }, (request, reply) => {
  if (!(request.user.scope ?? "").split(" ").includes("orders:read")) return reply.code(403).send({});
  return { orders: [] };
});
await app.listen({ port: 0, host: "127.0.0.1" });
console.log(app.server.address().port);
