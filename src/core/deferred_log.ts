/** The errors that core logs while it answers. */
import type { LoggerInstance } from "@auth/core/types";

/** A logger that holds the latest error. */
export interface DeferredLog {
  readonly logger: LoggerInstance;
  /** Returns the latest error instead of logging it. If it is not `expected`, it is logged. */
  take(expected?: unknown): Error | undefined;
  /** Logs the latest error, and returns it. */
  flush(): Error | undefined;
}

/**
 * Core logs an error before it answers or throws. The last one is why it failed: it becomes the `error` of
 * the answer, which a handler may replace, and is logged when the answer is sent. Core logs some errors twice
 * in a row.
 */
export function deferLast(logger: LoggerInstance): DeferredLog {
  let latest: Error | undefined;
  const flush = () => {
    const flushed = latest;
    if (flushed !== undefined) logger.error(flushed);
    latest = undefined;
    return flushed;
  };
  const error = (next: Error) => {
    if (next !== latest) flush();
    latest = next;
  };
  const take = (expected: unknown = latest) => {
    if (latest !== expected) flush();
    const taken = latest;
    latest = undefined;
    return taken;
  };
  return { logger: { ...logger, error }, take, flush };
}
