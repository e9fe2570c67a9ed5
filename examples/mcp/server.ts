/**
 * A tool server for agents (Model Context Protocol): a client without a token is told where to get one, and only the
 * tools that its scopes allow answer.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/webStandardStreamableHttp"
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import Fastify, { type FastifyInstance } from "fastify";
import { createAuth, type RouteAuthConfig } from "fastify-authjs";
import { SCOPES, toolServer } from "./tools.ts";

/**
 * Makes the application.
 *
 * @param issuer The authorization server.
 * @param origin Where clients reach the application.
 */
export async function build(issuer: string, origin: string): Promise<FastifyInstance> {
  const audience = `${origin}/mcp`;
  const auth = createAuth({
    providers: [],
    origin,
    apiAccess: { issuers: [{ issuer, audience }], scopes: SCOPES },
  });
  const app = Fastify();
  await app.register(auth.plugin, { prefix: "/auth" });

  const agents: RouteAuthConfig = { auth: { tokens: ["access"], audience } };
  app.post("/mcp", { config: agents }, async (request) => {
    const { sub = "", scope = "" } = (await auth.getClaims(request))!;
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true });
    await toolServer(sub, scope.split(" ")).connect(transport);
    const headers = new Headers(request.headers as Record<string, string>);
    const received = new Request(audience, { method: "POST", headers });
    return await transport.handleRequest(received, { parsedBody: request.body });
  });
  // No streams of messages: each call is answered by its own reply.
  app.get("/mcp", { config: agents }, (_request, reply) => reply.code(405).header("allow", "POST").send());
  return app;
}
