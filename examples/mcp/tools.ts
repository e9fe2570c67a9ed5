/**
 * The tools: notes of the user who sent the agent.
 *
 * @module
 */
// @ts-types="@modelcontextprotocol/sdk/server/mcp"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { z } from "zod";

/** What a client may ask for. */
export const SCOPES = ["notes:read", "notes:write"] as const;

const notes = new Map<string, string[]>();

/** A server with the tools that the scopes of a token allow, for one request. */
export function toolServer(user: string, scopes: readonly string[]): McpServer {
  const server = new McpServer({ name: "notes", version: "1.0.0" });
  const own = notes.get(user) ?? [];
  if (scopes.includes("notes:read")) {
    server.registerTool("list_notes", { description: "Lists the notes of the user." }, () => ({
      content: own.map((text) => ({ type: "text", text })),
    }));
  }
  if (scopes.includes("notes:write")) {
    const inputSchema = { text: z.string().max(1000) };
    server.registerTool("add_note", { description: "Adds a note.", inputSchema }, ({ text }) => {
      notes.set(user, [...own, text].slice(-100));
      return { content: [{ type: "text", text: "added" }] };
    });
  }
  return server;
}
