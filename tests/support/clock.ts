/**
 * A clock that a test sets, for what asks `Date` or `performance.now()` for the time. Timers run as ever.
 *
 * @module
 */

const RealDate = Date;
const realNow = performance.now.bind(performance);

/** The time while a test has it. */
export interface Clock {
  /** Milliseconds since 1970. For `performance.now()` as much time passes as this is moved. */
  now: number;
  /** By how much of that the time of day was only set: no time passed. */
  jumped: number;
}

/** Runs a test with a clock that stands still unless it is set. */
export async function withClock<Result>(
  run: (clock: Clock) => Promise<Result>,
  now: number = Date.now(),
): Promise<Result> {
  const clock: Clock = { now, jumped: 0 };
  globalThis.Date = class extends RealDate {
    constructor(...args: unknown[]) {
      super(...(args.length === 0 ? [clock.now] : args) as [number]);
    }
    static override now = () => clock.now;
    static override [Symbol.hasInstance] = (value: unknown) => value instanceof RealDate;
  } as unknown as DateConstructor;
  performance.now = () => realNow() + clock.now - clock.jumped - now;
  try {
    return await run(clock);
  } finally {
    globalThis.Date = RealDate;
    performance.now = realNow;
  }
}
