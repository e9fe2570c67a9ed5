/**
 * A reply that fails does not end the process: an error that Fastify throws while it sends one never becomes an
 * unhandled rejection.
 * Over real sockets, in a process of its own, compared with Fastify without the plugin.
 *
 * What of ours runs where a throw or a rejection could end the process, and why it does not:
 *
 * - `onSend` of `writeBack()`: goes on at once, or, after waiting for a read, hands what `done` throws back to Fastify.
 * - `onRequest` and `onSend` of the auth routes: synchronous, so that Fastify catches what they throw. For a page that is
 *   made while the reply is sent, `onSend` waits, and hands what `done` throws back to Fastify.
 * - `requireSession()`: its promise is Fastify's to wait for.
 * - The parsers of bodies call back once, outside of every `try` and promise of ours.
 * - A read that no hook or handler waits for (a WebSocket, a client that went away): its rejection is handled.
 * - `withDeadline()`: `Promise.race` handles what comes too late, of adapters and of providers.
 * - Discovery documents, refreshes in progress (`Refreshes.run()`) and the sending of sign-in links: each has a handler from
 *   the start, besides the requests that wait for it.
 * - `events.*` and callbacks are awaited within a `try`.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { encode } from "@auth/core/jwt";
import { hash } from "node:crypto";
import { request } from "node:http";
import { SECRET } from "../support/app.ts";
import { type ChildApp, startChildApp, stopChildApp } from "../support/child_app.ts";
import { FAILURES, READS } from "../support/failing_replies.ts";

const NAME = "authjs.session-token";
const startApp = (env?: Record<string, string>) => startChildApp("./failing_replies_process.ts", env);

/** The status and the body, or what became of the connection. */
function get(
  { port }: ChildApp,
  path: string,
  headers: Record<string, string>,
  form?: Record<string, string>,
): Promise<string> {
  return new Promise((resolve) => {
    const method = form === undefined ? "GET" : "POST";
    const sent = request({ host: "127.0.0.1", port, path, headers, method, agent: false });
    sent.on("error", ({ code }: Error & { code?: string }) => resolve(`${code}`));
    sent.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk) => text += chunk);
      response.on("error", () => {});
      response.on("close", () => resolve(`${response.statusCode} ${text}`));
    });
    sent.end(form && String(new URLSearchParams(form)));
  });
}

Deno.test("a reply that cannot be sent is answered as without the plugin, and the process lives", async () => {
  const token = await encode({ token: { name: "ada" }, secret: SECRET, salt: NAME });
  const cookie = `${NAME}=${token}`;
  const bare = await startApp({ BARE: "1" });
  const app = await startApp();
  try {
    for (const scope of ["plain", "hooked"]) {
      for (const how of READS) {
        for (const failure of FAILURES) {
          const path = `/${scope}/${how}/${failure}`;
          const [expected, actual] = [await get(bare, path, { cookie }), await get(app, path, { cookie })];
          assertEquals(actual, expected, path);
          assertEquals(await get(app, "/alive", {}), "200 yes", `${path} ended the process`);
        }
      }
    }
  } finally {
    await Promise.all([stopChildApp(bare), stopChildApp(app)]);
  }
});

Deno.test("an auth reply that a hook of the application spoils is an error, and the process lives", async () => {
  const app = await startApp();
  try {
    // Some releases of Deno write the header that Node refuses: there only the process is looked at
    const refused = (await get(app, "/alive", { "x-break": "1" })).startsWith("500");
    for (
      const path of ["csrf", "session", "signin", "signout", "providers", "error", "callback/none", "nowhere"]
    ) {
      const answer = await get(app, `/auth/${path}`, { "x-break": "1" });
      if (refused) assertMatch(answer, /^(?:500|404) /, path);
      assertEquals(await get(app, "/alive", {}), "200 yes", `${path} ended the process`);
    }
    // The page in place of a redirect that a policy blocks is sent later than the hook runs.
    const token = "a".repeat(64);
    const cookie = `authjs.csrf-token=${token}|${hash("sha256", token + SECRET)}`;
    const form = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" };
    const headers = { ...form, cookie, "x-policy": "1" };
    const begin = (broken: Record<string, string>) =>
      get(app, "/auth/signin/elsewhere", { ...headers, ...broken }, { csrfToken: token });
    assertMatch(await begin({}), /^200 .*https:\/\/provider\.example/s);
    const answer = await begin({ "x-break": "1" });
    if (refused) assertMatch(answer, /^500 /);
    assertEquals(await get(app, "/alive", {}), "200 yes", "the page ended the process");
  } finally {
    await stopChildApp(app);
  }
});
