/** How a command is sent with either of the two clients of Redis. */
import type { IoRedisClient, NodeRedisClient } from "../types.ts";

export function sendCommand(client: IoRedisClient | NodeRedisClient, command: string, ...args: string[]) {
  return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
}
