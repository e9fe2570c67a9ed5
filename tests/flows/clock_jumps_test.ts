/** The time of day jumps, as when a machine's clock is corrected: waits do not grow with it, and sessions go on. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import { FastifyAuth, type FastifyAuthConfig, getSession } from "fastify-authjs";
import { testApp, testConfig } from "../support/app.ts";
import { Client, setCookies } from "../support/client.ts";
import { type Clock, withClock } from "../support/clock.ts";
import { memoryAdapter } from "../support/memory_adapter.ts";
import { testStore } from "../support/test_store.ts";
import { locationOf, pathOf, signedInName, startSignIn } from "../support/oauth_client.ts";
import { signInThrough, withProvider } from "../support/scripted_sign_in.ts";

const NAME = "authjs.session-token";
const HOUR = 60 * 60_000;

/** Sets the time of day; no time passes. */
function jump(clock: Clock, milliseconds: number): void {
  clock.now += milliseconds;
  clock.jumped += milliseconds;
}

/** Callbacks that count how often a session is refreshed, and hold that up if a test says so. */
function refreshing(hold: () => Promise<void> = () => Promise.resolve()) {
  const state = { refreshes: 0 };
  const callbacks: FastifyAuthConfig["callbacks"] = {
    async jwt({ token, account }) {
      if (account || token.fresh) return token;
      state.refreshes++;
      await hold();
      return { ...token, fresh: true };
    },
  };
  return { state, callbacks };
}

/** A browser that has signed in, and the reader of its session. */
async function signedIn(config: FastifyAuthConfig) {
  const app = await testApp(config);
  const client = new Client(app);
  await client.signIn({ username: "ada", password: "open" });
  return { app, client, [Symbol.asyncDispose]: () => app.close() };
}

/** What a promise leads to, or "nothing" if that takes too long for the test. */
function inTime<T>(promise: Promise<T>): Promise<T | "nothing"> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<"nothing">((resolve) => timer = setTimeout(() => resolve("nothing"), 120_000));
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

for (const [direction, by] of [["ahead", HOUR], ["behind", -HOUR]] as const) {
  Deno.test(`a session of a process whose clock is an hour ${direction} is read by one whose clock is right`, async () => {
    await withClock(async (clock) => {
      jump(clock, by);
      await using setup = await signedIn(testConfig());
      jump(clock, -by);
      assertEquals(await signedInName(setup.client), "ada");
      jump(clock, by);
      assertEquals(await signedInName(setup.client), "ada");
    });
  });

  Deno.test(`a provider's sign-in works while the clock is an hour ${direction}, and after it`, async () => {
    await withProvider({}, async ({ client, provider }) => {
      await withClock(async (clock) => {
        jump(clock, by);
        assertEquals((await signInThrough(client, provider)).statusCode, 302);
        assertEquals(await signedInName(client), "Ada");
        jump(clock, -by);
        assertEquals((await signInThrough(client, provider)).statusCode, 302);
        assertEquals(await signedInName(client), "Ada");
      });
    });
  });

  Deno.test(`a refresh that another process never finishes is waited for no longer with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      let jumped = false;
      const store = testStore();
      // Held by a process that has died
      store.lock = () => {
        if (!jumped) jump(clock, by);
        jumped = true;
        return Promise.resolve(false);
      };
      const { state, callbacks } = refreshing();
      await using setup = await signedIn(testConfig({ callbacks, store, providerTimeout: 200 }));
      assertEquals(await inTime(signedInName(setup.client)), "ada");
      assertEquals([jumped, state.refreshes], [true, 0]);
    });
  });

  Deno.test(`a store that was silent is used again after some seconds, with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      const store = testStore();
      const { lock } = store;
      let isSilent = true, asked = 0;
      store.lock = (...args) => {
        asked++;
        return isSilent ? new Promise(() => {}) : lock(...args);
      };
      const callbacks: FastifyAuthConfig["callbacks"] = { jwt: ({ token }) => ({ ...token, id: asked }) };
      await using setup = await signedIn(testConfig({ callbacks, store }));
      assertEquals(await signedInName(setup.client), "ada");
      assertEquals(asked, 1);
      isSilent = false;
      jump(clock, by);
      clock.now += 4_000;
      await signedInName(setup.client);
      assertEquals(asked, 1, "it is left alone for five seconds");
      clock.now += 2_000;
      await signedInName(setup.client);
      assertEquals(asked, 2);
      await signedInName(setup.client);
      assertEquals(asked, 3, "it has answered, though the first call never will");
    });
  });

  Deno.test(`a replaced cookie leads to the refreshed session for half a minute, with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      const { state, callbacks } = refreshing();
      await using setup = await signedIn(testConfig({ callbacks }));
      const tab = new Client(setup.app);
      tab.cookies.set(NAME, setup.client.cookies.get(NAME)!);
      await signedInName(setup.client);
      assertNotEquals(setup.client.cookies.get(NAME), tab.cookies.get(NAME));
      jump(clock, by);
      clock.now += 20_000;
      await tab.get("/me");
      assertEquals(state.refreshes, 1);
    });
  });

  Deno.test(`a long request reads its session again after some seconds, with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      let reads = 0;
      const callbacks: FastifyAuthConfig["callbacks"] = {
        session({ session }) {
          reads++;
          return session;
        },
      };
      const config = testConfig({ callbacks });
      await using app = Fastify() as FastifyInstance;
      await app.register(FastifyAuth(config), { prefix: "/auth" });
      app.get("/long", async (request) => {
        await getSession(request, config);
        jump(clock, by);
        await getSession(request, config);
        const soon = reads;
        clock.now += 11_000;
        await getSession(request, config);
        return [soon, reads];
      });
      const client = new Client(app);
      await client.signIn({ username: "ada", password: "open" });
      reads = 0;
      assertEquals((await client.get("/long")).json(), [1, 2]);
    });
  });

  Deno.test(`a sign-in link that another process never gives back is given up, with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      const links: string[] = [];
      const mail = {
        id: "mail",
        name: "Mail",
        type: "email" as const,
        sendVerificationRequest: ({ url }: { url: string }) => void links.push(url),
      };
      let jumped = false;
      const store = testStore();
      const app = await testApp(testConfig({
        providers: [mail],
        adapter: memoryAdapter(),
        adapterTimeout: 200,
        store: {
          ...store,
          lock: () => {
            if (!jumped) jump(clock, by);
            jumped = true;
            return Promise.resolve(false);
          },
        },
      }));
      await using _app = app;
      const client = new Client(app);
      const form = { csrfToken: await client.csrfToken(), email: "ada@example.com" };
      await client.post("/auth/signin/mail", form);
      const answer = await inTime(client.confirm(pathOf(links[0]!)));
      assertEquals([jumped, answer === "nothing" ? answer : answer.statusCode], [true, 503]);
    });
  });

  Deno.test(`a refresh under way does not bring a signed-out session back, with a clock set an hour ${direction}`, async () => {
    await withClock(async (clock) => {
      let open = () => {}, reach = () => {};
      const reached = new Promise<void>((resolve) => reach = resolve);
      const gate = new Promise<void>((resolve) => open = resolve);
      const { callbacks } = refreshing(() => {
        reach();
        return gate;
      });
      await using setup = await signedIn(testConfig({ callbacks }));
      const tab = new Client(setup.app);
      tab.cookies.set(NAME, setup.client.cookies.get(NAME)!);
      const reading = tab.get("/me");
      await reached;
      await setup.client.signOut();
      jump(clock, by);
      open();
      const answer = await reading;
      const written = setCookies(answer).filter((line) => line.startsWith(`${NAME}=`) && !/max-age=0/i.test(line));
      const late = new Client(setup.app);
      late.cookies.set(NAME, written[0]?.split(/[=;]/)[1] ?? setup.client.cookies.get(NAME) ?? "none");
      assertEquals((await late.get("/me")).json().session, null);
    });
  });
}

Deno.test("a sign-in that the clock leaves behind fails as one that took too long, and can be repeated", async () => {
  await withProvider({}, async ({ client, provider }) => {
    await withClock(async (clock) => {
      const url = provider.authorize(locationOf(await startSignIn(client)));
      jump(clock, HOUR);
      const answer = await client.get(pathOf(url));
      assertMatch(locationOf(answer), /\/auth\/(?:error|signin)\?error=/);
      assertEquals(await signedInName(client), undefined);
      await signInThrough(client, provider);
      assertEquals(await signedInName(client), "Ada");
    });
  });
});
