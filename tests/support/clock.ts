/**
 * A clock that a test sets, for what asks `Date` for the time. Timers run as ever.
 *
 * @module
 */

const RealDate = Date;

/** The time while a test has it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now: number;
}

/** Runs a test with a clock that stands still unless it is set. */
export async function withClock<Result>(
  run: (clock: Clock) => Promise<Result>,
  now: number = Date.now(),
): Promise<Result> {
  const clock: Clock = { now };
  globalThis.Date = class extends RealDate {
    constructor(...args: unknown[]) {
      super(...(args.length === 0 ? [clock.now] : args) as [number]);
    }
    static override now = () => clock.now;
    static override [Symbol.hasInstance] = (value: unknown) => value instanceof RealDate;
  } as unknown as DateConstructor;
  try {
    return await run(clock);
  } finally {
    globalThis.Date = RealDate;
  }
}
