/** The demo on PostgreSQL: every sign-in method, and two processes that share a database. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import { execFile } from "node:child_process";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { openPostgres, serverUrl } from "../support/databases.ts";
import { type RunningDemo, startDemo, Visitor, withDataDir } from "../support/demo.ts";

const MAIN = fileURLToPath(new URL("../../examples/demo/main.ts", import.meta.url));

async function emailOf(visitor: Visitor, { origin }: RunningDemo): Promise<string | null> {
  const { text } = await visitor.get(`${origin}/api/me`);
  // Without a session a browser is redirected to the sign-in page.
  return text.includes("<h1>Sign in") ? null : JSON.parse(text).user.email;
}

function signIn(visitor: Visitor, { origin }: RunningDemo) {
  return visitor.submit(`${origin}/auth/callback/credentials`, { username: "ada", password: "lovelace" });
}

const url = serverUrl("TEST_POSTGRES_URL", "the demo on PostgreSQL");
if (url) {
  Deno.test("demo: on PostgreSQL, two of it start at once and share users and sessions", async () => {
    await using database = await openPostgres(url, "");
    const { place, count } = database;
    await withDataDir(async (dataDir) => {
      const demos = await Promise.all([startDemo(dataDir, place), startDemo(dataDir, place)]);
      const [one, other] = demos as [RunningDemo, RunningDemo];
      try {
        assertEquals(await count("user"), 1);

        // The visitor's cookies reach both: they are on one host.
        const visitor = new Visitor();
        await signIn(visitor, one);
        assertEquals(await emailOf(visitor, other), "ada@example.com");
        assertStringIncludes((await visitor.get(`${other.origin}/session`)).text, "Ada Lovelace");
        await visitor.submit(`${other.origin}/auth/signout`);
        assertEquals(await emailOf(visitor, one), null);

        const friend = new Visitor();
        await friend.submit(`${one.origin}/auth/signin/nodemailer`, { email: "bob@example.com" });
        const inbox = await friend.get(`${one.origin}/inbox`);
        const message = await friend.get(
          `${one.origin}${inbox.text.match(/href="(\/inbox\/\d+)"/)![1]}/html`,
        );
        const link = message.text.match(/href="([^"]+)"/)![1]!.replaceAll("&amp;", "&");
        // Mailed by one, followed at the other.
        await friend.confirm(link.replace(one.origin, other.origin));
        assertEquals(await emailOf(friend, one), "bob@example.com");
        assertEquals([await count("user"), await count("verificationToken")], [2, 0]);
      } finally {
        for (const demo of demos) await demo[Symbol.asyncDispose]();
      }
    });
  });
}

/** Starts the program, which is to end by itself; gives its exit code and what it said. */
function runDemo(databaseUrl: string): Promise<{ code: number; said: string }> {
  const env = { ...process.env, PORT: "0", DATABASE_URL: databaseUrl };
  return new Promise((resolve) => {
    execFile(process.execPath, ["run", "-A", MAIN], { env }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), said: stdout + stderr });
    });
  });
}

Deno.test("demo: a DATABASE_URL that is no PostgreSQL, or where none answers, is named without its password", async () => {
  const wrong = await runDemo("mysql://demo:secret-word@localhost/demo");
  assertEquals(wrong.code, 1);
  assertStringIncludes(wrong.said, "DATABASE_URL must begin with postgres://");
  const gone = await runDemo("postgres://demo:secret-word@127.0.0.1:1/demo");
  assertEquals(gone.code, 1);
  assertStringIncludes(gone.said, "There is no answer from PostgreSQL at 127.0.0.1:1/demo");
  for (const { said } of [wrong, gone]) assertEquals(said.includes("secret-word"), false);
});
