/**
 * Sessions against a model: two processes with a store between them, requests that overlap, in orders that fast-check
 * chooses. No session of another user, none after its end, no lost update, and each refresh token is used once.
 *
 * `deno task test:interleaving` tries more orders.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import Fastify, { type FastifyInstance } from "fastify";
import process from "node:process";
import { createAuth, type FastifyAuthConfig, memorySessionStore } from "fastify-authjs";
import { type Answer, Client } from "../support/client.ts";
import { type Clock, withClock } from "../support/clock.ts";
import { memoryLock } from "../support/memory_lock.ts";
import { passwordProvider, testConfig } from "../support/app.ts";
import fc from "../support/property.ts";

const RUNS = Number(process.env.INTERLEAVING_RUNS ?? 60);
const USERS = ["ada", "bob"] as const;
const FIELDS = ["a", "b"] as const;
const MINUTE = 60_000;

type User = typeof USERS[number];
type Field = typeof FIELDS[number];

/** What a request does. */
type Step =
  | { do: "read" }
  | { do: "update"; field: Field; value: number }
  | { do: "sign out" }
  | { do: "revoke" };

/**
 * What happens one after the other; the steps of a burst overlap. A burst has one update at most: of two that overlap
 * while the session is also refreshed, one can be lost today.
 */
type Move =
  | { do: "sign in"; browser: number; process: number; user: User }
  | { do: "burst"; browser: number; steps: { process: number; step: Step }[] }
  | { do: "wait"; minutes: number };

type SeenSession = { user: { name: string }; fields: Partial<Record<Field, number>> } | null;

/** What is known of a browser's session without looking at the implementation. */
class Model {
  user: User | undefined;
  /** Set as soon as a request that ends it was sent. */
  ending = true;
  /** Set when such a request was answered. */
  ended = true;
  /** The values that each field may have. */
  readonly values = new Map<Field, Set<number | undefined>>();
  /** The values of a burst whose updates succeeded. */
  readonly written = new Map<Field, Set<number | undefined>>();

  begin(user: User): void {
    this.user = user;
    this.ending = this.ended = false;
    for (const field of FIELDS) this.values.set(field, new Set([undefined]));
  }

  /** What a read that began with `wasEnded` may give. */
  check(
    session: { user: { name: string }; fields: Partial<Record<Field, number>> } | null,
    wasEnded: boolean,
  ): void {
    if (session === null) return assert(this.ending, "a session that had not ended was lost");
    assert(!wasEnded, "a session came back after its end");
    assertEquals(session.user.name, this.user, "the session of another user");
    for (const field of FIELDS) {
      assert(this.values.get(field)!.has(session.fields[field]), `a lost update of ${field}`);
    }
  }
}

/** A provider whose refresh tokens can be used once each. */
class RefreshTokens {
  #last = 0;
  readonly #valid = new Set<number>();
  readonly reused: number[] = [];

  issue(): number {
    this.#valid.add(++this.#last);
    return this.#last;
  }

  async refresh(token: number): Promise<number> {
    await new Promise((resolve) => setTimeout(resolve, 1));
    if (!this.#valid.delete(token)) this.reused.push(token);
    return this.issue();
  }
}

/** Has each call of an object's functions begin, and end, when the scheduler says so. */
function scheduled<T extends object>(store: T, scheduler: fc.Scheduler): T {
  const entries = Object.entries(store).filter(([, value]) => typeof value === "function");
  const wrapped = entries.map(([name, method]) => [name, async (...args: unknown[]) => {
    await scheduler.schedule(Promise.resolve(), `before ${name}`);
    const result = await method(...args);
    await scheduler.schedule(Promise.resolve(), `after ${name}`);
    return result;
  }]);
  return { ...store, ...Object.fromEntries(wrapped) };
}

async function startProcess(
  shared: Partial<FastifyAuthConfig>,
  tokens: RefreshTokens,
): Promise<FastifyInstance> {
  const auth = createAuth({
    ...testConfig({ providers: [passwordProvider()], ...shared }),
    callbacks: {
      async jwt({ token, user, trigger, session }) {
        if (user) return { ...token, fields: {}, refreshToken: tokens.issue(), due: Date.now() + MINUTE };
        if (trigger === "update") return { ...token, fields: { ...token.fields as object, ...session } };
        if (Number(token.due) > Date.now()) return token;
        return {
          ...token,
          refreshToken: await tokens.refresh(Number(token.refreshToken)),
          due: Date.now() + MINUTE,
        };
      },
      session: ({ session, token }) => ({ ...session, fields: token.fields }),
    },
  });
  const app = Fastify() as FastifyInstance;
  await app.register(auth.plugin, { prefix: "/auth" });
  app.get("/me", async (request) => ({ session: await auth.getSession(request) }));
  app.post("/update", async (request, reply) => {
    await auth.updateSession(request, reply, request.body as Record<string, unknown>);
    return { updated: true };
  });
  app.post("/revoke/:user", async (request) => {
    await auth.revokeSessions((request.params as { user: string }).user);
    return {};
  });
  await app.ready();
  return app;
}

/** Two processes, their browsers and what is expected of them. */
class World {
  readonly #browsers: { cookies: Map<string, string>; model: Model }[] = [0, 1].map(() => ({
    cookies: new Map(),
    model: new Model(),
  }));

  constructor(
    readonly apps: readonly FastifyInstance[],
    readonly clock: Clock,
    readonly tokens: RefreshTokens,
  ) {}

  async make(move: Move): Promise<void> {
    this.clock.now += 1000; // nothing happens in the very moment of a move before
    switch (move.do) {
      case "wait":
        this.clock.now += move.minutes * MINUTE;
        return;
      case "sign in": {
        const { cookies, model } = this.#browsers[move.browser]!;
        const answer = await this.#clientOf(cookies, move.process).signIn({
          username: move.user,
          password: "open",
        });
        assertEquals(answer.statusCode, 302);
        model.begin(move.user);
        return;
      }
      case "burst": {
        const { cookies, model } = this.#browsers[move.browser]!;
        await Promise.all(move.steps.map(({ process, step }) => this.#take(step, cookies, process, model)));
        // Now nothing is under way: the updates that were answered count, in both processes alike
        for (const [field, written] of model.written) model.values.set(field, written);
        model.written.clear();
        for (const process of [0, 1]) {
          const session = await this.#read(cookies, process, model);
          for (const field of session ? FIELDS : []) {
            model.values.set(field, new Set([session!.fields[field]]));
          }
        }
      }
    }
  }

  #clientOf(cookies: Map<string, string>, process: number): Client {
    const client = new Client(this.apps[process]!);
    Object.assign(client, { cookies }); // one browser, whichever process answers
    return client;
  }

  async #take(step: Step, cookies: Map<string, string>, process: number, model: Model): Promise<void> {
    const client = this.#clientOf(cookies, process);
    const expectOk = (answer: Answer) => assert(answer.statusCode < 500, `${step.do}: ${answer.body}`);
    switch (step.do) {
      case "read":
        return void await this.#read(cookies, process, model);
      case "update": {
        if (model.user === undefined) return;
        const { field, value } = step;
        const wasEnding = model.ending;
        model.values.get(field)!.add(value);
        const answer = await client.request("POST", "/update", { json: { [field]: value } });
        expectOk(answer);
        if (!wasEnding && !model.ending) assertEquals(answer.statusCode, 200, answer.body);
        if (answer.statusCode === 200) {
          model.written.set(field, (model.written.get(field) ?? new Set()).add(value));
        }
        return;
      }
      case "sign out":
        model.ending = true;
        expectOk(await client.signOut());
        model.ended = true;
        return;
      case "revoke":
        if (model.user === undefined) return;
        for (const other of this.#browsers) if (other.model.user === model.user) other.model.ending = true;
        expectOk(await client.request("POST", `/revoke/id-${model.user}`));
        for (const other of this.#browsers) if (other.model.user === model.user) other.model.ended = true;
    }
  }

  async #read(cookies: Map<string, string>, process: number, model: Model): Promise<SeenSession> {
    const wasEnded = model.ended;
    const answer = await this.#clientOf(cookies, process).get("/me");
    assertEquals(answer.statusCode, 200, answer.body);
    const { session } = answer.json<{ session: SeenSession }>();
    model.check(session, wasEnded);
    return session;
  }
}

const index = fc.nat({ max: 1 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Step>({ do: "read" }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("update" as const),
      field: fc.constantFrom(...FIELDS),
      value: fc.nat(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "sign out" }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: "revoke" }) },
);
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("sign in" as const),
      browser: index,
      process: index,
      user: fc.constantFrom(...USERS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("burst" as const),
      browser: index,
      steps: fc.array(fc.record({ process: index, step }), { minLength: 1, maxLength: 4 })
        .filter((steps) => steps.filter(({ step }) => step.do === "update").length < 2),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("wait" as const), minutes: fc.constantFrom(2, 25 * 60) }),
  },
);

Deno.test("requests that overlap in two processes neither mix, revive nor lose sessions", async () => {
  const moves = fc.array(move, { minLength: 3, maxLength: 10 });
  await fc.assert(
    fc.asyncProperty(moves, fc.scheduler(), async (moves, scheduler) => {
      await withClock(async (clock) => {
        const tokens = new RefreshTokens();
        const shared = {
          sessionStore: scheduled(memorySessionStore(), scheduler),
          refreshLock: scheduled(memoryLock({ extends: true }), scheduler),
        };
        const apps = await Promise.all([0, 1].map(() => startProcess(shared, tokens)));
        try {
          const world = new World(apps, clock, tokens);
          for (const move of moves) await scheduler.waitFor(world.make(move));
          assertEquals(tokens.reused, [], "a refresh token was used twice");
        } finally {
          await Promise.all(apps.map((app) => app.close()));
        }
      });
    }),
    { numRuns: RUNS },
  );
});
