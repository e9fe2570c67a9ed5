/**
 * Sessions against a model: two processes, a store between them, and requests that overlap in orders that fast-check
 * chooses. No session of another user, none after its end, no lost update, and each refresh token is used once.
 *
 * `deno task test:model` tries more, from a seed that it prints. `TEST_SEED` repeats it, and `TEST_PATH` with the
 * first number of the printed path one run of it. What the requests did is in the message of the error.
 *
 * @module
 */
import process from "node:process";
import { SECRET } from "../support/app.ts";
import { withClock } from "../support/clock.ts";
import fc from "../support/property.ts";
import { Gates } from "../model/gates.ts";
import { sharedSettings, startProcess, type Variant, VARIANTS } from "../model/processes.ts";
import { RotatingProvider } from "../model/provider.ts";
import { type Ask, World } from "../model/world.ts";

const { MODEL_RUNS = "36", TEST_PATH } = process.env;

type Command = fc.AsyncCommand<object, World>;

/** What can be done at any time. */
abstract class Always implements Command {
  check(): boolean {
    return true;
  }

  abstract run(model: object, world: World): Promise<void>;

  abstract toString(): string;
}

/** Sends a request. */
class Start extends Always {
  constructor(readonly ask: Ask, readonly browser: number, readonly process: number) {
    super();
  }

  override run(_model: object, world: World): Promise<void> {
    const { asked } = world.browsers[this.browser]!;
    const isSigningIn = [...asked].some((other) => other.do === "sign in");
    if (this.ask.do !== "sign in" || !isSigningIn) world.start(this.ask, this.browser, this.process);
    return Promise.resolve();
  }

  override toString(): string {
    return `browser ${this.browser}, process ${this.process}: ${JSON.stringify(this.ask)}`;
  }
}

/** Lets a request that is under way go on. */
class GoOn extends Always {
  constructor(readonly which: number, readonly gates: number) {
    super();
  }

  override run(_model: object, world: World): Promise<void> {
    return world.open(this.which, this.gates);
  }

  override toString(): string {
    return `request ${this.which} passes ${this.gates}`;
  }
}

/** Lets time pass, after all that is under way. */
class Wait extends Always {
  constructor(readonly minutes: number) {
    super();
  }

  override async run(_model: object, world: World): Promise<void> {
    await world.rest();
    world.clock.now += this.minutes * 60_000;
  }

  override toString(): string {
    return `wait ${this.minutes} minutes`;
  }
}

const either = fc.nat({ max: 1 });
const asks: [number, fc.Arbitrary<Ask>][] = [
  [6, fc.constant<Ask>({ do: "read" })],
  [3, fc.constant<Ask>({ do: "renew" })],
  [4, fc.record({ do: fc.constant("update" as const), field: fc.constantFrom("a", "b") })],
  [1, fc.constant<Ask>({ do: "sign out" })],
  [1, fc.record({ do: fc.constant("revoke" as const), finish: either })],
  [1, fc.constant<Ask>({ do: "revoke all" })],
  [
    1,
    fc.record({
      do: fc.constant("sign in" as const),
      user: fc.constantFrom("ada", "bob"),
      finish: either,
      remember: fc.boolean(),
    }),
  ],
];
const ask = fc.oneof(...asks.map(([weight, arbitrary]) => ({ weight, arbitrary })));
// Mostly one browser, so that its requests overlap
const start = fc.tuple(ask, fc.constantFrom(0, 0, 0, 1), either)
  .map(([ask, browser, process]) => new Start(ask, browser, process));
const gates = fc.oneof(fc.integer({ min: 1, max: 16 }), fc.constant(Infinity));
const goOn = fc.tuple(fc.nat({ max: 3 }), gates).map(([which, gates]) => new GoOn(which, gates));
const wait = fc.constantFrom(2, 25 * 60).map((minutes) => new Wait(minutes));
const commands = fc.commands<object, World, false>([start, start, start, start, goOn, goOn, wait], {
  maxCommands: 30,
  size: "max",
});

for (const variant of VARIANTS) {
  const name = "requests that overlap in two processes neither mix, revive nor lose them";
  Deno.test(`sessions ${variant}: ${name}`, async () => {
    const property = fc.asyncProperty(commands, (commands) => runAll(variant, commands));
    await fc.assert(property, {
      numRuns: Number(MODEL_RUNS),
      ...TEST_PATH !== undefined && { path: TEST_PATH },
    });
  });
}

async function runAll(variant: Variant, commands: Iterable<Command>): Promise<void> {
  await withClock(async (clock) => {
    const gates = new Gates();
    const provider = new RotatingProvider(gates);
    const shared = sharedSettings(variant, gates, provider);
    const ids = new Map<string, string>();
    // As while a secret is rotated: each process renews what the other one has sealed.
    const secrets = [SECRET, `another ${SECRET}`];
    const apps = await Promise.all(
      [secrets, secrets.toReversed()].map((secret) => startProcess(shared, gates, ids, secret)),
    );
    try {
      const world = new World(variant, apps, ids, gates, clock, provider);
      await world.signIn();
      await fc.asyncModelRun(() => ({ model: {}, real: world }), commands);
      await world.rest();
      await world.replay();
    } catch (cause) {
      throw new Error(`${(cause as Error).message}\n${gates.log.join("\n")}`, { cause });
    } finally {
      await Promise.all(apps.map((app) => app.close()));
    }
  });
}
