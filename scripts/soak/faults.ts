/** The faults that the soak test injects, one after the other. */
import type { AppProcess, Ending } from "./app_process.ts";
import type { FaultProxy } from "../../tests/support/fault_proxy.ts";
import type { Provider } from "./provider.ts";
import type { Killable } from "./servers.ts";

/** What faults are injected into. */
export interface Surroundings {
  readonly postgres: Killable;
  readonly redis: Killable;
  /** Between the application and PostgreSQL. */
  readonly proxy: FaultProxy;
  readonly provider: Provider;
  readonly processes: AppProcess[];
  /** Starts a process in place of one that has ended. */
  restart(index: number): Promise<AppProcess>;
  /** How processes ended that were told to. */
  readonly endings: Ending[];
}

/** A fault. */
export interface Fault {
  readonly name: string;
  /** Whether the store is away for longer than it is waited for: each process is for itself then. */
  readonly isStoreGone?: boolean;
  begin(surroundings: Surroundings): Promise<void>;
  end(surroundings: Surroundings): Promise<void>;
}

const HOUR_MS = 60 * 60_000;

function clockJump(name: string, milliseconds: number): Fault {
  return {
    name,
    begin: ({ processes }) => processes[0]!.shiftClock(milliseconds),
    end: ({ processes }) => processes[0]!.shiftClock(0),
  };
}

/** Restarts that each take less time than a call of the store is waited for. */
function redisRestarts(): Fault {
  let isOver = false;
  let restarts = Promise.resolve();
  return {
    name: "Redis killed and started again, once a second",
    begin({ redis }) {
      isOver = false;
      restarts = (async () => {
        while (!isOver) {
          await redis.kill();
          await redis.start();
          await new Promise((resolve) => setTimeout(resolve, 1000));
        }
      })();
      return Promise.resolve();
    },
    async end() {
      isOver = true;
      await restarts;
    },
  };
}

/** The faults, in their order. Clients that break off requests are there all the time. */
export const FAULTS: readonly Fault[] = [
  {
    name: "PostgreSQL killed, and started again",
    begin: ({ postgres }) => postgres.kill(),
    end: ({ postgres }) => postgres.start(),
  },
  {
    name: "Redis killed, and started again",
    isStoreGone: true,
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.start(),
  },
  redisRestarts(),
  {
    name: "provider silent",
    begin: ({ provider }) => Promise.resolve(void (provider.silent = true)),
    end: ({ provider }) => Promise.resolve(void (provider.silent = false)),
  },
  {
    name: "PostgreSQL slow (100 ms a packet)",
    begin: ({ proxy }) => Promise.resolve(void (proxy.delay = 100)),
    end: ({ proxy }) => Promise.resolve(void (proxy.delay = 0)),
  },
  clockJump("the clock of one process an hour ahead, and back", HOUR_MS),
  {
    name: "SIGTERM of one process, which is started again",
    async begin({ processes, endings }) {
      endings.push(await processes[1]!.stop());
    },
    async end({ processes, restart }) {
      processes[1] = await restart(1);
    },
  },
  {
    name: "PostgreSQL silent",
    begin: ({ proxy }) => Promise.resolve(void (proxy.delay = Infinity)),
    end: ({ proxy }) => Promise.resolve(void (proxy.delay = 0)),
  },
  clockJump("the clock of one process an hour behind, and back", -HOUR_MS),
];
