/** What is loaded or made with its first use, so that an application does not wait for it at its start. */

type Loaded<Args extends unknown[], Result> = (...args: Args) => Result | Promise<Result>;

/**
 * A function whose module is loaded with its first call. If that fails, the call rejects, and the next one tries again.
 */
export function later<Args extends unknown[], Result>(
  load: () => Promise<Loaded<Args, Result>>,
): (...args: Args) => Promise<Result> {
  let loading: Promise<Loaded<Args, Result>> | undefined;
  let loaded: Loaded<Args, Result> | undefined;
  return async (...args) => {
    loading ??= load().catch((error) => {
      loading = undefined;
      throw error;
    });
    loaded ??= await loading;
    return await loaded(...args);
  };
}

/** A value that is made with its first use. */
export function lazy<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * A regular expression that is made with its first use. V8 reads a literal with `\p{…}` when it loads the file, even
 * one in a function that is never called, and each takes as long as thousands of lines of code.
 */
export function lazyPattern(source: string, flags: string): () => RegExp {
  return lazy(() => new RegExp(source, flags));
}
