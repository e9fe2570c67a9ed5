/** `auth.listPasskeys()`, `auth.renamePasskey()` and `auth.removePasskey()`. */
import { assertEquals } from "@std/assert";
import type { Adapter } from "@auth/core/adapters";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
import { createAuth, type FastifyAuthConfig, type ListedPasskey } from "fastify-authjs";
import { type PasskeyAdapter, withAccountList } from "fastify-authjs/adapters";
import Nodemailer from "fastify-authjs/providers/nodemailer";
import PasskeyProvider from "fastify-authjs/providers/passkey";
import { createStorage } from "unstorage";
import { testApp } from "../../support/app.ts";
import type { Answer } from "../../support/client.ts";
import {
  emptyTables,
  ORIGIN,
  webAuthnAdapter,
  WebAuthnClient,
  webAuthnConfig,
  type WebAuthnTables,
} from "../../support/webauthn.ts";
import { SoftwareAuthenticator } from "../../support/webauthn_authenticator.ts";

const EMAIL = "ada@example.com";

/** "Bitwarden". */
const BITWARDEN = "d548826e79b4db40a3d811116f7e8349";

/** An adapter that unlinks accounts, as those of Auth.js do, and does nothing else to passkeys. */
function unlinkingAdapter(tables: WebAuthnTables): Adapter {
  return {
    ...webAuthnAdapter(tables),
    unlinkAccount({ provider, providerAccountId }) {
      const { accounts } = tables;
      const index = accounts.findIndex((each) =>
        each.provider === provider && each.providerAccountId === providerAccountId
      );
      if (index !== -1) accounts.splice(index, 1);
      return Promise.resolve(undefined);
    },
  };
}

/** One that also names passkeys and deletes them. */
function passkeyAdapter(tables: WebAuthnTables): PasskeyAdapter {
  const { authenticators } = tables;
  return {
    ...unlinkingAdapter(tables),
    updateAuthenticator({ credentialID, name }) {
      authenticators.set(credentialID, { ...authenticators.get(credentialID)!, name } as never);
    },
    deleteAuthenticator: (credentialID) => void authenticators.delete(credentialID),
  };
}

async function setUp(adapter: Adapter, overrides: Partial<FastifyAuthConfig> = {}) {
  const config = webAuthnConfig(emptyTables(), { adapter, ...overrides });
  const auth = createAuth(config);
  const app = await testApp(config);
  type Body = { id: string; name: string; otherSignInMethod?: boolean };
  app.get("/passkeys", (request) => auth.listPasskeys(request));
  app.post<{ Body: Body }>("/rename", async (request) => {
    await auth.renamePasskey(request, request.body.id, request.body.name);
    return {};
  });
  app.get("/rename", (request) => auth.renamePasskey(request, "id", "name"));
  app.get("/remove", (request) => auth.removePasskey(request, "id"));
  app.post<{ Body: Body }>("/remove", async (request) => {
    const { id, otherSignInMethod = false } = request.body;
    await auth.removePasskey(request, id, { otherSignInMethod });
    return {};
  });
  const client = new WebAuthnClient(app);
  return { app, client };
}

const listOf = async (client: WebAuthnClient) => (await client.get("/passkeys")).json<ListedPasskey[]>();

const send = (client: WebAuthnClient, path: string, json: object, headers: Record<string, string> = {}) =>
  client.request("POST", path, { json, headers });

const idOf = (device: SoftwareAuthenticator) => device.credentials[0]!.id.toString("base64url");

const outcome = (answer: Answer) => [answer.statusCode, answer.json().code];

for (
  const [kind, adapterOf] of Object.entries({
    "in memory": unlinkingAdapter,
    "in memory, with a list of accounts": () => {
      const tables = emptyTables();
      const list = (id: string) => Promise.resolve(tables.accounts.filter(({ userId }) => userId === id));
      return withAccountList(unlinkingAdapter(tables), list as never);
    },
    "in a key-value store": () => UnstorageAdapter(createStorage()),
  })
) {
  Deno.test(`passkeys ${kind} have the name of what made them, and are removed with any adapter`, async () => {
    const { app, client } = await setUp(adapterOf(emptyTables()));
    const [phone, key] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN)];
    await client.register(phone, { email: EMAIL, aaguid: BITWARDEN });
    await client.register(key, { transports: ["usb"] });
    const found = await listOf(client);
    assertEquals(
      found.map(({ id, name }) => `${id} ${name}`).sort(),
      [`${idOf(phone)} Bitwarden`, `${idOf(key)} undefined`].sort(),
    );
    const { transports, ...passkey } = found.find(({ id }) => id === idOf(phone))!;
    assertEquals([transports, passkey.provider, passkey.synced], [["internal", "hybrid"], "passkey", false]);
    // Browsers are told how to reach it, and nothing else.
    const excluded = async () => {
      const { options } = await client.options({ action: "register" });
      return options.excludeCredentials as { id: string; transports: string[] }[];
    };
    const told = (await excluded()).find(({ id }) => id === idOf(phone))?.transports;
    assertEquals(told, ["internal", "hybrid"]);

    assertEquals((await send(client, "/remove", { id: idOf(phone) })).statusCode, 200);
    assertEquals((await listOf(client)).map(({ id }) => id), [idOf(key)]);
    assertEquals((await excluded()).map(({ id }) => id), [idOf(key)]);
    const other = new WebAuthnClient(app);
    await other.authenticate(phone);
    assertEquals(await other.user(), null);
    await other.authenticate(key);
    assertEquals((await other.user())?.email, EMAIL);
    assertEquals(outcome(await send(client, "/remove", { id: idOf(phone) })), [404, "FST_AUTHJS_NOT_FOUND"]);
  });
}

Deno.test("a passkey is named by its user, in as many characters as a name needs", async () => {
  const tables = emptyTables();
  const { client } = await setUp(passkeyAdapter(tables));
  const device = new SoftwareAuthenticator(ORIGIN);
  await client.register(device, { email: EMAIL, aaguid: BITWARDEN });
  const named = async (name: unknown) => {
    const answer = await send(client, "/rename", { id: idOf(device), name });
    return answer.statusCode === 200 ? (await listOf(client))[0]?.name : outcome(answer);
  };
  assertEquals(await named("  My phone "), "My phone");
  assertEquals(await named("x".repeat(500)), "x".repeat(64));
  assertEquals(await named("   "), "Bitwarden");
  assertEquals(await named(42), [400, "FST_AUTHJS_BODY_INVALID"]);
  // It signs in as before, and leaves with its row.
  await client.authenticate(device);
  assertEquals(
    (await send(client, "/remove", { id: idOf(device), otherSignInMethod: true })).statusCode,
    200,
  );
  assertEquals([tables.accounts.length, tables.authenticators.size], [0, 0]);
});

Deno.test("passkeys are not renamed without a method of the adapter, and the error names it", async () => {
  const { client } = await setUp(unlinkingAdapter(emptyTables()));
  const device = new SoftwareAuthenticator(ORIGIN);
  await client.register(device, { email: EMAIL });
  const answer = await send(client, "/rename", { id: idOf(device), name: "Phone" });
  assertEquals(outcome(answer), [500, "FST_AUTHJS_CONFIG_INVALID"]);
});

Deno.test("the last passkey stays if the user could not sign in any more", async () => {
  const tables = emptyTables();
  const email = Nodemailer({ server: "smtp://127.0.0.1:1", from: "a@b.example" });
  const providers = [PasskeyProvider, email] as FastifyAuthConfig["providers"];
  const { client } = await setUp(unlinkingAdapter(tables), { providers });
  const device = new SoftwareAuthenticator(ORIGIN);
  await client.register(device, { email: EMAIL });
  const removed = () => send(client, "/remove", { id: idOf(device) });
  assertEquals(outcome(await removed()), [409, "FST_AUTHJS_LAST_SIGN_IN_METHOD"]);
  assertEquals(tables.accounts.length, 1);
  // A link can be mailed to a verified address.
  for (const user of tables.users.values()) user.emailVerified = new Date();
  assertEquals((await removed()).statusCode, 200);
});

Deno.test("a link renames or removes no passkey, and only removePasskey() has an option for it", async () => {
  const { app, client } = await setUp(passkeyAdapter(emptyTables()));
  await using _app = app;
  await client.register(new SoftwareAuthenticator(ORIGIN), { email: EMAIL });
  for (const [path, isAdvised] of [["/rename", false], ["/remove", true]] as const) {
    const answer = await client.get(path, { headers: { "sec-fetch-site": "none" } });
    assertEquals(outcome(answer), [403, "FST_AUTHJS_CROSS_SITE"]);
    assertEquals(answer.json().message.includes("allowGet"), isAdvised, path);
  }
});

Deno.test("another user's passkey is none of one's own, and another site removes and renames none", async () => {
  const tables = emptyTables();
  const { app, client } = await setUp(passkeyAdapter(tables));
  const [own, another] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN)];
  await client.register(own, { email: EMAIL });
  const mallory = new WebAuthnClient(app);
  await mallory.register(another, { email: "mallory@example.com" });
  const before = structuredClone(tables.authenticators);
  for (const path of ["/rename", "/remove"]) {
    const body = { id: idOf(own), name: "mine", otherSignInMethod: true };
    assertEquals(outcome(await send(mallory, path, body)), [404, "FST_AUTHJS_NOT_FOUND"], path);
    const headers = { origin: "https://evil.example", "sec-fetch-site": "cross-site" };
    assertEquals(outcome(await send(client, path, body, headers)), [403, "FST_AUTHJS_CROSS_SITE"], path);
    const stranger = new WebAuthnClient(app);
    assertEquals(outcome(await send(stranger, path, body)), [401, "FST_AUTHJS_UNAUTHENTICATED"], path);
  }
  assertEquals([tables.authenticators, tables.accounts.length], [before, 2]);
  assertEquals((await new WebAuthnClient(app).get("/passkeys")).statusCode, 401);
});
