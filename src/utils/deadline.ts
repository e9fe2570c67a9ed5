/** Timeouts. */

/**
 * Settles as the promise does, or rejects after a time. The work itself is not stopped; its result is
 * ignored.
 *
 * @param milliseconds The time; 0 or less for no limit.
 */
export function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  onTimeout: () => Error,
): Promise<T> {
  if (milliseconds <= 0) return work;
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(onTimeout()), milliseconds);
    Promise.resolve(work).then(
      (result) => {
        clearTimeout(timer);
        resolve(result);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
