/** How a command is sent with either of the two clients of Redis, and what is one. */
import type { IoRedisClient, NodeRedisClient } from "../types.ts";

export function sendCommand(client: IoRedisClient | NodeRedisClient, command: string, ...args: string[]) {
  return "call" in client ? client.call(command, ...args) : client.sendCommand([command, ...args]);
}

/** Not a cluster or a sentinel of `redis`: their `sendCommand()` takes other arguments. */
export function isRedisClient(client: unknown): client is IoRedisClient | NodeRedisClient {
  const { call, sendCommand } = Object(client);
  const sends = typeof sendCommand === "function" && sendCommand.length <= 2;
  // A class has `call()`, too.
  return typeof client === "object" && (typeof call === "function" || sends);
}
