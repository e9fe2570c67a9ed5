/** What a request to an auth route costs: core is given what it is about, and nothing for the others. */
import { customFetch } from "@auth/core";
import { assert, assertEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import { passwordProvider, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";

type Provider = FastifyAuthConfig["providers"][number];

/** A parameter of an authorization request, which notes when core reads it: it prepares each provider it is given. */
class NotedParameter {
  constructor(readonly id: string, readonly prepared: string[]) {}

  toString() {
    this.prepared.push(this.id);
    return "login";
  }
}

function notedProvider(id: string, prepared: string[]): Provider {
  return {
    id,
    name: id,
    type: "oauth",
    clientId: "id",
    clientSecret: "secret",
    authorization: {
      url: "https://provider.example/authorize",
      params: { prompt: new NotedParameter(id, prepared) },
    },
    token: "https://provider.example/token",
    userinfo: "https://provider.example/userinfo",
    [customFetch]: () => Promise.resolve(Response.json({ error: "invalid_grant" }, { status: 400 })),
  };
}

Deno.test("core prepares the one provider that a request is about, and none where it is about none", async () => {
  const prepared: string[] = [];
  const providers = ["first", "second", "third"].map((id) => notedProvider(id, prepared));
  await using app = await testApp(testConfig({ providers: [passwordProvider(), ...providers] }));
  const client = new Client(app);
  await app.ready();
  const preparedBy = async (request: () => Promise<{ statusCode: number }>) => {
    prepared.length = 0;
    const { statusCode } = await request();
    assert(statusCode < 400, `${statusCode}`);
    return [...new Set(prepared)];
  };
  const csrfToken = await client.csrfToken();
  const form = (url: string, fields: Record<string, string> = {}) => () =>
    client.request("POST", url, { form: { csrfToken, ...fields } });
  const get = (url: string) => () => client.request("GET", url);

  assertEquals(await preparedBy(form("/auth/signin/second")), ["second"]);
  assertEquals(await preparedBy(get("/auth/callback/second?code=code")), ["second"]);
  // Refused before core is asked: it was not started.
  assertEquals(await preparedBy(get("/auth/callback/third?code=code")), []);
  assertEquals(await preparedBy(form("/auth/callback/credentials", { username: "ada", password: "no" })), []);
  assertEquals(
    await preparedBy(form("/auth/callback/credentials", { username: "ada", password: "open" })),
    [],
  );
  assertEquals(await preparedBy(() => client.request("POST", "/auth/session", { json: { csrfToken } })), []);
  for (const path of ["csrf", "session", "signin", "signout", "error", "verify-request"]) {
    assertEquals(await preparedBy(get(`/auth/${path}`)), [], path);
  }
  assertEquals(await preparedBy(form("/auth/signout")), []);
});

Deno.test("the list of the providers has the addresses of each origin, and prepares none", async () => {
  const prepared: string[] = [];
  const providers = ["first", "second"].map((id) => notedProvider(id, prepared));
  await using app = await testApp(testConfig({ providers }));
  await app.ready();
  const list = async (host: string) => {
    prepared.length = 0;
    const response = await app.inject({ url: "/auth/providers", headers: { host } });
    return { signinUrl: response.json().second.signinUrl, prepared: [...new Set(prepared)] };
  };
  for (const host of ["one.example", "two.example"]) {
    const signinUrl = `http://${host}/auth/signin/second`;
    assertEquals(await list(host), { signinUrl, prepared: [] });
  }
});
