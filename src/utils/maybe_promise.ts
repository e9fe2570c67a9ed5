/**
 * Values that may be there at once: waiting for one that is costs a promise and a turn of the event loop's
 * queue.
 */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value: at once where it is there, and then throws what `next` throws. */
export function after<T, R>(
  value: T | PromiseLike<T>,
  next: (value: T) => MaybePromise<R>,
): MaybePromise<R> {
  return isPromiseLike(value) ? Promise.resolve(value).then(next) : next(value);
}

/** Whether a value is one to wait for, as `await` decides it. */
export function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === "function";
}
