/** What must hold at the end of a run of the soak test. */
import type { Ending, Gauge } from "./app_process.ts";
import { FAULTS } from "./faults.ts";
import type { FindingKind, Tally } from "./tally.ts";

/** What a run measured. */
export interface Measured {
  readonly tally: Tally;
  /** What the processes needed: after the warm-up, and after each fault. */
  readonly gauges: { readonly requests: number; readonly processes: readonly Gauge[] }[];
  /** The same once the load has ended and idle connections are closed. */
  readonly end: { readonly requests: number; readonly processes: readonly Gauge[] };
  /** How processes ended that were sent `SIGTERM`. */
  readonly endings: readonly Ending[];
  /** How long the load took. */
  readonly milliseconds: number;
  /** Refreshes at the provider that succeeded, and those with a refresh token that was used before. */
  readonly refreshes: number;
  readonly reused: number;
  readonly machine: string;
}

/** A check. */
export interface Check {
  readonly name: string;
  readonly passed: boolean;
  /** What was found. */
  readonly shown: string;
}

/** What bounded caches may take that were not full after the warm-up, in bytes. */
const CACHES = 32 * 2 ** 20;

/** What the heap may grow by in the second half of a run, in bytes: caches are filled in the first. */
const LATER_GROWTH = 8 * 2 ** 20;

/** Descriptors that a process may have more of at the end: a pool's and a client's connections. */
const SPARE_DESCRIPTORS = 12;

/** How many seconds after the end of a fault the last 503 may be: time-outs, and the pauses of clients and locks. */
const RECOVERY_SECONDS = 10;

export const megabytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);

/** Checks a run. */
export function checksOf(measured: Measured): Check[] {
  const { tally, end, endings, reused, refreshes } = measured;
  const none = (name: string, of: string, ...kinds: FindingKind[]): Check => {
    const count = kinds.reduce((sum, kind) => sum + (tally.found[kind] ?? 0), 0);
    return { name, passed: count === 0, shown: `${count} of ${of}` };
  };
  const last = end.processes[0]!;
  const first = measured.gauges[0]!.processes[0]!;
  const half = end.requests / 2;
  const middle = measured.gauges.find(({ requests }) => requests >= half)?.processes[0] ?? last;
  const gauges = [...measured.gauges.flatMap(({ processes }) => processes), ...end.processes];
  const total = (name: "unhandledRejections" | "uncaughtExceptions" | "processWarnings" | "loggedTokens") =>
    Math.max(0, ...gauges.map((gauge) => gauge[name])) +
    endings.reduce((sum, { last }) => sum + (last[name] ?? 0), 0);
  const recoveries = tally.windows.map(recoverySeconds);
  const names = new Set(tally.windows.map(({ name }) => name));
  const clean = endings.filter(({ code, last }) => code === 0 && last.closed === true);
  return [
    none(
      "no user got another user's session or access token",
      `${tally.compared} compared`,
      "another user's session",
      "another user's access token",
    ),
    none(
      "no session was lost, and none came back after a sign-out",
      `${tally.compared} compared`,
      "a session was lost",
      "a session came back",
    ),
    none(
      "while the store answered no update of a session was lost",
      `${tally.updated} updates`,
      "an update was lost",
    ),
    none(
      "no forged cookie was accepted",
      `${tally.actions["forged cookie"] ?? 0}`,
      "a forged cookie was accepted",
    ),
    none("every 5xx is a 503 that a fault explains", `${fiveHundreds(tally)} with 5xx`, "an unexplained 5xx"),
    none(
      "every other answer was the expected one",
      `${tally.requests}`,
      "an unexpected answer",
      "a process failed",
    ),
    none(
      "while the store answered each refresh token was used once",
      `${refreshes} refreshes, ${reused - (tally.found["a refresh token was used twice"] ?? 0)} twice while it did not`,
      "a refresh token was used twice",
    ),
    {
      name: "every fault was injected",
      passed: names.size === FAULTS.length,
      shown: `${names.size} of ${FAULTS.length}, ${tally.windows.length} times`,
    },
    {
      name: `the application worked again ${RECOVERY_SECONDS} s after each fault`,
      passed: recoveries.every((recovery) => recovery <= RECOVERY_SECONDS),
      shown: `after ${Math.max(0, ...recoveries).toFixed(1)} s at the latest`,
    },
    {
      name: "no unhandled rejection, uncaught exception or warning of the runtime",
      passed: total("unhandledRejections") + total("uncaughtExceptions") + total("processWarnings") === 0,
      shown: `${total("unhandledRejections")}, ${total("uncaughtExceptions")}, ${total("processWarnings")}`,
    },
    {
      name: "no line of the log has a session token",
      passed: total("loggedTokens") === 0,
      shown: `${total("loggedTokens")}`,
    },
    {
      name: "flat heap",
      passed: last.heapUsed - first.heapUsed <= CACHES && last.heapUsed - middle.heapUsed <= LATER_GROWTH,
      shown: [
        `${megabytes(first.heapUsed)} MB after the warm-up`,
        `${megabytes(middle.heapUsed)} MB half-way`,
        `${megabytes(last.heapUsed)} MB at the end`,
      ].join(", "),
    },
    {
      name: "flat descriptors",
      passed: (last.descriptors ?? 0) <= (first.descriptors ?? 0) + SPARE_DESCRIPTORS,
      shown: `${first.descriptors ?? "unknown"} after the warm-up, ${last.descriptors ?? "unknown"} at the end`,
    },
    {
      name: "SIGTERM closed each process by itself",
      passed: clean.length === endings.length,
      shown: `${clean.length} of ${endings.length}, ${
        Math.max(...endings.map(({ milliseconds }) => milliseconds))
      } ms at most`,
    },
  ];
}

/** How long after the end of a fault the last 503 came, in seconds. */
export function recoverySeconds({ end, lastUnavailable }: Tally["windows"][number]): number {
  return Math.max(0, lastUnavailable - end) / 1000;
}

function fiveHundreds({ statuses }: Tally): number {
  return Object.entries(statuses).reduce((sum, [status, count]) => sum + (status >= "500" ? count : 0), 0);
}
