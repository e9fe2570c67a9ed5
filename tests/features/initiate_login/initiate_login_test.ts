/** Sign-ins that a provider begins (OpenID Connect Core 1.0 section 4). */
import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { FastifyAuth, type FastifyAuthConfig } from "fastify-authjs";
import Fastify from "fastify";
import type { OIDCConfig } from "fastify-authjs/providers";
import Keycloak from "fastify-authjs/providers/keycloak";
import { testConfig } from "../../support/app.ts";
import { attemptsOf } from "../../support/attempts.ts";
import type { Answer, Client } from "../../support/client.ts";
import { memoryAdapter, type MemoryTables } from "../../support/memory_adapter.ts";
import { locationOf, pathOf, signedInName, startSignIn } from "../../support/oauth_client.ts";
import { oauthSettings, type ScriptedParts, withProvider } from "../../support/scripted_sign_in.ts";

const ALLOWED = { initiateLogin: true };
const FROM_ELSEWHERE = {
  "sec-fetch-site": "cross-site",
  "sec-fetch-mode": "navigate",
  "sec-fetch-dest": "document",
  origin: "https://portal.example",
};
const SIGN_IN_PAGE = "/auth/signin";

type Parameters = Record<string, string>;

/** How a provider sends its parameters. */
const METHODS: Readonly<
  Record<string, (client: Client, parameters: Parameters, headers?: Parameters) => Promise<Answer>>
> = {
  "a link": (client, parameters, headers = FROM_ELSEWHERE) =>
    client.get(`/auth/signin/op?${new URLSearchParams(parameters)}`, { headers }),
  "a form": (client, parameters, headers = FROM_ELSEWHERE) => client.post("/auth/signin/op", parameters, headers),
};

/** Comes back from the provider. */
async function finish({ client, provider }: ScriptedParts, answer: Answer): Promise<string> {
  return locationOf(await client.get(pathOf(provider.authorize(locationOf(answer)))));
}

for (const [method, send] of Object.entries(METHODS)) {
  Deno.test(`I1: ${method} of the provider signs in, and leads to an address of the application`, async () => {
    await withProvider({}, async (parts) => {
      const { client, provider: { issuer: iss } } = parts;
      const answer = await send(client, {
        iss,
        target_link_uri: "http://localhost/report?x=1",
        login_hint: "ada@example.com",
      });
      const to = new URL(locationOf(answer));
      assertEquals([answer.statusCode, to.origin, to.pathname], [302, iss, "/authorize"]);
      assertEquals(to.searchParams.get("login_hint"), "ada@example.com");
      assertEquals(await finish(parts, answer), "http://localhost/report?x=1");
      assertEquals(await signedInName(client), "Ada");
    }, ALLOWED);
  });

  Deno.test(`I1: ${method} leads nowhere else, and decides nothing but the hint`, async () => {
    await withProvider({}, async (parts) => {
      const { client, provider: { issuer: iss } } = parts;
      const hostile = [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "http://localhost.evil.example/",
        "http://localhost@evil.example/",
        "javascript:alert(1)",
        "",
      ];
      for (const target_link_uri of hostile) {
        const address = await finish(parts, await send(client, { iss, target_link_uri }));
        assertMatch(address, /^http:\/\/localhost(?:\/evil\.example)?$/, target_link_uri);
      }
      const more = {
        redirect_uri: "https://evil.example",
        prompt: "none",
        state: "s",
        scope: "admin",
        client_id: "x",
      };
      const { searchParams } = new URL(locationOf(
        await send(client, { iss, ...more, callbackUrl: "/other", csrfToken: "x" }),
      ));
      assertEquals(
        [searchParams.get("redirect_uri"), searchParams.get("prompt"), searchParams.get("client_id")],
        ["http://localhost/auth/callback/op", null, "client"],
      );
      assertEquals([searchParams.get("login_hint"), searchParams.get("callbackUrl")], [null, null]);
      assert(!["s", "admin"].some((value) => [...searchParams.values()].includes(value)));
    }, ALLOWED);
  });

  Deno.test(`I1: ${method} without an address leads to the front page, not to where another sign-in was to lead`, async () => {
    await withProvider({}, async (parts) => {
      await startSignIn(parts.client, "op", { callbackUrl: "/earlier" });
      const answer = await send(parts.client, { iss: parts.provider.issuer });
      assertEquals(await finish(parts, answer), "http://localhost");
    }, ALLOWED);
  });

  Deno.test(`I2: ${method} that names another issuer begins nothing, and the log says so once`, async () => {
    await withProvider({}, async ({ client, provider: { issuer, requests }, lines }) => {
      for (const iss of ["https://evil.example", `${issuer}/`, issuer.toUpperCase(), ""]) {
        assertEquals(locationOf(await send(client, { iss })), SIGN_IN_PAGE, iss);
      }
      assertEquals([attemptsOf(client), requests.length], [[], 0]);
      const said = lines.filter(({ code }) => code === "FST_AUTHJS_WARN_PROVIDER");
      assertEquals(said.length, 1);
      assertStringIncludes(said[0]!.msg, '"https://evil.example"');
    }, ALLOWED);
  });

  Deno.test(`I3: ${method} links no account to the user who is signed in, whose session is replaced`, async () => {
    const tables: MemoryTables = { users: new Map(), accounts: [], sessions: new Map(), tokens: [] };
    await withProvider(
      {},
      async (parts) => {
        const { client, provider } = parts;
        await finish(parts, await startSignIn(client));
        provider.script.claims = { sub: "mallory", name: "Mallory", email: "mallory@example.com" };
        await finish(parts, await send(client, { iss: provider.issuer }));
        assertEquals(await signedInName(client), "Mallory");
        assertEquals(tables.users.size, 2);
        assertEquals(new Set(tables.accounts.map(({ userId }) => userId)).size, 2);
      },
      ALLOWED,
      { adapter: memoryAdapter(tables) },
    );
  });
}

Deno.test("I3: the callback of a sign-in that a provider began counts only in the browser that it sent", async () => {
  await withProvider({}, async ({ client, browser, provider }) => {
    const answer = await METHODS["a link"]!(client, { iss: provider.issuer });
    const victim = browser();
    const callback = pathOf(provider.authorize(locationOf(answer)));
    assertMatch(locationOf(await victim.get(callback)), /code=sign_in_expired/);
    assertEquals(await signedInName(victim), undefined);
  }, ALLOWED);
});

Deno.test("I4: in a frame, by a script or without `iss` nothing begins", async () => {
  await withProvider({}, async ({ client, provider: { issuer: iss } }) => {
    for (const dest of ["iframe", "frame", "empty", "image", "embed"]) {
      const headers = { ...FROM_ELSEWHERE, "sec-fetch-dest": dest };
      assertEquals(locationOf(await METHODS["a link"]!(client, { iss }, headers)), SIGN_IN_PAGE, dest);
      assertEquals((await METHODS["a form"]!(client, { iss }, headers)).statusCode, 403, dest);
    }
    const page = await METHODS["a link"]!(client, { callbackUrl: "/a" });
    assertEquals(locationOf(page), `${SIGN_IN_PAGE}?callbackUrl=%2Fa`);
    const forged = await METHODS["a form"]!(client, {
      callbackUrl: "/a",
      csrfToken: await client.csrfToken(),
    });
    assertEquals([forged.statusCode, forged.json().code], [403, "FST_AUTHJS_CROSS_SITE"]);
    assertEquals(attemptsOf(client), []);
    const own = await client.post("/auth/signin/op", {}, { "sec-fetch-site": "same-origin" });
    assertMatch(locationOf(own), /error=MissingCSRF/);
    assertMatch(locationOf(await startSignIn(client)), /\/authorize\?/);
  }, ALLOWED);
});

Deno.test("I4: a provider that does not allow it behaves as before", async () => {
  await withProvider({}, async ({ client, provider: { issuer: iss } }) => {
    assertEquals(locationOf(await METHODS["a link"]!(client, { iss })), SIGN_IN_PAGE);
    assertEquals((await METHODS["a form"]!(client, { iss })).statusCode, 403);
  }, { initiateLogin: false });
});

Deno.test("the address and the hint of such a link are not in the log", async () => {
  await withProvider({}, async ({ client, provider: { issuer: iss }, lines }) => {
    await METHODS["a link"]!(client, { iss, login_hint: "ada@example.com", target_link_uri: "/secret-page" });
    const log = JSON.stringify(lines);
    assert(!log.includes("ada@example.com") && !log.includes("ada%40") && !log.includes("secret-page"));
  }, ALLOWED);
});

Deno.test("a provider of a module allows it beside its settings, and boot refuses what cannot work", async () => {
  const boot = async (provider: unknown) => {
    const app = Fastify();
    await app.register(
      FastifyAuth(testConfig({ providers: [provider] as FastifyAuthConfig["providers"] })),
      { prefix: "/auth" },
    );
    await app.ready();
    await app.close();
  };
  const settings = { clientId: "client", clientSecret: "secret" };
  const keycloak = { ...Keycloak({ ...settings, issuer: "https://id.example" }), initiateLogin: true };
  const acme: OIDCConfig<object> = {
    ...{ id: "acme", name: "Acme", type: "oidc", issuer: "https://id.example", jwks_endpoint: undefined },
    ...settings,
    initiateLogin: true,
  };
  await boot(keycloak);
  await boot(acme);
  const oauth = { id: "op", name: "OP", ...oauthSettings("https://id.example"), ...settings };
  for (const [wrong, reason] of [["yes", /must be true or false/], [true, /needs its `issuer`/]] as const) {
    const error = await assertRejects(() => boot({ ...oauth, initiateLogin: wrong }));
    assertMatch((error as Error).message, reason);
  }
});
