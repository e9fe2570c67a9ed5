/** Marks a store that other processes do not see. */
export const IN_PROCESS: unique symbol = Symbol("fastify-authjs.memoryStore");

/** Whether other processes do not see a store. */
export function isInProcess(store: object): boolean {
  return IN_PROCESS in store;
}
