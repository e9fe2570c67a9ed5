/**
 * Runs the example: an authorization server, and the tool server.
 *
 * @module
 */
import process from "node:process";
import { startAuthorizationServer } from "./authorization_server.ts";
import { build } from "./server.ts";
import { SCOPES } from "./tools.ts";

const port = Number(process.env.PORT ?? 3000);
const { issuer } = await startAuthorizationServer(SCOPES.join(" "));
const app = await build(issuer, `http://127.0.0.1:${port}`);
const address = await app.listen({ port, host: "127.0.0.1" });
console.log(`Tools at ${address}/mcp, with tokens of ${issuer}, where any name signs in with any password.`);
