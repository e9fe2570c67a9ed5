/** Clients of Redis. */
import type { IoRedisClient, NodeRedisClient } from "../types.ts";

export function sendCommand(
  client: IoRedisClient | NodeRedisClient,
  command: string,
  ...args: string[]
): Promise<unknown> {
  return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
}
