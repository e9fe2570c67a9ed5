/** A read of a session, as it is observed. */
import type { AuthInstance } from "./auth_instance.ts";
import type { SessionRead } from "../session/read.ts";
import { sessionReads } from "../telemetry/operations.ts";
import type { FastifyAuthError } from "../errors.ts";
import type { SessionReadEvent } from "../types.ts";

/** Reads, and publishes what was found and how long it took. */
export async function observeRead(
  { config }: AuthInstance,
  read: () => Promise<SessionRead>,
): Promise<SessionRead> {
  const { adapter, session } = config.core;
  const start = performance.now();
  const publish = ({ session: found, failure }: Pick<SessionRead, "session" | "failure">) => {
    const event: SessionReadEvent = {
      strategy: session?.strategy ?? (adapter === undefined ? "jwt" : "database"),
      result: failure !== undefined ? "unknown" : found === null ? "none" : "session",
      duration: (performance.now() - start) / 1000,
    };
    sessionReads.publish(event);
  };
  try {
    const found = await read();
    publish(found);
    return found;
  } catch (error) {
    publish({ session: null, failure: error as FastifyAuthError });
    throw error;
  }
}
