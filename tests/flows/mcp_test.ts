/** examples/mcp: agents by the official SDK, from the first 401 to the tools that their scopes allow. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Client } from "@modelcontextprotocol/sdk/client";
// @ts-types="@modelcontextprotocol/sdk/client/auth"
import { type OAuthClientProvider, UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
// @ts-types="@modelcontextprotocol/sdk/client/streamableHttp"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { readFile } from "node:fs/promises";
import { denoFlags } from "../support/deno_flags.ts";
import { ENVIRONMENT, runProgram } from "../support/examples.ts";
import { withEnvironment } from "../support/environment.ts";

/** Where the tool server is for its clients: its port is known later. */
const ORIGIN = "http://tools.example";

/** Signs in at the pages of the authorization server, agrees, and gives the address that it leads back to. */
async function agree(address: URL, user: string, callback: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let url = address, form: URLSearchParams | undefined;
  for (let hops = 0; hops < 20; hops++) {
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map((pair) => pair.join("=")).join("; ") },
      ...(form && { method: "POST", body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const page = await answer.text();
    const location = answer.headers.get("location");
    if (location !== null) {
      [url, form] = [new URL(location, url), undefined];
      if (url.href.startsWith(callback)) return url;
      continue;
    }
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
    assert(prompt && action, `${answer.status} ${page}`);
    url = new URL(action, url);
    form = new URLSearchParams({ prompt, login: user, password: "any" });
  }
  throw new Error("The authorization server does not lead back.");
}

/** An agent that keeps what it is given in memory, and leads its user to the address that is last in `asked`. */
function agent(scope?: string) {
  const callback = "http://127.0.0.1:1/callback";
  const asked: URL[] = [];
  const kept: { verifier?: string; tokens?: unknown; client?: unknown } = {};
  const provider: OAuthClientProvider = {
    redirectUrl: callback,
    clientMetadata: {
      client_name: "test",
      redirect_uris: [callback],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => kept.client as never,
    saveClientInformation: (client) => void (kept.client = client),
    tokens: () => kept.tokens as never,
    saveTokens: (tokens) => void (kept.tokens = tokens),
    redirectToAuthorization(address) {
      if (scope !== undefined) address.searchParams.set("scope", scope);
      asked.push(address);
    },
    saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
    codeVerifier: () => kept.verifier!,
  };
  return { provider, asked, callback, kept };
}

/** Connects an agent, with the user signing in where it is led to. */
async function connect(url: URL, fetch: typeof globalThis.fetch, user: string, scope?: string) {
  const { provider, asked, callback, kept } = agent(scope);
  const open = () => new StreamableHTTPClientTransport(url, { authProvider: provider, fetch });
  const client = () => new Client({ name: "test", version: "1.0.0" });
  const first = open();
  await assertRejects(() => client().connect(first as never), UnauthorizedError);
  const back = await agree(asked[0]!, user, callback);
  await first.finishAuth(back.searchParams.get("code")!);
  const connected = client();
  await connected.connect(open() as never);
  return { client: connected, asked: asked[0]!, tokens: kept.tokens as { access_token: string } };
}

Deno.test("an agent finds the authorization server, and gets the tools of its scopes", () =>
  withEnvironment(ENVIRONMENT, async () => {
    const { build } = await import("../../examples/mcp/server.ts");
    const { startAuthorizationServer } = await import("../../examples/mcp/authorization_server.ts");
    await using issuer = await startAuthorizationServer("notes:read notes:write");
    await using app = await build(issuer.issuer, ORIGIN);
    const address = await app.listen({ port: 0, host: "127.0.0.1" });
    const url = new URL("/mcp", ORIGIN);
    const fetch: typeof globalThis.fetch = (input, init) =>
      globalThis.fetch(String(input).replace(ORIGIN, address), init);

    const refused = await fetch(url, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json" },
    });
    assertEquals(refused.status, 401);
    await refused.body?.cancel();
    const challenge = refused.headers.get("www-authenticate")!;
    const [, metadata] = /^Bearer\b.*resource_metadata="([^"]+)"/.exec(challenge)!;
    const { resource, authorization_servers } = await (await fetch(metadata!)).json();
    assertEquals([resource, authorization_servers], [url.href, [issuer.issuer]]);

    const writer = await connect(url, fetch, "ada");
    assertEquals(writer.asked.origin, issuer.issuer);
    assertEquals(writer.asked.searchParams.get("code_challenge_method"), "S256");
    assertEquals(writer.asked.searchParams.get("resource"), url.href);
    const names = async ({ client }: typeof writer) => (await client.listTools()).tools.map(({ name }) => name);
    assertEquals(await names(writer), ["list_notes", "add_note"]);
    await writer.client.callTool({ name: "add_note", arguments: { text: "buy milk" } });

    const reader = await connect(url, fetch, "ada", "notes:read");
    assertEquals(await names(reader), ["list_notes"]);
    const { content } = await reader.client.callTool({ name: "list_notes", arguments: {} });
    assertEquals(content, [{ type: "text", text: "buy milk" }]);
    const write = await reader.client.callTool({ name: "add_note", arguments: { text: "no" } }).catch(String);
    assert(JSON.stringify(write).includes("not found"), JSON.stringify(write));

    const other = await connect(url, fetch, "grace");
    assertEquals((await other.client.callTool({ name: "list_notes", arguments: {} })).content, []);
    for (const { client } of [writer, reader, other]) await client.close();
  }));

Deno.test("the example starts by its name, as its README says", async () => {
  const readme = await readFile(new URL("../../examples/mcp/README.md", import.meta.url), "utf8");
  assertStringIncludes(readme, "task example mcp");
  const args = ["run", "--no-lock", ...denoFlags(), "-A", "examples/mcp/main.ts"];
  await using program = await runProgram(args, { PORT: "0" });
  assertEquals((await fetch(`${program.origin}/mcp`, { method: "POST" })).status, 401);
});
