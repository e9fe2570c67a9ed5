/** The workarounds for core's providers, and what they leave alone. */
import { customFetch } from "@auth/core";
import { assertEquals, assertRejects, assertStrictEquals } from "@std/assert";
import type { Provider } from "fastify-authjs/providers";
import Bungie from "fastify-authjs/providers/bungie";
import GitHub from "fastify-authjs/providers/github";
import NetSuite from "fastify-authjs/providers/netsuite";
import VK from "fastify-authjs/providers/vk";
import WeChat from "fastify-authjs/providers/wechat";
import { FastifyAuthError } from "../../../src/errors.ts";
import { applyWorkarounds } from "../../../src/provider/workarounds.ts";
import { AS_SHIPPED } from "../../support/provider_problems.ts";
import type { ProviderSample } from "../../support/provider_sample.ts";
import { PROVIDER_SAMPLES } from "../../support/provider_samples.ts";

// deno-lint-ignore no-explicit-any -- the parts that are looked at differ from test to test
type Parts = any;

function workedAround(provider: unknown): Parts {
  return applyWorkarounds(provider as Provider);
}

/** What a workaround replaces can be seen but for functions, which every provider has one of replaced. */
function data(provider: Parts): string {
  return JSON.stringify({ ...provider, options: undefined });
}

Deno.test("every workaround is shown to be needed", async () => {
  const changed: string[] = [];
  for (const [module, { options }] of Object.entries(PROVIDER_SAMPLES) as [string, ProviderSample][]) {
    const { default: create } = await import(`fastify-authjs/providers/${module}`);
    const shipped = () => create({ clientId: "id", clientSecret: "secret", ...options });
    if (data(shipped()) !== data(workedAround(shipped()))) changed.push(module);
  }
  // Notion's problem is one of parameters without a value. Apple's would be one of ours: core has a placeholder for its
  // userinfo endpoint.
  assertEquals([...changed, "notion"].sort(), [...Object.keys(AS_SHIPPED), "apple"].sort());
});

Deno.test("applyWorkarounds() leaves a provider of the application's own as it is, whatever its id", () => {
  const own = {
    id: "vk",
    type: "oauth",
    token: "https://id.example/token",
    userinfo: "https://id.example/me",
  };
  assertEquals(workedAround({ ...own }), own);
});

Deno.test("applyWorkarounds() leaves other kinds of providers alone", () => {
  const password = { id: "vk", type: "credentials", options: {} };
  assertStrictEquals(workedAround(password), password);
});

Deno.test("applyWorkarounds() changes nothing of a provider that works but for its ids", () => {
  const { profile: _shipped, ...github } = GitHub({}) as Parts;
  const { profile: _wrapped, ...rest } = workedAround(GitHub({}));
  assertEquals(rest.userinfo.url, github.userinfo.url);
  assertEquals({ ...rest, userinfo: undefined }, { ...github, userinfo: undefined });
});

Deno.test("applyWorkarounds() keeps what the application sets, for core to merge over the workaround", () => {
  const conform = () => undefined;
  const { options } = workedAround(VK({ clientId: "id", token: { conform } as Parts, checks: ["state"] }));
  assertStrictEquals(options.token.conform, conform);
  assertEquals(options.checks, ["state"]);
});

Deno.test("applyWorkarounds() makes a number a string where it is the id of a user, also in the application's profile()", async () => {
  const provider = workedAround({
    id: "own",
    type: "oauth",
    profile: ({ id }: { id: number }) => ({ id, name: "Ada" }),
    options: { profile: ({ id }: { id: number }) => Promise.resolve({ id: id + 1, name: "Ada" }) },
  });
  assertEquals(await provider.profile({ id: 7 }, {}), { id: "7", name: "Ada" });
  assertEquals(await provider.options.profile({ id: 7 }, {}), { id: "8", name: "Ada" });
});

Deno.test("applyWorkarounds() makes any id that profile() returns a text, and leaves a user without one", async () => {
  class ObjectId {
    toString = () => "65f0";
  }
  const { profile } = workedAround({ id: "own", type: "oauth", profile: (user: object) => user });
  for (const id of [7n, new ObjectId(), ["7"]]) assertEquals(await profile({ id }, {}), { id: String(id) });
  for (const user of [{ name: "Ada" }, { id: null }, { id: "7" }, null]) assertEquals(await profile(user, {}), user);
});

Deno.test("applyWorkarounds() takes out parameters that have no value", () => {
  const { authorization } = workedAround({
    id: "own",
    type: "oauth",
    authorization: { url: "https://id.example", params: { scope: "me", redirect_uri: undefined } },
  });
  assertEquals(authorization, { url: "https://id.example", params: { scope: "me" } });
});

Deno.test("applyWorkarounds() writes a list of scopes as the standard does", () => {
  const authorization = { url: "https://id.example", params: { scope: ["openid", "email"], prompt: "login" } };
  const { options, ...own } = workedAround({ id: "own", type: "oidc", authorization, options: { authorization } });
  for (const each of [own, options]) {
    assertEquals(each.authorization, { ...authorization, params: { scope: "openid email", prompt: "login" } });
  }
});

Deno.test("a token response is completed, not replaced", async () => {
  const { token } = workedAround(VK({}));
  const given = { access_token: "access", token_type: "mac", scope: ["a", "b"], email: null, expires_in: 0 };
  const { conform } = token;
  assertEquals(await (await conform(Response.json(given))).json(), {
    access_token: "access",
    token_type: "mac",
    scope: "a b",
    expires_in: 0,
  });
  const bare = await (await conform(Response.json({ access_token: "access" }))).json();
  assertEquals(bare, { access_token: "access", token_type: "bearer" });
});

Deno.test("a token response that is an error is left to core", async () => {
  const { conform } = workedAround(VK({})).token;
  assertEquals(await conform(Response.json({ error: "invalid_grant" }, { status: 400 })), undefined);
  assertEquals(await conform(Response.json({ error: "invalid_grant" })), undefined);
});

Deno.test("Bungie is asked with the key of AUTH_BUNGIE_KEY, too, and its refusal is an error", async () => {
  const keys: (string | null)[] = [];
  let status = 200;
  const send: typeof fetch = (_input, init) => {
    keys.push(new Headers(init?.headers).get("x-api-key"));
    return Promise.resolve(Response.json({ Response: {} }, { status }));
  };
  const { userinfo } = workedAround(Bungie({}));
  const provider = {
    id: "bungie",
    apiKey: "api-key",
    userinfo: { url: new URL(userinfo.url) },
    [customFetch]: send,
  };
  const context = { provider, tokens: { access_token: "access" } };
  assertEquals(await userinfo.request(context), { Response: {} });
  assertEquals(keys, ["api-key"]);

  status = 401;
  const error = await assertRejects(() => userinfo.request(context), FastifyAuthError, "401");
  assertEquals((error as FastifyAuthError).code, "FST_AUTHJS_UNAVAILABLE");
});

Deno.test("WeChat's users keep the id of their open-platform account, and fall back to that of the application", async () => {
  const { profile, authorization } = workedAround(WeChat({ platformType: "WebsiteApp" }));
  assertEquals((await profile({ unionid: "u", openid: "o", nickname: "Ada" }, {})).id, "u");
  assertEquals((await profile({ openid: "o", nickname: "Ada" }, {})).id, "o");
  assertEquals(authorization.url, "https://open.weixin.qq.com/connect/qrconnect#wechat_redirect");
});

Deno.test("NetSuite without its RESTlet is left for core to refuse", () => {
  const provider = workedAround(NetSuite({ accountID: "1" } as Parts));
  assertEquals(provider.userinfo, undefined);
});
