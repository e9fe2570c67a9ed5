/** Database drivers whose server is gone or does not answer: every request is answered in time, and no session is lost. */
import { assert, assertEquals, assertFalse } from "@std/assert";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { Adapter } from "@auth/core/adapters";
import { DrizzleAdapter } from "@auth/drizzle-adapter";
import PostgresAdapter from "@auth/pg-adapter";
import { UnstorageAdapter } from "@auth/unstorage-adapter";
import { drizzle } from "drizzle-orm/node-postgres";
import type { Redis } from "ioredis";
// Before unstorage's driver, which looks for it.
import "ioredis";
import pg from "pg";
import { createStorage } from "unstorage";
import redisDriver from "unstorage/drivers/redis";
import { captureLog, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { identityProvider, signInAs } from "../../support/identity.ts";

/** A server that takes connections and says nothing, or a port where there is none. */
async function withServer(answers: boolean, run: (port: number) => Promise<void>): Promise<void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  };
  if (!answers) await close();
  try {
    await run(port);
  } finally {
    if (answers) await close();
  }
}

/** An adapter whose server is at a port. */
type Connect = (port: number) => { adapter: Adapter; close: () => Promise<unknown> };

function connectPg(port: number) {
  const pool = new pg.Pool({ host: "127.0.0.1", port, user: "test", database: "none" });
  pool.on("error", () => {});
  return pool;
}

const DRIVERS: Record<string, Connect> = {
  "@auth/drizzle-adapter on PostgreSQL": (port) => {
    const pool = connectPg(port);
    return { adapter: DrizzleAdapter(drizzle(pool)), close: () => pool.end() };
  },
  "@auth/pg-adapter on PostgreSQL": (port) => {
    const pool = connectPg(port);
    return { adapter: PostgresAdapter(pool), close: () => pool.end() };
  },
  "@auth/unstorage-adapter on Redis": (port) => {
    const driver = redisDriver({ host: "127.0.0.1", port });
    const redis = driver.getInstance!() as Redis;
    redis.on("error", () => {});
    return {
      adapter: UnstorageAdapter(createStorage({ driver })) as Adapter,
      close: () => Promise.resolve(redis.disconnect()),
    };
  },
};

for (const [name, connect] of Object.entries(DRIVERS)) {
  for (const answers of [false, true]) {
    const what = answers ? "says nothing" : "is gone";
    Deno.test(`${name}: where the server ${what}, requests are answered and the cookie is kept`, () =>
      withServer(answers, async (port) => {
        const { adapter, close } = connect(port);
        const { logger, lines: log } = captureLog();
        const providers = [identityProvider("one")];
        const app = await testApp(testConfig({ adapter, providers, adapterTimeout: 200 }), { logger });
        const client = new Client(app);
        const token = "0f8fad5b-d9cb-469f-a165-70867728950e";
        client.cookies.set("authjs.session-token", token);
        try {
          const [route, session] = await Promise.all([client.get("/me"), client.get("/auth/session")]);
          assertEquals([route.statusCode, route.body], [200, '{"session":null}']);
          assertEquals([session.statusCode, session.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
          assertEquals(session.json().message, "The database did not answer. Try again in a moment.");
          assertEquals(client.cookies.get("authjs.session-token"), token);

          const callback = await signInAs(client, "one", { id: "ada", email: "ada@example.com" });
          assertEquals([callback.statusCode, callback.json().code], [503, "FST_AUTHJS_UNAVAILABLE"]);
          assertEquals(client.cookies.get("authjs.session-token"), token);

          const signOut = await client.signOut();
          assertEquals(signOut.statusCode, 503);
          assertFalse(client.cookies.has("authjs.session-token"));
          assert(log.some(({ level }) => level === 50));
          assertFalse(JSON.stringify(log).includes(token));
        } finally {
          await app.close();
          // What still waits for a connection gets none.
          await Promise.race([close(), new Promise((resolve) => setTimeout(resolve, 500))]);
        }
      }));
  }
}
