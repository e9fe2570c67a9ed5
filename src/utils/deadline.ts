/** Timeouts. */

/**
 * Settles as the promise does, or rejects after a time. The work itself is not stopped; its result is
 * ignored.
 *
 * @param milliseconds The time; 0 or less for no limit.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  onTimeout: () => Error,
): Promise<T> {
  if (milliseconds <= 0) return await work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(onTimeout()), milliseconds);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
