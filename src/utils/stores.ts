/** What stores have in common. */
import type { IoRedisClient, NodeRedisClient } from "../types.ts";

/** Marks a store that other processes do not see. */
export const IN_PROCESS: unique symbol = Symbol("fastify-authjs.memoryStore");

export function sendCommand(client: IoRedisClient | NodeRedisClient, command: string, ...args: string[]) {
  return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
}
