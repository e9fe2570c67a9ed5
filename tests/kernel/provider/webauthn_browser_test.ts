import { assert, assertEquals } from "@std/assert";
import type { FastifyAuthConfig } from "fastify-authjs";
import Fastify from "fastify";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { browserTest } from "../../support/browser.ts";
import { emptyTables, PROVIDERS, webAuthnConfig, type WebAuthnTables } from "../../support/webauthn.ts";
import { addAuthenticator, holdOffers } from "../../support/webauthn_browser.ts";
import { addPage, type Ceremony, goThrough, type Outcome, type Site, withSite } from "../../support/webauthn_page.ts";

const EMAIL = "ada@example.com";

interface Scene extends Site {
  readonly page: Page;
  readonly tables: WebAuthnTables;
  /** Goes through a ceremony on this site's page. */
  run(ceremony?: Ceremony): Promise<Outcome>;
  /** Who is signed in. */
  user(): Promise<string | undefined>;
  signOut(): Promise<void>;
}

/** A site and a window on it. */
async function withScene(
  page: Page,
  config: Partial<FastifyAuthConfig>,
  use: (scene: Scene) => Promise<void>,
) {
  const tables = emptyTables();
  const { origin: _none, ...settings } = webAuthnConfig(tables, { trustHost: true, ...config });
  await withSite(settings, async (site) => {
    const user = async () => {
      const { session } = await page.evaluate(`fetch("/me").then((response) => response.json())`) as {
        session: { user: { email: string } } | null;
      };
      return session?.user.email;
    };
    await page.goto(site.origin);
    await use({
      ...site,
      page,
      tables,
      run: (ceremony) => goThrough(page, ceremony),
      user,
      // Another browser, as far as the server can tell.
      signOut: () => page.context().clearCookies(),
    });
  });
}

const refusal = ({ origin }: Site) => `${origin}/auth/error?error=WebAuthnVerificationError`;

for (const [provider, factory] of Object.entries(PROVIDERS)) {
  for (const strategy of ["jwt", "database"] as const) {
    browserTest(
      `${provider} in a browser, ${strategy} sessions: registers, signs in, and adds a second device`,
      async (page) => {
        await withScene(page, { providers: [factory], session: { strategy } }, async (scene) => {
          const { origin, tables, run, user, signOut } = scene;
          const built_in = await addAuthenticator(page);
          const registered = await run({ provider, action: "register", email: EMAIL });
          assertEquals([registered.url, await user()], [origin, EMAIL]);
          await signOut();
          assertEquals(await user(), undefined);
          // Without an address: the authenticator knows whose it is.
          assertEquals([(await run({ provider })).url, await user()], [origin, EMAIL]);

          // The device that has one is told apart, the other may.
          const again = await run({ provider, action: "register" });
          assertEquals(again.refused, "InvalidStateError");
          await built_in.remove();
          const key = await addAuthenticator(page, "usb");
          assertEquals((await run({ provider, action: "register" })).url, origin);
          assertEquals([tables.users.size, tables.authenticators.size], [1, 2]);
          await signOut();
          assertEquals([(await run({ provider, email: EMAIL })).url, await user()], [origin, EMAIL]);
          const [credential] = await key.credentials();
          assertEquals(tables.authenticators.get(credential!.credentialId)?.counter, credential?.signCount);
          assertEquals(tables.authenticators.get(credential!.credentialId)?.transports, "usb");
        });
      },
    );
  }
}

browserTest("passkeys in a browser: the field for user names offers them (conditional UI)", async (page) => {
  await withScene(page, {}, async ({ origin, run, user, signOut }) => {
    await addAuthenticator(page);
    await run({ action: "register", email: EMAIL });
    await signOut();
    assert(await page.evaluate("PublicKeyCredential.isConditionalMediationAvailable()"));
    assertEquals([(await run({ autofill: true })).url, await user()], [origin, EMAIL]);
  });
});

/** Makes the ceremonies of a page end when the test says so. */
const CEREMONIES = `
  const pending = globalThis.ceremonies = [];
  let told = () => {};
  globalThis.begun = async (count) => {
    let late = false;
    setTimeout(() => told(late = true), 100_000);
    while (pending.length < count && !late) await new Promise((resolve) => told = resolve);
    return pending.map(({ mediation, ended }) => mediation + (ended ? " ended" : ""));
  };
  const { credentials } = navigator;
  credentials.get = credentials.create = ({ mediation = "dialogue", signal }) => new Promise((_, reject) => {
    const begun = { mediation, ended: false };
    begun.cancel = () => {
      begun.ended = true;
      reject(new DOMException("by the user", "NotAllowedError"));
    };
    signal?.addEventListener("abort", () => {
      begun.ended = true;
      reject(signal.reason);
    });
    pending.push(begun);
    told();
  });
  PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(true);
`;

browserTest(
  "passkeys in a browser: the button needs no offer, which a click ends before its options are there",
  async (page) => {
    await withScene(page, {}, async ({ origin }) => {
      await page.addInitScript(CEREMONIES);
      let options = 0;
      await page.route(/webauthn-options/, (route) => options++ === 0 ? undefined : route.continue());
      const offered = page.waitForRequest(/webauthn-options/);
      await page.goto(`${origin}/auth/signin`);
      await page.fill("input[name=email]", EMAIL);
      await offered;
      await page.click("form[data-passkey] button");
      assertEquals([await page.evaluate("begun(1)"), options], [["dialogue"], 2]);
    });
  },
);

browserTest(
  "passkeys in a browser: the field offers them again after a dialogue was cancelled",
  async (page) => {
    await withScene(page, {}, async ({ origin }) => {
      await page.addInitScript(CEREMONIES);
      const begun = async (count: number) => await page.evaluate(`begun(${count})`) as string[];
      const cancelLast = () => page.evaluate("void ceremonies.at(-1).cancel()");
      await page.goto(`${origin}/auth/signin`);
      await page.fill("input[name=email]", EMAIL);
      assertEquals(await begun(1), ["conditional"]);
      await page.click("form[data-passkey] button");
      assertEquals(await begun(2), ["conditional ended", "dialogue"]);
      await cancelLast();
      assertEquals((await begun(3)).slice(1), ["dialogue ended", "conditional"]);
      // A passkey is picked in the field, and its dialogue cancelled.
      await page.evaluate(
        "(() => { const now = performance.now(); performance.now = () => now + 60_000; })()",
      );
      await cancelLast();
      assertEquals((await begun(4)).slice(2), ["conditional ended", "conditional"]);
      // What a browser ends at once is not asked for again.
      await cancelLast();
      await page.click("form[data-passkey] button");
      assertEquals((await begun(5)).slice(3), ["conditional ended", "dialogue"]);
    });
  },
);

browserTest("passkeys in a browser: an answer that was given is not accepted again", async (page) => {
  await withScene(page, {}, async (scene) => {
    const { run, user, signOut } = scene;
    await addAuthenticator(page);
    await run({ action: "register", email: EMAIL });
    await signOut();
    const { credential } = await run();
    await signOut();
    // To the challenge of another sign-in, and with the one it answered gone from the browser.
    assertEquals((await run({ replay: credential! })).url, refusal(scene));
    assertEquals(await user(), undefined);
  });
});

browserTest("passkeys in a browser: a cloned authenticator is found out", async (page) => {
  await withScene(page, {}, async (scene) => {
    const { origin, run, user, signOut } = scene;
    const device = await addAuthenticator(page);
    await run({ action: "register", email: EMAIL });
    const [copied] = await device.credentials();
    await signOut();
    assertEquals((await run()).url, origin);
    await signOut();

    await device.remove();
    const clone = await addAuthenticator(page);
    await clone.take(copied!);
    assertEquals((await run()).url, refusal(scene));
    assertEquals(await user(), undefined);
  });
});

browserTest(
  "passkeys in a browser: an authenticator that was removed on the server cannot sign in",
  async (page) => {
    await withScene(page, {}, async (scene) => {
      const { tables, run, user, signOut } = scene;
      const device = await addAuthenticator(page);
      await run({ action: "register", email: EMAIL });
      await signOut();
      tables.authenticators.clear();
      assertEquals((await run()).url, `${refusal(scene)}&code=unknown_passkey`);
      assertEquals(await user(), undefined);
      // From the built-in page the browser learns that it is to offer it no more.
      await page.goto(`${scene.origin}/auth/signin`);
      await page.focus("input[name=email]");
      await page.getByRole("heading", { name: "The passkey was not accepted" }).waitFor();
      for (let i = 0; i < 50 && (await device.credentials()).length > 0; i++) await page.waitForTimeout(100);
      assertEquals(await device.credentials(), []);
      assertEquals(await page.evaluate("sessionStorage.length"), 0);
    });
  },
);

browserTest("passkeys in a browser: the browser lets no page ask for another relying party", async (page) => {
  await withScene(page, {}, async ({ run, user, signOut, tables }) => {
    await addAuthenticator(page);
    const rp = { id: "evil.example", name: "Evil" };
    const elsewhere = await run({ action: "register", email: EMAIL, options: { rp } });
    assertEquals(elsewhere.refused, "SecurityError");
    await run({ action: "register", email: EMAIL });
    await signOut();
    assertEquals((await run({ options: { rpId: "evil.example" } })).refused, "SecurityError");
    assertEquals([await user(), tables.authenticators.size], [undefined, 1]);
  });
});

browserTest(
  "passkeys in a browser: what was signed on another port is refused, though the browser signs there",
  async (page) => {
    await withScene(page, {}, async (scene) => {
      const { origin, run, user, signOut } = scene;
      await addAuthenticator(page);
      await run({ action: "register", email: EMAIL });
      await signOut();

      // A page of the same host that asks this server for options, and hands it what it got signed.
      await using mirror = Fastify({ forceCloseConnections: true });
      await addPage(mirror);
      mirror.addContentTypeParser(
        "application/json",
        { parseAs: "string" },
        (_request, body, done) => done(null, body),
      );
      mirror.all("/auth/*", async (request, reply) => {
        const { cookie = "", "content-type": type } = request.headers;
        const response = await fetch(`${origin}${request.url}`, {
          method: request.method,
          redirect: "manual",
          headers: { cookie, "x-auth-return-redirect": "1", ...(type && { "content-type": type }) },
          ...(request.method === "POST" && { body: request.body as string }),
        });
        for (const line of response.headers.getSetCookie()) reply.header("set-cookie", line);
        return reply.code(response.status).type("application/json").send(await response.text());
      });
      await mirror.listen({ port: 0, host: "localhost" });
      await page.goto(`http://localhost:${(mirror.server.address() as AddressInfo).port}`);
      const outcome = await goThrough(page);
      assert(outcome.credential, JSON.stringify(outcome));
      assertEquals(outcome.url, refusal(scene));
      await page.goto(origin);
      assertEquals(await user(), undefined);
      assertEquals((await run()).url, origin);
    });
  },
);

browserTest("passkeys in a browser: an address of numbers is no place for them", async (page) => {
  await withScene(page, {}, async ({ origin }) => {
    await addAuthenticator(page);
    await page.goto(origin.replace("localhost", "127.0.0.1"));
    const outcome = await goThrough(page, { action: "register", email: EMAIL });
    assertEquals(outcome.refused, "SecurityError");
  });
});

browserTest(
  "passkeys in a browser: the field offers them when it is used, and on a page that stays open with a new challenge",
  async (page) => {
    await withScene(page, {}, async ({ origin, run, user, signOut }) => {
      await addAuthenticator(page);
      await run({ action: "register", email: EMAIL });
      await signOut();
      const takeUp = await holdOffers(page);
      await page.clock.install();
      const challenges: string[] = [];
      await page.route(/webauthn-options/, async (route) => {
        const response = await route.fetch();
        challenges.push((await response.json()).options.challenge);
        await route.fulfill({ response });
      });
      const options = () => page.waitForResponse(/webauthn-options/);
      await page.goto(`${origin}/auth/signin?callbackUrl=%2F%3Fhome`, { waitUntil: "networkidle" });
      await page.clock.fastForward("20:00");
      assertEquals(challenges.length, 0);
      await Promise.all([options(), page.focus("input[name=email]")]);
      await page.clock.fastForward("09:00");
      assertEquals(challenges.length, 1);
      await takeUp();
      await Promise.all([options(), page.clock.fastForward("02:00")]);
      assertEquals(new Set(challenges).size, 2);
      await page.waitForURL(`${origin}/?home`);
      assertEquals(await user(), EMAIL);
    });
  },
);

browserTest(
  "passkeys in a browser: the sign-in button creates no user, the other one says that it does",
  async (page) => {
    await withScene(page, {}, async ({ origin, user, tables }) => {
      await addAuthenticator(page);
      await page.goto(`${origin}/auth/signin?callbackUrl=%2F`);
      await page.fill("input[name=email]", EMAIL);
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await page.getByRole("status").getByText("No passkey was used.").waitFor();
      assertEquals(tables.users.size, 0);
      await page.getByRole("button", { name: "Create an account with a passkey" }).click();
      await page.waitForURL(`${origin}/`);
      assertEquals([await user(), tables.users.size], [EMAIL, 1]);
    });
  },
);
