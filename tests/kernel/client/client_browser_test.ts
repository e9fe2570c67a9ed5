import { Buffer } from "node:buffer";
/** `fastify-authjs/client` in a browser, on another origin than the application. */
import { assert, assertEquals, assertLess, assertStringIncludes } from "@std/assert";
import cors from "@fastify/cors";
import Fastify from "fastify";
import { FastifyAuth } from "fastify-authjs";
import type { AuthClient } from "fastify-authjs/client";
import Passkey from "fastify-authjs/providers/passkey";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { Page } from "playwright-core";
import { minify } from "terser";
import { browserTest } from "../../support/browser.ts";
import { type ClientPage, compileClient, startClientPage } from "../../support/client_page.ts";
import { type RunningDemo, withDemo } from "../../support/demo.ts";
import { emptyTables, webAuthnConfig } from "../../support/webauthn.ts";
import { addAuthenticator } from "../../support/webauthn_browser.ts";

type Call = Exclude<keyof AuthClient, "onChange">;

/** Calls a function of the page's client. */
function call(page: Page, name: Call, ...args: unknown[]): Promise<unknown> {
  return page.evaluate(`auth.${name}(...${JSON.stringify(args)})`);
}

/** Opens the page, with a client of the application at `origin`. */
async function open(page: Page, elsewhere: ClientPage, origin: string): Promise<string> {
  const url = `${elsewhere.origin}/?at=${origin}`;
  await page.goto(url);
  await page.waitForFunction(`document.title === "ready"`);
  return url;
}

/** Gives a page, and the demo that trusts its origin. */
async function withDemoElsewhere(
  use: (demo: RunningDemo, elsewhere: ClientPage) => Promise<void>,
): Promise<void> {
  await using elsewhere = await startClientPage();
  await withDemo((demo) => use(demo, elsewhere), { trustedOrigins: [elsewhere.origin] });
}

async function userName(page: Page): Promise<string | undefined> {
  const session = await call(page, "getSession") as { user: { name: string } } | null;
  return session?.user.name;
}

browserTest(
  "client in a browser, from another origin: signs in with a password, reads, signs out",
  async (page) => {
    await withDemoElsewhere(async (demo, elsewhere) => {
      const url = await open(page, elsewhere, demo.origin);
      assertEquals(await call(page, "getSession"), null);
      const wrong = { fields: { username: "ada", password: "byron" } };
      assertEquals(await call(page, "signIn", "credentials", wrong), {
        ok: false,
        error: "CredentialsSignin",
        code: "credentials",
        status: 401,
      });
      assertEquals(page.url(), url);

      const right = { username: "ada", password: "lovelace" };
      assertEquals(await call(page, "signIn", "credentials", { fields: right, redirect: false }), {
        ok: true,
        url,
      });
      assertEquals(await userName(page), "Ada Lovelace");
      assertEquals(Object.keys(await call(page, "getProviders") as object), [
        "credentials",
        "local",
        "work",
        "nodemailer",
        "passkey",
      ]);
      assertEquals(await call(page, "signOut", { redirect: false }), { ok: true, url });
      assertEquals(await userName(page), undefined);

      // Where the page is to go, and that it is loaded again there.
      const home = `${elsewhere.origin}/?at=${demo.origin}&home`;
      await page.evaluate(
        `void auth.signIn("credentials", ${JSON.stringify({ fields: right, callbackUrl: home })})`,
      );
      await page.waitForURL(home);
      await page.waitForFunction(`document.title === "ready"`);
      assertEquals(await userName(page), "Ada Lovelace");
      assertEquals(elsewhere.loaded.includes("passkeys.ts"), false);
    });
  },
);

browserTest(
  "client in a browser, from another origin: a provider sends the user back to the page",
  async (page) => {
    await withDemoElsewhere(async (demo, elsewhere) => {
      const url = await open(page, elsewhere, demo.origin);
      await page.evaluate(`void auth.signIn("local")`);
      await page.getByLabel("Login").fill("grace");
      await page.getByLabel("Password").fill("hopper");
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("button", { name: "Allow" }).click();
      await page.waitForURL(url);
      await page.waitForFunction(`document.title === "ready"`);
      assertEquals(await userName(page), "Grace Hopper");
    });
  },
);

browserTest(
  "client in a browser: an origin that is not trusted learns that there is no answer",
  async (page) => {
    await using elsewhere = await startClientPage();
    await withDemo(async (demo) => {
      await open(page, elsewhere, demo.origin);
      const result = await call(page, "signIn", "credentials", { fields: {} }) as {
        error: string;
        status: number;
      };
      assertEquals([result.error, result.status], ["Unreachable", 0]);
      const refused = await page.evaluate(
        `auth.getSession().catch((error) => [error.name, error.failure.error])`,
      );
      assertEquals(refused, ["AuthClientError", "Unreachable"]);
    });
  },
);

browserTest(
  "client in a browser, from another origin: makes a passkey and signs in with it",
  async (page) => {
    await using elsewhere = await startClientPage();
    const relayingParty = { id: "localhost", name: "Test", origin: elsewhere.origin };
    const tables = emptyTables();
    const { origin: _none, ...config } = webAuthnConfig(tables, {
      trustHost: true,
      trustedOrigins: [elsewhere.origin],
      providers: [Passkey({ relayingParty })],
      callbacks: { redirect: ({ url }) => url },
    });
    await using app = Fastify({ forceCloseConnections: true });
    await app.register(cors, { origin: elsewhere.origin, credentials: true });
    await app.register(FastifyAuth(config), { prefix: "/auth" });
    await app.listen({ port: 0, host: "localhost" });
    const { port } = app.server.address() as AddressInfo;
    const url = await open(page, elsewhere, `http://localhost:${port}`);
    const email = async () => {
      const session = await call(page, "getSession") as { user: { email: string } } | null;
      return session?.user.email;
    };

    const fields = { email: "ada@example.com" };
    const authenticator = await addAuthenticator(page);
    assertEquals(await call(page, "registerPasskey", { fields, redirect: false }), { ok: true, url });
    assertEquals([await email(), tables.authenticators.size], ["ada@example.com", 1]);
    assert(elsewhere.loaded.includes("passkeys.ts"));
    // The device has one already.
    const second = await call(page, "registerPasskey", { redirect: false }) as { error: string };
    assertEquals(second.error, "InvalidStateError");

    await call(page, "signOut", { redirect: false });
    assertEquals(await email(), undefined);
    assertEquals(await call(page, "signIn", "passkey", { redirect: false }), { ok: true, url });
    assertEquals(await email(), "ada@example.com");

    await call(page, "signOut", { redirect: false });
    const offered = { mediation: "conditional", redirect: false };
    assertEquals(await call(page, "signIn", "passkey", offered), { ok: true, url });
    assertEquals(await email(), "ada@example.com");

    // Removed on the server.
    tables.authenticators.clear();
    await call(page, "signOut", { redirect: false });
    const refused = await call(page, "signIn", "passkey", { redirect: false }) as {
      error: string;
      status: number;
    };
    assertEquals([refused.error, refused.status], ["WebAuthnVerificationError", 401]);
    // The browser offers it no more.
    assertEquals(await authenticator.credentials(), []);

    // One is removed that a new user registered, and then one that a signed-in user did.
    const registered = { fields: { email: "grace@example.com" }, redirect: false };
    assertEquals(await call(page, "registerPasskey", registered), { ok: true, url });
    const [first] = await authenticator.credentials();
    tables.authenticators.clear();
    const removed = Buffer.from(first!.credentialId, "base64").toString("base64url");
    await call(page, "signalPasskeys", { removed });
    assertEquals(await authenticator.credentials(), []);
    assertEquals(await call(page, "registerPasskey", { redirect: false }), { ok: true, url });
    await call(page, "signalPasskeys");
    assertEquals((await authenticator.credentials()).length, 1);
    tables.authenticators.clear();
    await call(page, "signalPasskeys");
    assertEquals(await authenticator.credentials(), []);
    await authenticator.remove();
  },
);

browserTest(
  "client in a browser: what cannot be loaded or opened is a result",
  async (page) => {
    await using elsewhere = await startClientPage();
    await open(page, elsewhere, elsewhere.origin);
    await page.route("**/client/passkeys.ts", (route) => route.abort());
    await page.route("**/webauthn-options/**", (route) => route.fulfill({ json: {} }));
    const result = await call(page, "registerPasskey") as { error: string; status: number };
    assertEquals([result.error, result.status], ["Unreachable", 0]);

    await page.route("**/auth/csrf", (route) => route.fulfill({ json: { csrfToken: "a" } }));
    await page.route("**/auth/signout", (route) => route.fulfill({ json: { url: "http://[" } }));
    assertEquals((await call(page, "signOut") as { error: string }).error, "Configuration");
  },
);

Deno.test("the client is less than 3 KB, passkeys included", async () => {
  const files: Record<string, string> = {};
  for (const name of ["mod.ts", "client.ts", "passkeys.ts"]) files[name] = await compileClient(name);
  const sizes = await Promise.all(
    Object.values(files).map(async (code) => {
      const { code: small } = await minify(code, { module: true });
      return gzipSync(small!).length;
    }),
  );
  const size = sizes.reduce((sum, size) => sum + size);
  assertLess(size, 3 * 1024);
  // The documentation says how large it is.
  const documented = await readFile(new URL("../../../docs/client.md", import.meta.url), "utf8");
  assertStringIncludes(documented, `${(size / 1024).toFixed(1)} KB (gzipped)`);
  // No module of another package.
  const imported = Object.values(files).join("\n").matchAll(/(?:from|import\()\s*"([^"]+)"/g);
  assertEquals([...imported].map(([, specifier]) => specifier), ["./client.ts", "./passkeys.ts"]);
});
