/** The functions of an object by these names, its own and those of its class, each bound to it. */
export function boundMethods<T extends object>(owner: T, names: readonly (keyof T)[]): Partial<T> {
  const found = names.filter((name) => typeof owner[name] === "function");
  return Object.fromEntries(
    found.map((name) => [name, (owner[name] as (...args: never[]) => unknown).bind(owner)]),
  ) as Partial<T>;
}
