import { spawn } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { html } from "../../examples/demo/pages/html.ts";
import { SoftwareAuthenticator } from "../support/webauthn_authenticator.ts";
import { type RunningDemo, startDemo, type Visited, Visitor, withDataDir, withDemo } from "../support/demo.ts";

const MAIN = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));

interface Me {
  user: { id: string; name: string | null; email: string };
  provider: string;
}

async function sessionOf(visitor: Visitor, { origin }: RunningDemo): Promise<Me | null> {
  const { status, text } = await visitor.asProgram().get(`${origin}/api/me`);
  if (status === 401) return null;
  assertEquals(status, 200);
  return JSON.parse(text) as Me;
}

function signInWithPassword(visitor: Visitor, { origin }: RunningDemo, form: Record<string, string> = {}) {
  const credentials = { username: "ada", password: "lovelace", callbackUrl: "/protected", ...form };
  return visitor.submit(`${origin}/auth/callback/credentials`, credentials);
}

/** Asks for a link, opens the newest message in the inbox and gives the link in it. */
async function askForLink(visitor: Visitor, { origin }: RunningDemo, email: string): Promise<string> {
  const sent = await visitor.submit(`${origin}/auth/signin/nodemailer`, { email, callbackUrl: "/protected" });
  assertEquals(sent.url.pathname, "/auth/verify-request");
  const inbox = await visitor.get(`${origin}/inbox`);
  assertStringIncludes(inbox.text, email);
  const message = firstMatch(inbox.text, /href="(\/inbox\/\d+)"/);
  const { text } = await visitor.get(`${origin}${message}/html`);
  return firstMatch(text, /href="([^"]+)"/).replaceAll("&amp;", "&");
}

/** Sends one of the forms of the OpenID Provider's current page. */
function answer(visitor: Visitor, page: Visited, action: string, form: Record<string, string> = {}) {
  const path = firstMatch(page.text, new RegExp(`action="(/interaction/[^"/]+/${action})"`));
  return visitor.post(new URL(path, page.url), form);
}

function firstMatch(text: string, pattern: RegExp): string {
  const found = pattern.exec(text)?.[1];
  assert(found !== undefined, `${pattern} is not in:\n${text}`);
  return found;
}

Deno.test("demo: the public page needs no session", async () => {
  await withDemo(async (demo) => {
    const { status, text } = await new Visitor().get(demo.origin);
    assertEquals(status, 200);
    assertStringIncludes(text, "Sign in four ways");
    assertStringIncludes(text, 'href="/auth/signin');
  });
});

Deno.test("demo: without a session the protected page leads to signing in and the JSON route answers 401", async () => {
  await withDemo(async (demo) => {
    const visitor = new Visitor();
    const page = await visitor.get(`${demo.origin}/protected`);
    assertEquals(page.url.pathname, "/auth/signin");
    assertEquals(page.url.searchParams.get("error"), "SessionRequired");
    assertEquals(
      new URL(page.url.searchParams.get("callbackUrl") ?? "", page.url).href,
      `${demo.origin}/protected`,
    );
    assertStringIncludes(page.text, "Please sign in to access this page.");

    const { status, text } = await visitor.asProgram().get(`${demo.origin}/api/me`);
    assertEquals([status, JSON.parse(text).code], [401, "FST_AUTHJS_UNAUTHENTICATED"]);
    assertStringIncludes((await visitor.get(`${demo.origin}/session`)).text, "null");
  });
});

Deno.test("demo: a password signs in, and out again", async () => {
  await withDemo(async (demo) => {
    const visitor = new Visitor();
    const wrong = await signInWithPassword(visitor, demo, { password: "byron" });
    assertEquals(wrong.url.pathname, "/auth/signin");
    assertStringIncludes(wrong.text, "Sign in failed.");
    assertEquals(await sessionOf(visitor, demo), null);

    const page = await signInWithPassword(visitor, demo);
    assertEquals([page.status, page.url.pathname], [200, "/protected"]);
    assertStringIncludes(page.text, "Come in, Ada Lovelace.");
    const me = await sessionOf(visitor, demo);
    assertEquals([me?.user.email, me?.provider], ["ada@example.com", "credentials"]);
    const shown = await visitor.get(`${demo.origin}/session`);
    assertStringIncludes(shown.text, me!.user.id);
    assertStringIncludes(shown.text, "authjs.session-token");

    const out = await visitor.submit(`${demo.origin}/auth/signout`, { callbackUrl: "/" });
    assertEquals(out.url.pathname, "/");
    assertEquals(await sessionOf(visitor, demo), null);
    assertEquals((await visitor.get(`${demo.origin}/protected`)).url.pathname, "/auth/signin");
  });
});

Deno.test("demo: each OpenID Provider signs in, after its own sign-in and consent", async () => {
  await withDemo(async (demo) => {
    for (
      const [id, login, password, name, email] of [
        ["local", "grace", "hopper", "Grace Hopper", "grace@example.com"],
        ["work", "katherine", "johnson", "Katherine Johnson", "katherine@work.example"],
      ] as const
    ) {
      const visitor = new Visitor();
      const page = await visitor.submit(`${demo.origin}/auth/signin/${id}`, { callbackUrl: "/protected" });
      assertEquals(page.url.origin === demo.issuer, id === "local");
      const wrong = await answer(visitor, page, "login", { login, password: "lovelace" });
      assertEquals(wrong.status, 401);
      const consent = await answer(visitor, wrong, "login", { login, password });
      assertStringIncludes(consent.text, `${name}, is this all right?`);
      const arrived = await answer(visitor, consent, "consent");
      assertEquals(arrived.url.href, `${demo.origin}/protected`);
      assertStringIncludes(arrived.text, `Come in, ${name}.`);

      const me = await sessionOf(visitor, demo);
      assertEquals([me?.user.email, me?.provider], [email, id]);
      assertStringIncludes((await visitor.get(`${demo.origin}/session`)).text, `${id}: ${login}`);
    }
  });
});

Deno.test("demo: cancelling at the OpenID Provider leads back to the sign-in page, which says so", async () => {
  await withDemo(async (demo) => {
    const visitor = new Visitor();
    const login = await visitor.submit(`${demo.origin}/auth/signin/local`);
    const page = await answer(visitor, login, "cancel");
    assertEquals(page.url.origin + page.url.pathname, `${demo.origin}/auth/signin`);
    assertStringIncludes(page.text, "The sign-in was cancelled");
    assertEquals(await sessionOf(visitor, demo), null);
  });
});

Deno.test("demo: the OpenID Provider refuses a callback URL that is not the demo's", async () => {
  await withDemo(async (demo) => {
    const query = new URLSearchParams({
      client_id: "fastify-demo",
      response_type: "code",
      scope: "openid",
      redirect_uri: "http://localhost:1/auth/callback/local",
    });
    const page = await new Visitor().get(`${demo.issuer}/auth?${query}`);
    assertEquals([page.status, page.url.origin], [400, demo.issuer]);
    assertStringIncludes(page.text, "This cannot go on");
  });
});

Deno.test("demo: the OpenID Provider's pages open for the browser alone that began the sign-in", async () => {
  await withDemo(async (demo) => {
    const visitor = new Visitor();
    const login = await visitor.submit(`${demo.origin}/auth/signin/local`);
    const stranger = await new Visitor().get(login.url);
    assertEquals(stranger.status, 400);
    assertStringIncludes(stranger.text, "started in another browser");
    assertEquals((await answer(visitor, login, "login")).status, 401);
    const unreadable = await fetch(`${login.url}/login`, { method: "POST", body: "{}" });
    assertStringIncludes(await unreadable.text(), "Loopback ID");
    assertEquals(unreadable.status, 415);
  });
});

Deno.test("demo: a magic link signs in once", async () => {
  await withDemo(async (demo) => {
    const visitor = new Visitor();
    const link = await askForLink(visitor, demo, "charles@example.com");
    const page = await visitor.confirm(link);
    assertEquals(page.url.href, `${demo.origin}/protected`);
    const me = await sessionOf(visitor, demo);
    assertEquals([me?.user.email, me?.provider], ["charles@example.com", "nodemailer"]);

    const thief = new Visitor();
    const again = await thief.confirm(link);
    assertEquals(again.url.pathname, "/auth/error");
    assertStringIncludes(again.text, "This link no longer works");
    assertEquals(await sessionOf(thief, demo), null);
  });
});

/** Adds a passkey for the visitor, who is signed in. */
async function addPasskey(visitor: Visitor, { origin }: RunningDemo, device: SoftwareAuthenticator) {
  const { text } = await visitor.get(`${origin}/auth/webauthn-options/passkey?action=register`);
  const data = JSON.stringify(device.create(JSON.parse(text).options));
  const callback = { action: "register", data, callbackUrl: "/passkeys" };
  return await visitor.post(`${origin}/auth/callback/passkey`, callback);
}

async function signInWithPasskey(visitor: Visitor, { origin }: RunningDemo, device: SoftwareAuthenticator) {
  const { text } = await visitor.get(`${origin}/auth/webauthn-options/passkey?action=authenticate`);
  const data = JSON.stringify(device.get(JSON.parse(text).options));
  const callback = { action: "authenticate", data, callbackUrl: "/protected" };
  return await visitor.post(`${origin}/auth/callback/passkey`, callback);
}

Deno.test("demo: a signed-in user adds a passkey, which signs in until it is removed", async () => {
  await withDemo(async (demo) => {
    const { origin } = demo;
    const [phone, key] = [new SoftwareAuthenticator(origin, false), new SoftwareAuthenticator(origin)];
    const visitor = new Visitor();
    assertEquals((await visitor.get(`${origin}/passkeys`)).url.pathname, "/auth/signin");
    await signInWithPassword(visitor, demo);
    assertStringIncludes((await visitor.get(`${origin}/passkeys`)).text, "None yet.");
    const added = await addPasskey(visitor, demo, phone);
    assertEquals([added.status, added.url.pathname], [200, "/passkeys"]);
    const id = phone.credentials[0]!.id.toString("base64url");
    assertStringIncludes(added.text, id);
    await addPasskey(visitor, demo, key);
    const ada = await sessionOf(visitor, demo);
    assertEquals([ada?.user.name, ada?.provider], ["Ada Lovelace", "passkey"]);

    const other = new Visitor();
    for (const device of [phone, key]) {
      const page = await signInWithPasskey(other, demo, device);
      assertEquals([page.status, page.url.pathname], [200, "/protected"]);
      assertStringIncludes(page.text, "Come in, Ada Lovelace.");
      assertEquals((await sessionOf(other, demo))?.user.id, ada?.user.id);
      await other.submit(`${origin}/auth/signout`);
    }

    // A user cannot remove another's.
    const remove = (who: Visitor) => who.delete(`${origin}/passkeys?id=${encodeURIComponent(id)}`);
    const grace = new Visitor();
    assertEquals((await remove(grace.asProgram())).status, 401);
    await grace.confirm(await askForLink(grace, demo, "grace@example.com"));
    assertEquals((await remove(grace.asProgram())).status, 404);
    assertEquals((await remove(visitor)).status, 204);
    const refused = await signInWithPasskey(other, demo, phone);
    assertEquals([refused.status, refused.url.pathname], [200, "/auth/error"]);
    assertStringIncludes(refused.text, "The passkey was not accepted");
    assertEquals(await sessionOf(other, demo), null);
    assertEquals((await signInWithPasskey(other, demo, key)).url.pathname, "/protected");
  });
});

Deno.test("demo: a passkey cannot be registered under an address that was only typed", async () => {
  await withDemo(async ({ origin }) => {
    for (const email of ["ada@example.com", "unknown@example.com"]) {
      const query = new URLSearchParams({ action: "register", email });
      const { status } = await new Visitor().get(`${origin}/auth/webauthn-options/passkey?${query}`);
      assertEquals(status, 400);
    }
  });
});

Deno.test("demo: a message in the inbox can do nothing to the page that shows it", async () => {
  await withDemo(async (demo) => {
    await askForLink(new Visitor(), demo, "charles@example.com");
    const page = await fetch(`${demo.origin}/inbox/1`);
    assertMatch(await page.text(), /<iframe[^>]+sandbox="allow-popups allow-popups-to-escape-sandbox"/);
    const message = await fetch(`${demo.origin}/inbox/1/html`);
    await message.body?.cancel();
    const policy = message.headers.get("content-security-policy") ?? "";
    assertStringIncludes(policy, "sandbox allow-popups");
    assertStringIncludes(policy, "default-src 'none'");
    assertEquals((await new Visitor().get(`${demo.origin}/inbox/2`)).status, 404);
  });
});

Deno.test("demo: an error code that is none of Auth.js's is shown as no more than an error", async () => {
  await withDemo(async (demo) => {
    for (const error of ["constructor", "<script>", "x&error=y"]) {
      const page = await new Visitor().get(`${demo.origin}/auth/signin?error=${encodeURIComponent(error)}`);
      assertEquals(page.status, 200);
      assertStringIncludes(page.text, "Unable to sign in. Please try again.");
    }
  });
});

Deno.test("demo: users, sessions and the secret outlive a restart", async () => {
  await withDataDir(async (dataDir) => {
    const visitor = new Visitor();
    let me: Awaited<ReturnType<typeof sessionOf>>;
    {
      await using before = await startDemo(dataDir);
      await visitor.confirm(await askForLink(visitor, before, "charles@example.com"));
      me = await sessionOf(visitor, before);
      assertEquals(me?.user.email, "charles@example.com");
    }

    const secret = await readFile(join(dataDir, "auth_secret"), "utf8");
    assert(secret.length >= 32);
    if (process.platform !== "win32") {
      assertEquals((await stat(join(dataDir, "auth_secret"))).mode & 0o777, 0o600);
      assertEquals((await stat(dataDir)).mode & 0o777, 0o700);
    }

    await using after = await startDemo(dataDir);
    assertEquals((await sessionOf(visitor, after))?.user, me?.user);
    const other = new Visitor();
    await other.confirm(await askForLink(other, after, "charles@example.com"));
    assertEquals((await sessionOf(other, after))?.user.id, me?.user.id);
    await signInWithPassword(new Visitor(), after);
    assertEquals(await readFile(join(dataDir, "auth_secret"), "utf8"), secret);
  });
});

Deno.test("demo: each data folder gets a secret of its own", async () => {
  const secrets: string[] = [];
  for (let i = 0; i < 2; i++) {
    await withDemo(async ({ dataDir }) => {
      secrets.push(await readFile(join(dataDir, "auth_secret"), "utf8"));
    });
  }
  assertNotEquals(secrets[0], secrets[1]);
});

Deno.test("demo: html`` escapes everything but markup", () => {
  const text = `<a href="x">'&</a>`;
  assertEquals(
    html`<p title="${text}">${[text, html`<b>${1}</b>`]}${null}${false}</p>`.text,
    [
      '<p title="&lt;a href=&quot;x&quot;&gt;&#39;&amp;&lt;/a&gt;">',
      "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&lt;/a&gt;<b>1</b></p>",
    ].join(""),
  );
});

interface Program {
  readonly output: () => string;
  /** Resolves once this was printed. */
  readonly printed: (pattern: RegExp) => Promise<string>;
  readonly interrupt: () => void;
  readonly exitCode: Promise<number | null>;
}

/** Starts main.ts as a program of its own, as the task does. */
function startProgram(env: Record<string, string>): Program {
  const child = spawn(process.execPath, ["run", "-A", MAIN], { env: { ...process.env, ...env } });
  let output = "";
  let changed = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += chunk;
      changed();
    });
  }
  const exitCode = new Promise<number | null>((resolve) => child.on("close", resolve));
  const printed = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      changed = () => {
        const found = pattern.exec(output)?.[0];
        if (found) resolve(found);
      };
      changed();
      exitCode.then((code) => reject(new Error(`It ended with ${code}:\n${output}`)));
    });
  // Not child.kill(): Deno then takes the child for killed, whatever it exited with.
  const interrupt = () => void process.kill(child.pid ?? 0, "SIGINT");
  return { output: () => output, printed, interrupt, exitCode };
}

Deno.test("demo: the program says where to click, and Ctrl-C ends it at once though a browser is connected", async () => {
  await withDataDir(async (dataDir) => {
    const program = startProgram({ PORT: "0", DEMO_DATA: dataDir });
    const url = await program.printed(/http:\/\/localhost:\d+/);
    assertStringIncludes(program.output(), "ada / lovelace");
    assertStringIncludes(program.output(), `${url}/inbox`);
    const response = await fetch(url); // its connection stays open
    assertStringIncludes(await response.text(), "Sign in four ways");
    program.interrupt();
    assertEquals(await program.exitCode, 0, program.output());
    assertStringIncludes(program.output(), "The demo has ended.");
  });
});

Deno.test("demo: a port that is taken is an error which says so", async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, "localhost", resolve));
  const { port } = other.address() as AddressInfo;
  try {
    await withDataDir(async (dataDir) => {
      const program = startProgram({ PORT: String(port), DEMO_DATA: dataDir });
      assertEquals(await program.exitCode, 1);
      assertStringIncludes(program.output(), `Port ${port} is taken`);
      assertStringIncludes(program.output(), "PORT=");
      assert(!program.output().includes("    at "), "no stack trace");
    });
  } finally {
    await new Promise((resolve) => other.close(resolve));
  }
});

Deno.test("demo: a PORT that is no port, and data that cannot be kept, are errors which say so", async () => {
  await withDataDir(async (dataDir) => {
    const program = startProgram({ PORT: "http", DEMO_DATA: dataDir });
    assertEquals(await program.exitCode, 1);
    assertStringIncludes(program.output(), 'PORT is "http"');
  });
  const program = startProgram({ PORT: "0", DEMO_DATA: MAIN });
  assertEquals(await program.exitCode, 1);
  assertStringIncludes(program.output(), "The demo could not start");
});
