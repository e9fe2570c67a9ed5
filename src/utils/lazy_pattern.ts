/**
 * A regular expression that is made with its first use. V8 reads a literal with `\p{…}` when it loads the
 * file, even one in a function that is never called, and each takes as long as thousands of lines of code.
 */
export function lazyPattern(source: string, flags: string): () => RegExp {
  let pattern: RegExp | undefined;
  return () => pattern ??= new RegExp(source, flags);
}
