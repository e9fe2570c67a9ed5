/**
 * Functions whose modules are loaded when they are first called, so that an application does not wait for
 * them at its start.
 */

/**
 * A function that is loaded with its first call. If that fails, the call rejects, and the next one tries
 * again.
 */
export function later<Args extends unknown[], Result>(
  load: () => Promise<Loaded<Args, Result>>,
): (...args: Args) => Promise<Result> {
  let loaded: Loaded<Args, Result> | undefined;
  let loading: Promise<Loaded<Args, Result>> | undefined;
  return async (...args) => {
    if (loaded === undefined) {
      try {
        loaded = await (loading ??= load());
      } finally {
        loading = undefined;
      }
    }
    return await loaded(...args);
  };
}

type Loaded<Args extends unknown[], Result> = (...args: Args) => Result | Promise<Result>;
