/** An API that takes access tokens of an issuer (RFC 9068): one token, which it has seen before. */
import jwt from "@fastify/jwt";
import Fastify from "fastify";
import { createAuth } from "fastify-authjs";
import { generateKeyPairSync } from "node:crypto";
import { authConfig, listen, USER } from "../fixture.js";

const aud = "https://api.example";
const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const keys = [{ ...publicKey.export({ format: "jwk" }), alg: "ES256", use: "sig", kid: "1" }];
const [secret, publicPem] = [
  privateKey.export({ type: "pkcs8", format: "pem" }),
  publicKey.export({ type: "spki", format: "pem" }),
];

/** @param parameter "own", or "jwt" for @fastify/jwt with its cache. */
export async function start(parameter) {
  // In production an issuer needs TLS.
  process.env.NODE_ENV = "test";
  const { issuer, token } = await startIssuer();
  const app = Fastify();
  const userOf = ({ name, email, image }) => ({ name, email, image });
  if (parameter === "own") {
    const auth = createAuth({ ...authConfig(), apiAccess: { issuers: [{ issuer, audience: aud }] } });
    await app.register(auth.plugin, { prefix: "/auth" });
    const config = { auth: { tokens: ["access"] } };
    app.get("/me", { config }, async (request) => userOf(await auth.getClaims(request)));
  } else {
    const verify = { cache: true, algorithms: ["ES256"], allowedIss: issuer, allowedAud: aud };
    await app.register(jwt, { secret: { public: publicPem }, verify });
    app.get("/me", { onRequest: (request) => request.jwtVerify() }, ({ user }) => userOf(user));
  }
  return { port: await listen(app), cookie: `Bearer ${token}` };
}

async function startIssuer() {
  const app = Fastify();
  await app.register(jwt, { secret: { private: secret, public: publicPem } });
  const at = ({ protocol, host }) => `${protocol}://${host}`;
  const metadata = (request) => ({ issuer: at(request), jwks_uri: `${at(request)}/jwks` });
  app.get("/.well-known/openid-configuration", metadata);
  app.get("/jwks", () => ({ keys }));
  const issuer = `http://127.0.0.1:${await listen(app)}`;
  const claims = { ...USER, iss: issuer, aud, sub: "1", client_id: "client", jti: "1" };
  const signing = { algorithm: "ES256", kid: "1", header: { typ: "at+jwt" }, expiresIn: "1d" };
  return { issuer, token: app.jwt.sign(claims, signing) };
}
