/**
 * AWS Lambda behind an API Gateway (HTTP API, payload 2.0) or a function URL, with `@fastify/aws-lambda`.
 *
 * Set `AUTH_URL` to the public address: the host of an event is that of the gateway. Sessions are cookies here; with an
 * adapter, choose one for a database over HTTP or a pool that a frozen function survives.
 *
 * @module
 */
import awsLambda, { type PromiseHandler } from "@fastify/aws-lambda";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, getSession, requireSession } from "fastify-authjs";
import { authConfig, port } from "./auth.ts";

const config = authConfig();

/** The application. */
export const app: FastifyInstance = Fastify();

await app.register(FastifyAuth(config), { prefix: "/auth" });
app.get("/me", { onRequest: requireSession(config) }, async (request) => {
  return (await getSession(request, config))?.user;
});

/** What Lambda calls: `aws_lambda.handler`. */
export const handler: PromiseHandler = awsLambda(app);

// On your machine, as a server
if (import.meta.main) console.log(await app.listen({ port }));
