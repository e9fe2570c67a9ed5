/**
 * Waiting no longer than agreed.
 *
 * @module
 */

/**
 * Settles as the promise does, or rejects once the time is over. The work itself goes on: its outcome is dropped.
 *
 * @param work What to wait for.
 * @param milliseconds How long; 0 or less waits for ever.
 * @param onTimeout Makes the error.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  onTimeout: () => Error,
): Promise<T> {
  if (milliseconds <= 0) return await work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(onTimeout()), milliseconds);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
