/**
 * A `jwt` callback that refreshes at a provider which takes each refresh token once and punishes the second use: with a real
 * `oidc-provider`, over sockets, in one process and in two.
 */
import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { decode, encode } from "@auth/core/jwt";
import { type ChildProcess, spawn } from "node:child_process";
import { Buffer } from "node:buffer";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { FastifyAuthConfig } from "fastify-authjs";
import { Redis } from "ioredis";
import { SECRET, testApp, testConfig } from "../../support/app.ts";
import { Client } from "../../support/client.ts";
import { serverUrl } from "../../support/databases.ts";
import { deferred } from "../../support/deferred.ts";
import { denoFlags } from "../../support/deno_flags.ts";
import { locationOf, oauthApp, pathOf, startSignIn } from "../../support/oauth_client.ts";
import { type OpenIdProvider, ProviderBrowser, startOpenIdProvider } from "../../support/openid_provider.ts";
import { refreshingCallbacks } from "../../support/refreshing.ts";

const NAME = "authjs.session-token";
const CLIENT_SECRET = "a-client-secret";

interface Signed {
  readonly provider: OpenIdProvider;
  /** Where the application listens. */
  readonly port: number;
  /** The session cookie, with an access token that has expired. */
  readonly cookie: string;
  /** How often the callback went to the token endpoint. */
  readonly refreshes: () => number;
}

/** Signs Ada in at a provider that rotates refresh tokens. */
async function withSignedIn(
  run: (signed: Signed) => Promise<void>,
  overrides: Partial<FastifyAuthConfig> = {},
): Promise<void> {
  await using provider = await startOpenIdProvider([{
    client_id: "client",
    client_secret: CLIENT_SECRET,
    redirect_uris: ["http://localhost/auth/callback/op"],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "client_secret_post",
  }], { rotateRefreshToken: true, scopes: ["openid", "offline_access"] });
  let refreshes = 0;
  const onRefresh = () => void refreshes++;
  const { issuer } = provider;
  const callbacks = refreshingCallbacks({ issuer, client: "client", secret: CLIENT_SECRET, onRefresh });
  const { app, browser } = await oauthApp({
    issuer,
    clientSecret: CLIENT_SECRET,
    client: { token_endpoint_auth_method: "client_secret_post" },
  }, { callbacks, ...overrides });
  await using _app = app;
  const client = browser();
  const { url } = await new ProviderBrowser().visit(locationOf(await startSignIn(client)));
  await client.get(pathOf(url));
  assertEquals(refreshes, 0);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  await run({ provider, port, cookie: client.cookies.get(NAME)!, refreshes: () => refreshes });
}

interface Answer {
  session: { user: { name: string }; accessToken: string; error?: string } | null;
  /** The session cookie it sets. */
  cookie: string | undefined;
}

/** One request over a connection of its own. */
async function me(port: number, cookie: string): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${port}/me`, {
    headers: { cookie: `${NAME}=${cookie}`, connection: "close" },
  });
  const { session } = await response.json();
  const line = response.headers.getSetCookie().find((line) => line.startsWith(`${NAME}=`));
  return { session, cookie: line?.slice(NAME.length + 1).split(";")[0] };
}

const atOnce = (length: number, ports: readonly number[], cookie: string) =>
  Promise.all(Array.from({ length }, (_, i) => me(ports[i % ports.length]!, cookie)));

const tenAtOnce = (ports: readonly number[], cookie: string) => atOnce(10, ports, cookie);

/** That all are signed in with one and the same access token, and what cookies they were given. */
function assertRefreshed(answers: Answer[]): string[] {
  for (const { session } of answers) assertEquals([session?.user.name, session?.error], ["Ada", undefined]);
  const tokens = new Set(answers.map(({ session }) => session!.accessToken));
  assertEquals(tokens.size, 1);
  const cookies = answers.map(({ cookie }) => cookie);
  assert(cookies.every((cookie) => cookie !== undefined), "every reply carries the refreshed cookie");
  return cookies as string[];
}

const refreshRequests = ({ tokenRequests }: OpenIdProvider) =>
  tokenRequests.filter(({ form }) => form.get("grant_type") === "refresh_token").length;

Deno.test("one process: ten requests with one expired token refresh it once, and all of them get the result", async () => {
  await withSignedIn(async ({ provider, port, cookie, refreshes }) => {
    const cookies = assertRefreshed(await tenAtOnce([port], cookie));
    assertEquals([refreshes(), refreshRequests(provider)], [1, 1]);
    assertEquals(new Set(cookies).size, 1);
    assertNotEquals(cookies[0], cookie);

    // The refreshed cookie needs no refreshing, and does not change any more.
    const next = await me(port, cookies[0]!);
    assertEquals([next.session?.error, next.cookie], [undefined, undefined]);
    assertEquals(refreshes(), 1);
  });
});

Deno.test("the just-replaced cookie leads to the refreshed session for a while", async () => {
  await withSignedIn(async ({ port, cookie, refreshes }) => {
    const first = await me(port, cookie);
    const straggler = await me(port, cookie);
    assertEquals(refreshes(), 1);
    assertEquals(
      straggler.session,
      { ...first.session!, expires: (straggler.session as never as { expires: string }).expires } as never,
    );
    assertEquals(straggler.cookie, first.cookie);
  });
});

Deno.test("after that while the second use ends the user's grant: what the tests above are about is real", async () => {
  await withSignedIn(async ({ port, cookie, refreshes }) => {
    const first = await me(port, cookie);
    assertEquals(first.session?.error, undefined);
    const later = performance.now() + 31_000;
    using _ = stub(performance, "now", () => later);
    const straggler = await me(port, cookie);
    assertEquals([refreshes(), straggler.session?.error], [2, "invalid_grant"]);
  });
});

Deno.test("POST /auth/session goes on from the refreshed token, not from the one the browser sent", async () => {
  await withSignedIn(async ({ port, cookie, refreshes }) => {
    const first = await me(port, cookie);
    const csrf = await fetch(`http://127.0.0.1:${port}/auth/csrf`);
    const { csrfToken } = await csrf.json();
    const pair = csrf.headers.getSetCookie()[0]!.split(";")[0];
    const response = await fetch(`http://127.0.0.1:${port}/auth/session`, {
      method: "POST",
      headers: { "content-type": "application/json", cookie: `${pair}; ${NAME}=${cookie}` },
      body: JSON.stringify({ csrfToken, data: {} }),
    });
    const session = await response.json();
    assertEquals([session.error, session.accessToken], [undefined, first.session!.accessToken]);
    assertEquals(refreshes(), 1);
  });
});

Deno.test("all requests that wait for a refresh get its failure, and the next request tries again", async () => {
  let runs = 0;
  await withSignedIn(async ({ port, cookie }) => {
    const answers = await tenAtOnce([port], cookie);
    assertEquals(answers.map(({ session }) => session), Array(10).fill(null));
    const failed = runs;
    assert(failed < 10, `${failed} runs`);
    assertEquals((await me(port, cookie)).session, null);
    assertEquals(runs, failed + 1);
  }, {
    callbacks: {
      async jwt({ token, account }) {
        if (account) return token;
        runs++;
        await new Promise((resolve) => setTimeout(resolve, 50));
        throw new Error("the provider is down");
      },
    },
  });
});

/** Starts a process of its own: Deno or Node, whichever runs the tests. */
async function startProcess(
  environment: Record<string, string>,
): Promise<{ child: ChildProcess; port: number }> {
  const script = fileURLToPath(new URL("../../support/refresh_process.ts", import.meta.url));
  const flags = process.versions.deno
    ? ["run", "-A", ...denoFlags()]
    : process.execArgv.filter((flag) => !/^--test/.test(flag));
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, [...flags, script], { env, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout!)) {
    const port = /^port (\d+)$/.exec(line)?.[1];
    if (port) return { child, port: Number(port) };
  }
  throw new Error("The application ended before it listened.");
}

/** @param differences What each process has in its environment beside the rest: as many are started. */
async function withProcesses(
  environment: Record<string, string>,
  run: (signed: Signed, ports: number[], children: ChildProcess[]) => Promise<void>,
  differences: readonly Record<string, string>[] = [{}, {}],
): Promise<void> {
  await withSignedIn(async (signed) => {
    const env = { ISSUER: signed.provider.issuer, CLIENT_SECRET, AUTH_SECRET: SECRET, ...environment };
    const processes = await Promise.all(differences.map((own) => startProcess({ ...env, ...own })));
    try {
      await run(signed, processes.map(({ port }) => port), processes.map(({ child }) => child));
    } finally {
      for (const { child } of processes) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const ended = new Promise((resolve) => child.once("exit", resolve));
        child.kill("SIGTERM");
        await ended;
      }
    }
  });
}

Deno.test("two processes without a store refresh twice", async () => {
  await withProcesses({}, async ({ provider, cookie }, ports) => {
    await tenAtOnce(ports, cookie);
    // Where both arrive at the same moment, this provider takes either, and does not answer with an error.
    assert(refreshRequests(provider) >= 2);
  });
});

Deno.test("four processes whose store does not answer refresh once each at most", async () => {
  const environment = { REDIS_URL: "redis://127.0.0.1:1", REDIS_CLIENT: "ioredis" };
  await withProcesses(environment, async ({ provider, cookie }, ports) => {
    const answers = await atOnce(200, ports, cookie);
    assertEquals(answers.map(({ session }) => session?.user.name), answers.map(() => "Ada"));
    assert(refreshRequests(provider) <= ports.length);
  }, [{}, {}, {}, {}]);
});

const url = serverUrl("TEST_REDIS_URL", "the tests of refreshing once across processes");
if (url) {
  for (const client of ["ioredis", "redis"]) {
    Deno.test(`four processes with a store in Redis (${client}): 200 requests refresh once`, async () => {
      const environment = {
        REDIS_URL: url,
        REDIS_CLIENT: client,
        REDIS_PREFIX: `test-${crypto.randomUUID()}:`,
      };
      await withProcesses(environment, async ({ provider, cookie }, ports) => {
        const cookies = assertRefreshed(await atOnce(200, ports, cookie));
        assertEquals(refreshRequests(provider), 1);
        assertEquals(new Set(cookies).size, 1);
        // Stragglers at either process, and the refreshed cookie at either.
        for (const port of ports) {
          assertRefreshed([await me(port, cookie)]);
          assertEquals((await me(port, cookies[0]!)).cookie, undefined);
        }
        assertEquals(refreshRequests(provider), 1);
      }, [{}, {}, {}, {}]);
    });
  }

  /** What a process left in Redis under its prefix. */
  const withRedis = async <T>(
    prefix: string,
    look: (redis: Redis, keys: string[]) => Promise<T>,
  ): Promise<T> => {
    const redis = new Redis(url);
    try {
      return await look(redis, await redis.keys(`${prefix}*`));
    } finally {
      redis.disconnect();
    }
  };

  const redisEnvironment = (client: string) => ({
    REDIS_URL: url,
    REDIS_CLIENT: client,
    REDIS_PREFIX: `test-${crypto.randomUUID()}:`,
    PROVIDER_TIMEOUT: "4000",
  });

  Deno.test("a refresh that takes longer than its lock lasts runs once, and others go on as they are", async () => {
    await Promise.all(["ioredis", "redis"].map(async (client) => {
      const environment = { ...redisEnvironment(client), PROVIDER_TIMEOUT: "1000" };
      await withProcesses(environment, async ({ provider, cookie }, [slow, other]) => {
        const refreshing = me(slow!, cookie);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const waited = await me(other!, cookie);
        assertEquals([waited.session?.user.name, waited.cookie, refreshRequests(provider)], [
          "Ada",
          undefined,
          0,
        ]);
        const [refreshed] = assertRefreshed([await refreshing]);
        assertEquals(assertRefreshed([await me(other!, cookie)]), [refreshed!]);
        assertEquals(refreshRequests(provider), 1);
      }, [{ REFRESH_DELAY: "4000" }, {}]);
    }));
  });

  Deno.test("if the process that holds the lock is killed, another refreshes as soon as the lock has expired", async () => {
    const environment = { ...redisEnvironment("ioredis"), PROVIDER_TIMEOUT: "1000" };
    const { REDIS_PREFIX } = environment;
    await withProcesses(environment, async ({ provider, cookie }, ports, [owner]) => {
      const lost = me(ports[0]!, cookie).catch(() => "lost");
      const held = () =>
        withRedis(
          REDIS_PREFIX,
          (_redis, keys) => Promise.resolve(keys.find((key) => key.includes("lock:"))),
        );
      let key: string | undefined;
      while ((key = await held()) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
      owner!.kill("SIGKILL");
      assertEquals(await lost, "lost");
      const life = await withRedis(REDIS_PREFIX, (redis) => redis.pttl(key!));
      assert(life > 0 && life <= 2_000, `twice providerTimeout at most: ${life} ms`);
      // As long as somebody holds it, the session goes on as it is.
      await withRedis(REDIS_PREFIX, (redis) => redis.persist(key!));
      const waited = await me(ports[1]!, cookie);
      assertEquals([waited.session?.user.name, waited.cookie, refreshRequests(provider)], [
        "Ada",
        undefined,
        0,
      ]);
      await withRedis(REDIS_PREFIX, (redis) => redis.pexpire(key!, 200));
      assertRefreshed([await me(ports[1]!, cookie)]);
      assertEquals(refreshRequests(provider), 1);
    }, [{ REFRESH_DELAY: "600000" }, {}]);
  });

  Deno.test("what two processes leave in Redis is no session token and contains none", async () => {
    const environment = redisEnvironment("redis");
    await withProcesses(environment, async ({ cookie }, ports) => {
      const [refreshed] = assertRefreshed(await tenAtOnce(ports, cookie));
      await withRedis(environment.REDIS_PREFIX, async (redis, keys) => {
        assert(keys.length > 0);
        for (const key of keys) {
          const value = await redis.get(key) ?? "";
          const texts = [key, value, Buffer.from(value, "base64url").toString("latin1")];
          for (const token of [cookie, refreshed!]) {
            for (const part of token.split(".").filter((part) => part.length > 20)) {
              assert(texts.every((text) => !text.includes(part)));
            }
          }
          for (const token of texts) {
            assertEquals(await decode({ token, secret: SECRET, salt: NAME }).catch(() => null), null);
          }
          assert(await redis.pttl(key) > 0, "everything runs out");
        }
      });
    });
  });
}

Deno.test("tokens of different users are refreshed apart, all at once", async () => {
  const { app, browser } = await oauthApp({ issuer: "http://127.0.0.1:1" }, {
    callbacks: {
      async jwt({ token }) {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return { ...token, refreshed: token.name };
      },
      session: ({ session, token }) => ({ ...session, refreshed: token.refreshed }),
    },
  });
  await using _app = app;
  const names = Array.from({ length: 40 }, (_, i) => `user ${i % 20}`);
  const tokens = new Map<string, string>();
  for (const name of names) {
    if (!tokens.has(name)) tokens.set(name, await encode({ token: { name }, secret: SECRET, salt: NAME }));
  }
  const sessions = await Promise.all(names.map(async (name) => {
    const client = browser();
    client.cookies.set(NAME, tokens.get(name)!);
    return (await client.get("/me")).json().session;
  }));
  assertEquals(
    sessions.map(({ user, refreshed }) => [user.name, refreshed]),
    names.map((name) => [name, name]),
  );
});

Deno.test("a late request refreshes nothing again, however long the application's codec takes", async () => {
  /** Holds up the first time that a token is opened. */
  let slow: { token: string; begun: () => void; opened: Promise<void> } | undefined;
  let [refreshes, misused] = [0, 0];
  const config = testConfig({
    jwt: {
      encode,
      async decode(params) {
        const held = slow?.token === params.token ? slow : undefined;
        if (held) slow = undefined;
        held?.begun();
        await held?.opened;
        return await decode(params);
      },
    },
    callbacks: {
      jwt({ token, account }) {
        if (account) return { ...token, refresh: 0 };
        if (token.refresh !== refreshes) misused++;
        return { ...token, refresh: ++refreshes };
      },
    },
  });
  await using app = await testApp(config);
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  const read = (cookie: string) => app.inject({ url: "/me", headers: { cookie } });
  const old = client.cookie!;
  await client.get("/me");
  const [begun, opened] = [deferred(), deferred()];
  slow = { token: client.cookies.get(NAME)!, begun: begun.resolve, opened: opened.promise };
  const late = read(old);
  await begun.promise;
  await client.get("/me");
  opened.resolve();
  assertEquals((await late).json().session.user.name, "ada");
  assertEquals([refreshes, misused], [3, 0]);
});
