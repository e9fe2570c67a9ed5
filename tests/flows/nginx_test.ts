/** The example of nginx: each of its servers in front of the application that it is for, over TLS. */
import { assert, assertEquals } from "@std/assert";
import { readFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { build, SETTINGS } from "../../examples/nginx/app.ts";
import { captureLog } from "../support/app.ts";
import type { Client } from "../support/client.ts";
import { withEnvironment } from "../support/environment.ts";
import { browserOver, ENVIRONMENT } from "../support/examples.ts";
import { overHttp, type Send } from "../support/http_transport.ts";
import { nginxTest, startNginx } from "../support/nginx.ts";

const { AUTH_SECRET } = ENVIRONMENT;
const ADA = { username: "ada", password: "lovelace" };

/** The servers of nginx.conf: the port of its application, its host, and the path that users see before all others. */
const SERVERS = [
  [3001, "fixed.example", ""],
  [3002, "forwarded.example", ""],
  [3002, "tenant.forwarded.example", ""],
  [3003, "host.example", ""],
  [3004, "kept.example", "/app"],
  [3005, "removed.example", "/app"],
] as const;

for (const [port, host, base] of SERVERS) {
  nginxTest(
    `nginx: a user signs in, reads and signs out at ${host}${base}`,
    () =>
      withEnvironment({ AUTH_SECRET }, async () => {
        // A session as large as it may get
        const jwt = ({ token }: { token: object }) => ({ ...token, roles: "a".repeat(4500) });
        const { logger, lines } = captureLog();
        await using app = await build(SETTINGS[port]!, { callbacks: { jwt } }, logger);
        await app.listen({ port: 0, host: "127.0.0.1" });
        const upstream = (app.server.address() as AddressInfo).port;
        const file = await readFile(new URL("../../examples/nginx/nginx.conf", import.meta.url), "utf8");
        await using nginx = await startNginx(file.replace(`127.0.0.1:${port}`, `127.0.0.1:${upstream}`), [
          host,
        ]);

        const over = overHttp(nginx.origin);
        const send: Send = (request) => over({ ...request, url: base + request.url });
        const client = browserOver(send, {
          host,
          "x-forwarded-host": "evil.example",
          "x-forwarded-proto": "http",
        });
        await signInReadSignOut(client, `https://${host}${base}`);
        const alarms = lines.filter(({ level, code }) => level >= 40 && code === "FST_AUTHJS_WARN_ORIGIN");
        assertEquals(alarms.map(({ msg }) => msg), []);
      }),
  );
}

async function signInReadSignOut(client: Client, address: string): Promise<void> {
  const read = async () => {
    const answer = await client.get("/me");
    return answer.statusCode === 200 ? answer.json<{ name: string }>().name : answer.statusCode;
  };
  assertEquals(await read(), 401);
  const page = await client.get("/me", { headers: { accept: "text/html" } });
  const { pathname, searchParams } = new URL(String(page.headers.location), address);
  const base = new URL(address).pathname.replace(/\/$/, "");
  assertEquals([pathname, searchParams.get("callbackUrl")], [`${base}/auth/signin`, `${base}/me`]);

  const providers = await client.get("/auth/providers");
  assertEquals(
    providers.json().credentials.callbackUrl,
    `${address}/auth/callback/credentials`,
    "what is registered at a provider",
  );
  const answer = await client.signIn({ ...ADA, callbackUrl: `${address}/me` });
  assertEquals([answer.statusCode, answer.headers.location], [302, `${address}/me`]);
  assert([...client.cookies.keys()].some((name) => name.startsWith("__Secure-authjs.session-token")));
  assertEquals(await read(), "Ada");
  assertEquals((await client.signOut()).statusCode, 302);
  assertEquals(await read(), 401);
}
