/** Marks a store that other processes do not see. */
export const IN_PROCESS: unique symbol = Symbol("fastify-authjs.memoryStore");

export function isInProcess(store: object): boolean {
  return IN_PROCESS in store;
}
